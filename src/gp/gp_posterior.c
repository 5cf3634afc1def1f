/* SPDX-License-Identifier: MIT */
#include "gp/gp_posterior.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "gp/gp_gram.h"

/* B and S of this many directions take 1 GiB and some 10 s. */
enum { MOST_DIRECTIONS = 8192 };

/* Draws and points that go together: (G + F, BLOCK) numbers. */
enum { BLOCK = 64 };

/* --- Making ------------------------------------------------------------- */

/* The columns of a block lie in front of what products with R take. */
static size_t room_size(const struct gp_root *r)
{
    size_t block = (r->numbers + r->rank) * BLOCK + gp_root_room(r, BLOCK);
    size_t F = r->prior.features;
    size_t cross = (r->numbers + r->rank) * F + gp_root_room(r, F);
    size_t gram = gp_gram_room(r), most = block > gram ? block : gram;
    return most > cross ? most : cross;
}

static void to_prior(struct gp_posterior *q)
{
    size_t n = q->root->rank;
    q->logdet = 0.0;
    memset(q->mean, 0, n * sizeof *q->mean);
    memset(q->value, 0, q->root->numbers * sizeof *q->value);
    memset(q->slope, 0, q->root->numbers * sizeof *q->slope);
    memset(q->L, 0, n * n * sizeof *q->L);
    for (size_t i = 0; i < n; i++)
        q->L[i * n + i] = 1.0;
}

int gp_posterior_init(struct gp_posterior *q, const struct gp_root *root,
                      bool inverse)
{
    *q = (struct gp_posterior){.root = root};
    size_t n = root->rank;
    if (n > MOST_DIRECTIONS)
        return fail(GSV_BAD_INPUT,
                    "a Gaussian process on %zu nodes has %zu directions that "
                    "matter, but at most %d can be learned: use fewer nodes, "
                    "longer length-scales or the kernel rbf",
                    root->nodes, n, MOST_DIRECTIONS);
    const struct arena_part parts[] = {{&q->mean, n},
                                       {&q->value, root->numbers},
                                       {&q->slope, root->numbers},
                                       {&q->L, n * n},
                                       {&q->S, inverse ? n * n : 0},
                                       {&q->room, room_size(root)}};
    int status = arena_lay(&q->arena, sizeof parts / sizeof *parts, parts);
    if (!status) to_prior(q);
    return status;
}

void gp_posterior_free(struct gp_posterior *q)
{
    arena_free(&q->arena);
    *q = (struct gp_posterior){0};
}

/* --- Update ------------------------------------------------------------- */

static void store_row(void *context, size_t row, const double *values)
{
    struct gp_posterior *q = context;
    const struct gp_root *r = q->root;
    double scale = r->prior.amplitude * r->prior.amplitude;
    double *B = q->L + row * r->rank;
    for (size_t j = 0; j <= row; j++)
        B[j] = scale * values[r->place[j]];
    B[row] += 1.0;
}

/* The rows of the features: p H_cv R and I + p^2 H_cc. */
static void store_features(struct gp_posterior *q,
                           const struct gp_information *h)
{
    const struct gp_root *r = q->root;
    size_t F = r->prior.features;
    double p = r->prior.feature_sd;
    double *w = q->room, *u = w + r->numbers * F; /* (.., F) */
    memcpy(w, h->cross, r->nodes * F * sizeof *w);
    memcpy(w + r->nodes * F, h->square, F * F * sizeof *w);
    gp_root_adjoint(r, F, w, u, u + r->rank * F);
    for (size_t f = 0; f < F; f++) {
        double *B = q->L + (r->kept + f) * r->rank;
        for (size_t j = 0; j <= r->kept + f; j++)
            B[j] = p * u[j * F + f];
        B[r->kept + f] += 1.0;
    }
}

void gp_posterior_solve(const struct gp_posterior *q, double *u)
{
    linalg_lower_solve(q->root->rank, 1, q->L, false, u);
    linalg_lower_solve(q->root->rank, 1, q->L, true, u);
}

/* B m = R' pull, and what follows from m. */
void gp_posterior_pull(struct gp_posterior *q, const struct gp_information *h)
{
    const struct gp_root *r = q->root;
    gp_root_adjoint(r, 1, h->pull, q->mean, q->room);
    gp_posterior_solve(q, q->mean);
    gp_root_product(r, 1, q->mean, q->value, q->room);
    gp_information_product(h, q->value, q->slope);
    for (size_t i = 0; i < r->numbers; i++)
        q->slope[i] = h->pull[i] - q->slope[i];
}

