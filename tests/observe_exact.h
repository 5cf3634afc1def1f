/* SPDX-License-Identifier: MIT */
/* Noisy observations of a diffusion, exactly: Kalman's filter and the smoother
 * of Rauch, Tung and Striebel for linear equations, a filter on a grid for one
 * state with any drift and any law of the observations, and data to look at
 * with both. Plain loops, which know nothing of the library. */
#ifndef TESTS_OBSERVE_EXACT_H
#define TESTS_OBSERVE_EXACT_H

#include <cblas.h>

#include "exact.h"

/* --- Linear models -------------------------------------------------------- */

enum { EXACT_D = 8, EXACT_DD = EXACT_D * EXACT_D };

/* dX = (A X + b) dt + G dW, y = H X + r eps in every row; the first state is
 * N(m0, P0). A cell of y that is NaN is missing. */
struct exact_linear {
    size_t d, noises, outputs;
    double A[EXACT_DD], b[EXACT_D], G[EXACT_DD]; /* (d, d), (d), (d, noises) */
    double H[EXACT_DD], r[EXACT_D];   /* (outputs, d), (outputs)            */
    double m0[EXACT_D], P0[EXACT_DD]; /* (d), (d, d)                        */
};

/* Over a gap, X' = F X + c + N(0, Q). */
struct exact_gap {
    double F[EXACT_DD], c[EXACT_D], Q[EXACT_DD];
};

/* C = A B or A B', all (d, d). */
static inline void exact_product(size_t d, const double *A, const double *B,
                                 bool transposed, double *C)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            C[i * d + j] = 0.0;
            for (size_t k = 0; k < d; k++)
                C[i * d + j] +=
                    A[i * d + k] * B[transposed ? j * d + k : k * d + j];
        }
}

/* y = A x + c. */
static inline void exact_affine(size_t d, const double *A, const double *x,
                                const double *c, double *y)
{
    for (size_t i = 0; i < d; i++) {
        y[i] = c[i];
        for (size_t j = 0; j < d; j++)
            y[i] += A[i * d + j] * x[j];
    }
}

/* C = F P F' + Q. */
static inline void exact_spread(size_t d, const double *F, const double *P,
                                const double *Q, double *C)
{
    double FP[EXACT_DD];
    exact_product(d, F, P, false, FP);
    exact_product(d, FP, F, true, C);
    for (size_t i = 0; i < d * d; i++)
        C[i] += Q[i];
}

/* Power series over a short time h:
 *     F = sum A^k h^k/k!,  c = sum A^k b h^(k+1)/(k+1)!,
 *     Q = sum S_k h^(k+1)/(k+1)!,  S_0 = G G', S_(k+1) = A S_k + S_k A'. */
static inline struct exact_gap exact_short_gap(const struct exact_linear *m,
                                               double h)
{
    enum { TERMS = 16 };
    size_t d = m->d;
    struct exact_gap g = {0};
    double E[EXACT_DD] = {0}, S[EXACT_DD], e[EXACT_D], T[EXACT_DD];
    const double none[EXACT_DD] = {0};
    for (size_t i = 0; i < d * d; i++) {
        E[i] = i / d == i % d;
        S[i] = 0.0;
        for (size_t k = 0; k < m->noises; k++)
            S[i] += m->G[i / d * m->noises + k] * m->G[i % d * m->noises + k];
    }
    double term = 1.0;
    for (size_t k = 0; k < TERMS; k++) {
        exact_affine(d, E, m->b, none, e);
        for (size_t i = 0; i < d * d; i++)
            g.F[i] += term * E[i];
        term *= h / (double)(k + 1);
        for (size_t i = 0; i < d; i++)
            g.c[i] += term * e[i];
        for (size_t i = 0; i < d * d; i++)
            g.Q[i] += term * S[i];
        exact_product(d, m->A, E, false, T);
        memcpy(E, T, sizeof E);
        exact_product(d, m->A, S, false, T);
        for (size_t i = 0; i < d * d; i++)
            S[i] = T[i] + T[i % d * d + i / d];
    }
    return g;
}

/* A gap twice as long: F F, F c + c, F Q F' + Q. */
static inline struct exact_gap exact_twice(size_t d, const struct exact_gap *g)
{
    struct exact_gap twice;
    exact_product(d, g->F, g->F, false, twice.F);
    exact_affine(d, g->F, g->c, g->c, twice.c);
    exact_spread(d, g->F, g->Q, g->Q, twice.Q);
    return twice;
}

