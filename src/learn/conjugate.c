/* SPDX-License-Identifier: MIT */
/* Draws of the laws of random effects. Let N tracks have effects u_i (k) with
 * the law N(m, L L'), where m and the lower L are numbers of theta that nothing
 * else depends on. Under flat priors of the values, given u,
 *
 *     m = mean of u + L z / sqrt(N),
 *     L = C A^-1,   C C' = sum of (u_i - m)(u_i - m)',
 *
 * with z standard normal, and A lower with standard normal numbers below its
 * diagonal and roots of chi-squares of N - k degrees on it: the density of L is
 * prod L_jj^-N exp(-|L^-1 C|^2 / 2), and dL is prod A_jj^-(k+1) dA. A normal
 * prior of one m is a part of its law; other priors decide whether a draw is
 * kept. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/random.h"
#include "learn/gibbs.h"
#include "model/theta.h"

enum { N = EFFECTS_MOST, NN = EFFECTS_SQUARED };
static const size_t NONE = (size_t)-1;

/* --- Which numbers -------------------------------------------------------- */

/* Of which number of theta each entry of the law is the value. */
struct owners {
    size_t n;
    size_t mean[N], root[NN];
    bool *out; /* (theta size) numbers that cannot be drawn */
};

/* An entry that moved from a to b while number i went from v to w. */
static void note_entry(struct owners *o, size_t i, size_t *owner, double a,
                       double b, double v, double w)
{
    if (a == b) return;
    if (a != v || b != w || *owner != NONE) o->out[i] = true;
    if (*owner != NONE) o->out[*owner] = true;
    *owner = i;
}

/* Whether any node depends on a param, but those of the effects' laws do. */
static int is_used(const struct spec *s, size_t param, bool *used)
{
    const struct graph *g = s->graph;
    bool *law = NEW(bool, g->nodes), *made = NEW(bool, g->nodes);
    int status = law && made ? 0 : GSV_NO_MEMORY;
    *used = false;
    for (size_t i = 0; !status && i < s->effects; i++)
        law[s->effect[i].mean] = law[s->effect[i].root] = true;
    for (size_t n = g->nodes; !status && n-- > 0;)
        for (size_t i = 0; law[n] && i < g->info[n].inputs; i++)
            law[graph_input(g, n, i)] = true;
    for (size_t n = 0; !status && n < g->nodes; n++) {
        const struct node_info *info = graph_info(g, n);
        made[n] =
            info->op == OP_PARAM && info->offset == s->param[param].offset;
        for (size_t i = 0; i < info->inputs; i++)
            made[n] = made[n] || made[graph_input(g, n, i)];
        if (made[n] && !law[n]) *used = true;
    }
    MEM_FREE(law, made);
    return status;
}

/* The law and the units where number i is moved by this much, u held. */
static int move_number(struct gibbs *g, const double *mode, size_t i, double by)
{
    struct seat *s = &g->seat[0];
    memcpy(s->trial.theta, mode, g->l->n * sizeof *mode);
    s->trial.theta[i] += by;
    return target_at(&s->target, INFINITY, &s->trial);
}

/* Compares the law and the units at the mode with those beside it. */
static int try_number(struct gibbs *g, const double *mode, size_t i,
                      const double *mean, const double *root,
                      const double *unit, struct owners *o)
{
    const struct target *t = &g->seat[0].target;
    size_t n = t->effects, at = g->l->value[i];
    double before = theta_value(&t->model, i, mode[i]);
    bool used;
    int status =
        is_used(t->model.spec, spec_param_at(t->model.spec, at), &used);
    if (!status) status = move_number(g, mode, i, 0.25);
    if (status) return status;
    double after = t->value[at];
    for (size_t j = 0; j < n; j++)
        note_entry(o, i, &o->mean[j], mean[j], t->law.mean[j], before, after);
    for (size_t j = 0; j < n * n; j++)
        note_entry(o, i, &o->root[j], root[j], t->law.root[j], before, after);
    if (used || memcmp(unit, g->seat[0].trial.unit, t->units * sizeof *unit))
        o->out[i] = true;
    return 0;
}

