/* SPDX-License-Identifier: MIT */
/* Gaussian laws that move, are multiplied by densities and smoothed. All
 * covariances come from sums of squares (Joseph's form, and the same for the
 * smoother), so that rounding does not make them indefinite. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/linear.h"
#include "observe/smooth_parts.h"

/* out (n) = M (n, m) v (m), or M' v with M (m, n). */
static void times(size_t n, size_t m, const double *M, bool transposed,
                  const double *v, double *out)
{
    linalg_product(n, m, 1, M, transposed, v, false, out);
}

static void make_symmetric(size_t d, double *P)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            P[i * d + j] = P[j * d + i] = 0.5 * (P[i * d + j] + P[j * d + i]);
}

/* X = I - B' C, with B and C (r, d). */
static void rest_of_identity(size_t d, size_t r, const double *B,
                             const double *C, double *X)
{
    linalg_product(d, r, d, B, true, C, false, X);
    for (size_t e = 0; e < d * d; e++)
        X[e] = (e % (d + 1) == 0) - X[e];
}

/* out = X P X', with a scratch matrix. */
static void sandwich(size_t d, const double *X, const double *P,
                     double *scratch, double *out)
{
    linalg_product(d, d, d, X, false, P, false, scratch);
    linalg_product(d, d, d, scratch, false, X, true, out);
}

/* --- Transitions ---------------------------------------------------------- */

/* A linearisation that grows by more over one gap says nothing of the drift at
 * the gap's end, and takes the digits away from all else. */
static const double MOST_GROWTH = 1e3;

static double growth(size_t d, const double *Phi)
{
    double square = 0.0;
    for (size_t e = 0; e < d * d; e++)
        square += Phi[e] * Phi[e];
    return sqrt(square / (double)d);
}

/* With the slope in matrix 6. */
static bool try_transition(struct smoother *s, double dt, double *Phi,
                           double *Q)
{
    size_t d = s->d;
    double *L = matrix_of(s, 1);
    if (!linear_transition(d, dt, matrix_of(s, 6), NULL, Phi, matrix_of(s, 0),
                           Q, L, matrix_of(s, 2), matrix_of(s, 3)) ||
        !(growth(d, Phi) < MOST_GROWTH))
        return false;
    memcpy(L, Q, d * d * sizeof *L);
    return linalg_cholesky(d, L);
}

bool smooth_transition(struct smoother *s, double dt, const double *A,
                       const double *f, const double *place, double *Phi,
                       double *c, double *Q)
{
    static const double less[] = {1.0, 0.5, 0.5, 0.0};
    size_t d = s->d;
    double *slope = matrix_of(s, 6), *b = vector_of(s, 0);
    double *drift = vector_of(s, 1);
    bool finite = all_finite(d, f) && all_finite(d * d, A);
    for (size_t i = 0; i < d; i++)
        drift[i] = finite ? f[i] : 0.0;
    for (size_t e = 0; e < d * d; e++)
        slope[e] = finite ? A[e] : 0.0;
    for (size_t i = 0; i < sizeof less / sizeof *less; i++) {
        for (size_t e = 0; e < d * d; e++)
            slope[e] *= less[i];
        if (try_transition(s, dt, Phi, Q)) break;
    }
    times(d, d, slope, false, place, b);
    for (size_t i = 0; i < d; i++)
        b[i] = drift[i] - b[i];
    times(d, d, matrix_of(s, 0), false, b, c);
    if (all_finite(d, c)) return finite;
    memset(c, 0, d * sizeof *c);
    return false;
}

void smooth_jump(struct smoother *s, const struct smooth_track *track, size_t n)
{
    size_t d = s->d, dd = d * d;
    double *Phi = s->stop.Phi + n * dd, *c = s->stop.c + n * d;
    double *Q = s->stop.Q + n * dd, *X = matrix_of(s, 0);
    if (!track->jump) return;
    const double *J = track->jump + n * dd;
    linalg_product(d, d, d, J, false, Phi, false, X);
    memcpy(Phi, X, dd * sizeof *X);
    times(d, d, J, false, c, vector_of(s, 0));
    memcpy(c, vector_of(s, 0), d * sizeof *c);
    sandwich(d, J, Q, matrix_of(s, 1), X);
    memcpy(Q, X, dd * sizeof *X);
    make_symmetric(d, Q);
}

void smooth_middle(const struct smoother *s, const struct smooth_track *track,
                   size_t n, const double *y0, const double *y1, double *middle)
{
    size_t d = s->d;
    const double *J = track->unjump ? track->unjump + n * d * d : NULL;
    for (size_t i = 0; i < d; i++) {
        double end = J ? 0.0 : y1[i];
        for (size_t j = 0; J && j < d; j++)
            end += J[i * d + j] * y1[j];
        middle[i] = 0.5 * (y0[i] + end);
    }
}

