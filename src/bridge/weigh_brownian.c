/* SPDX-License-Identifier: MIT */
/* Against Brownian bridges: S = sum f' (dY - f dt/2). */
#include <stdbool.h>

#include "base/fast.h"
#include "bridge/weigh_forms.h"

/* Neighbouring paths at a time, as one or two vectors of four: their sums stay
 * in registers. */
enum { WIDTH = 4, BOTH = 8 };
typedef double four __attribute__((vector_size(32), aligned(8)));

INLINE four load(const double *x)
{
    return *(const four *)x;
}

INLINE void pair(size_t K, double dt, const double *f, const double *dY,
                 four *s, four *s2)
{
    four a = load(f), b = load(f + K), u = load(dY), v = load(dY + K);
    *s += a * (u - 0.5 * dt * a) + b * (v - 0.5 * dt * b);
    *s2 += a * (u + v - dt * a);
}

INLINE void single(double dt, const double *f, const double *dY, four *s,
                   four *s2)
{
    four a = load(f), last = a * (load(dY) - 0.5 * dt * a);
    *s += last;
    *s2 += last;
}

/* width is known where this is called: 4 or 8. */
INLINE void weigh_wide(const struct slice *c, size_t width, size_t k, double *S,
                       double *S2)
{
    size_t next = width - WIDTH; /* 0 where there is no second vector */
    size_t K = c->K, d = c->reference->d;
    double dt = c->reference->dt;
    four s0 = load(S), s1 = load(S + next);
    four t0 = load(S2), t1 = load(S2 + next);
    for (size_t i = 0; i < d; i++) {
        const double *f = c->f + i * c->ld + k, *dY = c->dY + i * c->ld + k;
        size_t m = 0;
        for (; m + 2 <= c->steps; m += 2, f += 2 * K, dY += 2 * K) {
            pair(K, dt, f, dY, &s0, &t0);
            if (next) pair(K, dt, f + next, dY + next, &s1, &t1);
        }
        if (m == c->steps) continue;
        single(dt, f, dY, &s0, &t0);
        if (next) single(dt, f + next, dY + next, &s1, &t1);
    }
    if (next) *(four *)(S + next) = s1, *(four *)(S2 + next) = t1;
    *(four *)S = s0;
    *(four *)S2 = t0;
}

/* The paths that are left over, one by one. */
static void weigh_path(const struct slice *c, size_t k, double *S, double *S2)
{
    double dt = c->reference->dt;
    for (size_t i = 0; i < c->reference->d; i++) {
        const double *f = c->f + i * c->ld + k, *dY = c->dY + i * c->ld + k;
        for (size_t m = 0; m < c->steps; m++, f += c->K, dY += c->K) {
            double s = *f * (*dY - 0.5 * dt * *f);
            bool paired = m % 2 || m + 1 < c->steps;
            *S += s;
            if (!paired) *S2 += s;
            else if (m % 2 == 0) *S2 += *f * (*dY + dY[c->K] - dt * *f);
        }
    }
}

FAST void weigh_brownian(const struct slice *c, double *S, double *S2)
{
    size_t k = 0;
    for (; k + BOTH <= c->K; k += BOTH)
        weigh_wide(c, BOTH, k, S + k, S2 + k);
    for (; k + WIDTH <= c->K; k += WIDTH)
        weigh_wide(c, WIDTH, k, S + k, S2 + k);
    for (; k < c->K; k++)
        weigh_path(c, k, S + k, S2 + k);
}

/* f_bar = S_bar (dY - f dt), dY_bar = S_bar f. */
INLINE void step_vjp(size_t K, double dt, const double *f, const double *dY,
                     const double *S_bar, double *restrict f_bar,
                     double *restrict dY_bar)
{
    for (size_t k = 0; k < K; k++) {
        f_bar[k] = S_bar[k] * (dY[k] - dt * f[k]);
        dY_bar[k] = S_bar[k] * f[k];
    }
}

/* What S2 adds in the first of two steps, or in a last one that is alone. */
INLINE void pair_vjp(size_t K, double dt, bool alone, const double *f,
                     const double *dY, const double *S2_bar,
                     double *restrict f_bar, double *restrict dY_bar)
{
    for (size_t k = 0; k < K; k++) {
        double move = alone ? dY[k] : dY[k] + dY[K + k];
        f_bar[k] += S2_bar[k] * (move - (alone ? dt : 2.0 * dt) * f[k]);
        dY_bar[k] += S2_bar[k] * f[k];
        if (!alone) dY_bar[K + k] += S2_bar[k] * f[k];
    }
}

FAST void weigh_brownian_vjp(const struct slice *c, const struct slice_bar *bar)
{
    size_t K = c->K, d = c->reference->d;
    double dt = c->reference->dt;
    for (size_t i = 0; i < d; i++) {
        size_t row = i * c->ld;
        for (size_t m = 0; m < c->steps; m++)
            step_vjp(K, dt, c->f + row + m * K, c->dY + row + m * K, bar->S_bar,
                     bar->f_bar + row + m * K, bar->dY_bar + row + m * K);
        for (size_t m = 0; bar->S2_bar && m < c->steps; m += 2)
            pair_vjp(K, dt, m + 1 == c->steps, c->f + row + m * K,
                     c->dY + row + m * K, bar->S2_bar, bar->f_bar + row + m * K,
                     bar->dY_bar + row + m * K);
    }
    if (bar->ends) clear_rows(d, c->steps * K, bar->Z_bar, c->ld);
}
