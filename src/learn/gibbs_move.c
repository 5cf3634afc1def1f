/* SPDX-License-Identifier: MIT */
/* The moves of a chain, each of which leaves the joint law of theta, of random
 * effects and of the random numbers as it is. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/random.h"
#include "learn/gibbs.h"

static struct random_key key_of(const struct gibbs *g, size_t chain,
                                uint32_t iteration, enum random_purpose purpose)
{
    return (struct random_key){.seed = g->l->o->estimator.seed,
                               .purpose = purpose,
                               .iteration = iteration,
                               .item = chain};
}

void gibbs_count(struct seat *s, enum move move, bool kept)
{
    s->counts.tried[move] += 1.0;
    if (kept) s->counts.kept[move] += 1.0;
}

/* --- Paths ---------------------------------------------------------------- */

/* Numbers that no slot of this chain has ever had, for one block of every
 * unit. */
static void other_turns(const struct gibbs *g, const struct target *t,
                        size_t chain, uint32_t iteration, uint32_t *stream)
{
    size_t blocks = g->proposal.blocks, block = iteration % blocks;
    memcpy(stream, g->chain[chain].stream, t->slots * sizeof *stream);
    for (size_t i = 0; i < t->slots; i++)
        if (t->rank[i] * blocks / t->size[t->unit[i]] == block)
            stream[i] = (uint32_t)(iteration * g->chains + chain + 1);
}

static void copy_place(const struct target *t, const struct chain *from,
                       struct chain *to)
{
    memcpy(to->theta, from->theta, t->l->n * sizeof *to->theta);
    if (t->effects)
        memcpy(to->u, from->u, t->tracks * t->effects * sizeof *to->u);
}

/* Each unit by itself: given theta they are independent. */
static int move_paths(struct gibbs *g, struct seat *s, size_t chain,
                      uint32_t iteration)
{
    struct target *t = &s->target;
    struct chain *c = &g->chain[chain], *trial = &s->trial;
    copy_place(t, c, trial);
    other_turns(g, t, chain, iteration, trial->stream);
    int status = target_at(t, g->ceiling, trial);
    if (status) return status;
    for (size_t i = 0; i < t->units; i++) {
        s->kept[i] = log(s->accept[i]) < trial->unit[i] - c->unit[i];
        if (s->kept[i]) c->unit[i] = trial->unit[i];
        gibbs_count(s, MOVE_PATHS, s->kept[i]);
    }
    for (size_t i = 0; i < t->slots; i++)
        if (s->kept[t->unit[i]]) c->stream[i] = trial->stream[i];
    c->level.loglik = target_sum(t, c->unit);
    return 0;
}

/* --- Parameters ----------------------------------------------------------- */

/* y = by root z, for a lower root (n, n). */
static void multiply(size_t n, const double *root, double by, const double *z,
                     double *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = 0.0;
        for (size_t j = 0; j <= i; j++)
            y[i] += by * root[i * n + j] * z[j];
    }
}

/* The log density of the t law at theta, up to a constant. */
static double jump_density(const struct gibbs *g, const double *theta,
                           double *y)
{
    const struct proposal *p = &g->proposal;
    double square = 0.0, degrees = (double)T_DEGREES;
    for (size_t i = 0; i < g->n; i++)
        y[i] = theta[g->place[i]] - p->mean[i];
    linalg_lower_solve(g->n, 1, p->root, false, y);
    for (size_t i = 0; i < g->n; i++)
        square += y[i] * y[i];
    return -0.5 * (degrees + (double)g->n) * log1p(square / degrees);
}

/* What decides where z is held; where u is held, its law counts as well. */
static double decisive(const struct level *l, enum move move)
{
    return l->loglik + l->log.theta + (move == MOVE_HELD ? l->effects : 0.0);
}

