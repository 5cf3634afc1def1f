/* SPDX-License-Identifier: MIT */
/* Chains from the maximum of the likelihood to their draws. All of them go one
 * iteration at a time, so that they are equally long whenever they are ended,
 * and threads share the work of one estimate: bits are those of one thread. */
#include "learn/gibbs.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/random.h"
#include "learn/information.h"
#include "model/fit_record.h"
#include "model/theta.h"

/* --- Memory --------------------------------------------------------------- */

static int chain_init(const struct gibbs *g, struct chain *c)
{
    c->theta = NEW(double, g->l->n);
    c->stream = NEW(uint32_t, g->target.slots);
    c->unit = NEW(double, g->target.units);
    return c->theta && c->stream && c->unit ? 0 : GSV_NO_MEMORY;
}

static void chain_free(struct chain *c)
{
    MEM_FREE(c->theta, c->stream, c->unit);
}

static int gibbs_init(struct gibbs *g, struct learner *l, const gsv_options *o)
{
    size_t n = l->free;
    *g = (struct gibbs){.l = l, .n = n, .chains = l->o->chains};
    int status = target_init(&g->target, l, o);
    if (status) return status;
    g->chain = NEW(struct chain, g->chains);
    g->place = NEW(size_t, n);
    g->warm = NEW(double, l->o->warmup * g->chains * n);
    g->z = NEW(double, 2 * n + T_DEGREES);
    g->y = NEW(double, n);
    g->u = NEW(double, g->target.units + 2);
    g->kept = NEW(bool, g->target.units);
    g->draws = draws_new(g->chains, l->o->draws, n);
    g->proposal = (struct proposal){.n = n,
                                    .mean = NEW(double, n),
                                    .C = NEW(double, n *n),
                                    .root = NEW(double, n *n),
                                    .scale = 2.38 / sqrt((double)n),
                                    .independent = true,
                                    .blocks = 1};
    if (!g->chain || !g->place || !g->warm || !g->z || !g->y || !g->u ||
        !g->kept || !g->draws || !g->proposal.mean || !g->proposal.C ||
        !g->proposal.root || chain_init(g, &g->trial))
        return GSV_NO_MEMORY;
    for (size_t c = 0; c < g->chains; c++)
        if (chain_init(g, &g->chain[c])) return GSV_NO_MEMORY;
    for (size_t i = 0, j = 0; i < l->n; i++)
        if (!l->fixed[i]) g->place[j++] = i;
    for (size_t j = 0; j < n; j++)
        g->draws->place[j] = l->value[g->place[j]];
    return 0;
}

static void gibbs_free(struct gibbs *g)
{
    for (size_t c = 0; g->chain && c < g->chains; c++)
        chain_free(&g->chain[c]);
    chain_free(&g->trial);
    target_free(&g->target);
    draws_free(g->draws);
    MEM_FREE(g->chain, g->place, g->warm, g->z, g->y, g->u, g->kept,
             g->proposal.mean, g->proposal.C, g->proposal.root);
}

/* --- The first proposal --------------------------------------------------- */

/* Where V[i] stands among the free numbers. */
static size_t find_place(const struct gibbs *g, size_t place)
{
    size_t i = 0;
    while (g->place[i] != place)
        i++;
    return i;
}

/* The inverse of the observed information at the mode; where there is none, as
 * at a bound, deviations that warm-up will improve on. */
static int first_proposal(struct gibbs *g, const double *mode)
{
    struct proposal *p = &g->proposal;
    struct information a;
    for (size_t i = 0; i < g->n; i++) {
        p->mean[i] = mode[g->place[i]];
        double guess = 0.1 * fmax(1.0, fabs(p->mean[i]));
        p->C[i * (g->n + 1)] = guess * guess;
    }
    int status = information_init(&a, g->l, mode);
    if (!status && a.n) status = information_fill(&a);
    if (!status && a.n && information_invert(&a))
        for (size_t i = 0; i < a.n; i++)
            for (size_t j = 0; j < a.n; j++)
                if (!a.lost[i] && !a.lost[j])
                    p->C[find_place(g, a.place[i]) * g->n +
                         find_place(g, a.place[j])] = a.V[i * a.n + j];
    information_free(&a);
    proposal_factor(p);
    return status == GSV_NUMERICAL ? 0 : status;
}

/* --- Starts --------------------------------------------------------------- */

enum { TRIES = 50 };

