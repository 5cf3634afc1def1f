/* SPDX-License-Identifier: MIT */
/* The small matrices of many gaps at once: element e of gap i stands at
 * [e n + i], so that every loop over gaps is a loop over vectors. For at most
 * MANY_DIM dimensions, beyond which a matrix is work enough by itself. */
#ifndef BRIDGE_MANY_H
#define BRIDGE_MANY_H

#include <stdbool.h>
#include <stddef.h>

enum { MANY_DIM = 4 };

/* The matrices of linear.h, for A (d, d, n) and steps dt (n). scratch is
 * (2, d, d, n) and (n). Where false comes, some gap's are not finite. */
bool many_transition(size_t d, size_t n, const double *dt, const double *A,
                     double *Phi, double *Gamma, double *Q, double *Phi_half,
                     double *Gamma_half, double *scratch);

/* y (d, n) = X x, or += where add is set; transposed: X' x. */
void many_times(size_t d, size_t n, const double *X, bool transposed,
                const double *x, bool add, double *y);

/* Q = L L' in place, the lower half; false where one is not positive. */
bool many_cholesky(size_t d, size_t n, double *Q);

/* x (d, n) becomes L^-1 x, or L'^-1 x. */
void many_solve(size_t d, size_t n, const double *L, bool transposed,
                double *x);

#endif
