/* SPDX-License-Identifier: MIT */
/* The moves of a chain, each of which leaves the joint law of theta and the
 * random numbers as it is, and what proposals learn during warm-up. */
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

static void count(struct gibbs *g, enum move move, bool kept)
{
    g->counts.tried[move] += 1.0;
    if (kept) g->counts.kept[move] += 1.0;
}

/* --- Paths ---------------------------------------------------------------- */

/* Numbers that no slot of this chain has ever had, for one block of every
 * unit. */
static void other_turns(const struct gibbs *g, size_t chain, uint32_t iteration,
                        uint32_t *stream)
{
    const struct target *t = &g->target;
    size_t blocks = g->proposal.blocks, block = iteration % blocks;
    memcpy(stream, g->chain[chain].stream, t->slots * sizeof *stream);
    for (size_t i = 0; i < t->slots; i++)
        if (t->rank[i] * blocks / t->size[t->unit[i]] == block)
            stream[i] = (uint32_t)(iteration * g->chains + chain + 1);
}

/* Each unit by itself: given theta they are independent. */
static int move_paths(struct gibbs *g, size_t chain, uint32_t iteration,
                      const double *u)
{
    struct target *t = &g->target;
    struct chain *c = &g->chain[chain], *trial = &g->trial;
    struct level level;
    other_turns(g, chain, iteration, trial->stream);
    int status = target_at(t, c->theta, trial->stream, trial->unit, &level);
    if (status) return status;
    for (size_t i = 0; i < t->units; i++) {
        g->kept[i] = log(u[i]) < trial->unit[i] - c->unit[i];
        if (g->kept[i]) c->unit[i] = trial->unit[i];
        count(g, MOVE_PATHS, g->kept[i]);
    }
    for (size_t i = 0; i < t->slots; i++)
        if (g->kept[t->unit[i]]) c->stream[i] = trial->stream[i];
    c->level.loglik = target_sum(t, c->unit);
    return 0;
}

/* --- Parameters ----------------------------------------------------------- */

/* y = the walk's or the jump's step: root z. */
static void multiply(const struct proposal *p, double by, const double *z,
                     double *y)
{
    for (size_t i = 0; i < p->n; i++) {
        y[i] = 0.0;
        for (size_t j = 0; j <= i; j++)
            y[i] += by * p->root[i * p->n + j] * z[j];
    }
}

/* The log density of the t law at theta, up to a constant. */
static double jump_density(struct gibbs *g, const double *theta)
{
    const struct proposal *p = &g->proposal;
    double square = 0.0, degrees = (double)T_DEGREES;
    for (size_t i = 0; i < g->n; i++)
        g->y[i] = theta[g->place[i]] - p->mean[i];
    linalg_lower_solve(g->n, 1, p->root, false, g->y);
    for (size_t i = 0; i < g->n; i++)
        square += g->y[i] * g->y[i];
    return -0.5 * (degrees + (double)g->n) * log1p(square / degrees);
}

static double decisive(const struct level *l)
{
    return l->loglik + l->log.theta;
}

static void exchange(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

/* Goes to the trial's theta with the probability of Metropolis and Hastings;
 * ahead: log q(here) - log q(there) of the proposal. */
static int decide(struct gibbs *g, struct chain *c, double ahead, double u,
                  enum move move)
{
    struct chain *trial = &g->trial;
    int status = target_at(&g->target, trial->theta, c->stream, trial->unit,
                           &trial->level);
    if (status) return status;
    double ratio = decisive(&trial->level) - decisive(&c->level) + ahead;
    bool kept = log(u) < ratio;
    count(g, move, kept);
    if (!kept) return 0;
    exchange(&c->theta, &trial->theta);
    exchange(&c->unit, &trial->unit);
    c->level = trial->level;
    return 0;
}

/* To where the t law says, wherever the chain is: normals over the root of a
 * chi-square by its degrees. */
static int move_jump(struct gibbs *g, struct chain *c, const double *z,
                     double u)
{
    double squares = 0.0, here = jump_density(g, c->theta);
    for (size_t i = 0; i < T_DEGREES; i++)
        squares += z[g->n + i] * z[g->n + i];
    multiply(&g->proposal, sqrt(T_DEGREES / squares), z, g->y);
    memcpy(g->trial.theta, c->theta, g->l->n * sizeof *c->theta);
    for (size_t i = 0; i < g->n; i++)
        g->trial.theta[g->place[i]] = g->proposal.mean[i] + g->y[i];
    double there = jump_density(g, g->trial.theta);
    return decide(g, c, here - there, u, MOVE_JUMP);
}

static int move_walk(struct gibbs *g, struct chain *c, const double *z,
                     double u)
{
    multiply(&g->proposal, g->proposal.scale, z, g->y);
    memcpy(g->trial.theta, c->theta, g->l->n * sizeof *c->theta);
    for (size_t i = 0; i < g->n; i++)
        g->trial.theta[g->place[i]] += g->y[i];
    return decide(g, c, 0.0, u, MOVE_WALK);
}

int gibbs_move(struct gibbs *g, size_t chain, uint32_t iteration)
{
    struct chain *c = &g->chain[chain];
    struct random_key normal = key_of(g, chain, iteration, RANDOM_CHAIN);
    struct random_key uniform = key_of(g, chain, iteration, RANDOM_ACCEPT);
    size_t units = g->target.units, first = g->n + T_DEGREES;
    random_normals(&normal, 0, first + g->n, 0, 1, g->z);
    random_uniforms(&uniform, 0, units + 2, 0, 1, g->u);
    int status = g->target.random ? move_paths(g, chain, iteration, g->u) : 0;
    if (!status)
        status = g->proposal.independent ? move_jump(g, c, g->z, g->u[units])
                                         : move_walk(g, c, g->z, g->u[units]);
    if (!status) status = move_walk(g, c, g->z + first, g->u[units + 1]);
    return status;
}

/* --- Learning ------------------------------------------------------------- */

void proposal_factor(struct proposal *p)
{
    size_t n = p->n;
    memcpy(p->root, p->C, n * n * sizeof *p->C);
    if (linalg_cholesky(n, p->root)) return;
    memset(p->root, 0, n * n * sizeof *p->root);
    for (size_t i = 0; i < n; i++)
        p->root[i * (n + 1)] = sqrt(p->C[i * (n + 1)]);
}

void proposal_learn(struct gibbs *g, size_t rows, const double *row,
                    double before)
{
    struct proposal *p = &g->proposal;
    size_t n = p->n;
    double all = (double)rows + before, *old = g->y;
    memcpy(old, p->mean, n * sizeof *old);
    for (size_t i = 0; i < n; i++) {
        double sum = before * old[i];
        for (size_t r = 0; r < rows; r++)
            sum += row[r * n + i];
        p->mean[i] = sum / all;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = before * p->C[i * n + j];
            for (size_t r = 0; r < rows; r++)
                sum += (row[r * n + i] - p->mean[i]) *
                       (row[r * n + j] - p->mean[j]);
            p->C[i * n + j] = p->C[j * n + i] = sum / all;
        }
    proposal_factor(p);
}
