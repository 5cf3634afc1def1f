/* SPDX-License-Identifier: MIT */
/* The small matrices of a batch of n gaps side by side: element e of gap i is
 * at [e n + i], and every loop over gaps runs over neighbouring numbers. For at
 * most BATCH_DIM dimensions; larger matrices are computed one by one. */
#ifndef BRIDGE_MATRIX_BATCH_H
#define BRIDGE_MATRIX_BATCH_H

#include <stdbool.h>
#include <stddef.h>

enum { BATCH_DIM = 4 };

/* The matrices of linear.h, for A (d, d, n) and steps dt (n). scratch is
 * (2, d, d, n) and (n). False where a matrix is not finite. */
bool batch_transition(size_t d, size_t n, const double *dt, const double *A,
                      const double *noise, double *Phi, double *Gamma,
                      double *Q, double *Phi_half, double *Gamma_half,
                      double *scratch);

/* y (d, n) = X x, or += where add is set; transposed: X' x. */
void batch_times(size_t d, size_t n, const double *X, bool transposed,
                 const double *x, bool add, double *y);

/* Q = L L' in place, the lower half; false where one is not positive. */
bool batch_cholesky(size_t d, size_t n, double *Q);

/* x (d, n) becomes L^-1 x, or L'^-1 x. */
void batch_solve(size_t d, size_t n, const double *L, bool transposed,
                 double *x);

#endif
