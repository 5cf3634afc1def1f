/* SPDX-License-Identifier: MIT */
/* Small matrices on the vectors of many paths at once: a row of an array is
 * one coordinate of K neighbouring paths, and rows are ld apart. */
#ifndef BRIDGE_ROWS_H
#define BRIDGE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* y (d, K) = X x + c, or += where add is set. X is (d, d), or its transpose is
 * meant; c (d) may be NULL. y must not be x. */
void rows_times(size_t d, size_t K, const double *X, bool transposed,
                const double *x, size_t ldx, const double *c, bool add,
                double *y, size_t ldy);

/* s (K) += scale * sum over i of x_i y_i. */
void rows_dot(size_t d, size_t K, double scale, const double *x, size_t ldx,
              const double *y, size_t ldy, double *s);

/* y_i = w * (a x_i + b z_i), or += where add is set; w (K). y may be x or z. */
void rows_blend(size_t d, size_t K, const double *w, double a, const double *x,
                size_t ldx, double b, const double *z, size_t ldz, bool add,
                double *y, size_t ldy);

/* y (d) += scale * the sum of each row. */
void rows_sum(size_t d, size_t K, double scale, const double *x, size_t ldx,
              double *y);

/* One matrix (d, d): X becomes S^-1 X and S its Cholesky factor, false where S
 * is not positive definite; to = X'; X becomes (X + X') / 2. */
bool matrix_solve(size_t d, double *S, double *X);
void matrix_transpose(size_t d, const double *X, double *to);
void matrix_symmetrise(size_t d, double *X);

#endif
