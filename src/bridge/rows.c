/* SPDX-License-Identifier: MIT */
#include "bridge/rows.h"

#include "base/fast.h"
#include "base/linalg.h"

/* n columns of X at once, so that y is loaded and stored once for all of them;
 * n is known where this is called. */
INLINE void add_columns(size_t n, size_t K, const double *by,
                        const double *restrict x, size_t ldx,
                        double *restrict y)
{
#pragma omp simd
    for (size_t k = 0; k < K; k++) {
        double sum = y[k];
        for (size_t j = 0; j < n; j++)
            sum += by[j] * x[j * ldx + k];
        y[k] = sum;
    }
}

/* One path: nothing to vectorise. */
INLINE void times_one(size_t d, const double *X, bool transposed,
                      const double *x, size_t ldx, const double *c, bool add,
                      double *y, size_t ldy)
{
    for (size_t i = 0; i < d; i++) {
        double sum = add ? y[i * ldy] : c ? c[i] : 0.0;
        for (size_t j = 0; j < d; j++)
            sum += (transposed ? X[j * d + i] : X[i * d + j]) * x[j * ldx];
        y[i * ldy] = sum;
    }
}

FAST void rows_times(size_t d, size_t K, const double *X, bool transposed,
                     const double *x, size_t ldx, const double *c, bool add,
                     double *y, size_t ldy)
{
    if (K == 1 && d == 3) {
        times_one(3, X, transposed, x, ldx, c, add, y, ldy);
        return;
    }
    if (K == 1) {
        times_one(d, X, transposed, x, ldx, c, add, y, ldy);
        return;
    }
    for (size_t i = 0; i < d; i++) {
        double *to = y + i * ldy, start = c ? c[i] : 0.0;
        for (size_t k = 0; !add && k < K; k++)
            to[k] = start;
        for (size_t j = 0; j < d; j += 4) {
            size_t n = d - j < 4 ? d - j : 4;
            double by[4] = {0.0};
            for (size_t l = 0; l < n; l++)
                by[l] = transposed ? X[(j + l) * d + i] : X[i * d + j + l];
            const double *from = x + j * ldx;
            if (n == 1) add_columns(1, K, by, from, ldx, to);
            else if (n == 2) add_columns(2, K, by, from, ldx, to);
            else if (n == 3) add_columns(3, K, by, from, ldx, to);
            else add_columns(4, K, by, from, ldx, to);
        }
    }
}

FAST void rows_dot(size_t d, size_t K, double scale, const double *x,
                   size_t ldx, const double *y, size_t ldy, double *restrict s)
{
    for (size_t i = 0; i < d; i++) {
        const double *restrict a = x + i * ldx, *restrict b = y + i * ldy;
#pragma omp simd
        for (size_t k = 0; k < K; k++)
            s[k] += scale * a[k] * b[k];
    }
}

FAST void rows_blend(size_t d, size_t K, const double *w, double a,
                     const double *x, size_t ldx, double b, const double *z,
                     size_t ldz, bool add, double *y, size_t ldy)
{
    for (size_t i = 0; i < d; i++) {
        const double *p = x + i * ldx, *q = z + i * ldz;
        double *to = y + i * ldy;
        if (add) {
#pragma omp simd
            for (size_t k = 0; k < K; k++)
                to[k] += w[k] * (a * p[k] + b * q[k]);
        } else {
#pragma omp simd
            for (size_t k = 0; k < K; k++)
                to[k] = w[k] * (a * p[k] + b * q[k]);
        }
    }
}

FAST void rows_sum(size_t d, size_t K, double scale, const double *x,
                   size_t ldx, double *y)
{
    for (size_t i = 0; i < d; i++) {
        const double *row = x + i * ldx;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = 0; k < K; k++)
            sum += row[k];
        y[i] += scale * sum;
    }
}

bool matrix_solve(size_t d, double *S, double *X)
{
    if (!linalg_cholesky(d, S)) return false;
    linalg_lower_solve(d, d, S, false, X);
    linalg_lower_solve(d, d, S, true, X);
    return true;
}

void matrix_transpose(size_t d, const double *X, double *to)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            to[i * d + j] = X[j * d + i];
}

void matrix_symmetrise(size_t d, double *X)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            X[i * d + j] = X[j * d + i] = 0.5 * (X[i * d + j] + X[j * d + i]);
}
