/* SPDX-License-Identifier: MIT */
/* What follows from the stationary law of two states. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "physics/plane_parts.h"

double plane_density(const struct plane *q, size_t cell)
{
    double volume = 1.0;
    for (size_t i = 0; i < 2; i++)
        volume *= q->h[i] *
                  axis_slope(&q->scene->axis[i], q->s[i * q->N * q->N + cell]);
    return q->p[cell] / volume;
}

/* --- One state alone ------------------------------------------------------ */

/* Every row of cells is spread evenly over what it covers of x. */
void plane_marginal(const struct plane *q, size_t i, size_t bins, double low,
                    double high, double *share)
{
    const struct axis *a = &q->scene->axis[i];
    double w = (high - low) / (double)bins;
    memset(share, 0, bins * sizeof *share);
    for (size_t row = 0; row < q->N; row++) {
        double mass = 0.0, s = a->end[0] + q->h[i] * (double)row;
        for (size_t j = 0; j < q->N; j++)
            mass += q->p[i ? j * q->N + row : row * q->N + j];
        double from = axis_x(a, s), to = axis_x(a, s + q->h[i]);
        double first = floor((from - low) / w);
        for (double b = fmax(first, 0.0); b < (double)bins && low + b * w < to;
             b += 1.0) {
            double part =
                fmin(to, low + (b + 1.0) * w) - fmax(from, low + b * w);
            if (part > 0.0) share[(size_t)b] += mass * part / (to - from);
        }
    }
}

void plane_moments(const struct plane *q, size_t i, double *mean, double *sd)
{
    size_t n = q->N * q->N;
    double sum = 0.0, square = 0.0;
    const double *x = q->x + i * n;
    for (size_t k = 0; k < n; k++)
        sum += q->p[k] * x[k];
    for (size_t k = 0; k < n; k++)
        square += q->p[k] * (x[k] - sum) * (x[k] - sum);
    *mean = sum;
    *sd = sqrt(square);
}

/* --- Passages ------------------------------------------------------------- */

/* u with L u = -source outside of both regions; 0 in one, 1 in the other. */
static int solve_backward(const struct plane *q, const bool *zero,
                          const bool *one, double source, double *u)
{
    struct band L;
    size_t n = q->N * q->N;
    int status = band_init(&L, n, q->N + 1);
    if (!status) plane_matrix(q, true, &L);
    for (size_t k = 0; !status && k < n; k++) {
        bool fixed = zero[k] || (one && one[k]);
        if (fixed) band_pin(&L, k);
        u[k] = !fixed ? -source : zero[k] ? 0.0 : 1.0;
    }
    if (!status) status = band_factor(&L);
    if (!status) band_solve(&L, u);
    band_free(&L);
    return status;
}

int plane_passage(const struct plane *q, const bool *from, const bool *to,
                  double *time)
{
    size_t n = q->N * q->N;
    double *u = NEW(double, n), sum = 0.0, mass = 0.0;
    if (!u) return GSV_NO_MEMORY;
    int status = solve_backward(q, to, NULL, 1.0, u);
    for (size_t k = 0; !status && k < n; k++)
        if (from[k]) {
            sum += q->p[k] * u[k];
            mass += q->p[k];
        }
    *time = sum / mass;
    mem_free(u);
    return status;
}

int plane_committor(const struct plane *q, const bool *from, const bool *to,
                    double *probability)
{
    return solve_backward(q, from, to, 0.0, probability);
}

/* --- Relaxation ----------------------------------------------------------- */

/* A u = -r where r has no sum: the pinned equation is superfluous. */
static void apply_inverse(void *context, double *v)
{
    const struct plane *q = context;
    size_t n = q->N * q->N;
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += v[k];
    for (size_t k = 0; k < n; k++)
        v[k] = -(v[k] - sum * q->p[k]);
    v[q->pin] = 0.0;
    band_solve(&q->L, v);
    sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += v[k];
    for (size_t k = 0; k < n; k++)
        v[k] -= sum * q->p[k];
}

int plane_spectrum(struct plane *q, double time[RELAXATIONS],
                   double turn[RELAXATIONS])
{
    size_t n = q->N * q->N;
    double *start = NEW(double, 2 * n);
    if (!start) return GSV_NO_MEMORY;
    double *weight = start + n;
    for (size_t k = 0; k < n; k++) {
        double u[2];
        for (size_t i = 0; i < 2; i++) {
            const struct axis *a = &q->scene->axis[i];
            u[i] = (q->x[i * n + k] - a->centre) / a->width;
        }
        start[k] = q->p[k] * (tanh(u[0]) + 0.7 * tanh(u[1]) +
                              0.3 / (1.0 + u[0] * u[0] + u[1] * u[1]));
        weight[k] = 1.0 / fmax(q->p[k], 1e-14);
    }
    struct inverse v = {
        .n = n, .weight = weight, .context = q, .apply = apply_inverse};
    int status = spectrum_find(&v, start, time, turn);
    mem_free(start);
    return status;
}