static inline struct exact_gap exact_transition(const struct exact_linear *m,
                                                double h)
{
    double size = 0.0;
    int doublings = 0;
    for (size_t i = 0; i < m->d * m->d; i++)
        size += fabs(m->A[i]);
    while (ldexp(size * h, -doublings) > 0.25)
        doublings++;
    struct exact_gap g = exact_short_gap(m, ldexp(h, -doublings));
    while (doublings--)
        g = exact_twice(m->d, &g);
    return g;
}

static inline struct exact_law exact_predict(const struct exact_law *law,
                                             const struct exact_gap *g)
{
    struct exact_law next = {.d = law->d};
    exact_affine(law->d, g->F, law->mean, g->c, next.mean);
    exact_spread(law->d, g->F, law->cov, g->Q, next.cov);
    return next;
}

/* One number y = h'X + r eps: its log density, and X given it. */
static inline double exact_condition(struct exact_law *law, const double *h,
                                     double r, double y)
{
    size_t d = law->d;
    double Ph[EXACT_D], mean = 0.0, variance = r * r;
    for (size_t i = 0; i < d; i++) {
        Ph[i] = 0.0;
        for (size_t j = 0; j < d; j++)
            Ph[i] += law->cov[i * d + j] * h[j];
        mean += h[i] * law->mean[i];
        variance += h[i] * Ph[i];
    }
    for (size_t i = 0; i < d; i++) {
        law->mean[i] += Ph[i] / variance * (y - mean);
        for (size_t j = 0; j < d; j++)
            law->cov[i * d + j] -= Ph[i] * Ph[j] / variance;
    }
    return exact_normal(y, mean, variance);
}

/* X of S X = B for a positive matrix S (d, d) and B (d, columns), both of which
 * are overwritten, B with X. */
static inline void exact_solve(size_t d, double *S, size_t columns, double *B)
{
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < d; i++) {
            double f = S[i * d + k] / S[k * d + k];
            if (i == k) continue;
            for (size_t j = k; j < d; j++)
                S[i * d + j] -= f * S[k * d + j];
            for (size_t j = 0; j < columns; j++)
                B[i * columns + j] -= f * B[k * columns + j];
        }
    for (size_t i = 0; i < d * columns; i++)
        B[i] /= S[i / columns * d + i / columns];
}

/* From X given the data up to now and X' given all of them to X given all:
 *     J = P F' (F P F' + Q)^-1,
 *     m += J (m' - F m - c),   P += J (P' - F P F' - Q) J'. */
static inline void exact_smooth(const struct exact_gap *g,
                                const struct exact_law *next,
                                struct exact_law *law)
{
    size_t d = law->d;
    struct exact_law ahead = exact_predict(law, g);
    double S[EXACT_DD], B[EXACT_DD], J[EXACT_DD], mean[EXACT_D], cov[EXACT_DD];
    memcpy(S, ahead.cov, sizeof S);
    exact_product(d, g->F, law->cov, false, B);
    exact_solve(d, S, d, B);
    for (size_t i = 0; i < d * d; i++) {
        J[i] = B[i % d * d + i / d];
        ahead.cov[i] = next->cov[i] - ahead.cov[i];
    }
    for (size_t i = 0; i < d; i++)
        ahead.mean[i] = next->mean[i] - ahead.mean[i];
    exact_affine(d, J, ahead.mean, law->mean, mean);
    exact_spread(d, J, ahead.cov, law->cov, cov);
    memcpy(law->mean, mean, d * sizeof *mean);
    memcpy(law->cov, cov, d * d * sizeof *cov);
}

static inline struct exact_law exact_first(const struct exact_linear *m)
{
    struct exact_law law = exact_point(m->d, m->m0);
    memcpy(law.cov, m->P0, m->d * m->d * sizeof *law.cov);
    return law;
}

/* log p(y) of n rows, y (outputs, n); and, unless NULL, the laws of the states
 * given all of y, smoothed (n). */
static inline double exact_kalman(const struct exact_linear *m, size_t n,
                                  const double *t, const double *y,
                                  struct exact_law *smoothed)
{
    struct exact_law law = exact_first(m);
    double loglik = 0.0;
    for (size_t k = 0; k < n; k++) {
        if (k) {
            struct exact_gap g = exact_transition(m, t[k] - t[k - 1]);
            law = exact_predict(&law, &g);
        }
        for (size_t i = 0; i < m->outputs; i++)
            if (!isnan(y[i * n + k]))
                loglik += exact_condition(&law, m->H + i * m->d, m->r[i],
                                          y[i * n + k]);
        if (smoothed) smoothed[k] = law;
    }
    for (size_t k = n - 1; smoothed && k-- > 0;) {
        struct exact_gap g = exact_transition(m, t[k + 1] - t[k]);
        exact_smooth(&g, &smoothed[k + 1], &smoothed[k]);
    }
    return loglik;
}

