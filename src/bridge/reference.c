/* SPDX-License-Identifier: MIT */
#include "bridge/reference.h"

#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/fast.h"
#include "base/linalg.h"
#include "base/linear.h"
#include "bridge/rows.h"

enum { MATRICES = 17, VECTORS = 5, WORK = 12 };

size_t reference_size(size_t d, size_t M)
{
    return M * (d * (MATRICES * d + VECTORS) + 1) + 2 * d * d + d +
           WORK * d * d + linear_scratch(d);
}

void reference_place(struct reference *r, size_t d, size_t M, double *memory)
{
    size_t dd = M * d * d;
    double **matrix[MATRICES] = {
        &r->A,          &r->Phi,        &r->Gamma,  &r->Q,      &r->half_Phi,
        &r->F,          &r->half_Gamma, &r->B,      &r->G,      &r->L,
        &r->W,          &r->V,          &r->pair_P, &r->long_A, &r->long_Phi,
        &r->long_Gamma, &r->long_P};
    double **vector[VECTORS] = {&r->b, &r->c, &r->h, &r->half_c, &r->place};
    r->d = d;
    r->pairs = true;
    for (size_t i = 0; i < MATRICES; i++, memory += dd)
        *matrix[i] = memory;
    for (size_t i = 0; i < VECTORS; i++, memory += M * d)
        *vector[i] = memory;
    r->pair_log = memory;
    r->F0 = memory + M;
    r->R0 = r->F0 + d * d;
    r->k0 = r->R0 + d * d;
    r->scratch = r->k0 + d;
}

/* y = X x, or += where add is set. */
static void times(size_t d, const double *X, const double *x, bool add,
                  double *y)
{
    for (size_t i = 0; i < d; i++) {
        double sum = add ? y[i] : 0.0;
        for (size_t j = 0; j < d; j++)
            sum += X[i * d + j] * x[j];
        y[i] = sum;
    }
}

/* y += X' x. */
static void times_transposed(size_t d, const double *X, const double *x,
                             double *y)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            y[j] += X[i * d + j] * x[i];
}

/* --- Steps forward in time ---------------------------------------------- */

static bool step_transition(struct reference *r, size_t m)
{
    size_t d = r->d, at = m * d * d;
    if (!linear_transition(d, r->dt, r->A + at, r->noise, r->Phi + at,
                           r->Gamma + at, r->Q + at, r->half_Phi + at,
                           r->half_Gamma + at, r->scratch))
        return false;
    times(d, r->Gamma + at, r->b + m * d, false, r->c + m * d);
    times(d, r->half_Gamma + at, r->b + m * d, false, r->half_c + m * d);
    return true;
}

/* W = Gamma' Q^-1 and V = W Gamma. */
static bool midpoint_weights(size_t d, const double *Gamma, const double *Q,
                             double *W, double *V, double *scratch)
{
    size_t dd = d * d;
    double *L = scratch, *X = L + dd;
    memcpy(L, Q, dd * sizeof *L);
    memcpy(X, Gamma, dd * sizeof *X);
    if (!matrix_solve(d, L, X)) return false;
    matrix_transpose(d, X, W);
    linalg_product(d, d, d, W, false, Gamma, false, V);
    return true;
}

/* Q becomes its inverse; half of its log-determinant is returned, or NaN. */
static double invert(size_t d, double *Q, double *scratch)
{
    size_t dd = d * d;
    double log_det = 0.0;
    memcpy(scratch, Q, dd * sizeof *Q);
    for (size_t e = 0; e < dd; e++)
        Q[e] = e % (d + 1) == 0;
    if (!matrix_solve(d, scratch, Q)) return NAN;
    for (size_t i = 0; i < d; i++)
        log_det += log(scratch[i * d + i]);
    return log_det;
}

