/* SPDX-License-Identifier: MIT */
/* The uncertainty of the kernels in the posterior of the functions. With phi
 * the logarithms of the kernels' numbers, the posterior is a mixture over a few
 * of them,
 *
 *     q(w) = sum over k of weight_k q(w | phi_k),
 *
 * as Rue, Martino & Chopin (2009) integrate: the phi_k are the middle of a
 * normal density and points around it, middle + r V^{1/2} s, with s such that
 * all moments up to the third are those of N(middle, V). Their weights are
 * these moments' times what exp(T) is there, T = E + log prior, relative to
 * that density. It is first that of T's top and its bends; then, where exp(T)
 * is far from normal, that of the moments which the points before had found. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/memory.h"
#include "gp/gp_gram.h"
#include "learn/corners.h"
#include "learn/evidence.h"
#include "learn/kernel_prior.h"
#include "learn/maximise.h"
#include "model/posterior.h"

/* r: a share of 1 / r^2 for all corners together. */
static const double RADIUS = 1.4;

/* Of the search for the top, in nats. */
static const double TOLERANCE = 0.05;
enum { ITERATIONS = 15, MOST_NUMBERS = 64 };

/* In logarithms: a step that bends are differences over, and how far a corner
 * may be in every direction. */
static const double STEP = 0.2, NARROWEST = 0.02, WIDEST = 1.5;

/* B's factors of all kernels take so many numbers at most, half a GiB. */
static const double MOST_ROOM = 67108864.0;

struct kernels {
    struct evidence e;
    struct learner *l;
    size_t n, place[MOST_NUMBERS]; /* of phi, in x                        */
    double *unseen;                /* (count) amplitudes as small as this
                                    * make no difference to the data       */
    double *x, *x_bar;             /* (outer)                             */
    double *top, *A, *spread;      /* (n), (n, n): T''; a direction a row   */
    size_t points;
    double *phi;     /* (points, n)                                      */
    double *weight;  /* (points): T, and then their weights              */
    double **row;    /* (count) (points, posterior_row())                */
    double **values; /* (count) (points, G + F): the means               */
};

/* --- The prior ------------------------------------------------------------ */

/* The number of x that is this value; outer: none. */
static size_t find(const struct evidence *e, size_t value)
{
    size_t i = 0;
    while (i < e->outer && e->l->value[e->place[i]] != value)
        i++;
    return i;
}

/* Of all functions under their present kernels; x_bar (outer + 1) += slopes,
 * the last for those that are fixed. Outputs share their lengths. */
static double log_prior(const struct kernels *c, double *x_bar)
{
    const struct evidence *e = &c->e;
    double sum = 0.0;
    for (size_t k = 0; k < e->count; k++) {
        const struct function *f = &e->f[k];
        const struct gp_prior *p = &f->root.prior;
        const struct gp_spec *s = &e->l->m->spec->gp[f->gp];
        bool first = !k || e->f[k - 1].gp != f->gp;
        if (f->map) continue;
        for (size_t i = 0; first && i < p->axes; i++)
            sum += kernel_prior_length(p->length[i], p->step[i],
                                       (double)p->nodes[i],
                                       x_bar + find(e, s->length + i));
        sum +=
            kernel_prior_amplitude(p->amplitude, c->unseen[k],
                                   x_bar + find(e, s->amplitude + f->output));
        if (f->F)
            sum += kernel_prior_amplitude(
                p->feature_sd, c->unseen[k],
                x_bar + find(e, s->polynomial_amplitude + f->output));
    }
    return sum;
}

/* The information of the data about a function of amplitude 1: where the drift
 * is the function itself, that about a constant, 1 / error^2 of its estimate.
 */
struct diagonal {
    const struct gp_root *root;
    double sum;
};

static void add_diagonal(void *context, size_t row, const double *values)
{
    struct diagonal *d = context;
    d->sum += values[d->root->place[row]];
}

static void find_unseen(struct kernels *c)
{
    for (size_t k = 0; k < c->e.count; k++) {
        const struct function *f = &c->e.f[k];
        struct diagonal d = {.root = &f->root};
        gp_gram_rows(&f->root, &f->data.h, GP_NO_AXIS, f->data.q.room,
                     add_diagonal, &d);
        c->unseen[k] = kernel_prior_unseen(d.sum);
    }
}

/* --- T -------------------------------------------------------------------- */

