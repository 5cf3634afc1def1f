/* SPDX-License-Identifier: MIT */
#include "guided/gauss_step.h"

#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/linalg.h"
#include "guided/ahead.h"

/* The most states with integrals, or noises: as gsv_check_likelihood(). */
enum { MOST = 64 };

static size_t wider(const struct gauss_step *s)
{
    return s->D > s->m ? s->D : s->m;
}

/* C (n, p) = A (n, k) B (k, p), small ones. */
static void product(size_t n, size_t k, size_t p, const double *A,
                    const double *B, double *C)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++) {
            double sum = 0.0;
            for (size_t l = 0; l < k; l++)
                sum += A[i * k + l] * B[l * p + j];
            C[i * p + j] = sum;
        }
}

/* C (n, p) = A' B of A (k, n) and B (k, p). */
static void product_t(size_t n, size_t k, size_t p, const double *A,
                      const double *B, double *C)
{
    memset(C, 0, n * p * sizeof *C);
    for (size_t l = 0; l < k; l++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < p; j++)
                C[i * p + j] += A[l * n + i] * B[l * p + j];
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void gauss_square(size_t D, size_t m, const double *B, double *S)
{
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j <= i; j++)
            S[i * D + j] = S[j * D + i] = dot(m, B + i * m, B + j * m);
}

/* A = L L' in place, a small one; false where it is not positive. */
static bool factor(size_t n, double *A)
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double sum = A[i * n + j] - dot(j, A + i * n, A + j * n);
            if (i > j) A[i * n + j] = sum / A[j * (n + 1)];
            else if (!(sum > 0.0) || !isfinite(sum)) return false;
            else A[i * n + j] = sqrt(sum);
        }
    return true;
}

/* x = L^-1 x; x = L'^-1 x. */
static void solve(size_t n, const double *L, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - dot(i, L + i * n, x)) / L[i * (n + 1)];
}

static void solve_t(size_t n, const double *L, double *x)
{
    for (size_t i = n; i-- > 0;) {
        x[i] /= L[i * (n + 1)];
        for (size_t j = 0; j < i; j++)
            x[j] -= L[i * n + j] * x[i];
    }
}

static double log_det(size_t n, const double *L)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += log(L[i * (n + 1)]);
    return sum;
}

void gauss_make_positive(size_t D, double *H, double *small)
{
    double value[MOST], *V = small, *room = small + D * D;
    bool zero = true;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j <= i; j++) {
            double mean = 0.5 * (H[i * D + j] + H[j * D + i]);
            H[i * D + j] = H[j * D + i] = mean;
            zero = zero && mean == 0.0;
        }
    if (zero) return;
    memcpy(V, H, D * D * sizeof *V);
    if (!linalg_eigen(D, V, value, room)) value[0] = NAN;
    if (value[0] >= 0.0) return;
    memset(H, 0, D * D * sizeof *H);
    for (size_t k = 0; k < D; k++)
        for (size_t i = 0; value[k] > 0.0 && i < D; i++)
            for (size_t j = 0; j < D; j++)
                H[i * D + j] += value[k] * V[k * D + i] * V[k * D + j];
}

void gauss_predict(const struct gauss_step *s, const double *off, double *mean,
                   double *cov)
{
    size_t D = s->D, m = s->m;
    double *T = s->small;
    for (size_t i = 0; i < D; i++)
        mean[i] = s->a[i] + (off ? dot(D, s->A + i * D, off) : 0.0);
    product(D, D, D, s->A, cov, T);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j <= i; j++)
            cov[i * D + j] = cov[j * D + i] =
                dot(D, T + i * D, s->A + j * D) +
                dot(m, s->B + i * m, s->B + j * m);
}

/* --- Observations --------------------------------------------------------- */

/* P+ = (I + P H)^-1 P to small + D D, from its factors in small; log det of
 * I + P H. */
static bool posterior(size_t D, const double *H, const double *cov,
                      double *small, double *log_det_of)
{
    double *LU = small, *P = small + D * D;
    int pivot[MOST];
    product(D, D, D, cov, H, LU);
    for (size_t i = 0; i < D; i++)
        LU[i * (D + 1)] += 1.0;
    memcpy(P, cov, D * D * sizeof *P);
    if (!linalg_lu(D, LU, pivot)) return false;
    linalg_lu_solve(D, D, LU, pivot, false, P);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < i; j++)
            P[i * D + j] = P[j * D + i] = 0.5 * (P[i * D + j] + P[j * D + i]);
    *log_det_of = linalg_lu_logdet(D, LU);
    return isfinite(*log_det_of);
}

bool gauss_pull(size_t D, const double *mu, const double *g, const double *H,
                const double *mean, const double *cov, double *pull,
                double *small)
{
    int pivot[MOST];
    double *LU = small, *v = small + D * D;
    for (size_t i = 0; i < D; i++)
        v[i] = mean[i] - mu[i];
    for (size_t i = 0; i < D; i++)
        pull[i] = g[i] - dot(D, H + i * D, v);
    product(D, D, D, H, cov, LU);
    for (size_t i = 0; i < D; i++)
        LU[i * (D + 1)] += 1.0;
    if (!linalg_lu(D, LU, pivot)) return false;
    linalg_lu_solve(D, 1, LU, pivot, false, pull);
    return all_finite(D, pull);
}