static int find_owners(struct gibbs *g, const double *mode, struct owners *o)
{
    const struct learner *l = g->l;
    const struct target *t = &g->seat[0].target;
    double mean[N], root[NN], *unit = NEW(double, t->units);
    int status = unit ? move_number(g, mode, 0, 0.0) : (int)GSV_NO_MEMORY;
    if (!status) {
        memcpy(unit, g->seat[0].trial.unit, t->units * sizeof *unit);
        memcpy(mean, t->law.mean, o->n * sizeof *mean);
        memcpy(root, t->law.root, o->n * o->n * sizeof *root);
    }
    for (size_t i = 0; !status && i < l->n; i++)
        if (!l->fixed[i]) status = try_number(g, mode, i, mean, root, unit, o);
    mem_free(unit);
    return status;
}

/* --- Blocks --------------------------------------------------------------- */

static bool owns(const struct owners *o, size_t owner)
{
    return owner != NONE && !o->out[owner];
}

/* Effects from `at` on, with what of their law can be drawn. */
static void add_block(struct gibbs *g, const struct owners *o, size_t at,
                      size_t k, bool *drawn)
{
    struct conjugate b = {.at = at, .k = k, .has_mean = true};
    b.has_root = g->l->s->tracks > k;
    for (size_t i = 0; i < k; i++) {
        b.mean[i] = o->mean[at + i];
        b.has_mean = b.has_mean && owns(o, b.mean[i]);
        for (size_t j = 0; j <= i; j++) {
            b.root[i * k + j] = o->root[(at + i) * o->n + at + j];
            b.has_root = b.has_root && owns(o, b.root[i * k + j]);
        }
    }
    if (!b.has_mean && !b.has_root) return;
    for (size_t i = 0; i < k; i++) {
        if (b.has_mean) drawn[b.mean[i]] = true;
        for (size_t j = 0; b.has_root && j <= i; j++)
            drawn[b.root[i * k + j]] = true;
    }
    g->block[g->blocks++] = b;
}

/* Whether effects of one line have deviations alone. */
static bool is_diagonal(const struct owners *o, const double *root, size_t at,
                        size_t k)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < i; j++) {
            size_t entry = (at + i) * o->n + at + j;
            if (root[entry] != 0.0 || o->root[entry] != NONE) return false;
        }
    return true;
}

int conjugate_find(struct gibbs *g, const double *mode, bool *drawn)
{
    const struct spec *s = g->l->m->spec;
    const struct target *t = &g->seat[0].target;
    struct owners o = {.n = t->effects, .out = NEW(bool, g->l->n)};
    if (!o.out) return GSV_NO_MEMORY;
    memset(o.mean, 0xff, sizeof o.mean);
    memset(o.root, 0xff, sizeof o.root);
    memset(g->seat[0].trial.stream, 0, t->slots * sizeof(uint32_t));
    memcpy(g->seat[0].trial.u, g->guess.center,
           t->tracks * t->effects * sizeof(double));
    int status = find_owners(g, mode, &o);
    for (size_t e = 0; !status && e < s->effects; e++) {
        size_t at = s->effect[e].offset, k = s->param[s->effect[e].param].rows;
        bool apart = is_diagonal(&o, t->law.root, at, k);
        for (size_t i = 0; i < (apart ? k : 1); i++)
            add_block(g, &o, at + i, apart ? 1 : k, drawn);
    }
    mem_free(o.out);
    return status;
}

/* --- Draws ---------------------------------------------------------------- */

/* A draw under way. */
struct draw {
    struct gibbs *g;
    struct seat *s;
    struct chain *c;
    const struct conjugate *b;
    struct random_key normal, uniform;
    size_t path, row; /* of the next random numbers */
};

static double next_normal(struct draw *d)
{
    double z;
    random_normals(&d->normal, d->row++, 1, d->path, 1, &z);
    return z;
}

/* The root of a chi-square. */
static double next_chi(struct draw *d, size_t degrees)
{
    double squares = 0.0;
    for (size_t i = 0; i < degrees; i++) {
        double z = next_normal(d);
        squares += z * z;
    }
    return sqrt(squares);
}

/* Values (count) for numbers of theta, which priors and bounds may refuse;
 * known: what the draw has of the log prior already, new less old. */
static void offer(struct draw *d, size_t count, const size_t *place,
                  const double *value, double known)
{
    struct target *t = &d->s->target;
    double u, old = prior_at(&t->prior).values;
    bool within = all_finite(count, value);
    for (size_t i = 0; within && i < count; i++) {
        t->value[t->l->value[place[i]]] = value[i];
        within = theta_is_within(&t->model, place[i], value[i]);
    }
    random_uniforms(&d->uniform, 2 + d->row, 1, d->path, 1, &u);
    if (within && log(u) < prior_at(&t->prior).values - old - known) {
        gsv_theta_get(&t->model, d->s->trial.theta);
        for (size_t i = 0; i < count; i++)
            d->c->theta[place[i]] = d->s->trial.theta[place[i]];
    }
    target_set(t, d->c->theta);
}

