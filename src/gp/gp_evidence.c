/* SPDX-License-Identifier: MIT */
/* What only hyperparameters need. With M = R' H R and S M = I - S, a change dR
 * of the root moves E at a fixed pull and H by
 *
 *     dE = m' dR' slope - tr(S R' H dR).
 *
 * For the amplitude and the features' scale dR is R on their columns, and the
 * trace is that of I - S there. */
#include <string.h>

#include "base/linalg.h"
#include "gp/gp_gram.h"
#include "gp/gp_posterior.h"

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* S, kept until the next update. */
static void invert(struct gp_posterior *q)
{
    size_t n = q->root->rank;
    if (q->inverted) return;
    memcpy(q->S, q->L, n * n * sizeof *q->S);
    linalg_cholesky_inverse(n, q->S);
    q->inverted = true;
}

/* The trace of I - S over some of its rows. */
static double learned(const struct gp_posterior *q, size_t from, size_t to)
{
    double sum = 0.0;
    for (size_t i = from; i < to; i++)
        sum += 1.0 - q->S[i * q->root->rank + i];
    return sum;
}

double gp_posterior_kl(struct gp_posterior *q)
{
    size_t n = q->root->rank;
    invert(q);
    return 0.5 * (dot(n, q->mean, q->mean) + q->logdet - learned(q, 0, n));
}

/* pull' w - w' H w = slope' w = |m|^2, which leaves half of pull' w. */
double gp_posterior_evidence(const struct gp_posterior *q,
                             const struct gp_information *h)
{
    return 0.5 * dot(q->root->numbers, h->pull, q->value) - 0.5 * q->logdet;
}

/* --- Lengths ------------------------------------------------------------ */

struct trace {
    const struct gp_posterior *q;
    double sum;
};

static void trace_row(void *context, size_t row, const double *values)
{
    struct trace *t = context;
    const struct gp_root *r = t->q->root;
    const double *S = t->q->S + row * r->rank;
    double sum = 0.0;
    for (size_t j = 0; j < r->kept; j++)
        sum += S[j] * values[r->place[j]];
    t->sum += sum * r->prior.amplitude * r->prior.amplitude;
}

/* The rows of features: p H_cv dR. */
static double trace_features(const struct gp_posterior *q,
                             const struct gp_information *h, size_t axis)
{
    const struct gp_root *r = q->root;
    size_t F = r->prior.features;
    double sum = 0.0, *u = q->room; /* (rank, F) */
    gp_root_adjoint_slope(r, axis, F, h->cross, u, u + r->rank * F);
    for (size_t j = 0; j < r->kept; j++)
        sum += dot(F, q->S + j * r->rank + r->kept, u + j * F);
    return r->prior.feature_sd * sum;
}

/* Twice the rows of features with the values, and theirs with themselves. */
static double trace_cross(const struct gp_posterior *q,
                          const struct gp_information *D)
{
    const struct gp_root *r = q->root;
    size_t F = r->prior.features;
    double p = r->prior.feature_sd, sum = 0.0;
    double *w = q->room, *u = w + r->numbers * F; /* (.., F) */
    memcpy(w, D->cross, r->nodes * F * sizeof *w);
    memcpy(w + r->nodes * F, D->square, F * F * sizeof *w);
    gp_root_adjoint(r, F, w, u, u + r->rank * F);
    for (size_t j = 0; j < r->rank; j++)
        sum += (j < r->kept ? 2.0 : 1.0) * p *
               dot(F, q->S + j * r->rank + r->kept, u + j * F);
    return sum;
}

double gp_posterior_trace(struct gp_posterior *q,
                          const struct gp_information *D)
{
    struct trace t = {.q = q};
    invert(q);
    gp_gram_rows(q->root, D, GP_NO_AXIS, q->room, trace_row, &t);
    if (D->features) t.sum += trace_cross(q, D);
    return t.sum;
}

static double by_length(const struct gp_posterior *q,
                        const struct gp_information *h, size_t axis)
{
    const struct gp_root *r = q->root;
    struct trace t = {.q = q};
    gp_gram_rows(r, h, axis, q->room, trace_row, &t);
    if (h->features) t.sum += trace_features(q, h, axis);
    double *u = q->room;
    gp_root_adjoint_slope(r, axis, 1, q->slope, u, u + r->rank);
    return dot(r->rank, u, q->mean) - t.sum;
}

void gp_posterior_gradient(struct gp_posterior *q,
                           const struct gp_information *h, double *gradient)
{
    const struct gp_root *r = q->root;
    size_t D = r->prior.axes, F = r->prior.features;
    const double *e = q->mean + r->kept;
    invert(q);
    for (size_t i = 0; i < D; i++)
        gradient[i] = by_length(q, h, i);
    gradient[D] = dot(r->kept, q->mean, q->mean) - learned(q, 0, r->kept);
    gradient[D + 1] = dot(F, e, e) - learned(q, r->kept, r->rank);
}