double smooth_step_density(struct smoother *s, size_t n, const double *y0,
                           const double *y1)
{
    size_t d = s->d;
    const double *Phi = s->stop.Phi + n * d * d, *c = s->stop.c + n * d;
    double *L = matrix_of(s, 0), *r = vector_of(s, 0), sum = 0.0;
    memcpy(L, s->stop.Q + n * d * d, d * d * sizeof *L);
    if (!linalg_cholesky(d, L)) return -SMOOTH_BAD;
    times(d, d, Phi, false, y0, r);
    for (size_t i = 0; i < d; i++)
        r[i] = y1[i] - r[i] - c[i];
    linalg_lower_solve(d, 1, L, false, r);
    for (size_t i = 0; i < d; i++)
        sum += 0.5 * r[i] * r[i] + log(L[i * (d + 1)]);
    return -sum;
}

double smooth_first_density(struct smoother *s, const double *y)
{
    size_t d = s->d;
    double *L = matrix_of(s, 0), *r = vector_of(s, 0), sum = 0.0;
    memcpy(L, s->first_cov, d * d * sizeof *L);
    if (!linalg_cholesky(d, L)) return -SMOOTH_BAD;
    for (size_t i = 0; i < d; i++)
        r[i] = y[i] - s->first_mean[i];
    linalg_lower_solve(d, 1, L, false, r);
    for (size_t i = 0; i < d; i++)
        sum += r[i] * r[i];
    return -0.5 * sum;
}

/* --- The filter ----------------------------------------------------------- */

void smooth_predict(struct smoother *s, size_t n)
{
    size_t d = s->d, dd = d * d;
    const double *Phi = s->stop.Phi + n * dd, *c = s->stop.c + n * d;
    const double *Q = s->stop.Q + n * dd;
    double *next = vector_of(s, 0), *P = matrix_of(s, 1);
    times(d, d, Phi, false, s->mean, next);
    for (size_t i = 0; i < d; i++)
        s->mean[i] = next[i] + c[i];
    sandwich(d, Phi, s->cov, matrix_of(s, 0), P);
    for (size_t e = 0; e < dd; e++)
        s->cov[e] = P[e] + Q[e];
    make_symmetric(d, s->cov);
}

/* Conditions on C y = u: with S = C P C', K = P C' S^-1, P+ = (I - KC) P (I -
 * KC)', which is singular, as it has to be. */
void smooth_pin(struct smoother *s, size_t n)
{
    size_t d = s->d, r = 0;
    const double *fixed = s->stop.fixed + n * d;
    double *C = matrix_of(s, 0), *K = matrix_of(s, 1), *S = matrix_of(s, 2);
    double *rest = matrix_of(s, 3), *P = matrix_of(s, 4);
    double *miss = vector_of(s, 0);
    for (size_t i = 0; s->pinned && i < d; i++) {
        if (!isfinite(fixed[i])) continue;
        double *row = C + r * d;
        memcpy(row, s->stop.sigma + (n * d + i) * d, d * sizeof *row);
        miss[r] = fixed[i];
        for (size_t j = 0; j < d; j++)
            miss[r] -= row[j] * s->mean[j];
        r++;
    }
    if (!r) return;
    linalg_product(r, d, d, C, false, s->cov, false, K);
    linalg_product(r, d, r, K, false, C, true, S);
    if (!linalg_cholesky(r, S)) return;
    linalg_lower_solve(r, d, S, false, K);
    linalg_lower_solve(r, d, S, true, K);
    for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j < d; j++)
            s->mean[j] += K[i * d + j] * miss[i];
    rest_of_identity(d, r, K, C, rest);
    sandwich(d, rest, s->cov, S, P);
    memcpy(s->cov, P, d * d * sizeof *P);
    make_symmetric(d, s->cov);
}

bool smooth_gain(struct smoother *s, const double *H)
{
    size_t d = s->d, dd = d * d;
    double *K = matrix_of(s, 0), *P = matrix_of(s, 1), *S = matrix_of(s, 2);
    double *rest = matrix_of(s, 3), *square = matrix_of(s, 4);
    linalg_product(d, d, d, H, false, s->cov, false, K);
    linalg_product(d, d, d, K, false, H, true, S);
    for (size_t i = 0; i < d; i++)
        S[i * (d + 1)] += 1.0;
    if (!linalg_cholesky(d, S)) return false;
    for (size_t i = 0; i < d; i++)
        s->log_gain += log(S[i * (d + 1)]);
    linalg_lower_solve(d, d, S, false, K);
    linalg_lower_solve(d, d, S, true, K);
    rest_of_identity(d, d, K, H, rest);
    sandwich(d, rest, s->cov, S, P);
    linalg_product(d, d, d, K, true, K, false, square);
    for (size_t e = 0; e < dd; e++)
        P[e] += square[e];
    make_symmetric(d, P);
    return all_finite(dd, P) && all_finite(dd, K);
}