int gp_posterior_bend(struct gp_posterior *q, const struct gp_information *h)
{
    size_t n = q->root->rank;
    q->inverted = false;
    q->logdet = 0.0;
    gp_gram_rows(q->root, h, GP_NO_AXIS, q->room, store_row, q);
    if (h->features) store_features(q, h);
    if (!linalg_cholesky(n, q->L)) {
        to_prior(q);
        return fail(GSV_NUMERICAL,
                    "the posterior of a Gaussian process cannot be computed: "
                    "the information matrix of the data is not finite");
    }
    for (size_t i = 0; i < n; i++)
        q->logdet += 2.0 * log(q->L[i * n + i]);
    return 0;
}

int gp_posterior_update(struct gp_posterior *q, const struct gp_information *h)
{
    int status = gp_posterior_bend(q, h);
    if (!status) gp_posterior_pull(q, h);
    return status;
}

/* --- Draws -------------------------------------------------------------- */

/* w (m, G + F) from columns (G + F, m). */
static void transpose(size_t rows, size_t m, const double *columns, double *w)
{
    for (size_t k = 0; k < m; k++)
        for (size_t i = 0; i < rows; i++)
            w[k * rows + i] = columns[i * m + k];
}

void gp_posterior_draw(struct gp_posterior *q, const struct random_key *key,
                       uint64_t first, size_t count, double *w)
{
    const struct gp_root *r = q->root;
    double *columns = q->room, *u = columns + r->numbers * BLOCK;
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t m = count - done < BLOCK ? count - done : BLOCK;
        random_normals(key, 0, r->rank, first + done, m, u);
        linalg_lower_solve(r->rank, m, q->L, true, u);
        for (size_t j = 0; j < r->rank; j++)
            for (size_t k = 0; k < m; k++)
                u[j * m + k] += q->mean[j];
        gp_root_product(r, m, u, columns, u + r->rank * BLOCK);
        transpose(r->numbers, m, columns, w + done * r->numbers);
    }
}

/* --- At points ---------------------------------------------------------- */

/* u (rank, m) = R' a' for the rows a of m points from the first on. */
static void whiten(struct gp_posterior *q, const struct gp_points *p,
                   size_t first, size_t m, double *u)
{
    const struct gp_root *r = q->root;
    size_t F = r->prior.features;
    double *columns = q->room;
    memset(columns, 0, r->numbers * m * sizeof *columns);
    for (size_t k = 0; k < m; k++) {
        size_t at = (first + k) * p->touched;
        for (size_t i = 0; i < p->touched; i++)
            columns[p->index[at + i] * m + k] += p->weight[at + i];
        for (size_t f = 0; f < F; f++)
            columns[(r->nodes + f) * m + k] = p->feature[(first + k) * F + f];
    }
    gp_root_adjoint(r, m, columns, u, u + r->rank * BLOCK);
}

static double mean_at(const struct gp_posterior *q, const struct gp_points *p,
                      size_t k)
{
    size_t F = q->root->prior.features;
    double sum = 0.0;
    for (size_t i = k * p->touched; i < (k + 1) * p->touched; i++)
        sum += p->weight[i] * q->value[p->index[i]];
    for (size_t f = 0; f < F; f++)
        sum += p->feature[k * F + f] * q->value[q->root->nodes + f];
    return sum;
}

/* sum (m) += sign * the squares of the columns of u (rows, m). */
static void add_squares(size_t rows, size_t m, const double *u, double sign,
                        double *sum)
{
    for (size_t j = 0; j < rows; j++)
        for (size_t k = 0; k < m; k++)
            sum[k] += sign * u[j * m + k] * u[j * m + k];
}

void gp_posterior_at(struct gp_posterior *q, const struct gp_points *points,
                     const double *prior, double *mean, double *sd)
{
    const struct gp_root *r = q->root;
    double *u = q->room + r->numbers * BLOCK;
    for (size_t done = 0; done < points->count; done += BLOCK) {
        size_t left = points->count - done, m = left < BLOCK ? left : BLOCK;
        double variance[BLOCK];
        whiten(q, points, done, m, u);
        for (size_t k = 0; k < m; k++)
            variance[k] = prior ? prior[done + k]
                                : r->prior.amplitude * r->prior.amplitude;
        add_squares(r->kept, m, u, -1.0, variance);
        for (size_t k = 0; k < m; k++)
            variance[k] = fmax(variance[k], 0.0); /* weights may overshoot */
        linalg_lower_solve(r->rank, m, q->L, false, u);
        add_squares(r->rank, m, u, 1.0, variance);
        for (size_t k = 0; k < m; k++) {
            mean[done + k] = mean_at(q, points, done + k);
            sd[done + k] = sqrt(variance[k]);
        }
    }
}