static int at(void *context, const double *phi, double *value, double *gradient)
{
    struct kernels *c = context;
    for (size_t i = 0; i < c->n; i++)
        c->x[c->place[i]] = phi[i];
    memset(c->x_bar, 0, (c->e.outer + 1) * sizeof *c->x_bar);
    int status = learner_go_on(c->l);
    if (!status)
        status = evidence_at(&c->e, c->x, value, gradient ? c->x_bar : NULL);
    if (status) return status;
    *value += log_prior(c, c->x_bar);
    for (size_t i = 0; gradient && i < c->n; i++)
        gradient[i] = c->x_bar[c->place[i]];
    return 0;
}

static bool go_on(void *context, const double *phi, double value)
{
    (void)context, (void)phi, (void)value;
    return false;
}

static int find_top(struct kernels *c)
{
    struct maximise job = {c, at, go_on, ITERATIONS, TOLERANCE};
    enum maximise_end end;
    double value;
    for (size_t i = 0; i < c->n; i++)
        c->top[i] = c->x[c->place[i]];
    int status = maximise(&job, c->n, c->top, &value, &end);
    return status || end != MAXIMISE_STOPPED ? status : GSV_STOPPED;
}

/* Column j of A; where T ends on one side, from the other. */
static int bend(struct kernels *c, size_t j, const double *here, double *column)
{
    size_t n = c->n;
    double *side[2] = {column, c->spread}, value, kept = c->top[j];
    bool seen[2];
    int status = 0;
    for (size_t i = 0; i < 2 && !status; i++) {
        c->top[j] = kept + (i ? -STEP : STEP);
        status = at(c, c->top, &value, side[i]);
        seen[i] = !status;
        if (status != GSV_NUMERICAL) continue;
        memcpy(side[i], here, n * sizeof *here);
        status = 0;
    }
    c->top[j] = kept;
    if (status) return status;
    double length = STEP * ((double)seen[0] + (double)seen[1]);
    for (size_t i = 0; i < n; i++)
        column[i] = length > 0.0 ? (side[1][i] - side[0][i]) / length
                                 : (double)(i == j);
    return 0;
}

/* The rows of `spread` along every eigenvector of A: r A^{-1/2} where these are
 * bends, or else r A^{1/2}. */
static int spread_of(struct kernels *c, bool bends)
{
    size_t n = c->n;
    double *value = NEW(double, n), *room = NEW(double, 64 * n);
    int status = value && room ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            c->spread[i * n + j] = 0.5 * (c->A[i * n + j] + c->A[j * n + i]);
    if (!status && !linalg_eigen(n, c->spread, value, room))
        status = GSV_NUMERICAL;
    for (size_t i = 0; i < n && !status; i++) {
        double sd = bends ? 1.0 / sqrt(fmax(value[i], 1e-9))
                          : sqrt(fmax(value[i], 0.0));
        for (size_t j = 0; j < n; j++)
            c->spread[i * n + j] *= RADIUS * fmin(fmax(sd, NARROWEST), WIDEST);
    }
    MEM_FREE(value, room);
    return status;
}

static int find_spread(struct kernels *c)
{
    size_t n = c->n;
    double *here = NEW(double, n), top;
    int status = here ? at(c, c->top, &top, here) : (int)GSV_NO_MEMORY;
    for (size_t j = 0; j < n && !status; j++)
        status = bend(c, j, here, c->A + j * n);
    mem_free(here);
    return status ? status : spread_of(c, true);
}

/* --- The points ----------------------------------------------------------- */

/* More rounds where an outer point has more weight than this. */
enum { ROUNDS = 3, MOST_ROUNDS = 6 };
static const double MOST_WEIGHT = 0.6;

static void keep_point(struct kernels *c, size_t i)
{
    for (size_t k = 0; k < c->e.count; k++) {
        const struct function *f = &c->e.f[k];
        const struct gp_prior *p = &f->root.prior;
        size_t all = f->G + f->F;
        double *row = c->row[k] + i * (p->axes + 2 + all);
        memcpy(row, p->length, p->axes * sizeof *row);
        row[p->axes] = p->amplitude;
        row[p->axes + 1] = f->F ? p->feature_sd : 0.0;
        memcpy(row + p->axes + 2, f->data.h.pull, all * sizeof *row);
        memcpy(c->values[k] + i * all, f->data.q.value, all * sizeof *row);
    }
}

