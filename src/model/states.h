/* SPDX-License-Identifier: MIT */
/* What an estimator of hidden states says about the states themselves, for
 * forecasts, residuals and paths: `filter` and `paths` of struct method. */
#ifndef MODEL_STATES_H
#define MODEL_STATES_H

#include "model/method.h"

/* The law of the states in a row given the data up to that row: points in the
 * data's coordinates, with weights. */
struct state_law {
    size_t track, row;
    double time;
    size_t points, stride;
    const double *x;          /* (dim, stride)                              */
    const double *log_weight; /* (points) up to a constant; NULL: all equal */
};

/* Receives n rows in their order. They are valid until it returns. */
struct filter_visitor {
    void *user;
    int (*visit)(void *user, size_t n, const struct state_law *law);
};

/* Points at a stop (observe/observe.h) of which a path takes one, given all
 * data. The points of the stop before are columns of the same x. */
struct path_stop {
    size_t stop;
    size_t points, first;  /* columns [first, first + points) of x     */
    size_t before, origin; /* the same of the stop before; 0: none     */
    const double *x;       /* (dim, stride)                            */
    size_t stride;
    const double *weight; /* (points) posterior weights, whose sum is 1 */
    double ess;           /* their effective number                     */
    /* log P(point i at the stop before | point j here, data), up to a
     * constant, to log_weight (before). */
    void (*backward)(const struct path_stop *s, size_t j, double *log_weight);
    const void *machine; /* for backward() */
    size_t pairs;        /* for backward() */
};

/* Receives the stops of each track from the last to the first. */
struct path_visitor {
    void *user;
    int (*visit)(void *user, const struct path_stop *s);
};

#endif