/* Values that a prior forbids go to where it allows them. */
static void obey_priors(struct gibbs *g, double *theta, const double *u)
{
    const struct learner *l = g->l;
    learner_set(g->l, theta);
    for (size_t i = 0; i < l->n; i++) {
        const gsv_prior *p = l->prior.of[i];
        if (!p || prior_reaches(p, l->m->value[l->value[i]])) continue;
        l->m->value[l->value[i]] = prior_inside(p, u[i]);
    }
    gsv_theta_get(l->m, theta);
}

/* Twice as far from the mode as the posterior is wide, and less far where the
 * density is nothing there. */
static int start_chain(struct gibbs *g, size_t chain, const double *mode,
                       double *u)
{
    struct chain *c = &g->chain[chain];
    size_t n = g->n, slots = g->target.slots;
    for (size_t i = 0; i < slots; i++)
        c->stream[i] = (uint32_t)(chain + 1);
    for (size_t attempt = 0; attempt < TRIES; attempt++) {
        struct random_key key = {.seed = g->l->o->estimator.seed,
                                 .purpose = RANDOM_CHAIN,
                                 .item = (attempt + 1) * g->chains + chain};
        double far = 2.0 * pow(0.9, (double)attempt);
        random_normals(&key, 0, n, 0, 1, g->z);
        key.purpose = RANDOM_ACCEPT;
        random_uniforms(&key, 0, g->l->n, 0, 1, u);
        memcpy(c->theta, mode, g->l->n * sizeof *mode);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                c->theta[g->place[i]] +=
                    far * g->proposal.root[i * n + j] * g->z[j];
        obey_priors(g, c->theta, u);
        int status =
            target_at(&g->target, c->theta, c->stream, c->unit, &c->level);
        if (status || isfinite(c->level.loglik + c->level.log.theta))
            return status;
    }
    return fail(GSV_NUMERICAL,
                "chain %zu found no start near the largest likelihood where "
                "both prior and likelihood are positive; check the priors "
                "against the parameters' bounds, or set other starts",
                chain + 1);
}

/* The largest likelihood is known; more than this above it is none. */
static const double ABOVE = 20.0, ABOVE_A_GAP = 1.0;

static int set_ceiling(struct gibbs *g, const double *mode)
{
    struct target *t = &g->target;
    struct level level;
    for (size_t i = 0; i < t->slots; i++)
        g->trial.stream[i] = 0;
    int status = target_at(t, mode, g->trial.stream, g->trial.unit, &level);
    if (isfinite(level.loglik))
        t->ceiling = level.loglik + ABOVE + ABOVE_A_GAP * (double)t->slots;
    return status;
}

static int start_chains(struct gibbs *g, const double *mode)
{
    double *u = NEW(double, g->l->n);
    int status = u ? set_ceiling(g, mode) : GSV_NO_MEMORY;
    for (size_t c = 0; !status && c < g->chains; c++)
        status = start_chain(g, c, mode, u);
    mem_free(u);
    return status;
}

/* --- Warm-up -------------------------------------------------------------- */

/* Shares of successes that random walks work best with (Roberts and
 * Rosenthal), and below which the other moves are of no use. */
static const double ONE = 0.44, MANY = 0.234, FEWEST_JUMPS = 0.02,
                    FEWEST_PATHS = 0.15;

/* Warm-up has quarters; what was learned before counts as so many draws. */
enum { QUARTERS = 4, BEFORE = 10 };

static double share(const struct counts *c, enum move move)
{
    return c->tried[move] > 0.0 ? c->kept[move] / c->tried[move] : 1.0;
}

/* The walk's length after an iteration of all chains, of which so many walks
 * were kept. */
static void tune(struct gibbs *g, const struct counts *last, size_t iteration)
{
    double tried = g->counts.tried[MOVE_WALK] - last->tried[MOVE_WALK];
    double kept = g->counts.kept[MOVE_WALK] - last->kept[MOVE_WALK];
    double wanted = MANY + (ONE - MANY) / (double)g->n;
    g->proposal.scale *=
        exp((kept / tried - wanted) / pow((double)iteration, 0.6));
}

/* After a quarter: the law of proposals, from the draws of all chains in it. */
static void learn(struct gibbs *g, size_t from, size_t to)
{
    size_t row = g->chains * g->n;
    proposal_learn(g, (to - from) * g->chains, g->warm + from * row, BEFORE);
    if (share(&g->counts, MOVE_PATHS) < FEWEST_PATHS &&
        g->proposal.blocks < g->target.longest)
        g->proposal.blocks *= 2;
    if (to == g->l->o->warmup && share(&g->counts, MOVE_JUMP) < FEWEST_JUMPS)
        g->proposal.independent = false;
    g->counts = (struct counts){0};
}

