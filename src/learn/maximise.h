/* SPDX-License-Identifier: MIT */
/* The maximum of a smooth function by L-BFGS: all that is known here of
 * liblbfgs. */
#ifndef LEARN_MAXIMISE_H
#define LEARN_MAXIMISE_H

#include <stdbool.h>
#include <stddef.h>

struct maximise {
    void *context;
    /* The value and its gradient at x, or a status. Where GSV_NUMERICAL comes
     * after the first point, shorter steps are tried; GSV_STOPPED ends it, at
     * the best point. */
    int (*at)(void *context, const double *x, double *value, double *gradient);
    /* After every iteration, with the x that it reached: true ends it. */
    bool (*step)(void *context, const double *x, double value);
    size_t iterations; /* at most                                          */
    double tolerance;  /* ends where three iterations gain less than this  */
};

enum maximise_end {
    MAXIMISE_CONVERGED,
    MAXIMISE_STUCK, /* no step gains: at the top, or value and gradient differ
                     */
    MAXIMISE_ITERATIONS,
    MAXIMISE_STOPPED /* by step(), or by GSV_STOPPED */
};

/* From x (n) on, which is moved to the best point. */
int maximise(const struct maximise *job, size_t n, double *x, double *value,
             enum maximise_end *end);

#endif
