/* SPDX-License-Identifier: MIT */
/* The slowest relaxation times by Arnoldi iterations of minus the inverse
 * generator, whose largest eigenvalues they are. */
#ifndef PHYSICS_SPECTRUM_H
#define PHYSICS_SPECTRUM_H

#include "girsanov.h"

enum { RELAXATIONS = GSV_RELAXATIONS };

struct inverse {
    size_t n;
    const double *weight; /* (n) of the inner product */
    void *context;
    /* v (n) becomes minus the inverse generator of it, without the part that
     * does not decay. */
    void (*apply)(void *context, double *v);
};

/* Eigenvalues 1 / (r + i w) of the inverse: the times 1 / r and the angular
 * velocities w of the slowest modes, the slowest first; NaN where there are
 * fewer. start (n) is overwritten. */
int spectrum_find(const struct inverse *q, double *start,
                  double time[RELAXATIONS], double turn[RELAXATIONS]);

#endif
