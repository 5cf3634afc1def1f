/* SPDX-License-Identifier: MIT */
#include "sde/weigh.h"

#include <stdbool.h>

#include "base/fast.h"

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
INLINE void weigh_wide(size_t width, size_t d, size_t steps, size_t K,
                       double dt, const double *f, const double *dY, double *S,
                       double *S2)
{
    size_t next = width - WIDTH; /* 0 where there is no second vector */
    four s0 = load(S), s1 = load(S + next);
    four t0 = load(S2), t1 = load(S2 + next);
    for (size_t i = 0; i < d; i++) {
        size_t m = 0;
        for (; m + 2 <= steps; m += 2, f += 2 * K, dY += 2 * K) {
            pair(K, dt, f, dY, &s0, &t0);
            if (next) pair(K, dt, f + next, dY + next, &s1, &t1);
        }
        if (m == steps) continue;
        single(dt, f, dY, &s0, &t0);
        if (next) single(dt, f + next, dY + next, &s1, &t1);
        f += K;
        dY += K;
    }
    if (next) *(four *)(S + next) = s1, *(four *)(S2 + next) = t1;
    *(four *)S = s0;
    *(four *)S2 = t0;
}

/* The paths that are left over, one by one. */
static void weigh_one(size_t d, size_t steps, size_t K, double dt,
                      const double *f, const double *dY, double *S, double *S2)
{
    for (size_t i = 0; i < d; i++)
        for (size_t m = 0; m < steps; m++, f += K, dY += K) {
            double s = *f * (*dY - 0.5 * dt * *f);
            bool paired = m % 2 || m + 1 < steps;
            *S += s;
            if (!paired) *S2 += s;
            else if (m % 2 == 0) *S2 += *f * (*dY + dY[K] - dt * *f);
        }
}

FAST void weigh(size_t d, size_t steps, size_t K, double dt, const double *f,
                const double *dY, double *S, double *S2)
{
    size_t k = 0;
    for (; k + BOTH <= K; k += BOTH)
        weigh_wide(BOTH, d, steps, K, dt, f + k, dY + k, S + k, S2 + k);
    for (; k + WIDTH <= K; k += WIDTH)
        weigh_wide(WIDTH, d, steps, K, dt, f + k, dY + k, S + k, S2 + k);
    for (; k < K; k++)
        weigh_one(d, steps, K, dt, f + k, dY + k, S + k, S2 + k);
}

FAST void weigh_vjp(size_t d, size_t steps, size_t K, double dt,
                    const double *f, const double *dY,
                    const double *restrict S_bar, double *restrict f_bar,
                    double *restrict dY_bar)
{
    for (size_t row = 0; row < d * steps; row++)
        for (size_t k = 0; k < K; k++) {
            size_t j = row * K + k;
            f_bar[j] = S_bar[k] * (dY[j] - dt * f[j]);
            dY_bar[j] = S_bar[k] * f[j];
        }
}