/* --- One state with any drift, on a grid ---------------------------------- */

/* dX = f(X) dt + s dW; the first state is N(m0, d0^2). log_density() is that
 * of all that was observed in a row, 0 where there was nothing. */
struct exact_diffusion {
    double (*drift)(double x, const double *p);
    const double *p;
    double s, m0, d0;
    double (*log_density)(size_t row, double x, const void *user);
    const void *user;
};

/* Points from low to high, which must leave next to nothing outside. They set
 * the step in time, too: the error is O(width^8). */
struct exact_range {
    double low, high;
    size_t cells;
};

struct exact_grid {
    const struct exact_diffusion *m;
    size_t cells;
    double width, h;      /* h: the gap that P is of                       */
    double *x, *U, *V;    /* (cells)                                       */
    double *P, *B, *C;    /* (cells, cells) p(x'|x), row x; and scratch    */
    double *alpha, *beta; /* (n, cells) forward, backward; both scaled     */
};

/* U' = f / s^2, by Simpson's rule from point to point, and
 * V = (f^2 / s^2 + f') / 2. */
static inline void exact_grid_potential(struct exact_grid *g, double low)
{
    const struct exact_diffusion *m = g->m;
    double s2 = m->s * m->s, w = g->width, e = 1e-3;
    for (size_t i = 0; i < g->cells; i++) {
        double x = low + w * (double)i, f = m->drift(x, m->p);
        double near = m->drift(x + e, m->p) - m->drift(x - e, m->p);
        double far = m->drift(x + 2.0 * e, m->p) - m->drift(x - 2.0 * e, m->p);
        double slope = (8.0 * near - far) / (12.0 * e);
        g->x[i] = x;
        g->V[i] = 0.5 * (f * f / s2 + slope);
        if (i)
            g->U[i] = g->U[i - 1] + (m->drift(x - w, m->p) +
                                     4.0 * m->drift(x - 0.5 * w, m->p) + f) *
                                        w / (6.0 * s2);
    }
}

/* out = A A of symmetric matrices, as an integral. */
static inline void exact_grid_square(const struct exact_grid *g,
                                     const double *A, double *out)
{
    size_t N = g->cells;
    int n = (int)N;
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, n, g->width, A, n,
                0.0, out, n);
    for (size_t e = 0; e < N * N; e++)
        if (e / N < e % N) out[e] = out[e % N * N + e / N];
}

/* The kernel of s^2/2 d^2/dx^2 - V over h to `to`: 2^n steps that are Gaussian
 * between two halves of exp(-V dt), with an error of O(dt^2). Squaring doubles
 * the time. */
static inline void exact_grid_kernel(struct exact_grid *g, int n, double *to)
{
    size_t N = g->cells;
    double dt = ldexp(g->h, -n), v = g->m->s * g->m->s * dt;
    double *from = g->C;
    for (size_t e = 0; e < N * N; e++) {
        size_t i = e / N, j = e % N;
        from[e] = exp(-0.5 * dt * (g->V[i] + g->V[j]) +
                      exact_normal(g->x[j], g->x[i], v));
    }
    while (n--) {
        exact_grid_square(g, from, to);
        memcpy(from, to, N * N * sizeof *to);
    }
}

/* p(x'|x) = exp(U(x') - U(x)) times that kernel, without its error in dt^2.
 * Steps are as short as the grid allows: a step of 1.2 widths is still summed
 * to 12 digits. */
static inline void exact_grid_transition(struct exact_grid *g, double h)
{
    size_t N = g->cells;
    double step = 1.2 * g->width / g->m->s;
    int n = (int)floor(log2(h / (step * step)));
    if (fabs(h - g->h) < 1e-12 * h) return;
    assert_true(n > 1);
    g->h = h;
    exact_grid_kernel(g, n - 1, g->B);
    exact_grid_kernel(g, n, g->P);
    for (size_t e = 0; e < N * N; e++) {
        double p = (4.0 * g->P[e] - g->B[e]) / 3.0;
        g->P[e] = p > 0.0 ? exp(log(p) + g->U[e % N] - g->U[e / N]) : 0.0;
    }
}

