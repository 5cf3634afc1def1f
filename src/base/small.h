/* SPDX-License-Identifier: MIT */
/* Products of small matrices, row by row. */
#ifndef BASE_SMALL_H
#define BASE_SMALL_H

#include <math.h>

#include "base/fast.h"
#include "base/linalg.h"

/* Above this size a call of BLAS is faster. */
enum { SMALL = 8 };

/* C = A B, A' B or A B', all (d, d); C is none of the others. */
INLINE void small_product(size_t d, const double *A, bool A_transposed,
                          const double *B, bool B_transposed,
                          double *restrict C)
{
    if (d > SMALL) {
        linalg_product(d, d, d, A, A_transposed, B, B_transposed, C);
        return;
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0.0;
            for (size_t l = 0; l < d; l++)
                sum += A[A_transposed ? l * d + i : i * d + l] *
                       B[B_transposed ? j * d + l : l * d + j];
            C[i * d + j] = sum;
        }
}

/* y += scale A x, or of A'. */
INLINE void small_add(size_t d, double scale, const double *A, bool transposed,
                      const double *x, double *restrict y)
{
    for (size_t i = 0; i < d; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < d; j++)
            sum += A[transposed ? j * d + i : i * d + j] * x[j];
        y[i] += scale * sum;
    }
}

/* M += scale x y'. */
INLINE void small_outer(size_t d, double scale, const double *x,
                        const double *y, double *restrict M)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            M[i * d + j] += scale * x[i] * y[j];
}

INLINE double small_dot(size_t n, const double *x, const double *y)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* The largest sum of a row's magnitudes. */
INLINE double small_norm(size_t d, const double *A)
{
    double most = 0.0;
    for (size_t i = 0; i < d; i++) {
        double row = 0.0;
        for (size_t j = 0; j < d; j++)
            row += fabs(A[i * d + j]);
        if (!(row <= most)) most = row;
    }
    return most;
}

/* M = (M + M') / 2. */
INLINE void small_symmetric(size_t d, double *M)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            M[i * d + j] = M[j * d + i] = 0.5 * (M[i * d + j] + M[j * d + i]);
}

#endif
