/* SPDX-License-Identifier: MIT */
#include "observe/links.h"

#include <math.h>
#include <string.h>

#include "base/linalg.h"

int links_init(struct links *l, struct laws *laws)
{
    size_t d = laws->d, n = laws->stops->count, dd = d * d;
    *l = (struct links){.laws = laws, .d = d};
    const struct arena_part part[] = {{&l->before.gain, n * dd},
                                      {&l->before.root, n * dd},
                                      {&l->before.log_root, n},
                                      {&l->after.gain, n * dd},
                                      {&l->after.root, n * dd},
                                      {&l->after.log_root, n},
                                      {&l->level, n},
                                      {&l->slope, n * d},
                                      {&l->curve, n * dd},
                                      {&l->small, 5 * dd}};
    return arena_lay(&l->arena, sizeof part / sizeof *part, part);
}

void links_free(struct links *l)
{
    arena_free(&l->arena);
    *l = (struct links){0};
}

static size_t latent_of(const struct links *l, size_t stop)
{
    return l->d - laws_exact(l->laws, stop);
}

/* The inverse of L L' to A, both (n, n); A may not be L. */
static void invert(size_t n, const double *L, double *A)
{
    for (size_t e = 0; e < n * n; e++)
        A[e] = e % (n + 1) == 0;
    linalg_lower_solve(n, n, L, false, A);
    linalg_lower_solve(n, n, L, true, A);
}

/* The law given the stop after: as the smoother has it. */
static int make_after(struct links *l, size_t stop)
{
    size_t d = l->d, dd = d * d, n = latent_of(l, stop);
    double *root = l->after.root + stop * dd, *gain = l->after.gain + stop * dd;
    memset(gain, 0, dd * sizeof *gain);
    if (!stop_is_last(l->laws->stops, stop))
        laws_pick(l->laws, stop, stop + 1, l->laws->gain + stop * dd, gain);
    laws_pick(l->laws, stop, stop, l->laws->rest + stop * dd, root);
    return laws_factor(l->laws, stop, n, root, &l->after.log_root[stop]);
}

/* Given the stop before, whose own law given this one is known: with G and R
 * that law's gain and rest, and P this stop's covariance,
 *
 *     root root' = (P^-1 + G' R^-1 G)^-1,   gain = root root' G' R^-1. */
static int make_before(struct links *l, size_t stop)
{
    size_t d = l->d, dd = d * d, n = latent_of(l, stop);
    double *root = l->before.root + stop * dd;
    double *gain = l->before.gain + stop * dd;
    double *log_root = &l->before.log_root[stop];
    memset(gain, 0, dd * sizeof *gain);
    laws_pick(l->laws, stop, stop, l->laws->cov + stop * dd, root);
    int status = laws_factor(l->laws, stop, n, root, log_root);
    if (status || stop_is_first(l->laws->stops, stop)) return status;
    size_t m = latent_of(l, stop - 1);
    if (!n || !m) return 0;
    double *A = l->small, *B = A + dd, *C = B + dd;
    invert(n, root, A);
    memcpy(B, l->after.gain + (stop - 1) * dd, m * n * sizeof *B);
    linalg_lower_solve(m, n, l->after.root + (stop - 1) * dd, false, B);
    linalg_product(n, m, n, B, true, B, false, C);
    for (size_t e = 0; e < n * n; e++)
        A[e] += C[e];
    double unused;
    status = laws_factor(l->laws, stop, n, A, &unused);
    if (status) return status;
    invert(n, A, root);
    linalg_lower_solve(m, n, l->after.root + (stop - 1) * dd, true, B);
    linalg_product(n, n, m, root, false, B, true, gain);
    return laws_factor(l->laws, stop, n, root, log_root);
}

/* The filtered law to small: mean and covariance, of all states. */
static void filtered(struct links *l, size_t stop, double *mean, double *cov)
{
    const struct laws *a = l->laws;
    size_t d = l->d, dd = d * d, next = stop + 1;
    const double *gain = a->gain + stop * dd;
    double *T = l->small + 3 * dd;
    for (size_t i = 0; i < d; i++) {
        mean[i] = a->mean[stop * d + i];
        for (size_t j = 0; j < d; j++)
            mean[i] += gain[i * d + j] * (a->predicted_mean[next * d + j] -
                                          a->mean[next * d + j]);
    }
    linalg_product(d, d, d, gain, false, a->predicted_cov + next * dd, false,
                   T);
    linalg_product(d, d, d, T, false, gain, true, cov);
    for (size_t e = 0; e < dd; e++)
        cov[e] += a->rest[stop * dd + e];
}