static void warm_up(struct gibbs *g, const struct counts *last,
                    size_t iteration)
{
    size_t warmup = g->l->o->warmup, n = g->n;
    double *row = g->warm + (iteration - 1) * g->chains * n;
    for (size_t c = 0; c < g->chains; c++, row += n)
        for (size_t i = 0; i < n; i++)
            row[i] = g->chain[c].theta[g->place[i]];
    tune(g, last, iteration);
    for (size_t q = 1; q <= QUARTERS; q++)
        if (iteration == q * warmup / QUARTERS)
            learn(g, (q - 1) * warmup / QUARTERS, iteration);
}

/* --- Draws ---------------------------------------------------------------- */

static void keep_draws(struct gibbs *g, size_t draw)
{
    gsv_draws *d = g->draws;
    for (size_t c = 0; c < g->chains; c++) {
        const struct chain *from = &g->chain[c];
        size_t at = c * g->l->o->draws + draw;
        learner_set(g->l, from->theta);
        for (size_t i = 0; i < g->n; i++)
            d->value[i * d->chains * g->l->o->draws + at] =
                g->l->m->value[d->place[i]];
        d->lp[at] = from->level.loglik + from->level.log.values;
    }
}

/* Draws that were not made are removed, so that the rows are contiguous. */
static void shorten(gsv_draws *d, size_t draws)
{
    size_t rows = d->numbers * d->chains;
    for (size_t r = 1; r < rows; r++)
        memmove(d->value + r * draws, d->value + r * d->draws,
                draws * sizeof *d->value);
    for (size_t c = 1; c < d->chains; c++)
        memmove(d->lp + c * draws, d->lp + c * d->draws, draws * sizeof *d->lp);
    d->draws = draws;
}

static struct score score_of(const struct gibbs *g)
{
    struct score s = {.error = NAN, .gaps = g->l->gaps};
    for (size_t c = 0; c < g->chains; c++)
        s.mean += g->chain[c].level.loglik / (double)g->chains;
    s.mean /= (double)s.gaps;
    return s;
}

static int run(struct gibbs *g)
{
    struct learner *l = g->l;
    size_t warmup = l->o->warmup, all = warmup + l->o->draws, i = 0;
    bool ended = false;
    int status = 0;
    l->iterations = all;
    l->ended = GSV_ENDED_ITERATIONS;
    while (!ended && i < all) {
        struct counts last = g->counts;
        i++;
        for (size_t c = 0; !status && c < g->chains; c++)
            status = gibbs_move(g, c, (uint32_t)i);
        if (status == GSV_STOPPED) i--;
        if (status) break;
        if (i == warmup) l->refused = 0;
        if (i <= warmup) warm_up(g, &last, i);
        else keep_draws(g, i - warmup - 1);
        l->now.iteration = (double)i;
        struct score score = score_of(g);
        ended = learner_step(l, &score, NAN);
    }
    shorten(g->draws, i > warmup ? i - warmup : 0);
    return status ? status : l->failed;
}

/* --- All of it ------------------------------------------------------------ */

/* Fine enough without extrapolation. */
static const double SHARE = 0.1;

static int choose_estimator(struct learner *l, const double *mode)
{
    gsv_options *o = &l->stage[l->stages - 1];
    o->richardson = false;
    return l->chosen ? 0 : effort_by_score(l, mode, SHARE);
}

static int sample(struct gibbs *g, const double *mode)
{
    struct learner *l = g->l;
    int status = first_proposal(g, mode);
    if (!status) status = start_chains(g, mode);
    l->now = (struct standing){.seconds = l->now.seconds, .heldout = NAN};
    if (status == GSV_STOPPED) shorten(g->draws, 0);
    if (!status) status = run(g);
    learner_rest(l);
    status = learner_spared(l, status);
    if (status || !g->draws->draws) return status;
    l->m->draws = g->draws;
    g->draws = NULL;
    posterior_values(l, l->m->draws);
    return 0;
}

int gibbs(struct learner *l, const double *mode)
{
    struct gibbs g = {0};
    int status = choose_estimator(l, mode);
    if (!status) status = gibbs_init(&g, l, &l->stage[l->stages - 1]);
    if (!status) status = sample(&g, mode);
    gibbs_free(&g);
    if (status) return status;
    double *theta = NEW(double, l->n);
    if (!theta) return GSV_NO_MEMORY;
    if (l->m->draws) gsv_theta_get(l->m, theta);
    else memcpy(theta, mode, l->n * sizeof *theta);
    learner_end_search(l);
    status = finish(l, theta, true);
    mem_free(theta);
    return status;
}
