/* SPDX-License-Identifier: MIT */
#include "bridge/bridge.h"

#include <math.h>
#include <string.h>

#include "base/fast.h"
#include "bridge/rows.h"

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
        else if (r->kind == GSV_REFERENCE_BROWNIAN)
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
    if (r->kind == GSV_REFERENCE_BROWNIAN) {
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
