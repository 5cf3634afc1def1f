/* SPDX-License-Identifier: MIT */
/* Random effects of chains. At the largest likelihood a track's effects have a
 * mode c and a covariance R R' (panel/mode.h). With their law there, N(m, S),
 * the track's own part of it is about normal with
 *
 *     precision A = (R R')^-1 - S^-1,   pull b = (R R')^-1 c - S^-1 m,
 *
 * and under another law N(m', S') the effects have about the precision
 * A + S'^-1 and the mean (A + S'^-1)^-1 (b + S'^-1 m'): exactly so where the
 * log-likelihood is quadratic in them. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/random.h"
#include "learn/gibbs.h"
#include "panel/panel.h"

enum { N = EFFECTS_MOST, NN = EFFECTS_SQUARED };

/* --- Where they are ------------------------------------------------------- */

static int guess_memory(struct effect_guess *e, size_t tracks, size_t n)
{
    e->precision = NEW(double, tracks *n *n);
    e->pull = NEW(double, tracks *n);
    e->center = NEW(double, tracks *n);
    e->root = NEW(double, tracks *n *n);
    bool made = e->precision && e->pull && e->center && e->root;
    return made ? 0 : GSV_NO_MEMORY;
}

void effect_guess_free(struct effect_guess *e)
{
    MEM_FREE(e->precision, e->pull, e->center, e->root);
}

/* The precision of root root', to P; and y += sign P x. */
static void precision_of(size_t n, const double *root, double *P)
{
    memcpy(P, root, n * n * sizeof *P);
    linalg_cholesky_inverse(n, P);
}

static void add_product(size_t n, const double *P, double sign, const double *x,
                        double *y)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            y[i] += sign * P[i * n + j] * x[j];
}

static void guess_track(struct effect_guess *e, const struct panel *p,
                        size_t track)
{
    size_t n = p->n;
    double *center = e->center + track * n, *root = e->root + track * n * n;
    double *A = e->precision + track * n * n, S[NN];
    double *b = e->pull + track * n;
    bool placed = p->track[track * p->width + TRACK_PLACED] > 0.0;
    memcpy(center, placed ? panel_center(p, track) : p->law.mean,
           n * sizeof *center);
    memcpy(root, placed ? panel_root(p, track) : p->law.root,
           n * n * sizeof *root);
    if (!placed) return;
    precision_of(n, root, A);
    precision_of(n, p->law.root, S);
    add_product(n, A, 1.0, center, b);
    add_product(n, S, -1.0, p->law.mean, b);
    for (size_t i = 0; i < n * n; i++)
        A[i] -= S[i];
}

int effect_guess_init(struct gibbs *g, const double *mode, const gsv_options *o)
{
    const struct learner *l = g->l;
    struct panel p = {0};
    gsv_options own = *o;
    own.gradient = false;
    learner_set(g->l, mode);
    const struct task task = {.model = l->m, .series = l->s, .options = &own};
    int status = panel_init(&p, panel_inner(l->method), &task);
    if (!status) status = guess_memory(&g->guess, p.tracks, p.n);
    if (!status) status = panel_run(&p, &(struct request){0}, false);
    for (size_t i = 0; !status && i < p.tracks; i++)
        guess_track(&g->guess, &p, i);
    panel_free(&p);
    return status;
}

static struct random_key key_of(const struct gibbs *g, size_t chain,
                                uint32_t iteration, enum random_purpose purpose)
{
    return (struct random_key){.seed = g->l->o->estimator.seed,
                               .purpose = purpose,
                               .iteration = iteration,
                               .item = chain};
}

/* u = center + by root z. */
static void place(size_t n, const double *center, const double *root, double by,
                  const double *z, double *u)
{
    for (size_t i = 0; i < n; i++) {
        u[i] = center[i];
        for (size_t j = 0; j <= i; j++)
            u[i] += by * root[i * n + j] * z[j];
    }
}

void gibbs_start_effects(const struct gibbs *g, size_t chain, double *u)
{
    size_t n = g->l->m->spec->effect_size;
    struct random_key key = key_of(g, chain, 0, RANDOM_EFFECT_CHAIN);
    for (size_t i = 0; i < g->l->s->tracks; i++) {
        double z[N];
        random_normals(&key, 0, n, i, 1, z);
        place(n, g->guess.center + i * n, g->guess.root + i * n * n, 1.0, z,
              u + i * n);
    }
}

/* --- Proposals ------------------------------------------------------------ */

/* The law of a track's effects under the target's law of them: a mean, and the
 * factor L of the precision. The mode's where that is none. */
struct local {
    double mean[N], L[NN];
};

static void find_local(const struct gibbs *g, const struct target *t,
                       const double *S, size_t track, struct local *l)
{
    size_t n = t->effects;
    const double *A = g->guess.precision + track * n * n;
    memcpy(l->mean, g->guess.pull + track * n, n * sizeof *l->mean);
    add_product(n, S, 1.0, t->law.mean, l->mean);
    for (size_t i = 0; i < n * n; i++)
        l->L[i] = A[i] + S[i];
    if (linalg_cholesky(n, l->L)) {
        linalg_lower_solve(n, 1, l->L, false, l->mean);
        linalg_lower_solve(n, 1, l->L, true, l->mean);
        return;
    }
    memcpy(l->mean, g->guess.center + track * n, n * sizeof *l->mean);
    precision_of(n, g->guess.root + track * n * n, l->L);
    linalg_cholesky(n, l->L);
}