/* With F and P the filtered and the smoothed covariance, and w how far the
 * smoothed mean is from the filtered one: slope = F^-1 w, curve = P^-1 - F^-1,
 * level = w' slope / 2 + log |F| / 2 - log |P| / 2. */
static int make_psi(struct links *l, size_t stop)
{
    struct laws *a = l->laws;
    size_t d = l->d, dd = d * d, n = latent_of(l, stop), k = 0;
    double *slope = l->slope + stop * d, *curve = l->curve + stop * dd;
    double *F = l->small, *cov = F + dd, *inverse = F + 2 * dd;
    double *mean = F + 4 * dd, *level = &l->level[stop], wide, narrow;
    memset(slope, 0, d * sizeof *slope);
    memset(curve, 0, dd * sizeof *curve);
    *level = 0.0;
    if (stop_is_last(l->laws->stops, stop) || !n) return 0;
    filtered(l, stop, mean, cov);
    for (size_t i = 0; i < d; i++)
        if (isnan(laws_state(a, stop, i)))
            slope[k++] = a->mean[stop * d + i] - mean[i];
    laws_pick(a, stop, stop, cov, F);
    int status = laws_factor(a, stop, n, F, &wide);
    if (status) return status;
    linalg_lower_solve(n, 1, F, false, slope);
    for (size_t i = 0; i < n; i++)
        *level += 0.5 * slope[i] * slope[i];
    linalg_lower_solve(n, 1, F, true, slope);
    invert(n, F, inverse);
    laws_pick(a, stop, stop, a->cov + stop * dd, F);
    status = laws_factor(a, stop, n, F, &narrow);
    if (status) return status;
    *level += wide - narrow;
    invert(n, F, curve);
    for (size_t e = 0; e < n * n; e++)
        curve[e] -= inverse[e];
    return 0;
}

int links_make(struct links *l)
{
    int status = 0;
    for (size_t n = 0; !status && n < l->laws->stops->count; n++) {
        status = make_after(l, n);
        if (!status) status = make_before(l, n);
        if (!status) status = make_psi(l, n);
    }
    return status;
}

/* u[i] of latent state i += row of a matrix times rows of from. */
static void add_row(size_t n, size_t P, const double *row, const double *from,
                    double *u)
{
    for (size_t k = 0; k < n; k++)
        for (size_t p = 0; p < P; p++)
            u[p] += row[k] * from[k * P + p];
}

/* u[i] += gain times how far the neighbour is from its mean. */
static void add_neighbour(const struct links *l, size_t stop, size_t P,
                          const double *row, const double *neighbour, double *u)
{
    const double *mean = l->laws->mean + stop * l->d;
    for (size_t j = 0, k = 0; j < l->d; j++) {
        if (!isnan(laws_state(l->laws, stop, j))) continue;
        for (size_t p = 0; p < P; p++)
            u[p] += row[k] * (neighbour[j * P + p] - mean[j]);
        k++;
    }
}

void links_draw(const struct links *l, size_t stop, size_t P,
                const double *before, const double *z, double *u)
{
    size_t d = l->d, dd = d * d, n = latent_of(l, stop), row = 0;
    bool first = stop_is_first(l->laws->stops, stop);
    size_t m = first ? 0 : latent_of(l, stop - 1);
    for (size_t i = 0; i < d; i++) {
        double *to = u + i * P;
        for (size_t p = 0; p < P; p++)
            to[p] = l->laws->mean[stop * d + i];
        if (!isnan(laws_state(l->laws, stop, i))) continue;
        if (!first)
            add_neighbour(l, stop - 1, P, l->before.gain + stop * dd + row * m,
                          before, to);
        add_row(row + 1, P, l->before.root + stop * dd + row * n, z, to);
        row++;
    }
}

void links_ahead(const struct links *l, size_t stop, size_t P, const double *u,
                 double *log_psi)
{
    size_t d = l->d, n = latent_of(l, stop), row = 0;
    const double *mean = l->laws->mean + stop * d;
    const double *slope = l->slope + stop * d, *curve = l->curve + stop * d * d;
    for (size_t p = 0; p < P; p++)
        log_psi[p] = l->level[stop];
    for (size_t i = 0; i < d; i++) {
        if (!isnan(laws_state(l->laws, stop, i))) continue;
        const double *c = curve + row * n;
        for (size_t p = 0; p < P; p++)
            log_psi[p] += slope[row] * (u[i * P + p] - mean[i]);
        for (size_t j = 0, k = 0; j < d; j++) {
            if (!isnan(laws_state(l->laws, stop, j))) continue;
            for (size_t p = 0; p < P; p++)
                log_psi[p] -= 0.5 * c[k] * (u[i * P + p] - mean[i]) *
                              (u[j * P + p] - mean[j]);
            k++;
        }
        row++;
    }
}