static inline void exact_grid_init(struct exact_grid *g, size_t n,
                                   const struct exact_diffusion *m,
                                   const struct exact_range *range)
{
    size_t N = range->cells;
    *g = (struct exact_grid){.m = m,
                             .cells = N,
                             .width =
                                 (range->high - range->low) / (double)(N - 1),
                             .x = NEW(double, N),
                             .U = NEW(double, N),
                             .V = NEW(double, N),
                             .P = NEW(double, N *N),
                             .B = NEW(double, N *N),
                             .C = NEW(double, N *N),
                             .alpha = NEW(double, n *N),
                             .beta = NEW(double, n *N)};
    exact_grid_potential(g, range->low);
}

static inline void exact_grid_free(struct exact_grid *g)
{
    double *all[] = {g->x, g->U, g->V, g->P, g->B, g->C, g->alpha, g->beta};
    for (size_t i = 0; i < COUNT(all); i++)
        mem_free(all[i]);
}

static inline double exact_grid_seen(const struct exact_grid *g, size_t k,
                                     size_t i)
{
    return exp(g->m->log_density(k, g->x[i], g->m->user));
}

/* alpha_k(x') = g_k(x') int alpha_(k-1)(x) p(x'|x) dx, scaled to an integral
 * of 1, whose logarithm is returned. */
static inline double exact_grid_forward(struct exact_grid *g, size_t k,
                                        const double *t)
{
    size_t N = g->cells;
    double *now = g->alpha + k * N, *before = now - N, sum = 0.0;
    double v = g->m->d0 * g->m->d0;
    if (k) exact_grid_transition(g, t[k] - t[k - 1]);
    for (size_t j = 0; j < N; j++) {
        now[j] = k ? 0.0 : exp(exact_normal(g->x[j], g->m->m0, v));
        for (size_t i = 0; k && i < N; i++)
            now[j] += before[i] * g->P[i * N + j] * g->width;
        now[j] *= exact_grid_seen(g, k, j);
        sum += now[j] * g->width;
    }
    for (size_t j = 0; j < N; j++)
        now[j] /= sum;
    return log(sum);
}

/* beta_k(x) = int p(x'|x) g_(k+1)(x') beta_(k+1)(x') dx', scaled. */
static inline void exact_grid_backward(struct exact_grid *g, size_t k,
                                       const double *t)
{
    size_t N = g->cells;
    double *now = g->beta + k * N, *seen = g->C, most = 0.0;
    exact_grid_transition(g, t[k + 1] - t[k]);
    for (size_t j = 0; j < N; j++)
        seen[j] = exact_grid_seen(g, k + 1, j) * now[N + j];
    for (size_t i = 0; i < N; i++) {
        now[i] = 0.0;
        for (size_t j = 0; j < N; j++)
            now[i] += g->P[i * N + j] * seen[j];
        most = fmax(most, now[i]);
    }
    for (size_t i = 0; i < N; i++)
        now[i] /= most;
}

/* Mean and deviation of the law alpha beta. */
static inline void exact_grid_moments(const struct exact_grid *g, size_t k,
                                      double *mean, double *sd)
{
    const double *a = g->alpha + k * g->cells, *b = g->beta + k * g->cells;
    double sum = 0.0, first = 0.0, second = 0.0;
    for (size_t i = 0; i < g->cells; i++) {
        sum += a[i] * b[i];
        first += a[i] * b[i] * g->x[i];
    }
    for (size_t i = 0; i < g->cells; i++)
        second += a[i] * b[i] * pow(g->x[i] - first / sum, 2.0);
    mean[k] = first / sum;
    sd[k] = sqrt(second / sum);
}

/* log p of all that was seen at the times t (n); and, unless NULL, mean and
 * deviation of each state given all of it. Equal gaps that follow each other
 * are cheap, another length costs a matrix of its own. */
static inline double exact_grid_filter(const struct exact_diffusion *m,
                                       const struct exact_range *range,
                                       size_t n, const double *t, double *mean,
                                       double *sd)
{
    struct exact_grid g;
    double loglik = 0.0;
    exact_grid_init(&g, n, m, range);
    for (size_t k = 0; k < n; k++)
        loglik += exact_grid_forward(&g, k, t);
    for (size_t i = 0; i < g.cells; i++)
        g.beta[(n - 1) * g.cells + i] = 1.0;
    for (size_t k = n - 1; mean && k-- > 0;)
        exact_grid_backward(&g, k, t);
    for (size_t k = 0; mean && k < n; k++)
        exact_grid_moments(&g, k, mean, sd);
    exact_grid_free(&g);
    return loglik;
}

