/* SPDX-License-Identifier: MIT */
#include "bridge/draw.h"

#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/fast.h"
#include "base/sobol.h"

/* A basis that is larger is computed again row by row. */
enum { LARGEST_BASIS = 1 << 17 };

size_t draw_modes(size_t M)
{
    return M - 1 <= MODES ? M - 1 : FEW_MODES;
}

size_t draw_basis_room(size_t M)
{
    return M - 1 <= MODES ? (M - 1) * (M - 1) : LARGEST_BASIS;
}

static bool is_kept(size_t M)
{
    return (M - 1) * draw_modes(M) <= LARGEST_BASIS;
}

void draw_basis_row(size_t M, size_t m, size_t modes, double *row)
{
    double n = (double)M, left = (double)(M - m);
    double scale = 1.0 / sqrt((left - 1.0) / (n * left));
    for (size_t q = 1; q <= modes; q++) {
        double half = sin(0.5 * PI * (double)q / n);
        double size = sqrt(2.0 / n / (4.0 * n * half * half));
        double angle = PI * (double)q / n;
        double next = sin(angle * (double)(m + 1)),
               now = sin(angle * (double)m);
        row[q - 1] = scale * size * (next - now * (left - 1.0) / left);
    }
}

/* y += a x over n numbers. */
FAST static void axpy(size_t n, double a, const double *restrict x,
                      double *restrict y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static const double *basis_row(struct draw *w, size_t m)
{
    if (is_kept(w->M)) return w->basis + m * w->modes;
    draw_basis_row(w->M, m, w->modes, w->row);
    return w->row;
}

/* z becomes z - O' xi': what the independent numbers have of the modes goes. */
static void take_out_modes(struct draw *w, double *room)
{
    size_t n = w->d * w->K;
    for (size_t m = 0; m + 1 < w->M; m++) {
        const double *row = basis_row(w, m);
        random_normals(&w->key, (uint64_t)m * w->d, w->d, w->k0, w->K, room);
        for (size_t q = 0; q < w->modes; q++)
            axpy(n, -row[q], room, w->mode + q * n);
    }
}

void draw_start(struct draw *w, size_t M, uint64_t k0, size_t K, double *room)
{
    w->M = M;
    w->k0 = k0;
    w->K = K;
    w->modes = draw_modes(M);
    if (!w->sobol || M < 2) return;
    if (is_kept(M) && w->basis_M != M) {
        for (size_t m = 0; m + 1 < M; m++)
            draw_basis_row(M, m, w->modes, w->basis + m * w->modes);
        w->basis_M = M;
    }
    sobol_normals(&w->key, 0, w->modes * w->d, k0, K, w->mode);
    if (M - 1 > MODES) take_out_modes(w, room);
}

void draw_steps(struct draw *w, size_t first, size_t steps, double *xi)
{
    size_t n = w->d * w->K;
    if (first + steps == w->M) steps--;
    if (!w->sobol || w->M - 1 > MODES)
        random_normals(&w->key, (uint64_t)first * w->d, steps * w->d, w->k0,
                       w->K, xi);
    else memset(xi, 0, steps * n * sizeof *xi);
    for (size_t m = first; w->sobol && m < first + steps; m++, xi += n) {
        const double *row = basis_row(w, m);
        for (size_t q = 0; q < w->modes; q++)
            axpy(n, row[q], w->mode + q * n, xi);
    }
}
