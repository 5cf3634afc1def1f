/* SPDX-License-Identifier: MIT */
#include "sde/weigh.h"

#include "base/fast.h"

/* Two steps at once: f and dY are the rows of step m, next those of m + 1. */
INLINE void weigh_pair(size_t K, double dt, const double *restrict f,
                       const double *restrict dY, double *restrict S,
                       double *restrict S2)
{
    const double *restrict f1 = f + K, *restrict dY1 = dY + K;
    for (size_t k = 0; k < K; k++) {
        double a = f[k], b = f1[k], half = 0.5 * dt;
        S[k] += a * (dY[k] - half * a) + b * (dY1[k] - half * b);
        S2[k] += a * (dY[k] + dY1[k] - dt * a);
    }
}

INLINE void weigh_one(size_t K, double dt, const double *restrict f,
                      const double *restrict dY, double *restrict S,
                      double *restrict S2)
{
    for (size_t k = 0; k < K; k++) {
        double s = f[k] * (dY[k] - 0.5 * dt * f[k]);
        S[k] += s;
        S2[k] += s;
    }
}

FAST void weigh(size_t d, size_t steps, size_t K, double dt, const double *f,
                const double *dY, double *S, double *S2)
{
    for (size_t i = 0; i < d; i++) {
        size_t m = 0;
        for (; m + 2 <= steps; m += 2, f += 2 * K, dY += 2 * K)
            weigh_pair(K, dt, f, dY, S, S2);
        if (m == steps) continue;
        weigh_one(K, dt, f, dY, S, S2);
        f += K;
        dY += K;
    }
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
