/* SPDX-License-Identifier: MIT */
/* Fixed points of the drift, f(x) = 0, by Newton steps from many starts. */
#ifndef PHYSICS_FIXED_H
#define PHYSICS_FIXED_H

#include "physics/scene.h"

enum { MOST_FIXED = 32 };

/* Points x (*count, dim), at most MOST_FIXED, in rising order of the first
 * state; *x is yours. They are searched between the
 * ends that the axes have for it. */
int fixed_find(const struct scene *c, double **x, size_t *count);

/* Moves x (dim) to a fixed point near it; NaN where none is found. */
int fixed_follow(const struct scene *c, double *x);

/* The eigenvalues (dim) of the Jacobian at x, the fastest decay first. */
int fixed_eigenvalues(const struct scene *c, const double *x, double *re,
                      double *im);

#endif
