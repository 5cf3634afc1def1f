/* SPDX-License-Identifier: MIT */
#include "guided/control.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/linalg.h"
#include "guided/gauss_step.h"
#include "guided/twist.h"

/* A little of the identity in the normal equations, whose rows have a size of
 * about 1; and how far a difference may be from the mean, in nats. */
static const double RIDGE = 1e-3, FARTHEST = 5.0;

static size_t features_of(size_t D)
{
    return 1 + D + D * (D + 1) / 2;
}

/* x and log W of all nodes, then of the regression: differences, weights, and
 * normal equations. */
size_t control_memory(const struct course *c, size_t K, size_t nodes)
{
    size_t n = features_of(c->D);
    return nodes * K * (c->D + 1) + 2 * K + n * (n + 3) + 4 * c->D +
           3 * c->D * c->D + 64 * c->D;
}

size_t control_pilots(const struct course *c, size_t K)
{
    enum { MOST = 512 };
    size_t enough = 4 * features_of(c->D);
    if (enough < 2 * K) enough = 2 * K;
    return enough < MOST ? enough : MOST;
}

/* --- Pilots --------------------------------------------------------------- */

struct history {
    double *x, *log_w; /* (nodes, K D), (nodes, K) */
};

static int keep(void *user, const struct swarm *s, size_t here)
{
    struct history *h = user;
    memcpy(h->x + here * s->K * s->D, s->x, s->K * s->D * sizeof *s->x);
    memcpy(h->log_w + here * s->K, s->log_w, s->K * sizeof *s->log_w);
    return 0;
}

/* --- Regression ----------------------------------------------------------- */

struct regression {
    size_t D, K, n;
    const double *x;     /* blocks (D, P) */
    double *off;         /* (K) differences */
    double *weight;      /* (K) */
    double *gram;        /* (n, n) */
    double *row;         /* (n) features of a point */
    double *mean, *size; /* (D) */
    double *fit;         /* (n) */
};

static double point(const struct swarm *s, const double *x, size_t k, size_t i)
{
    return x[swarm_at(s, s->D, k, i)];
}

/* Mean and deviation of the points; 1 where these have none, as exact states
 * and integrals that begin. */
static void measure(const struct swarm *s, struct regression *r)
{
    for (size_t i = 0; i < r->D; i++) {
        double mean = 0.0, square = 0.0;
        for (size_t k = 0; k < r->K; k++)
            mean += r->weight[k] * point(s, r->x, k, i);
        for (size_t k = 0; k < r->K; k++) {
            double off = point(s, r->x, k, i) - mean;
            square += r->weight[k] * off * off;
        }
        r->mean[i] = mean;
        r->size[i] = sqrt(square);
        if (!(r->size[i] > 1e-9 * fabs(mean) + 1e-100)) r->size[i] = 1.0;
    }
}

/* 1, z and the products of its elements. */
static void describe(const struct swarm *s, struct regression *r, size_t k)
{
    double *z = r->row + 1, *to = z + r->D;
    r->row[0] = 1.0;
    for (size_t i = 0; i < r->D; i++)
        z[i] = (point(s, r->x, k, i) - r->mean[i]) / r->size[i];
    for (size_t i = 0; i < r->D; i++)
        for (size_t j = 0; j <= i; j++)
            *to++ = z[i] * z[j];
}

/* The best quadratic function to fit, around the mean difference. */
static bool regress(const struct swarm *s, struct regression *r, double *middle)
{
    size_t n = r->n;
    double share = 0.0;
    *middle = 0.0;
    for (size_t k = 0; k < r->K; k++) {
        if (!(r->weight[k] > 0.0) || !isfinite(r->off[k])) continue;
        *middle += r->weight[k] * r->off[k];
        share += r->weight[k];
    }
    if (!(share > 0.5)) return false;
    *middle /= share;
    memset(r->gram, 0, n * n * sizeof *r->gram);
    memset(r->fit, 0, n * sizeof *r->fit);
    for (size_t k = 0; k < r->K; k++) {
        double weight = r->weight[k], off = r->off[k] - *middle;
        if (!(weight > 0.0)) continue;
        off = fmin(fmax(off, -FARTHEST), FARTHEST);
        describe(s, r, k);
        for (size_t i = 0; i < n; i++) {
            double left = weight * r->row[i];
            r->fit[i] += left * off;
            for (size_t j = 0; j <= i; j++)
                r->gram[i * n + j] += left * r->row[j];
        }
    }
    for (size_t i = 0; i < n; i++)
        r->gram[i * (n + 1)] += RIDGE;
    if (!linalg_cholesky(n, r->gram)) return false;
    linalg_lower_solve(n, 1, r->gram, false, r->fit);
    linalg_lower_solve(n, 1, r->gram, true, r->fit);
    return all_finite(n, r->fit);
}

