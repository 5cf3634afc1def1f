/* SPDX-License-Identifier: MIT */
/* The options of a simulation: what they are by themselves, and what they
 * cannot be. */
#include "simulate/simulate.h"

#include <math.h>

#include "base/error.h"
#include "simulate/scheme.h"

static int check_times(const gsv_simulate_options *o)
{
    if (o->times < 1 || !o->time)
        return fail(GSV_BAD_INPUT,
                    "there are no times to simulate at; give at least one");
    for (size_t k = 0; k < o->times; k++) {
        if (!isfinite(o->time[k]))
            return fail(GSV_BAD_INPUT, "time %zu is %g, but must be finite",
                        k + 1, o->time[k]);
        if (k && !(o->time[k] > o->time[k - 1]))
            return fail(GSV_BAD_INPUT,
                        "time %zu is %.17g, which is not after time %zu, "
                        "%.17g; times must increase",
                        k + 1, o->time[k], k, o->time[k - 1]);
    }
    return 0;
}

static int check_start(const gsv_simulate_options *o, const struct spec *spec)
{
    for (size_t i = 0; o->start && i < spec->dim; i++)
        for (size_t r = 0; r < o->tracks; r++)
            if (!isfinite(o->start[i * o->tracks + r]))
                return fail(GSV_BAD_INPUT,
                            "'%s' starts at %g in track %zu, but must be "
                            "finite",
                            spec->column[i], o->start[i * o->tracks + r],
                            r + 1);
    return 0;
}

int simulate_check(const gsv_simulate_options *o, const struct spec *spec)
{
    int status = check_times(o);
    return status ? status : check_start(o, spec);
}
