/* SPDX-License-Identifier: MIT */
/* The gradient of the sum over tracks of a function of the parameters, by
 * differences to both sides. Sides and tracks go to ranks and threads. */
#ifndef GUIDED_DIFFERENCE_H
#define GUIDED_DIFFERENCE_H

#include "base/comm.h"
#include "model/model.h"

struct difference {
    const gsv_model *model;
    gsv_ranks *ranks; /* NULL: alone */
    size_t tracks, threads;
    void *user;
    /* The value of a track at these parameters, in this thread. */
    int (*value)(void *user, size_t thread, const double *parameters,
                 size_t track, double *value);
};

/* Sets gradient (values): 0 for numbers that are not learned. */
int difference_gradient(const struct difference *d, double *gradient);

#endif