/* The mean over tracks, to mean (k). */
static void average(const struct draw *d, double *mean)
{
    const struct target *t = &d->s->target;
    for (size_t j = 0; j < d->b->k; j++) {
        mean[j] = 0.0;
        for (size_t i = 0; i < t->tracks; i++)
            mean[j] += d->c->u[i * t->effects + d->b->at + j];
        mean[j] /= (double)t->tracks;
    }
}

static void draw_mean(struct draw *d)
{
    const struct target *t = &d->s->target;
    const struct conjugate *b = d->b;
    const gsv_prior *p = b->k == 1 ? t->prior.of[b->mean[0]] : NULL;
    size_t n = t->effects;
    double m[N] = {0}, z[N], known = 0.0, tracks = (double)t->tracks;
    average(d, m);
    for (size_t i = 0; i < b->k; i++)
        z[i] = next_normal(d) / sqrt(tracks);
    if (p && p->law == GSV_LAW_NORMAL) {
        double s = t->law.root[b->at * (n + 1)];
        double own = tracks / (s * s), all = own + 1.0 / (p->b * p->b);
        double v = t->value[t->l->value[b->mean[0]]];
        m[0] = (own * m[0] + p->a / (p->b * p->b)) / all +
               z[0] * sqrt(tracks / all);
        known = prior_log_density(p, m[0]) - prior_log_density(p, v);
    } else {
        for (size_t i = 0; i < b->k; i++)
            for (size_t j = 0; j <= i; j++)
                m[i] += t->law.root[(b->at + i) * n + b->at + j] * z[j];
    }
    offer(d, b->k, b->mean, m, known);
}

/* C (k, k), from the tracks' effects around the mean of their law. */
static bool scatter(const struct draw *d, double *C)
{
    const struct target *t = &d->s->target;
    size_t k = d->b->k;
    memset(C, 0, k * k * sizeof *C);
    for (size_t r = 0; r < t->tracks; r++) {
        const double *u = d->c->u + r * t->effects + d->b->at;
        const double *m = t->law.mean + d->b->at;
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < k; j++)
                C[i * k + j] += (u[i] - m[i]) * (u[j] - m[j]);
    }
    return linalg_cholesky(k, C);
}

/* L = C A^-1, from A' L' = C'. */
static void draw_root(struct draw *d)
{
    const struct target *t = &d->s->target;
    const struct conjugate *b = d->b;
    size_t k = b->k, count = 0, place[NN];
    double C[NN], A[NN] = {0}, L[NN], value[NN];
    if (!scatter(d, C)) return;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j <= i; j++)
            A[i * k + j] = i == j ? next_chi(d, t->tracks - k) : next_normal(d);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            L[j * k + i] = C[i * k + j];
    linalg_lower_solve(k, k, A, true, L);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j <= i; j++) {
            place[count] = b->root[i * k + j];
            value[count++] = L[j * k + i];
        }
    offer(d, count, place, value, 0.0);
}

int gibbs_draw_laws(struct gibbs *g, struct seat *s, size_t chain,
                    uint32_t iteration)
{
    struct target *t = &s->target;
    struct chain *c = &g->chain[chain];
    struct random_key key = {.seed = g->l->o->estimator.seed,
                             .purpose = RANDOM_EFFECT_CHAIN,
                             .iteration = iteration,
                             .item = chain};
    struct draw d = {.g = g, .s = s, .c = c, .normal = key, .uniform = key};
    d.uniform.purpose = RANDOM_EFFECT_ACCEPT;
    int status = 0;
    target_set(t, c->theta);
    for (size_t i = 0; !status && i < g->blocks; i++) {
        d.b = &g->block[i];
        d.path = t->tracks + i;
        d.row = 0;
        status = effect_law_set(&t->law, t->value);
        if (!status && d.b->has_mean) draw_mean(&d);
        if (!status) status = effect_law_set(&t->law, t->value);
        if (!status && d.b->has_root) draw_root(&d);
    }
    if (!status) target_level(t, c);
    return status;
}
