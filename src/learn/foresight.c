/* SPDX-License-Identifier: MIT */
#include "learn/foresight.h"

#include <math.h>
#include <stddef.h>

double foresee(struct foresight *f, double value)
{
    double *past = &f->past[(size_t)f->seen % FORESIGHT_PAST];
    double gain = value - *past;
    *past = value;
    f->seen += 1.0;
    if (f->seen <= FORESIGHT_PAST) return NAN;
    if (!(gain < f->most)) {
        f->most = gain;
        f->since = f->seen;
        return NAN;
    }
    if (gain <= f->tolerance) return 0.0;
    double pace = log(f->most / gain) / (f->seen - f->since);
    return ceil(log(gain / f->tolerance) / pace);
}