/* Steps m and m + 1 as one. */
static bool build_pair(struct reference *r, size_t m)
{
    size_t d = r->d, dd = d * d, at = m * dd, next = at + dd;
    double *X = r->scratch, *half_Phi = X + dd, *half_Gamma = half_Phi + dd;
    double *work = half_Gamma + dd, *P = r->pair_P + at;
    const double *Phi = r->Phi + next;
    linalg_product(d, d, d, Phi, false, r->Q + at, false, X);
    linalg_product(d, d, d, X, false, Phi, true, P);
    for (size_t e = 0; e < dd; e++) {
        P[e] += r->Q[next + e];
        r->long_A[at + e] = 0.5 * (r->A[at + e] + r->A[next + e]);
    }
    double both = invert(d, P, X);
    if (!linear_transition(d, 2.0 * r->dt, r->long_A + at, r->noise,
                           r->long_Phi + at, r->long_Gamma + at, r->long_P + at,
                           half_Phi, half_Gamma, work))
        return false;
    r->pair_log[m] = both - invert(d, r->long_P + at, X);
    return isfinite(r->pair_log[m]);
}

static void repeat(double *x, size_t n, size_t times_more)
{
    for (size_t m = 1; m <= times_more; m++)
        memcpy(x + m * n, x, n * sizeof *x);
}

/* The matrices of linear and brownian references are the same in every step. */
static void repeat_steps(struct reference *r)
{
    size_t d = r->d, dd = d * d, more = r->M - 1;
    double *matrix[] = {r->A,        r->Phi,        r->Gamma, r->Q,
                        r->half_Phi, r->half_Gamma, r->W,     r->V};
    double *vector[] = {r->b, r->c, r->half_c};
    for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++)
        repeat(matrix[i], dd, more);
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        repeat(vector[i], d, more);
}

static void copy_pair(struct reference *r, size_t m)
{
    size_t dd = r->d * r->d;
    double *matrix[] = {r->pair_P, r->long_A, r->long_Phi, r->long_Gamma,
                        r->long_P};
    for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++)
        memcpy(matrix[i] + m * dd, matrix[i], dd * sizeof *matrix[i]);
    r->pair_log[m] = r->pair_log[0];
}

static bool build_steps(struct reference *r)
{
    size_t d = r->d, dd = d * d, M = r->M;
    bool once = r->kind != GSV_REFERENCE_LNA;
    for (size_t m = 0; m < (once ? 1 : M); m++)
        if (!step_transition(r, m) ||
            !midpoint_weights(d, r->Gamma + m * dd, r->Q + m * dd,
                              r->W + m * dd, r->V + m * dd, r->scratch))
            return false;
    if (once) repeat_steps(r);
    for (size_t m = 0; r->pairs && m + 2 <= M; m += 2) {
        if (once && m) copy_pair(r, m);
        else if (!build_pair(r, m)) return false;
    }
    return true;
}

/* --- The bridge, from right to left ------------------------------------- */

/* From F = F_{m+1}, k = k_{m+1}, R = R_{m+1} to those of m, and step m's part
 * of the bridge. */
static bool step_bridge(struct reference *r, size_t m, double *F, double *k,
                        double *R)
{
    size_t d = r->d, dd = d * d, at = m * dd;
    double *FQ = r->scratch, *X = FQ + dd, *chol = X + dd, *E = chol + dd;
    const double *Q = r->Q + at;
    double *G = r->G + at, *L = r->L + at;
    memcpy(r->F + at, F, dd * sizeof *F);
    linalg_product(d, d, d, F, false, Q, false, FQ);
    linalg_product(d, d, d, FQ, false, F, true, X);
    for (size_t e = 0; e < dd; e++)
        R[e] += X[e];
    memcpy(chol, R, dd * sizeof *chol);
    if (!matrix_solve(d, chol, FQ)) return false; /* R^-1 F Q = G' */
    matrix_transpose(d, FQ, G);
    linalg_product(d, d, d, G, false, F, false, E);
    for (size_t e = 0; e < dd; e++)
        E[e] = (e % (d + 1) == 0) - E[e];
    linalg_product(d, d, d, E, false, r->Phi + at, false, r->B + at);
    times(d, G, k, false, r->h + m * d);
    for (size_t i = 0; i < d; i++)
        r->h[m * d + i] = -r->h[m * d + i];
    times(d, E, r->c + m * d, true, r->h + m * d);
    times(d, F, r->c + m * d, true, k);
    linalg_product(d, d, d, E, false, Q, false, L);
    matrix_symmetrise(d, L);
    linalg_product(d, d, d, F, false, r->Phi + at, false, X);
    memcpy(F, X, dd * sizeof *F);
    return m + 1 == r->M || linalg_cholesky(d, L);
}

