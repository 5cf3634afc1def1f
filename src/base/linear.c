/* SPDX-License-Identifier: MIT */
/* Power series over a step so short that they end soon, then doublings:
 *
 *     Phi(2s) = Phi Phi,   Gamma(2s) = Gamma + Phi Gamma,
 *     Q(2s) = Q + Phi Q Phi'. */
#include "base/linear.h"

#include <math.h>
#include <string.h>

#include "base/fast.h"
#include "base/linalg.h"
#include "base/small.h"

/* |A| s <= SHORT: the terms of Q fall like (2 |A| s)^n / n!, and those below
 * TINY are left out. */
static const double SHORT = 0.25, TINY = 1e-18;
enum { MOST_DOUBLINGS = 60 };

size_t linear_scratch(size_t d)
{
    return 3 * d * d;
}

INLINE void product(size_t d, const double *A, bool A_transposed,
                    const double *B, bool B_transposed, double *restrict C)
{
    if (d > 3) linalg_product(d, d, d, A, A_transposed, B, B_transposed, C);
    else small_product(d, A, A_transposed, B, B_transposed, C);
}

INLINE void identity(size_t d, double scale, double *X)
{
    memset(X, 0, d * d * sizeof *X);
    for (size_t i = 0; i < d; i++)
        X[i * d + i] = scale;
}

/* The covariance of a chain of n integrals begins with term 2 n of its series.
 */
static int first_term(size_t d, const double *noise)
{
    int silent = 0;
    for (size_t i = 0; noise && i < d; i++)
        silent += noise[i] == 0.0;
    return 2 * (silent < LONGEST_CHAIN ? silent : LONGEST_CHAIN);
}

bool linear_plan(size_t d, const double *noise, double size, int *doublings,
                 int *terms)
{
    double term = 1.0;
    if (!(size < 1e6)) return false;
    *doublings = 1;
    while (size > SHORT * ldexp(1.0, *doublings) && *doublings < MOST_DOUBLINGS)
        ++*doublings;
    size = ldexp(size, -*doublings);
    for (*terms = 1; term > TINY; ++*terms)
        term *= 2.0 * size / *terms;
    *terms += first_term(d, noise);
    return true;
}

/* Phi = sum (A s)^n / n!, Gamma = sum A^n s^(n+1) / (n+1)!. */
INLINE void series_phi(size_t d, int terms, double s, const double *A,
                       double *Phi, double *Gamma, double *term, double *next)
{
    identity(d, 1.0, Phi);
    identity(d, s, Gamma);
    identity(d, 1.0, term);
    for (int n = 1; n < terms; n++) {
        product(d, A, false, term, false, next);
        for (size_t e = 0; e < d * d; e++) {
            term[e] = next[e] * s / n;
            Phi[e] += term[e];
            Gamma[e] += term[e] * s / (n + 1);
        }
    }
}

/* Q = sum X_n with X_0 = s G G', X_n = (A X_(n-1) + X_(n-1) A') s / (n+1). */
INLINE void series_Q(size_t d, int terms, double s, const double *A,
                     const double *noise, double *Q, double *term, double *next)
{
    identity(d, s, Q);
    for (size_t i = 0; noise && i < d; i++)
        Q[i * d + i] *= noise[i];
    memcpy(term, Q, d * d * sizeof *term);
    for (int n = 1; n < terms; n++) {
        product(d, A, false, term, false, next);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                term[i * d + j] =
                    (next[i * d + j] + next[j * d + i]) * s / (n + 1);
                Q[i * d + j] += term[i * d + j];
            }
    }
}

/* From s to 2s; X and Y are scratch. */
INLINE void doubled(size_t d, double *Phi, double *Gamma, double *Q, double *X,
                    double *Y)
{
    size_t dd = d * d;
    product(d, Phi, false, Q, false, X);
    product(d, X, false, Phi, true, Y);
    for (size_t e = 0; e < dd; e++)
        Q[e] += Y[e];
    product(d, Phi, false, Gamma, false, X);
    for (size_t e = 0; e < dd; e++)
        Gamma[e] += X[e];
    product(d, Phi, false, Phi, false, X);
    memcpy(Phi, X, dd * sizeof *Phi);
}

/* Small ones are unrolled: in a gap of a few points this takes as long as the
 * drift. */
INLINE bool transition(size_t d, double dt, const double *A,
                       const double *noise, double *Phi, double *Gamma,
                       double *Q, double *Phi_half, double *Gamma_half,
                       double *scratch)
{
    size_t dd = d * d;
    double *X = scratch, *Y = X + dd;
    int doublings, terms;
    if (!linear_plan(d, noise, small_norm(d, A) * dt, &doublings, &terms))
        return false;
    double s = ldexp(dt, -doublings);
    series_phi(d, terms, s, A, Phi, Gamma, X, Y);
    series_Q(d, terms, s, A, noise, Q, X, Y);
    for (int n = 1; n < doublings; n++)
        doubled(d, Phi, Gamma, Q, X, Y);
    memcpy(Phi_half, Phi, dd * sizeof *Phi);
    memcpy(Gamma_half, Gamma, dd * sizeof *Gamma);
    doubled(d, Phi, Gamma, Q, X, Y);
    for (size_t e = 0; e < dd; e++)
        if (!isfinite(Q[e]) || !isfinite(Phi[e])) return false;
    return true;
}

FAST bool linear_transition(size_t d, double dt, const double *A,
                            const double *noise, double *Phi, double *Gamma,
                            double *Q, double *Phi_half, double *Gamma_half,
                            double *scratch)
{
    switch (d) {
    case 1:
        return transition(1, dt, A, noise, Phi, Gamma, Q, Phi_half, Gamma_half,
                          scratch);
    case 2:
        return transition(2, dt, A, noise, Phi, Gamma, Q, Phi_half, Gamma_half,
                          scratch);
    case 3:
        return transition(3, dt, A, noise, Phi, Gamma, Q, Phi_half, Gamma_half,
                          scratch);
    default:
        return transition(d, dt, A, noise, Phi, Gamma, Q, Phi_half, Gamma_half,
                          scratch);
    }
}