/* What the grid sees of y = X + r eps; user is one of these. */
struct exact_noise {
    const double *y; /* (n), NaN where missing */
    double r;
};

static inline double exact_noise_density(size_t row, double x, const void *user)
{
    const struct exact_noise *o = user;
    return isnan(o->y[row]) ? 0.0 : exact_normal(o->y[row], x, o->r * o->r);
}

static inline double exact_well(double x, const double *p)
{
    (void)p;
    return x - x * x * x;
}

static inline double exact_pull(double x, const double *p)
{
    return -p[0] * x;
}

/* --- Data ----------------------------------------------------------------- */

/* n times from 0, h apart; with wiggle up to that share more or less. Up to
 * rounding all the gaps without it are equal. */
static inline void exact_times(size_t n, double h, double wiggle, double *t)
{
    for (size_t k = 0; k < n; k++)
        t[k] = h * ((double)k + (k ? 0.5 * wiggle * sin(3.0 * (double)k) : 0));
}

/* States that pull at each other in a ring and have their own noises, each
 * seen with deviation 0.3; the first ones are N(0, 1/2). In one dimension
 * dX = -X dt + dW. */
static inline struct exact_linear exact_ring(size_t d)
{
    struct exact_linear m = {.d = d, .noises = d, .outputs = d};
    for (size_t i = 0; i < d; i++) {
        m.A[i * d + i] = -1.0 - 0.2 * (double)i;
        if (d > 1) m.A[i * d + (i + 1) % d] += 0.6;
        if (d > 2) m.A[i * d + (i + d - 1) % d] -= 0.3;
        m.G[i * d + i] = 1.0 - 0.1 * (double)i;
        m.H[i * d + i] = 1.0;
        m.r[i] = 0.3;
        m.P0[i * d + i] = 0.5;
    }
    return m;
}

/* A draw of N(mean, cov) from normals z (d), over z. */
static inline void exact_draw(const struct exact_law *law, double *z)
{
    size_t d = law->d;
    double L[EXACT_DD] = {0};
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double v = law->cov[i * d + j];
            for (size_t k = 0; k < j; k++)
                v -= L[i * d + k] * L[j * d + k];
            L[i * d + j] = i == j ? sqrt(fmax(v, 0.0)) : v / L[j * d + j];
        }
    for (size_t i = d; i-- > 0;) {
        double v = law->mean[i];
        for (size_t k = 0; k <= i; k++)
            v += L[i * d + k] * z[k];
        z[i] = v;
    }
}

/* A linear model's data at the times t: x (d, n) the states, y (outputs, n). */
static inline void exact_linear_data(const struct exact_linear *m, size_t n,
                                     const double *t, uint64_t seed, double *x,
                                     double *y)
{
    size_t d = m->d;
    double *z = normals(n * (d + m->outputs), seed);
    double *eps = z + n * d;
    struct exact_law law = exact_first(m);
    for (size_t k = 0; k < n; k++) {
        if (k) {
            struct exact_gap g = exact_transition(m, t[k] - t[k - 1]);
            law = exact_point(d, z + (k - 1) * d);
            law = exact_predict(&law, &g);
        }
        exact_draw(&law, z + k * d);
        for (size_t i = 0; i < d; i++)
            x[i * n + k] = z[k * d + i];
        for (size_t i = 0; i < m->outputs; i++) {
            y[i * n + k] = m->r[i] * eps[i * n + k];
            for (size_t j = 0; j < d; j++)
                y[i * n + k] += m->H[i * d + j] * x[j * n + k];
        }
    }
    mem_free(z);
}

/* Of one state with any drift: x (n) by Euler's scheme in 100 steps a gap,
 * y = X + r eps (n). */
static inline void exact_diffusion_data(const struct exact_diffusion *m,
                                        size_t n, const double *t, double r,
                                        uint64_t seed, double *x, double *y)
{
    enum { STEPS = 100 };
    double *z = normals(n * (STEPS + 1), seed), *of_row = z;
    double now = m->m0 + m->d0 * z[0];
    for (size_t k = 0; k < n; k++, of_row += STEPS + 1) {
        double dt = k ? (t[k] - t[k - 1]) / STEPS : 0.0;
        for (size_t i = 0; k && i < STEPS; i++)
            now += m->drift(now, m->p) * dt + m->s * sqrt(dt) * of_row[i];
        x[k] = now;
        y[k] = now + r * of_row[STEPS];
    }
    mem_free(z);
}

#endif