static bool build_bridge(struct reference *r)
{
    size_t d = r->d, dd = d * d;
    memset(r->F0, 0, dd * sizeof *r->F0);
    memset(r->R0, 0, dd * sizeof *r->R0);
    memset(r->k0, 0, d * sizeof *r->k0);
    for (size_t i = 0; i < d; i++)
        r->F0[i * d + i] = 1.0;
    for (size_t m = r->M; m-- > 0;)
        if (!step_bridge(r, m, r->F0, r->k0, r->R0)) return false;
    return linalg_cholesky(d, r->R0);
}

/* A of the first step has the chains alone, and b is 0. */
static void integrate_only(struct reference *r)
{
    size_t d = r->d;
    memset(r->A, 0, d * d * sizeof *r->A);
    memset(r->b, 0, d * sizeof *r->b);
    for (size_t i = 0; i < d; i++)
        if (r->next[i] < d) r->A[i * d + r->next[i]] = 1.0;
}

bool reference_build(struct reference *r, enum gsv_reference kind, size_t M,
                     double dt)
{
    r->kind = kind;
    r->M = M;
    r->dt = dt;
    if (reference_is_plain(r)) return true;
    if (kind == GSV_REFERENCE_BROWNIAN) integrate_only(r);
    return build_steps(r) && build_bridge(r);
}

/* --- Its density -------------------------------------------------------- */

static double brownian_log_density(const struct reference *r, const double *y0,
                                   const double *y1)
{
    double h = r->dt * (double)r->M, square = 0.0;
    for (size_t i = 0; i < r->d; i++)
        square += (y1[i] - y0[i]) * (y1[i] - y0[i]);
    return -0.5 * (square / h + (double)r->d * (LOG_TWO_PI + log(h)));
}

/* R0^-1 (y1 - F0 y0 - k0) to q; the half of it, L^-1, to half. */
static void residual(const struct reference *r, const double *y0,
                     const double *y1, double *half, double *q)
{
    size_t d = r->d;
    times(d, r->F0, y0, false, half);
    for (size_t i = 0; i < d; i++)
        half[i] = y1[i] - half[i] - r->k0[i];
    linalg_lower_solve(d, 1, r->R0, false, half);
    memcpy(q, half, d * sizeof *q);
    linalg_lower_solve(d, 1, r->R0, true, q);
}

double reference_log_density(const struct reference *r, const double *y0,
                             const double *y1)
{
    if (reference_is_plain(r)) return brownian_log_density(r, y0, y1);
    size_t d = r->d;
    double *half = r->scratch, *q = half + d, sum = (double)d * LOG_TWO_PI;
    residual(r, y0, y1, half, q);
    for (size_t i = 0; i < d; i++)
        sum += half[i] * half[i] + 2.0 * log(r->R0[i * d + i]);
    return -0.5 * sum;
}

void reference_log_density_vjp(const struct reference *r, const double *y0,
                               const double *y1, double scale, double *y0_bar,
                               double *y1_bar, double *k0_bar)
{
    size_t d = r->d;
    if (reference_is_plain(r)) {
        double h = r->dt * (double)r->M;
        for (size_t i = 0; i < d; i++) {
            double pull = scale * (y1[i] - y0[i]) / h;
            y0_bar[i] += pull;
            y1_bar[i] -= pull;
        }
        return;
    }
    double *half = r->scratch, *q = half + d;
    residual(r, y0, y1, half, q);
    for (size_t i = 0; i < d; i++) {
        y1_bar[i] -= scale * q[i];
        k0_bar[i] += scale * q[i];
        for (size_t j = 0; j < d; j++)
            y0_bar[j] += scale * r->F0[i * d + j] * q[i];
    }
}

/* --- Its mean ------------------------------------------------------------- */

/* The middle of a step from Y to Y', of which it knows both,
 *
 *     Phi_half Y + half_c + Q_half Phi_half' Q^-1 (Y' - Phi Y - c). */
