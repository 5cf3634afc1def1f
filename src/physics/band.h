/* SPDX-License-Identifier: MIT */
/* Square matrices whose elements are near the diagonal, and their triangular
 * factors with row exchanges. No BLAS: several threads may solve at once. */
#ifndef PHYSICS_BAND_H
#define PHYSICS_BAND_H

#include <stdbool.h>
#include <stddef.h>

struct band {
    size_t n, reach; /* rows; elements on each side of the diagonal */
    double *A;       /* (n, 3 reach + 1): row i from column i - reach on */
    size_t *pivot;   /* (n) */
};

/* All zeros. Free in any case. */
int band_init(struct band *b, size_t n, size_t reach);
void band_free(struct band *b);
void band_clear(struct band *b);

/* Element (i, j), |i - j| <= reach. */
double *band_at(const struct band *b, size_t i, size_t j);

/* Row i becomes that of the identity. */
void band_pin(struct band *b, size_t i);

/* A becomes its factors: 0; GSV_NUMERICAL where it is singular, GSV_STOPPED. */
int band_factor(struct band *b);

/* x (n) becomes A^-1 x. */
void band_solve(const struct band *b, double *x);

#endif
