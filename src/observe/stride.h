/* SPDX-License-Identifier: MIT */
/* Small matrices side by side: element (i, j) of matrix p of n stands at
 * [(i * d + j) * n + p], so that one loop runs over all of them. */
#ifndef OBSERVE_STRIDE_H
#define OBSERVE_STRIDE_H

#include <stdbool.h>
#include <stddef.h>

/* C = A B (transposed where said), or C += A B. C is neither A nor B. */
void stride_product(size_t d, size_t n, const double *A, bool transposed_A,
                    const double *B, bool transposed_B, double *C, bool add);

/* y = A x or A' x, or y += it: vectors (d, n). */
void stride_apply(size_t d, size_t n, const double *A, bool transposed,
                  const double *x, double *y, bool add);

/* The linear equation dY = (f + A (Y - y) + g t) dt + dW over a time h, from
 * y: Y ~ N(y + Gamma f + Psi g, Q) with
 *
 *     Phi = e^(A h),  Gamma = int Phi,  Psi = int Gamma,  Q = int Phi Phi'.
 *
 * By Taylor's series over h / 2^k, then doubled k times. */
struct stride {
    size_t d, n;      /* of the matrices at hand               */
    size_t doublings; /* k, the same for all of them           */
    double h;         /* of the shortest step, h / 2^k         */
    double *level;    /* (k + 1; Phi, Gamma, Psi, Q) at 2^i h  */
    double *work;
    size_t capacity; /* of matrices                           */
};

/* Levels are kept up to so many doublings. A slope that would need more makes
 * the step fail. */
enum { STRIDE_DOUBLINGS = 24 };

/* Numbers of memory that level and work need for n matrices. */
size_t stride_size(size_t d, size_t n);
void stride_place(struct stride *s, size_t d, size_t n, double *memory);

/* false where a matrix is not finite or far too large: then nothing is set. */
bool stride_run(struct stride *s, size_t n, double h, const double *A);
const double *stride_Gamma(const struct stride *s);
const double *stride_Psi(const struct stride *s);
const double *stride_Q(const struct stride *s);

/* After it: from the bars of Gamma, Psi and Q, which are used up, to A_bar,
 * which is set. */
void stride_vjp(struct stride *s, const double *A, double *Gamma_bar,
                double *Psi_bar, double *Q_bar, double *A_bar);

/* Lower factors L of symmetric Q, in their place, and log |L|; the upper parts
 * are not touched. What is not positive definite gets log |L| = NaN. */
void stride_cholesky(size_t d, size_t n, double *Q, double *log_det);

/* C = M' M of lower M: with M = L^-1 it is (L L')^-1. */
void stride_product_lower(size_t d, size_t n, const double *M, double *C);

/* Inverses of lower factors, in their place. */
void stride_invert_lower(size_t d, size_t n, double *L);

#endif