/* Kernels that a grid cannot show, or under which the steps are too long, have
 * no weight; their rows are those of the middle. */
static int find_points(struct kernels *c)
{
    size_t n = c->n;
    int status = 0;
    for (size_t i = 0; i < c->points && !status; i++) {
        double *phi = c->phi + i * n;
        memcpy(phi, c->top, n * sizeof *phi);
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                phi[k] += corners_at(n, i, j) * c->spread[j * n + k];
        status = at(c, phi, &c->weight[i], NULL);
        if (i && status == GSV_NUMERICAL) {
            memcpy(phi, c->top, n * sizeof *phi);
            status = at(c, phi, &c->weight[i], NULL);
            c->weight[i] = -INFINITY;
        }
        if (!status) keep_point(c, i);
    }
    return status;
}

/* From T to weights. */
static void weigh(struct kernels *c)
{
    double corners = 1.0 / (RADIUS * RADIUS), sum = 0.0, most = -INFINITY;
    double normal = 0.5 * RADIUS * RADIUS * (double)c->n;
    for (size_t i = 0; i < c->points; i++) {
        double share = i ? corners / (double)(c->points - 1) : 1.0 - corners;
        c->weight[i] += log(share) + (i ? normal : 0.0);
        most = fmax(most, c->weight[i]);
    }
    for (size_t i = 0; i < c->points; i++)
        sum += c->weight[i] = exp(c->weight[i] - most);
    for (size_t i = 0; i < c->points; i++)
        c->weight[i] /= sum;
}

/* The point around the middle that has the most weight. */
static size_t heaviest(const struct kernels *c)
{
    size_t most = 1;
    for (size_t i = 2; i < c->points; i++)
        if (c->weight[i] > c->weight[most]) most = i;
    return most;
}

/* V as the last round had it, times a share. */
static void keep_share(const struct kernels *c, double share, double *V)
{
    size_t n = c->n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                V[j * n + k] += share / (RADIUS * RADIUS) *
                                c->spread[i * n + j] * c->spread[i * n + k];
}

/* The middle and the V of a normal density with the points' moments. Where one
 * of them has most weight, it says nothing of V, and is the new middle; and few
 * points say little of the V of many numbers. */
static int match_moments(struct kernels *c)
{
    static const double KEPT = 0.5;
    size_t n = c->n, most = heaviest(c);
    double *V = c->A, kept = n > CORNERS_AXES ? KEPT : 0.0;
    if (c->weight[most] > MOST_WEIGHT) {
        memcpy(c->top, c->phi + most * n, n * sizeof *c->top);
        return 0;
    }
    memset(V, 0, n * n * sizeof *V);
    memset(c->top, 0, n * sizeof *c->top);
    keep_share(c, kept, V);
    for (size_t i = 0; i < c->points; i++)
        for (size_t j = 0; j < n; j++)
            c->top[j] += c->weight[i] * c->phi[i * n + j];
    for (size_t i = 0; i < c->points; i++) {
        const double *phi = c->phi + i * n;
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                V[j * n + k] += (1.0 - kept) * c->weight[i] *
                                (phi[j] - c->top[j]) * (phi[k] - c->top[k]);
    }
    return spread_of(c, false);
}

/* --- What is wrong -------------------------------------------------------- */

/* In e-folds, and nats. */
static const double OPEN = 1.0, ENDLESS = 0.4, SEEN = 3.0;

/* Of number j of phi over the kernels. */
static void moments(const struct kernels *c, size_t j, double *mean, double *sd)
{
    double square = 0.0;
    *mean = 0.0;
    for (size_t i = 0; i < c->points; i++)
        *mean += c->weight[i] * c->phi[i * c->n + j];
    for (size_t i = 0; i < c->points; i++)
        square += c->weight[i] * pow(c->phi[i * c->n + j] - *mean, 2.0);
    *sd = sqrt(square);
}

static void blame(struct kernels *c, enum spread_end end, size_t j)
{
    double mean, sd;
    moments(c, j, &mean, &sd);
    c->l->spread = (struct kernel_spread){.end = end,
                                          .by = c->e.place[c->place[j]],
                                          .low = exp(mean - sd),
                                          .high = exp(mean + sd)};
}

/* Which of a gp's numbers phi_j is: its value's place among them. */
static bool is_at(const struct kernels *c, size_t j, size_t value)
{
    return c->e.l->value[c->e.place[c->place[j]]] == value;
}