static void step_middle(const struct reference *r, size_t m, const double *from,
                        const double *to, double *middle)
{
    size_t d = r->d, dd = d * d, at = m * dd;
    double *Phi = r->scratch, *Gamma = Phi + dd, *Q = Gamma + dd;
    double *quarter = Q + dd, *e = quarter + 2 * dd, *pull = e + d;
    double *work = pull + d;
    bool found = linear_transition(d, 0.5 * r->dt, r->A + at, r->noise, Phi,
                                   Gamma, Q, quarter, quarter + dd, work);
    times(d, r->Phi + at, from, false, e);
    for (size_t i = 0; i < d; i++)
        e[i] = to[i] - e[i] - r->c[m * d + i];
    memcpy(quarter, r->Q + at, dd * sizeof *quarter);
    found = found && linalg_cholesky(d, quarter);
    if (found) {
        linalg_lower_solve(d, 1, quarter, false, e);
        linalg_lower_solve(d, 1, quarter, true, e);
    }
    memset(pull, 0, d * sizeof *pull);
    times_transposed(d, r->half_Phi + at, e, pull);
    memcpy(middle, r->half_c + m * d, d * sizeof *middle);
    times(d, r->half_Phi + at, from, true, middle);
    times(d, Q, pull, true, middle);
    for (size_t i = 0; !found && i < d; i++)
        middle[i] = NAN;
}

void reference_mean(const struct reference *r, const double *y0,
                    const double *y1, double *middle)
{
    size_t d = r->d, dd = d * d;
    /* After what step_middle() takes. */
    double *from = r->scratch + (WORK + 1) * dd, *to = from + d;
    memcpy(from, y0, d * sizeof *from);
    for (size_t m = 0; m < r->M; m++) {
        memcpy(to, r->h + m * d, d * sizeof *to);
        times(d, r->B + m * dd, from, true, to);
        times(d, r->G + m * dd, y1, true, to);
        if (m + 1 == r->M) memcpy(to, y1, d * sizeof *to);
        step_middle(r, m, from, to, middle + m * d);
        memcpy(from, to, d * sizeof *from);
    }
}

/* --- Gradients by b ------------------------------------------------------ */

/* c = Gamma b, half_c = Gamma_half b; k_m = sum over n >= m of F_{n+1} c_n. */
void reference_vjp(const struct reference *r, double *k_bar,
                   struct reference_bar *bar)
{
    size_t d = r->d, dd = d * d;
    for (size_t m = 0; m < r->M; m++) {
        double *c_bar = bar->c + m * d, *b_bar = bar->b + m * d;
        for (size_t i = 0; i < d; i++)
            k_bar[i] += bar->k[m * d + i];
        times_transposed(d, r->F + m * dd, k_bar, c_bar);
        times_transposed(d, r->Gamma + m * dd, c_bar, b_bar);
        times_transposed(d, r->half_Gamma + m * dd, bar->half_c + m * d, b_bar);
    }
    for (size_t m = 1; r->kind == GSV_REFERENCE_LINEAR && m < r->M; m++)
        for (size_t i = 0; i < d; i++)
            bar->b[i] += bar->b[m * d + i];
}

/* --- Bridges ------------------------------------------------------------ */

/* One step of a Brownian bridge in all coordinates: a pull toward the end,
 * then noise. */
INLINE void step(size_t d, size_t K, size_t ld, double pull, double noise,
                 const double *end, const double *restrict xi,
                 double *restrict at, double *restrict Y, double *restrict dY)
{
    for (size_t i = 0; i < d; i++, xi += K, at += K, Y += ld, dY += ld) {
        double to = end[i];
#pragma omp simd
        for (size_t k = 0; k < K; k++) {
            double move = pull * (to - at[k]) + noise * xi[k];
            Y[k] = at[k];
            dY[k] = move;
            at[k] += move;
        }
    }
}

/* The last row is set, not summed: rounding must not move a datum. */
static void last_step(size_t d, size_t K, size_t ld, const double *end,
                      double *at, double *Y, double *dY)
{
    for (size_t i = 0; i < d; i++, at += K, Y += ld, dY += ld)
        for (size_t k = 0; k < K; k++) {
            Y[k] = at[k];
            dY[k] = end[i] - at[k];
            at[k] = end[i];
        }
}

/* The number of paths is almost always a multiple of 8, and often 8: loops
 * with that known have no loose ends. */
