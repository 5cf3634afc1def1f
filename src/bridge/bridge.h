/* SPDX-License-Identifier: MIT */
/* Bridges of a reference between two ends, walked from left to right so that a
 * slice of the steps needs nothing but the place it starts from. A Brownian
 * bridge steps by
 *
 *     Y_{m+1} = Y_m + (y1 - Y_m)/(M - m) + sqrt(dt (M-m-1)/(M-m)) xi_m,
 *
 * one of a linear reference as reference.h says. Rows are coordinates, ld
 * apart; within a row steps, and within a step K paths. */
#ifndef BRIDGE_BRIDGE_H
#define BRIDGE_BRIDGE_H

#include "bridge/reference.h"

/* Steps [first, first + steps). The last step of all ends in y1 exactly and
 * takes no noise: its rows of xi are not read. */
void bridge_walk(const struct reference *r, const double *y1, size_t first,
                 size_t steps, size_t K,
                 const double *xi, /* (steps, d, K) standard normals      */
                 double *at,       /* (d, K) where the paths are: updated */
                 double *Y,        /* (d; steps, K) left ends             */
                 double *dY,       /* (d; steps, K) increments            */
                 size_t ld, double *scratch /* (d, K) */);

/* The sums over the paths that the backward walk needs, lambda (M + 1, d):
 * Y_m has Y_bar_m - dY_bar_m + dY_bar_(m-1). */
void bridge_gather(size_t d, size_t first, size_t steps, size_t K,
                   const double *Y_bar, const double *dY_bar, size_t ld,
                   double *lambda);

/* A path is linear in its ends and in the reference's c: from lambda to them.
 * scratch (2, d). */
void bridge_vjp(const struct reference *r, const double *lambda, double *y0_bar,
                double *y1_bar, struct reference_bar *bar, double *scratch);

#endif