/* Adds it to psi of node k. */
static void add(struct ahead *w, const struct regression *r, size_t k,
                double middle, double *small)
{
    size_t D = r->D;
    double *Lambda = w->Lambda + k * D * D, *e = w->e + k * D;
    const double *linear = r->fit + 1, *square = linear + D;
    double *curve = small, *way = small + D * D;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j <= i; j++) {
            double one = *square++ / (r->size[i] * r->size[j]);
            curve[i * D + j] = curve[j * D + i] = i == j ? -2.0 * one : -one;
        }
    for (size_t i = 0; i < D; i++)
        way[i] = w->mu[k * D + i] - r->mean[i];
    double value = middle + r->fit[0];
    for (size_t i = 0; i < D; i++) {
        double slope = linear[i] / r->size[i], pull = 0.0;
        for (size_t j = 0; j < D; j++)
            pull += curve[i * D + j] * way[j];
        e[i] += slope - pull;
        value += way[i] * (slope - 0.5 * pull);
    }
    for (size_t i = 0; i < D * D; i++)
        Lambda[i] = (Lambda[i] + curve[i]) * r->size[i / D] * r->size[i % D];
    gauss_make_positive(D, Lambda, way + D);
    for (size_t i = 0; i < D * D; i++)
        Lambda[i] /= r->size[i / D] * r->size[i % D];
    w->c[k] += value;
}

/* --- From node to node ---------------------------------------------------- */

/* What psi of node k misses at the points of block b, to off. */
static void miss(struct swarm *s, const struct ahead *w, const struct pace *p,
                 size_t k, size_t b, struct mover *m, const double *x,
                 double *off)
{
    size_t first = b * COURSE_BLOCK, left = s->K - first;
    size_t P = left < COURSE_BLOCK ? left : COURSE_BLOCK;
    memset(off, 0, P * sizeof *off);
    struct psi psi = ahead_at(w, k);
    twist_divide(s->D, P, 1, &psi, x, off);
    if (mover_density(m, p, k, P, x))
        for (size_t j = 0; j < P; j++)
            off[j] += m->log_g[j];
    if (k + 1 < p->nodes) swarm_aim(s, b, k, m, x, off);
}

/* All blocks, on threads. */
struct node_job {
    struct swarm *swarm;
    const struct ahead *ahead;
    const struct pace *pace;
    size_t node;
    const double *x;
    double *off;
};

static void miss_block(void *context, size_t b, size_t thread)
{
    const struct node_job *j = context;
    struct swarm *s = j->swarm;
    miss(s, j->ahead, j->pace, j->node, b, &s->mover[thread],
         j->x + b * COURSE_BLOCK * s->D, j->off + b * COURSE_BLOCK);
}

int control_improve(struct swarm *pilots, struct ahead *w, const struct pace *p,
                    double *memory)
{
    size_t D = pilots->D, K = pilots->K, n = features_of(D);
    struct history h = {.x = memory, .log_w = memory + p->nodes * K * D};
    struct regression r = {.D = D, .K = K, .n = n};
    r.off = h.log_w + p->nodes * K;
    r.weight = r.off + K;
    r.gram = r.weight + K;
    r.row = r.gram + n * n;
    r.fit = r.row + n;
    r.mean = r.fit + n;
    r.size = r.mean + D;
    double *small = r.size + D, middle;
    const struct swarm_observer o = {
        .user = &h, .everywhere = true, .visit = keep};
    int status = swarm_run(pilots, p, w, &o);
    for (size_t k = p->nodes; !status && k-- > 0;) {
        r.x = h.x + k * K * D;
        struct node_job j = {pilots, w, p, k, r.x, r.off};
        status =
            lanes_run(pilots->blocks, pilots->threads,
                      &(struct lanes_job){.context = &j, .work = miss_block});
        if (status) break;
        if (!swarm_weights(K, h.log_w + k * K, r.weight)) continue;
        measure(pilots, &r);
        if (regress(pilots, &r, &middle)) add(w, &r, k, middle, small);
    }
    return status;
}