FAST static void brownian_step(const struct reference *r, size_t m, size_t K,
                               size_t ld, const double *y1, const double *xi,
                               double *at, double *Y, double *dY)
{
    double left = (double)(r->M - m), pull = 1.0 / left;
    double noise = sqrt(r->dt * (left - 1.0) / left);
    if (K == 8) step(r->d, 8, ld, pull, noise, y1, xi, at, Y, dY);
    else if (K % 8 == 0)
        step(r->d, K / 8 * 8, ld, pull, noise, y1, xi, at, Y, dY);
    else step(r->d, K, ld, pull, noise, y1, xi, at, Y, dY);
}

/* Y_{m+1} = B Y_m + h + G y1 + L xi. */
static void linear_step(const struct reference *r, size_t m, size_t K,
                        size_t ld, const double *y1, const double *xi,
                        double *at, double *Y, double *dY, double *next)
{
    size_t d = r->d, dd = d * d;
    rows_times(d, K, r->B + m * dd, false, at, K, r->h + m * d, false, next, K);
    rows_times(d, K, r->L + m * dd, false, xi, K, NULL, true, next, K);
    for (size_t i = 0; i < d; i++) {
        double pull = 0.0;
        for (size_t j = 0; j < d; j++)
            pull += r->G[m * dd + i * d + j] * y1[j];
        for (size_t k = 0; k < K; k++) {
            double to = next[i * K + k] + pull;
            Y[i * ld + k] = at[i * K + k];
            dY[i * ld + k] = to - at[i * K + k];
            at[i * K + k] = to;
        }
    }
}

void bridge_walk(const struct reference *r, const double *y1, size_t first,
                 size_t steps, size_t K, const double *xi, double *at,
                 double *Y, double *dY, size_t ld, double *scratch)
{
    for (size_t m = first; m < first + steps; m++, Y += K, dY += K) {
        if (m + 1 == r->M) last_step(r->d, K, ld, y1, at, Y, dY);
        else if (reference_is_plain(r))
            brownian_step(r, m, K, ld, y1, xi, at, Y, dY);
        else linear_step(r, m, K, ld, y1, xi, at, Y, dY, scratch);
        xi += r->d * K;
    }
}

void bridge_gather(size_t d, size_t first, size_t steps, size_t K,
                   const double *Y_bar, const double *dY_bar, size_t ld,
                   double *lambda)
{
    lambda += first * d;
    for (size_t m = 0; m < steps; m++, lambda += d, Y_bar += K, dY_bar += K) {
        rows_sum(d, K, 1.0, Y_bar, ld, lambda);
        rows_sum(d, K, -1.0, dY_bar, ld, lambda);
        rows_sum(d, K, 1.0, dY_bar, ld, lambda + d);
    }
}

/* Y_m = y0 + (m/M)(y1 - y0) + noise. */
static void brownian_vjp(const struct reference *r, const double *lambda,
                         double *y0_bar, double *y1_bar)
{
    for (size_t m = 0; m <= r->M; m++)
        for (size_t i = 0; i < r->d; i++) {
            double s = (double)m / (double)r->M;
            y0_bar[i] += (1.0 - s) * lambda[m * r->d + i];
            y1_bar[i] += s * lambda[m * r->d + i];
        }
}

void bridge_vjp(const struct reference *r, const double *lambda, double *y0_bar,
                double *y1_bar, struct reference_bar *bar, double *scratch)
{
    size_t d = r->d, dd = d * d;
    if (reference_is_plain(r)) {
        brownian_vjp(r, lambda, y0_bar, y1_bar);
        return;
    }
    double *total = scratch, *next = scratch + d; /* of Y_m and Y_{m+1} */
    memset(total, 0, d * sizeof *total);
    for (size_t i = 0; i < d; i++)
        y1_bar[i] += lambda[r->M * d + i];
    for (size_t m = r->M; m-- > 0;) {
        bool last = m + 1 == r->M; /* Y_M is y1, whatever Y_{M-1} is */
        memcpy(next, total, d * sizeof *next);
        for (size_t i = 0; i < d; i++) {
            total[i] = lambda[m * d + i];
            for (size_t j = 0; !last && j < d; j++) {
                double pull = r->G[m * dd + j * d + i] * next[j];
                total[i] += r->B[m * dd + j * d + i] * next[j];
                y1_bar[i] += pull;
                bar->k[m * d + i] -= pull;
            }
            if (!last) bar->c[m * d + i] += next[i];
        }
    }
    for (size_t i = 0; i < d; i++)
        y0_bar[i] += total[i];
}
