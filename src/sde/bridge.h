/* SPDX-License-Identifier: MIT */
/* Brownian bridges in unit-diffusion coordinates: K paths from y0 to y1 in M
 * steps of length dt, exact at the steps. They are walked from left to right,
 *
 *     Y_{m+1} = Y_m + (y1 - Y_m)/(M - m) + sqrt(dt (M-m-1)/(M-m)) z_m,
 *
 * so that a slice of the steps needs nothing but the place it starts from. */
#ifndef SDE_BRIDGE_H
#define SDE_BRIDGE_H

#include <stddef.h>

struct bridge {
    size_t d, M, K;
    double dt;
    const double *y0, *y1; /* (d) */
};

/* Steps [first, first + steps). The last step of all ends in y1 exactly and
 * takes no noise: its rows of z are not read. */
void bridge_walk(const struct bridge *b, size_t first, size_t steps,
                 const double *z, /* (steps, d, K) standard normals      */
                 double *at,      /* (d, K) where the paths are: updated */
                 double *Y,       /* (d, steps, K) left ends             */
                 double *dY);     /* (d, steps, K) increments            */

/* The bridge is linear in its ends: Y_m = y0 + (m/M)(y1 - y0) + noise. */
void bridge_vjp(const struct bridge *b, size_t first, size_t steps,
                const double *Y_bar,             /* (d, steps, K)          */
                const double *dY_bar,            /* (d, steps, K)          */
                double *y0_bar, double *y1_bar); /* (d) += */

#endif
