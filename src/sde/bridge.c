/* SPDX-License-Identifier: MIT */
#include "sde/bridge.h"

#include <math.h>

#include "base/fast.h"

/* One step of n numbers, all coordinates of all paths: pull toward the end,
 * then noise. Numbers of one coordinate are K neighbours; where they go, the
 * neighbours of the next coordinate are `stride` away. */
INLINE void step(size_t d, size_t K, size_t stride, double pull, double noise,
                 const double *end, const double *restrict z,
                 double *restrict at, double *restrict Y, double *restrict dY)
{
    for (size_t i = 0; i < d; i++, z += K, at += K, Y += stride, dY += stride) {
        double to = end[i];
#pragma omp simd
        for (size_t k = 0; k < K; k++) {
            double move = pull * (to - at[k]) + noise * z[k];
            Y[k] = at[k];
            dY[k] = move;
            at[k] += move;
        }
    }
}

/* The last row is set, not summed: rounding must not move a datum. */
INLINE void last_step(size_t d, size_t K, size_t stride, const double *end,
                      double *restrict at, double *restrict Y,
                      double *restrict dY)
{
    for (size_t i = 0; i < d; i++, at += K, Y += stride, dY += stride)
        for (size_t k = 0; k < K; k++) {
            Y[k] = at[k];
            dY[k] = end[i] - at[k];
            at[k] = end[i];
        }
}

/* The number of paths is almost always a multiple of 8, and often 8: loops
 * with that known have no loose ends. */
FAST void bridge_walk(const struct bridge *b, size_t first, size_t steps,
                      const double *z, double *at, double *Y, double *dY)
{
    size_t d = b->d, M = b->M, K = b->K;
    for (size_t m = 0; m < steps; m++, z += d * K, Y += K, dY += K) {
        double left = (double)(M - first - m);
        double pull = 1.0 / left, noise = sqrt(b->dt * (left - 1.0) / left);
        if (first + m + 1 == M) last_step(d, K, steps * K, b->y1, at, Y, dY);
        else if (K == 8)
            step(d, 8, steps * 8, pull, noise, b->y1, z, at, Y, dY);
        else if (K % 8 == 0)
            step(d, K / 8 * 8, steps * K, pull, noise, b->y1, z, at, Y, dY);
        else step(d, K, steps * K, pull, noise, b->y1, z, at, Y, dY);
    }
}

INLINE double sum(size_t K, const double *x)
{
    double s = 0.0;
#pragma omp simd reduction(+ : s)
    for (size_t k = 0; k < K; k++)
        s += x[k];
    return s;
}

FAST void bridge_vjp(const struct bridge *b, size_t first, size_t steps,
                     const double *Y_bar, const double *dY_bar, double *y0_bar,
                     double *y1_bar)
{
    size_t K = b->K;
    double M = (double)b->M;
    for (size_t i = 0; i < b->d; i++)
        for (size_t m = 0; m < steps; m++) {
            size_t from = (i * steps + m) * K;
            double s = (double)(first + m) / M;
            double at = sum(K, Y_bar + from), move = sum(K, dY_bar + from) / M;
            y0_bar[i] += (1.0 - s) * at - move;
            y1_bar[i] += s * at + move;
        }
}