/* An amplitude that could as well be 0: the evidence gains little by it. */
static int find_unseen_amplitude(struct kernels *c, double *phi, bool *found)
{
    double here, without, kept;
    memcpy(phi, c->phi, c->n * sizeof *phi);
    int status = at(c, phi, &here, NULL);
    here -= log_prior(c, c->x_bar);
    for (size_t k = 0; k < c->e.count; k++)
        for (size_t j = 0; j < c->n && !status && !*found; j++) {
            const struct function *f = &c->e.f[k];
            const struct gp_spec *s = &c->l->m->spec->gp[f->gp];
            if (f->F || !is_at(c, j, s->amplitude + f->output)) continue;
            kept = phi[j];
            phi[j] = log(1e-3 * c->unseen[k]);
            status = at(c, phi, &without, NULL);
            without -= log_prior(c, c->x_bar);
            phi[j] = kept;
            *found = !status && here - without < SEEN;
            if (*found) blame(c, SPREAD_UNSEEN, j);
        }
    return status;
}

/* A length that is mostly beyond those that the prior likes and has no end that
 * the data show, or an amplitude that is hardly known; unless a polynomial is
 * what is left then. */
static bool find_open_number(struct kernels *c)
{
    for (size_t k = 0; k < c->e.count; k++)
        for (size_t j = 0; j < c->n; j++) {
            const struct function *f = &c->e.f[k];
            const struct gp_prior *p = &f->root.prior;
            const struct gp_spec *s = &c->l->m->spec->gp[f->gp];
            double mean, sd;
            moments(c, j, &mean, &sd);
            bool open =
                is_at(c, j, s->amplitude + f->output) && !f->F && sd > OPEN;
            for (size_t i = 0; i < p->axes && !f->map && !open; i++) {
                double slope = 0.0, length = exp(mean);
                if (!is_at(c, j, s->length + i)) continue;
                kernel_prior_length(length, p->step[i], (double)p->nodes[i],
                                    &slope);
                bool end = slope < 0.0 && (f->F || sd < ENDLESS);
                if (slope == 0.0 || end) continue;
                blame(c, slope < 0.0 ? SPREAD_LONG : SPREAD_SHORT, j);
                return true;
            }
            if (open) blame(c, SPREAD_OPEN, j);
            if (open) return true;
        }
    return false;
}

static int find_fault(struct kernels *c)
{
    double *phi = NEW(double, c->n);
    bool found = false;
    int status = phi ? find_unseen_amplitude(c, phi, &found) : GSV_NO_MEMORY;
    mem_free(phi);
    if (status || found || find_open_number(c)) return status;
    if (c->weight[heaviest(c)] > MOST_WEIGHT) blame(c, SPREAD_EDGE, 0);
    return 0;
}

/* --- The end -------------------------------------------------------------- */

/* To the model; the functions in theta become the mixture's means. */
static int keep_all(struct kernels *c, double *theta)
{
    gsv_model *m = c->l->m;
    int status = posterior_put_weights(m, c->points, c->weight);
    for (size_t k = 0; k < c->e.count && !status; k++) {
        struct function *f = &c->e.f[k];
        size_t all = f->G + f->F;
        if (f->map) continue;
        status =
            posterior_put_kernels(m, f->gp, f->output, c->points, c->row[k]);
        memset(f->w, 0, all * sizeof *f->w);
        for (size_t i = 0; i < c->points; i++)
            for (size_t j = 0; j < all; j++)
                f->w[j] += c->weight[i] * c->values[k][i * all + j];
        function_store(f, theta);
    }
    return status;
}

/* --- Making ------------------------------------------------------------- */

/* The kernels' numbers that were learned, of functions with a posterior. */
static void find_numbers(struct kernels *c)
{
    const struct evidence *e = &c->e;
    for (size_t k = 0; k < e->count; k++) {
        const struct function *f = &e->f[k];
        const struct gp_spec *s = &e->l->m->spec->gp[f->gp];
        bool first = !k || e->f[k - 1].gp != f->gp;
        size_t axes = e->l->m->spec->graph->gp[f->gp].axes;
        if (f->map) continue;
        for (size_t i = 0; i < axes + 2; i++) {
            size_t value = i < axes    ? s->length + i
                           : i == axes ? s->amplitude + f->output
                                       : s->polynomial_amplitude + f->output;
            bool is = i < axes ? first : i == axes || f->F;
            size_t at = is ? find(e, value) : e->outer;
            if (at < e->outer && c->n < MOST_NUMBERS) c->place[c->n++] = at;
        }
    }
}