void smooth_update(struct smoother *s, const double *mu, const double *g,
                   const double *H)
{
    size_t d = s->d;
    double *w = vector_of(s, 0), *v = vector_of(s, 1);
    if (!smooth_gain(s, H)) return;
    for (size_t i = 0; i < d; i++)
        v[i] = mu[i] - s->mean[i];
    times(d, d, H, false, v, w);
    times(d, d, H, true, w, v);
    for (size_t i = 0; i < d; i++)
        w[i] = g[i] + v[i];
    times(d, d, matrix_of(s, 1), false, w, v);
    if (!all_finite(d, v)) return;
    for (size_t i = 0; i < d; i++)
        s->mean[i] += v[i];
    memcpy(s->cov, matrix_of(s, 1), d * d * sizeof *s->cov);
}

/* --- The smoother --------------------------------------------------------- */

/* The law of Y_n given Y_(n+1) and the filtered one, N(m, P): the gain G =
 * P Phi' (Phi P Phi' + Q)^-1 to matrix 0, and the rest, (I - G Phi) P (I - G
 * Phi)' + G Q G', to matrix 1. Where it cannot be factored the stops after n
 * say nothing of it. Uses matrices 0 to 5. */
static void backward_law(struct smoother *s, size_t n, const double *P)
{
    size_t d = s->d, dd = d * d;
    const double *Phi = s->stop.Phi + (n + 1) * dd;
    const double *Q = s->stop.Q + (n + 1) * dd;
    double *G = matrix_of(s, 0), *rest = matrix_of(s, 1);
    double *S = matrix_of(s, 2), *B = matrix_of(s, 3), *X = matrix_of(s, 4);
    double *room = matrix_of(s, 5);
    linalg_product(d, d, d, Phi, false, P, false, B);
    linalg_product(d, d, d, B, false, Phi, true, S);
    for (size_t e = 0; e < dd; e++)
        S[e] += Q[e];
    if (!linalg_cholesky(d, S)) {
        memset(G, 0, dd * sizeof *G);
        memcpy(rest, P, dd * sizeof *rest);
        return;
    }
    linalg_lower_solve(d, d, S, false, B);
    linalg_lower_solve(d, d, S, true, B);
    rest_of_identity(d, d, B, Phi, X);
    sandwich(d, X, P, room, rest);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            G[i * d + j] = B[j * d + i];
    sandwich(d, G, Q, room, X);
    for (size_t e = 0; e < dd; e++)
        rest[e] += X[e];
    make_symmetric(d, rest);
}

static void backward_step(struct smoother *s, size_t n, double *cov)
{
    size_t d = s->d, dd = d * d;
    const double *Phi = s->stop.Phi + (n + 1) * dd;
    const double *c = s->stop.c + (n + 1) * d;
    double *m = s->stop.target + n * d, *next = m + d, *P = cov + n * dd;
    double *r = vector_of(s, 0), *v = vector_of(s, 1);
    double *X = matrix_of(s, 2);
    backward_law(s, n, P);
    times(d, d, Phi, false, m, r);
    for (size_t i = 0; i < d; i++)
        r[i] = next[i] - r[i] - c[i];
    times(d, d, matrix_of(s, 0), false, r, v);
    for (size_t i = 0; i < d; i++)
        m[i] += v[i];
    sandwich(d, matrix_of(s, 0), P + dd, matrix_of(s, 3), X);
    for (size_t e = 0; e < dd; e++)
        P[e] = matrix_of(s, 1)[e] + X[e];
    make_symmetric(d, P);
}

void smooth_backward(struct smoother *s, size_t stops,
                     const struct smooth_law *law)
{
    size_t dd = s->d * s->d, bytes = dd * sizeof(double), last = stops - 1;
    if (law->gain) memset(law->gain + last * dd, 0, bytes);
    if (law->rest) memcpy(law->rest + last * dd, law->cov + last * dd, bytes);
    for (size_t n = last; n-- > 0;) {
        backward_step(s, n, law->cov);
        if (law->gain) memcpy(law->gain + n * dd, matrix_of(s, 0), bytes);
        if (law->rest) memcpy(law->rest + n * dd, matrix_of(s, 1), bytes);
    }
}
