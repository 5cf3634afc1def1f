/* SPDX-License-Identifier: MIT */
#include "bridge/matrix_batch.h"

#include <math.h>
#include <string.h>

#include "base/fast.h"
#include "base/linalg.h"
#include "base/linear.h"

/* Bodies are written once and compiled for every d: the inner loops over
 * elements vanish. */
#define FOR_EVERY_DIM(CALL)                                                    \
    switch (d) {                                                               \
    case 1: CALL(1); break;                                                    \
    case 2: CALL(2); break;                                                    \
    case 3: CALL(3); break;                                                    \
    default: CALL(4); break;                                                   \
    }

/* C = A B, or A B' . */
INLINE void product(size_t d, size_t n, const double *restrict A,
                    const double *restrict B, bool transposed,
                    double *restrict C)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double *restrict c = C + (i * d + j) * n;
#pragma omp simd
            for (size_t m = 0; m < n; m++) {
                double sum = 0.0;
                for (size_t k = 0; k < d; k++)
                    sum += A[(i * d + k) * n + m] *
                           B[(transposed ? j * d + k : k * d + j) * n + m];
                c[m] = sum;
            }
        }
}

INLINE void identity(size_t d, size_t n, const double *s, double *X)
{
    for (size_t e = 0; e < d * d; e++)
        for (size_t m = 0; m < n; m++)
            X[e * n + m] = e % (d + 1) ? 0.0 : s ? s[m] : 1.0;
}

/* --- Transitions -------------------------------------------------------- */

INLINE void series(size_t d, size_t n, int terms, const double *s,
                   const double *A, const double *noise, double *Phi,
                   double *Gamma, double *Q, double *term, double *next)
{
    size_t dd = d * d;
    identity(d, n, NULL, Phi);
    identity(d, n, s, Gamma);
    identity(d, n, s, Q);
    for (size_t i = 0; noise && i < d; i++)
        for (size_t m = 0; m < n; m++)
            Q[i * (d + 1) * n + m] *= noise[i];
    identity(d, n, NULL, term);
    for (int k = 1; k < terms; k++) {
        product(d, n, A, term, false, next);
        for (size_t e = 0; e < dd; e++) {
#pragma omp simd
            for (size_t m = 0; m < n; m++) {
                size_t at = e * n + m;
                double x = next[at] * s[m] / k;
                term[at] = x;
                Phi[at] += x;
                Gamma[at] += x * s[m] / (k + 1);
            }
        }
    }
    memcpy(term, Q, dd * n * sizeof *term);
    for (int k = 1; k < terms; k++) {
        product(d, n, A, term, false, next);
        for (size_t e = 0; e < dd; e++) {
            size_t transposed = e % d * d + e / d;
#pragma omp simd
            for (size_t m = 0; m < n; m++) {
                double x = (next[e * n + m] + next[transposed * n + m]) * s[m] /
                           (k + 1);
                term[e * n + m] = x;
                Q[e * n + m] += x;
            }
        }
    }
}

INLINE void doubled(size_t d, size_t n, double *Phi, double *Gamma, double *Q,
                    double *X, double *Y)
{
    size_t all = d * d * n;
    product(d, n, Phi, Q, false, X);
    product(d, n, X, Phi, true, Y);
    for (size_t e = 0; e < all; e++)
        Q[e] += Y[e];
    product(d, n, Phi, Gamma, false, X);
    for (size_t e = 0; e < all; e++)
        Gamma[e] += X[e];
    product(d, n, Phi, Phi, false, X);
    memcpy(Phi, X, all * sizeof *Phi);
}

/* The largest |A| dt, by the sums of rows: all gaps take the doublings and
 * terms of the one that needs most of them. */
INLINE double largest(size_t d, size_t n, const double *dt, const double *A)
{
    double most = 0.0;
    for (size_t i = 0; i < d; i++)
        for (size_t m = 0; m < n; m++) {
            double row = 0.0;
            for (size_t j = 0; j < d; j++)
                row += fabs(A[(i * d + j) * n + m]) * dt[m];
            if (!(row <= most)) most = row;
        }
    return most;
}