/* Whether all kernels' posteriors may be kept. */
static bool has_room(const struct kernels *c)
{
    double all = 0.0;
    for (size_t k = 0; k < c->e.count; k++) {
        const struct function *f = &c->e.f[k];
        double rank = (double)f->root.rank;
        if (!f->map) all += rank * rank + 2.0 * (double)(f->G + f->F);
    }
    return all * (double)c->points <= MOST_ROOM;
}

static int kernels_room(struct kernels *c)
{
    size_t n = c->n, count = c->e.count;
    c->top = NEW(double, n);
    c->A = NEW(double, n *n);
    c->spread = NEW(double, n *n);
    c->phi = NEW(double, c->points *n);
    c->weight = NEW(double, c->points);
    if (!c->top || !c->A || !c->spread || !c->phi || !c->weight)
        return GSV_NO_MEMORY;
    for (size_t k = 0; k < count; k++) {
        const struct function *f = &c->e.f[k];
        size_t row = posterior_row(c->l->m, f->gp);
        c->row[k] = NEW(double, c->points *row);
        c->values[k] = NEW(double, c->points *(f->G + f->F));
        if (!c->row[k] || !c->values[k]) return GSV_NO_MEMORY;
    }
    return 0;
}

/* At theta, which has the largest E. */
static int kernels_init(struct kernels *c, struct learner *l,
                        const double *theta)
{
    size_t stage = (size_t)l->now.stage, last = l->stages - 1;
    double value;
    *c = (struct kernels){.l = l};
    int status = evidence_init(&c->e, l, &l->stage[stage < last ? stage : last],
                               theta, l->limit);
    if (status) return status;
    c->e.can_stop = true;
    c->x = NEW(double, c->e.outer);
    c->x_bar = NEW(double, c->e.outer + 1);
    c->unseen = NEW(double, c->e.count);
    c->row = NEW(double *, c->e.count);
    c->values = NEW(double *, c->e.count);
    if (!c->x || !c->x_bar || !c->unseen || !c->row || !c->values)
        return GSV_NO_MEMORY;
    for (size_t i = 0; i < c->e.outer; i++)
        c->x[i] = theta[c->e.place[i]];
    find_numbers(c);
    c->points = corners_count(c->n);
    if (!c->n) return 0;
    if (c->e.all.options.form == GSV_FORM_BOUND)
        status = objective_hold(&c->e.all);
    if (!status) status = evidence_at(&c->e, c->x, &value, NULL);
    if (status) return status;
    find_unseen(c);
    return kernels_room(c);
}

static void kernels_free(struct kernels *c)
{
    for (size_t k = 0; c->row && c->values && k < c->e.count; k++)
        MEM_FREE(c->row[k], c->values[k]);
    MEM_FREE(c->unseen, c->x, c->x_bar, c->top, c->A, c->spread, c->phi,
             c->weight, c->row, c->values);
    evidence_free(&c->e);
}

static int mix(struct kernels *c)
{
    int status = find_top(c);
    if (!status) status = find_spread(c);
    for (size_t i = 0; i < MOST_ROUNDS && !status; i++) {
        if (i >= ROUNDS && c->weight[heaviest(c)] <= MOST_WEIGHT) break;
        if (i) status = match_moments(c);
        if (!status) status = find_points(c);
        if (!status) weigh(c);
    }
    return status;
}

/* Without a mixture there is still the posterior under one kernel. */
int evidence_spread(struct learner *l, double *theta)
{
    struct kernels c;
    int status = kernels_init(&c, l, theta);
    l->spread = (struct kernel_spread){.end = SPREAD_FINE};
    bool fits = !status && has_room(&c);
    if (c.n && fits) {
        status = mix(&c);
        if (!status) status = find_fault(&c);
        if (!status) status = keep_all(&c, theta);
    }
    if (c.n && !fits && !status) l->spread.end = SPREAD_TOO_WIDE;
    if (status == GSV_NUMERICAL) l->spread.end = SPREAD_FAILED;
    if (status == GSV_STOPPED) l->spread.end = SPREAD_STOPPED;
    if (status == GSV_NUMERICAL) status = 0;
    gsv_theta_set(l->m, theta);
    kernels_free(&c);
    return learner_spared(l, status);
}