/* The log density of the t law, up to a constant. */
static double density_at(const struct local *l, size_t n, const double *u)
{
    double squares = 0.0, degrees = (double)T_DEGREES;
    for (size_t j = 0; j < n; j++) {
        double w = 0.0;
        for (size_t i = j; i < n; i++)
            w += l->L[i * n + j] * (u[i] - l->mean[i]);
        squares += w * w;
    }
    return -0.5 * (degrees + (double)n) * log1p(squares / degrees);
}

/* From the t law: mean + L'^-1 z over the root of a chi-square. */
static void propose_local(struct gibbs *g, struct seat *s,
                          const struct chain *c,
                          const struct random_key *normal)
{
    const struct target *t = &s->target;
    size_t n = t->effects;
    double S[NN], z[N + T_DEGREES];
    precision_of(n, t->law.root, S);
    for (size_t i = 0; i < t->tracks; i++) {
        struct local l;
        double squares = 0.0, *u = s->trial.u + i * n;
        find_local(g, t, S, i, &l);
        random_normals(normal, 0, n + T_DEGREES, i, 1, z);
        for (size_t k = 0; k < T_DEGREES; k++)
            squares += z[n + k] * z[n + k];
        linalg_lower_solve(n, 1, l.L, true, z);
        for (size_t k = 0; k < n; k++)
            u[k] = l.mean[k] + sqrt(T_DEGREES / squares) * z[k];
        s->ahead[i] = density_at(&l, n, c->u + i * n) - density_at(&l, n, u);
    }
}

static void propose_step(struct gibbs *g, struct seat *s, const struct chain *c,
                         const struct random_key *normal)
{
    const struct target *t = &s->target;
    size_t n = t->effects;
    double z[N];
    for (size_t i = 0; i < t->tracks; i++) {
        random_normals(normal, N + T_DEGREES, n, i, 1, z);
        place(n, c->u + i * n, g->guess.root + i * n * n,
              g->proposal.scale[MOVE_STEP], z, s->trial.u + i * n);
        s->ahead[i] = 0.0;
    }
}

/* --- Decisions ------------------------------------------------------------ */

/* log p(track | u) + log p(u). */
static double worth(const struct target *t, const struct chain *c, size_t track)
{
    double z[N], sum = effect_density(&t->law, c->u + track * t->effects, z);
    for (size_t i = t->given.unit[track]; i < t->given.unit[track + 1]; i++)
        sum += c->unit[i];
    return sum;
}

/* Each track by itself: given theta they are independent. */
static void decide(struct seat *s, struct chain *c, enum move move)
{
    const struct target *t = &s->target;
    const struct chain *trial = &s->trial;
    size_t n = t->effects;
    for (size_t i = 0; i < t->tracks; i++) {
        size_t first = t->given.unit[i], units = t->given.unit[i + 1] - first;
        double ratio = worth(t, trial, i) - worth(t, c, i) + s->ahead[i];
        bool kept = log(s->each[i]) < ratio;
        gibbs_count(s, move, kept);
        if (!kept) continue;
        memcpy(c->u + i * n, trial->u + i * n, n * sizeof *c->u);
        memcpy(c->unit + first, trial->unit + first, units * sizeof *c->unit);
    }
}

typedef void proposer(struct gibbs *g, struct seat *s, const struct chain *c,
                      const struct random_key *normal);

int gibbs_move_effects(struct gibbs *g, struct seat *s, size_t chain,
                       uint32_t iteration)
{
    static const struct {
        proposer *propose;
        enum move move;
    } ROW[] = {{propose_local, MOVE_EFFECT}, {propose_step, MOVE_STEP}};
    struct chain *c = &g->chain[chain];
    struct target *t = &s->target;
    const struct random_key normal =
        key_of(g, chain, iteration, RANDOM_EFFECT_CHAIN);
    const struct random_key uniform =
        key_of(g, chain, iteration, RANDOM_EFFECT_ACCEPT);
    for (size_t k = 0; k < sizeof ROW / sizeof *ROW; k++) {
        memcpy(s->trial.theta, c->theta, g->l->n * sizeof *c->theta);
        memcpy(s->trial.stream, c->stream, t->slots * sizeof *c->stream);
        target_set(t, c->theta);
        int status = effect_law_set(&t->law, t->value);
        if (status) return status;
        ROW[k].propose(g, s, c, &normal);
        status = target_at(t, INFINITY, &s->trial);
        if (status) return status;
        random_uniforms(&uniform, k, 1, 0, t->tracks, s->each);
        if (isfinite(s->trial.level.effects)) decide(s, c, ROW[k].move);
        target_level(t, c);
    }
    return 0;
}