INLINE void transition(size_t d, size_t n, int doublings, int terms,
                       const double *A, const double *noise, double *Phi,
                       double *Gamma, double *Q, double *Phi_half,
                       double *Gamma_half, double *scratch)
{
    size_t all = d * d * n;
    double *X = scratch, *Y = X + all, *s = Y + all;
    series(d, n, terms, s, A, noise, Phi, Gamma, Q, X, Y);
    for (int k = 1; k < doublings; k++)
        doubled(d, n, Phi, Gamma, Q, X, Y);
    memcpy(Phi_half, Phi, all * sizeof *Phi);
    memcpy(Gamma_half, Gamma, all * sizeof *Gamma);
    doubled(d, n, Phi, Gamma, Q, X, Y);
}

FAST bool batch_transition(size_t d, size_t n, const double *dt,
                           const double *A, const double *noise, double *Phi,
                           double *Gamma, double *Q, double *Phi_half,
                           double *Gamma_half, double *scratch)
{
    double *s = scratch + 2 * d * d * n;
    int doublings, terms;
    if (!linear_plan(d, noise, largest(d, n, dt, A), &doublings, &terms))
        return false;
    for (size_t m = 0; m < n; m++)
        s[m] = ldexp(dt[m], -doublings);
#define CALL(D)                                                                \
    transition(D, n, doublings, terms, A, noise, Phi, Gamma, Q, Phi_half,      \
               Gamma_half, scratch)
    FOR_EVERY_DIM(CALL)
#undef CALL
    return all_finite(d * d * n, Q) && all_finite(d * d * n, Phi);
}

/* --- Vectors ------------------------------------------------------------ */

INLINE void times(size_t d, size_t n, const double *restrict X, bool transposed,
                  const double *restrict x, bool add, double *restrict y)
{
    for (size_t i = 0; i < d; i++) {
#pragma omp simd
        for (size_t m = 0; m < n; m++) {
            double sum = add ? y[i * n + m] : 0.0;
            for (size_t j = 0; j < d; j++)
                sum += X[(transposed ? j * d + i : i * d + j) * n + m] *
                       x[j * n + m];
            y[i * n + m] = sum;
        }
    }
}

FAST void batch_times(size_t d, size_t n, const double *X, bool transposed,
                      const double *x, bool add, double *y){
#define CALL(D) times(D, n, X, transposed, x, add, y)
    FOR_EVERY_DIM(CALL)
#undef CALL
}

/* --- Cholesky ----------------------------------------------------------- */

/* What is not positive becomes NaN under the root, and stays. */
INLINE void cholesky(size_t d, size_t n, double *Q)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            for (size_t m = 0; m < n; m++) {
                double sum = Q[(i * d + j) * n + m];
                for (size_t k = 0; k < j; k++)
                    sum -= Q[(i * d + k) * n + m] * Q[(j * d + k) * n + m];
                Q[(i * d + j) * n + m] =
                    i == j ? sqrt(sum) : sum / Q[(j * d + j) * n + m];
            }
        }
}

FAST bool batch_cholesky(size_t d, size_t n, double *Q)
{
    bool positive = true;
#define CALL(D) cholesky(D, n, Q)
    FOR_EVERY_DIM(CALL)
#undef CALL
    for (size_t i = 0; i < d; i++)
        for (size_t m = 0; m < n; m++) {
            double root = Q[(i * d + i) * n + m];
            positive = positive && root > 0.0 && root < INFINITY;
        }
    return positive;
}

INLINE void solve(size_t d, size_t n, const double *L, bool transposed,
                  double *x)
{
    for (size_t s = 0; s < d; s++) {
        size_t i = transposed ? d - 1 - s : s;
#pragma omp simd
        for (size_t m = 0; m < n; m++) {
            double sum = x[i * n + m];
            for (size_t r = 0; r < s; r++) {
                size_t j = transposed ? d - 1 - r : r;
                sum -= L[(transposed ? j * d + i : i * d + j) * n + m] *
                       x[j * n + m];
            }
            x[i * n + m] = sum / L[(i * d + i) * n + m];
        }
    }
}

FAST void batch_solve(size_t d, size_t n, const double *L, bool transposed,
                      double *x)
{
#define CALL(D) solve(D, n, L, transposed, x)
    FOR_EVERY_DIM(CALL)
#undef CALL
}