static void exchange(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

/* The trial's effects, with the z of the chain's; false where the trial has no
 * law of them. */
static bool carry_effects(struct seat *s, const struct chain *c)
{
    struct target *t = &s->target;
    size_t n = t->effects;
    target_set(t, c->theta);
    if (effect_law_set(&t->law, t->value)) return false;
    for (size_t i = 0; i < t->tracks; i++)
        effect_density(&t->law, c->u + i * n, s->w + i * n);
    target_set(t, s->trial.theta);
    if (effect_law_set(&t->law, t->value)) return false;
    for (size_t i = 0; i < t->tracks; i++)
        effect_draw(&t->law, s->w + i * n, s->trial.u + i * n);
    return true;
}

/* Goes to the trial's theta with the probability of Metropolis and Hastings;
 * ahead: log q(here) - log q(there) of the proposal. */
static int decide(const struct gibbs *g, struct seat *s, struct chain *c,
                  double ahead, double u, enum move move)
{
    struct target *t = &s->target;
    struct chain *trial = &s->trial;
    bool carried = !t->effects || move == MOVE_HELD || carry_effects(s, c);
    memcpy(trial->stream, c->stream, t->slots * sizeof *c->stream);
    int status = carried ? target_at(t, g->ceiling, trial) : 0;
    if (status) return status;
    double ratio =
        decisive(&trial->level, move) - decisive(&c->level, move) + ahead;
    bool kept = carried && log(u) < ratio;
    gibbs_count(s, move, kept);
    if (!kept) return 0;
    exchange(&c->theta, &trial->theta);
    exchange(&c->unit, &trial->unit);
    exchange(&c->u, &trial->u);
    c->level = trial->level;
    return 0;
}

/* To where the t law says, wherever the chain is: normals over the root of a
 * chi-square by its degrees. */
static int move_jump(const struct gibbs *g, struct seat *s, struct chain *c,
                     const double *z, double u)
{
    const struct proposal *p = &g->proposal;
    double squares = 0.0, here = jump_density(g, c->theta, s->y);
    for (size_t i = 0; i < T_DEGREES; i++)
        squares += z[g->n + i] * z[g->n + i];
    multiply(p->n, p->root, sqrt(T_DEGREES / squares), z, s->y);
    copy_place(&s->target, c, &s->trial);
    for (size_t i = 0; i < g->n; i++)
        s->trial.theta[g->place[i]] = p->mean[i] + s->y[i];
    double there = jump_density(g, s->trial.theta, s->y);
    return decide(g, s, c, here - there, u, MOVE_JUMP);
}

static int move_walk(const struct gibbs *g, struct seat *s, struct chain *c,
                     const double *z, double u)
{
    const struct proposal *p = &g->proposal;
    multiply(p->n, p->root, p->scale[MOVE_WALK], z, s->y);
    copy_place(&s->target, c, &s->trial);
    for (size_t i = 0; i < g->n; i++)
        s->trial.theta[g->place[i]] += s->y[i];
    return decide(g, s, c, 0.0, u, MOVE_WALK);
}

/* A walk of numbers that are not drawn, with u as it is. */
static int move_held(const struct gibbs *g, struct seat *s, struct chain *c,
                     const double *z, double u)
{
    const struct proposal *p = &g->proposal;
    multiply(p->helds, p->held_root, p->scale[MOVE_HELD], z, s->y);
    copy_place(&s->target, c, &s->trial);
    for (size_t i = 0; i < p->helds; i++)
        s->trial.theta[g->place[p->held[i]]] += s->y[i];
    return decide(g, s, c, 0.0, u, MOVE_HELD);
}

int gibbs_move(struct gibbs *g, struct seat *s, size_t chain,
               uint32_t iteration)
{
    struct chain *c = &g->chain[chain];
    struct random_key normal = key_of(g, chain, iteration, RANDOM_CHAIN);
    struct random_key uniform = key_of(g, chain, iteration, RANDOM_ACCEPT);
    const struct target *t = &s->target;
    size_t first = g->n + T_DEGREES, helds = g->proposal.helds;
    const double *accept = s->accept + t->units;
    random_normals(&normal, 0, first + g->n + helds, 0, 1, s->z);
    random_uniforms(&uniform, 0, t->units + 3, 0, 1, s->accept);
    int status = t->random ? move_paths(g, s, chain, iteration) : 0;
    if (!status)
        status = g->proposal.independent ? move_jump(g, s, c, s->z, accept[0])
                                         : move_walk(g, s, c, s->z, accept[0]);
    if (!status) status = move_walk(g, s, c, s->z + first, accept[1]);
    if (status || !t->effects) return status;
    status = gibbs_move_effects(g, s, chain, iteration);
    if (!status && helds)
        status = move_held(g, s, c, s->z + first + g->n, accept[2]);
    return status ? status : gibbs_draw_laws(g, s, chain, iteration);
}
