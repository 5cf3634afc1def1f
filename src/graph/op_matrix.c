/* SPDX-License-Identifier: MIT */
/* Products of matrices; op_solve.c has what needs a factorisation. A uniform
 * matrix times a point's vector is one small matrix product over all points of
 * the block; everything else goes point by point. */
#include <math.h>
#include <string.h>

#include "base/fast.h"
#include "base/linalg.h"
#include "graph/op_rows.h"

/* --- matmul: C = A B, (n, k) (k, m) ------------------------------------- */

/* C (n, Q) += A B with B (k, Q): strides ar and ac walk A by row and column,
 * so that A' is the same call with the strides exchanged. */
FAST static void gemm(size_t n, size_t k, size_t Q, const double *A, size_t ar,
                      size_t ac, const double *restrict B, double *restrict C)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        double *c0 = C + i * Q, *c1 = c0 + Q, *c2 = c1 + Q, *c3 = c2 + Q;
        for (size_t l = 0; l < k; l++) {
            const double *a = A + i * ar + l * ac, *b = B + l * Q;
            double a0 = a[0], a1 = a[ar], a2 = a[2 * ar], a3 = a[3 * ar];
#pragma omp simd
            for (size_t q = 0; q < Q; q++) {
                c0[q] += a0 * b[q];
                c1[q] += a1 * b[q];
                c2[q] += a2 * b[q];
                c3[q] += a3 * b[q];
            }
        }
    }
    for (; i < n; i++)
        for (size_t l = 0; l < k; l++) {
            double a0 = A[i * ar + l * ac];
#pragma omp simd
            for (size_t q = 0; q < Q; q++)
                C[i * Q + q] += a0 * B[l * Q + q];
        }
}

/* A (n, k) += C B' with C (n, Q), B (k, Q). */
FAST static void gemm_outer(size_t n, size_t k, size_t Q, const double *C,
                            const double *B, double *A)
{
    for (size_t i = 0; i < n; i++)
        for (size_t l = 0; l < k; l++) {
            double sum = 0.0;
#pragma omp simd reduction(+ : sum)
            for (size_t q = 0; q < Q; q++)
                sum += C[i * Q + q] * B[l * Q + q];
            A[i * k + l] += sum;
        }
}

/* z += x y point by point, where a step of 0 is one number for all points;
 * z with a step of 0 takes the sum over the points. */
FAST static void fma_points(size_t P, const double *x, size_t xs,
                            const double *y, size_t ys, double *z, size_t zs)
{
    if (zs && xs && ys) {
        for (size_t i = 0; i < P; i++)
            z[i] += x[i] * y[i];
        return;
    }
    for (size_t i = 0; i < P; i++)
        z[i * zs] += x[i * xs] * y[i * ys];
}

/* c_ij += a_il b_lj at every point, for one of the three as the unknown. */
static void product_points(const struct apply *a, size_t m, const double *A,
                           const double *B, double *C)
{
    size_t n = a->rows, k = a->columns, P = a->P;
    size_t as = a->in[0].step, bs = a->in[1].step;
    for (size_t i = 0; i < n; i++)
        for (size_t l = 0; l < k; l++)
            for (size_t j = 0; j < m; j++)
                fma_points(P, A + (i * k + l) * (as ? P : 1), as,
                           B + (l * m + j) * (bs ? P : 1), bs,
                           C + (i * m + j) * P, 1);
}

/* A matrix that is the same at all points, or a block of a single point. */
static bool one_matrix(const struct apply *a)
{
    return !a->in[0].step || a->P == 1;
}

void matmul_forward(const struct apply *a)
{
    size_t m = a->info->columns;
    memset(a->out.value, 0, a->out.size * a->P * sizeof(double));
    if (one_matrix(a) && a->in[1].step)
        gemm(a->rows, a->columns, m * a->P, a->in[0].value, a->columns, 1,
             a->in[1].value, a->out.value);
    else product_points(a, m, a->in[0].value, a->in[1].value, a->out.value);
}

static void matmul_vjp_points(const struct apply *a)
{
    size_t n = a->rows, k = a->columns, m = a->info->columns, P = a->P;
    size_t as = a->in[0].step, bs = a->in[1].step;
    for (size_t i = 0; i < n; i++)
        for (size_t l = 0; l < k; l++)
            for (size_t j = 0; j < m; j++) {
                size_t ia = (i * k + l) * (as ? P : 1);
                size_t ib = (l * m + j) * (bs ? P : 1);
                const double *bar = a->out.bar + (i * m + j) * P;
                if (a->in[0].bar)
                    fma_points(P, bar, 1, a->in[1].value + ib, bs,
                               a->in[0].bar + ia, as);
                if (a->in[1].bar)
                    fma_points(P, bar, 1, a->in[0].value + ia, as,
                               a->in[1].bar + ib, bs);
            }
}

void matmul_vjp(const struct apply *a)
{
    size_t n = a->rows, k = a->columns, Q = a->info->columns * a->P;
    if (!one_matrix(a) || !a->in[1].step) {
        matmul_vjp_points(a);
        return;
    }
    if (a->in[0].bar)
        gemm_outer(n, k, Q, a->out.bar, a->in[1].value, a->in[0].bar);
    if (a->in[1].bar)
        gemm(k, n, Q, a->in[0].value, 1, k, a->out.bar, a->in[1].bar);
}

void matmul_jvp(const struct apply *a)
{
    size_t m = a->info->columns;
    memset(a->out.dot, 0, a->out.size * a->P * sizeof(double));
    if (a->in[1].dot && one_matrix(a))
        gemm(a->rows, a->columns, m * a->P, a->in[0].value, a->columns, 1,
             a->in[1].dot, a->out.dot);
    else if (a->in[1].dot)
        product_points(a, m, a->in[0].value, a->in[1].dot, a->out.dot);
    if (a->in[0].dot)
        product_points(a, m, a->in[0].dot, a->in[1].value, a->out.dot);
}