/* --- Entropy production --------------------------------------------------- */

/* The current through a face, per length of the face in s. */
static double face_current(const struct plane *q, size_t k)
{
    size_t axis, cell = face_cell(q, k, &axis), other[4];
    double in, out, weight[4];
    face_rates(q, k, &in, &out);
    double J = in * q->p[cell] - out * q->p[face_next(q, cell, axis)];
    size_t count = face_cross(q, k, other, weight);
    for (size_t i = 0; i < count; i++)
        J += weight[i] * q->p[other[i]];
    return J;
}

/* Currents at the middles of cells (2, N N), from both faces of each axis; at
 * the ends of the grid there is none. */
static void cell_currents(const struct plane *q, double *J)
{
    size_t n = q->N * q->N;
    memset(J, 0, 2 * n * sizeof *J);
    for (size_t k = 0; k < q->faces; k++) {
        size_t axis, cell = face_cell(q, k, &axis);
        double half = 0.5 * face_current(q, k);
        J[axis * n + cell] += half;
        J[axis * n + face_next(q, cell, axis)] += half;
    }
}

double plane_entropy(const struct plane *q)
{
    size_t n = q->N * q->N;
    double sum = 0.0, *J = NEW(double, 2 * n);
    if (!J) return (double)NAN;
    cell_currents(q, J);
    for (size_t k = 0; k < n; k++) {
        double a = q->a[k], b = q->a[n + k], c = q->a[3 * n + k];
        double det = a * c - b * b, u = J[k], v = J[n + k];
        if (!(det > 1e-12 * a * c)) {
            sum = (double)NAN;
            break;
        }
        if (q->p[k] > 1e-16)
            sum += 2.0 * (c * u * u - 2.0 * b * u * v + a * v * v) /
                   (det * q->p[k]);
    }
    mem_free(J);
    return sum;
}

/* --- The gradient part of the drift --------------------------------------- */

/* The rise - f dx of the potential across a face, and the weight of its
 * square: the mean density over the length. f is that of x. */
static void face_rise(const struct plane *q, size_t k, double *rise,
                      double *weight)
{
    size_t axis, m = q->faces, cell = face_cell(q, k, &axis);
    const struct axis *a = &q->scene->axis[axis];
    double s = q->face_s[axis * m + k], slope = axis_slope(a, s);
    double noise = q->face_a[3 * axis * m + k];
    double f = slope * (q->face_f[axis * m + k] +
                        0.5 * noise * axis_bend(a, s) / slope);
    double p = 0.5 * (q->p[cell] + q->p[face_next(q, cell, axis)]);
    double length = q->h[axis] * slope;
    *rise = -f * length;
    *weight = fmax(p, 1e-12) / (length * length);
}

static void shift_potential(const struct plane *q, double *U)
{
    size_t n = q->N * q->N;
    double low = (double)INFINITY;
    for (size_t k = 0; k < n; k++)
        if (axis_reached(&q->scene->axis[0], q->x[k]) &&
            axis_reached(&q->scene->axis[1], q->x[n + k]))
            low = fmin(low, U[k]);
    for (size_t k = 0; k < n && isfinite(low); k++)
        U[k] -= low;
}

int plane_potential(const struct plane *q, double *U, double *share)
{
    struct band A;
    size_t n = q->N * q->N;
    double left = 0.0, all = 0.0;
    int status = band_init(&A, n, q->N);
    memset(U, 0, n * sizeof *U);
    for (size_t k = 0; !status && k < q->faces; k++) {
        size_t axis, i = face_cell(q, k, &axis), j = face_next(q, i, axis);
        double rise, w;
        face_rise(q, k, &rise, &w);
        *band_at(&A, i, i) += w;
        *band_at(&A, j, j) += w;
        *band_at(&A, i, j) -= w;
        *band_at(&A, j, i) -= w;
        U[i] -= w * rise;
        U[j] += w * rise;
    }
    if (!status) band_pin(&A, q->pin);
    U[q->pin] = 0.0;
    if (!status) status = band_factor(&A);
    if (!status) band_solve(&A, U);
    band_free(&A);
    for (size_t k = 0; !status && k < q->faces; k++) {
        size_t axis, i = face_cell(q, k, &axis);
        double rise, w;
        face_rise(q, k, &rise, &w);
        double error = U[face_next(q, i, axis)] - U[i] - rise;
        left += w * error * error;
        all += w * rise * rise;
    }
    *share = 1.0 - left / all;
    if (!status) shift_potential(q, U);
    return status;
}