bool gauss_observe(size_t D, const double *mu, double l, const double *g,
                   const double *H, double *mean, double *cov, double *gain,
                   double *small)
{
    double log_det_of, *P = small + D * D, *v = small + 2 * D * D;
    double *slope = v + D, *move = slope + D;
    if (!posterior(D, H, cov, small, &log_det_of)) return false;
    for (size_t i = 0; i < D; i++)
        v[i] = mean[i] - mu[i];
    for (size_t i = 0; i < D; i++)
        slope[i] = g[i] - dot(D, H + i * D, v);
    for (size_t i = 0; i < D; i++)
        move[i] = dot(D, P + i * D, slope);
    *gain = l - 0.5 * log_det_of + 0.5 * dot(D, slope, move);
    for (size_t i = 0; i < D; i++)
        *gain += v[i] * (g[i] - 0.5 * dot(D, H + i * D, v));
    for (size_t i = 0; i < D; i++)
        mean[i] += move[i];
    memcpy(cov, P, D * D * sizeof *P);
    return true;
}

/* --- Exact states --------------------------------------------------------- */

/* Elements that are exact, to index; their number. */
static size_t exact_elements(size_t d, const double *exact, size_t *index)
{
    size_t n = 0;
    for (size_t i = 0; i < d; i++)
        if (!isnan(exact[i])) index[n++] = i;
    return n;
}

/* L of the covariance S (n, n), and |L^-1 r|^2 etc.: log N(r; 0, S). r becomes
 * S^-1 r. */
static bool density(size_t n, double *S, double *r, double *gain)
{
    if (!factor(n, S)) return false;
    solve(n, S, r);
    *gain = -0.5 * dot(n, r, r) - log_det(n, S) - 0.5 * (double)n * LOG_TWO_PI;
    solve_t(n, S, r);
    return true;
}

bool gauss_pin(size_t D, size_t d, const double *exact, double *mean,
               double *cov, double *gain, double *small)
{
    size_t index[MOST], n = exact_elements(d, exact, index);
    double *S = small, *r = S + n * n, *K = r + n;
    for (size_t i = 0; i < n; i++) {
        r[i] = exact[index[i]] - mean[index[i]];
        for (size_t j = 0; j < n; j++)
            S[i * n + j] = cov[index[i] * D + index[j]];
    }
    if (!density(n, S, r, gain)) return false;
    for (size_t i = 0; i < D; i++) {
        double *row = K + i * n;
        for (size_t j = 0; j < n; j++)
            row[j] = cov[i * D + index[j]];
        mean[i] += dot(n, row, r);
        solve(n, S, row);
    }
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            cov[i * D + j] -= dot(n, K + i * n, K + j * n);
    for (size_t k = 0; k < n; k++) {
        mean[index[k]] = exact[index[k]];
        for (size_t j = 0; j < D; j++)
            cov[index[k] * D + j] = cov[j * D + index[k]] = 0.0;
    }
    return true;
}

/* K = B B_E' S^-1 (D, n); S is factored. */
static void gain_of(const struct gauss_step *s, size_t n, const size_t *index,
                    const double *S, double *K)
{
    for (size_t i = 0; i < s->D; i++) {
        for (size_t j = 0; j < n; j++)
            K[i * n + j] = dot(s->m, s->B + i * s->m, s->B + index[j] * s->m);
        solve(n, S, K + i * n);
        solve_t(n, S, K + i * n);
    }
}

/* X -= K X_E, of X (D, p). */
static void project(size_t D, size_t p, size_t n, const size_t *index,
                    const double *K, double *X, double *rows)
{
    for (size_t j = 0; j < n; j++)
        memcpy(rows + j * p, X + index[j] * p, p * sizeof *X);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t c = 0; c < p; c++)
                X[i * p + c] -= K[i * n + j] * rows[j * p + c];
}

/* As gauss_given(), with S^-1 r to r and the factor of S to S. */
static bool given(struct gauss_step *s, size_t n, const size_t *index,
                  const double *exact, double *gain, double *S, double *r)
{
    size_t w = wider(s);
    double *K = s->small + 2 * w * w, *rows = K + w * w, residual[MOST];
    for (size_t i = 0; i < n; i++) {
        residual[i] = r[i] = exact[index[i]] - s->a[index[i]];
        for (size_t j = 0; j < n; j++)
            S[i * n + j] =
                dot(s->m, s->B + index[i] * s->m, s->B + index[j] * s->m);
    }
    if (!density(n, S, r, gain)) return false;
    gain_of(s, n, index, S, K);
    for (size_t i = 0; i < s->D; i++)
        s->a[i] += dot(n, K + i * n, residual);
    for (size_t k = 0; k < n; k++)
        s->a[index[k]] = exact[index[k]];
    project(s->D, s->m, n, index, K, s->B, rows);
    for (size_t k = 0; k < n; k++)
        memset(s->B + index[k] * s->m, 0, s->m * sizeof *s->B);
    return true;
}

bool gauss_given(struct gauss_step *s, size_t d, const double *exact,
                 double *gain)
{
    size_t index[MOST], n = exact_elements(d, exact, index), w = wider(s);
    double r[MOST];
    return given(s, n, index, exact, gain, s->small + w * w, r);
}

/* --- Guided steps --------------------------------------------------------- */

/* L of M = I + B' Lambda B to L, and B'(e - Lambda u) to w, u = a - mu. */
static bool guide(const struct gauss_step *s, const struct psi *next, double *L,
                  double *w, double *slope)
{
    size_t D = s->D, m = s->m;
    double *T = L + wider(s) * wider(s);
    product(D, D, m, next->Lambda, s->B, T);
    product_t(m, D, m, s->B, T, L);
    for (size_t i = 0; i < m; i++)
        L[i * (m + 1)] += 1.0;
    for (size_t i = 0; i < D; i++) {
        slope[i] = next->e[i];
        for (size_t j = 0; j < D; j++)
            slope[i] -= next->Lambda[i * D + j] * (s->a[j] - next->mu[j]);
    }
    product_t(m, D, 1, s->B, slope, w);
    return factor(m, L);
}

double gauss_mean(const struct gauss_step *s, const struct psi *next,
                  double *mean)
{
    double w[MOST], slope[MOST], *L = s->small;
    memmove(mean, s->a, s->D * sizeof *mean);
    if (!guide(s, next, L, w, slope)) return 0.0;
    solve(s->m, L, w);
    solve_t(s->m, L, w);
    for (size_t i = 0; i < s->D; i++)
        mean[i] += dot(s->m, s->B + i * s->m, w);
    return dot(s->m, w, w);
}

/* Adds A_E' S^-1 A_E to Lambda and A_E' S^-1 r to e. */
static void add_exact(const struct gauss_step *s, size_t n, const size_t *index,
                      const double *S, const double *r, const double *A,
                      double *e, double *Lambda)
{
    size_t D = s->D;
    double column[MOST];
    for (size_t j = 0; j < D; j++) {
        for (size_t k = 0; k < n; k++)
            column[k] = A[index[k] * D + j];
        e[j] += dot(n, column, r);
        solve(n, S, column);
        solve_t(n, S, column);
        for (size_t i = 0; i < D; i++)
            for (size_t k = 0; k < n; k++)
                Lambda[i * D + j] += A[index[k] * D + i] * column[k];
    }
}

/* From the guided step to the function of x: e and Lambda before A. */
static double back(const struct gauss_step *s, const struct psi *next,
                   double *e, double *Lambda)
{
    size_t D = s->D, m = s->m, n = wider(s);
    double w[MOST], slope[MOST], *L = s->small, *T = L + n * n;
    if (!guide(s, next, L, w, slope)) return NAN;
    solve(m, L, w);
    double value = next->c + 0.5 * dot(m, w, w) - log_det(m, L);
    for (size_t i = 0; i < D; i++) {
        double u = s->a[i] - next->mu[i];
        value += 0.5 * u * (next->e[i] + slope[i]);
    }
    /* Lambda - (L^-1 B' Lambda)'(L^-1 B' Lambda); T (D, m) is Lambda B. */
    for (size_t i = 0; i < D; i++)
        solve(m, L, T + i * m);
    for (size_t i = 0; i < D; i++) {
        e[i] = slope[i] - dot(m, T + i * m, w);
        for (size_t j = 0; j < D; j++)
            Lambda[i * D + j] =
                next->Lambda[i * D + j] - dot(m, T + i * m, T + j * m);
    }
    return value;
}

double gauss_back(struct gauss_step *s, const struct psi *next, size_t d,
                  const double *exact, double *e, double *Lambda)
{
    size_t D = s->D, n = wider(s), index[MOST], count = 0;
    double *S = s->small + 4 * n * n, *own = S + n * n, r[MOST], gain = 0.0;
    double slope[MOST], *square = own + 3 * n * n;
    struct gauss_step step = *s;
    step.a = own;
    step.B = own + n * n;
    step.A = own + 2 * n * n;
    memcpy(step.a, s->a, D * sizeof *step.a);
    memcpy(step.B, s->B, D * s->m * sizeof *step.B);
    memcpy(step.A, s->A, D * D * sizeof *step.A);
    if (exact) {
        count = exact_elements(d, exact, index);
        if (!given(&step, count, index, exact, &gain, S, r)) return NAN;
        double *K = s->small + 2 * n * n, *rows = K + n * n;
        project(D, D, count, index, K, step.A, rows);
    }
    double value = back(&step, next, slope, square) + gain;
    product_t(D, D, 1, step.A, slope, e);
    double *T = s->small;
    product(D, D, D, square, step.A, T);
    product_t(D, D, D, step.A, T, Lambda);
    if (exact) add_exact(s, count, index, S, r, s->A, e, Lambda);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < i; j++)
            Lambda[i * D + j] = Lambda[j * D + i] =
                0.5 * (Lambda[i * D + j] + Lambda[j * D + i]);
    return value;
}
