/* SPDX-License-Identifier: MIT */
/* Chains from the maximum of the likelihood to their draws. All of them go the
 * same number of iterations, a round, at a time, so that they are equally long
 * whenever they are ended. Threads share the chains; where there are more
 * threads than that they share the work of one estimate. Bits are those of one
 * thread in either case. */
#include "learn/gibbs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/error.h"
#include "base/lanes.h"
#include "base/linalg.h"
#include "base/random.h"
#include "learn/information.h"
#include "model/fit_record.h"
#include "model/theta.h"

/* --- Memory --------------------------------------------------------------- */

static int chain_init(const struct gibbs *g, struct chain *c)
{
    const struct target *t = &g->seat[0].target;
    c->theta = NEW(double, g->l->n);
    c->u = NEW(double, t->tracks * t->effects);
    c->stream = NEW(uint32_t, t->slots);
    c->unit = NEW(double, t->units);
    return c->theta && c->u && c->stream && c->unit ? 0 : GSV_NO_MEMORY;
}

static void chain_free(struct chain *c)
{
    MEM_FREE(c->theta, c->u, c->stream, c->unit);
}

static void chain_copy(const struct gibbs *g, const struct chain *from,
                       struct chain *to)
{
    const struct target *t = &g->seat[0].target;
    memcpy(to->theta, from->theta, g->l->n * sizeof *to->theta);
    memcpy(to->u, from->u, t->tracks * t->effects * sizeof *to->u);
    memcpy(to->stream, from->stream, t->slots * sizeof *to->stream);
    memcpy(to->unit, from->unit, t->units * sizeof *to->unit);
    to->level = from->level;
}

static int seat_init(const struct gibbs *g, struct seat *s,
                     const gsv_options *o)
{
    size_t n = g->n;
    int status = target_init(&s->target, g->l, o);
    if (status) return status;
    const struct target *t = &s->target;
    s->z = NEW(double, 3 * n + T_DEGREES);
    s->y = NEW(double, n);
    s->accept = NEW(double, t->units + 3);
    s->kept = NEW(bool, t->units);
    s->w = NEW(double, t->tracks * t->effects);
    s->ahead = NEW(double, t->tracks);
    s->each = NEW(double, t->tracks);
    bool made = s->z && s->y && s->accept && s->kept && s->w && s->ahead &&
                s->each && !chain_init(g, &s->trial);
    return made ? 0 : GSV_NO_MEMORY;
}

static void seat_free(struct seat *s)
{
    target_free(&s->target);
    chain_free(&s->trial);
    MEM_FREE(s->z, s->y, s->accept, s->kept, s->w, s->ahead, s->each);
}

/* Threads share chains where there are enough of these: ranks share the work of
 * one estimate. */
static size_t seats_of(const struct gibbs *g, const gsv_options *o)
{
    size_t threads = lanes_threads(o->threads);
    if (gsv_ranks_count(o->ranks) > 1 || threads >= 2 * g->chains) return 1;
    return threads < g->chains ? threads : g->chains;
}

static int make_seats(struct gibbs *g, const gsv_options *o)
{
    gsv_options own = *o;
    g->seats = seats_of(g, o);
    g->small = !g->l->m->spec->effects && target_is_small(g->l, o);
    g->seat = NEW(struct seat, g->seats);
    if (!g->seat) return GSV_NO_MEMORY;
    if (g->seats > 1 || g->small) own.threads = 1;
    int status = 0;
    for (size_t i = 0; !status && i < g->seats; i++)
        status = seat_init(g, &g->seat[i], &own);
    return status;
}

static int make_proposal(struct gibbs *g)
{
    size_t n = g->n, effects = g->l->m->spec->effect_size;
    struct proposal *p = &g->proposal;
    *p = (struct proposal){.n = n,
                           .mean = NEW(double, n),
                           .C = NEW(double, n *n),
                           .root = NEW(double, n *n),
                           .independent = true,
                           .blocks = 1,
                           .held = NEW(size_t, n),
                           .held_root = NEW(double, 2 * n * n)};
    for (size_t i = 0; i < MOVES; i++)
        p->scale[i] = 2.38 / sqrt((double)n);
    if (effects) p->scale[MOVE_STEP] = 2.38 / sqrt((double)effects);
    bool made = p->mean && p->C && p->root && p->held && p->held_root;
    return made ? 0 : GSV_NO_MEMORY;
}

static int make_chains(struct gibbs *g)
{
    size_t all = g->chains;
    g->chain = NEW(struct chain, all);
    g->before = NEW(struct chain, all);
    g->count = NEW(struct counts, all);
    g->status = NEW(int, all);
    g->refused = NEW(size_t, all);
    g->loglik = NEW(double, all *MOST_ROUND);
    g->message = NEW(char, all *MESSAGE_ROOM);
    if (!g->chain || !g->before || !g->count || !g->status || !g->refused ||
        !g->loglik || !g->message)
        return GSV_NO_MEMORY;
    for (size_t c = 0; c < all; c++)
        if (chain_init(g, &g->chain[c]) || chain_init(g, &g->before[c]))
            return GSV_NO_MEMORY;
    return 0;
}

static int gibbs_init(struct gibbs *g, struct learner *l, const gsv_options *o)
{
    size_t n = l->free;
    *g = (struct gibbs){
        .l = l, .n = n, .chains = l->o->chains, .ceiling = INFINITY};
    int status = make_seats(g, o);
    if (!status) status = make_chains(g);
    if (!status) status = make_proposal(g);
    if (status) return status;
    const struct target *t = &g->seat[0].target;
    g->place = NEW(size_t, n);
    g->warm = NEW(double, l->o->warmup * g->chains * n);
    g->draws = draws_new(g->chains, l->o->draws, n, t->tracks, t->effects);
    if (!g->place || !g->warm || !g->draws) return GSV_NO_MEMORY;
    for (size_t i = 0, j = 0; i < l->n; i++)
        if (!l->fixed[i]) g->place[j++] = i;
    for (size_t j = 0; j < n; j++)
        g->draws->place[j] = l->value[g->place[j]];
    return 0;
}

static void gibbs_free(struct gibbs *g)
{
    for (size_t c = 0; g->chain && g->before && c < g->chains; c++) {
        chain_free(&g->chain[c]);
        chain_free(&g->before[c]);
    }
    for (size_t i = 0; g->seat && i < g->seats; i++)
        seat_free(&g->seat[i]);
    effect_guess_free(&g->guess);
    draws_free(g->draws);
    MEM_FREE(g->chain, g->before, g->count, g->status, g->refused, g->loglik,
             g->message, g->seat, g->place, g->warm, g->proposal.mean,
             g->proposal.C, g->proposal.root, g->proposal.held,
             g->proposal.held_root);
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

/* Free numbers that are not drawn walk while effects are held. */
static int find_held(struct gibbs *g, const double *mode)
{
    struct proposal *p = &g->proposal;
    bool *drawn = NEW(bool, g->l->n);
    if (!drawn) return GSV_NO_MEMORY;
    int status = conjugate_find(g, mode, drawn);
    for (size_t i = 0; !status && i < g->n; i++)
        if (!drawn[g->place[i]]) p->held[p->helds++] = i;
    mem_free(drawn);
    return status;
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
    struct seat *s = &g->seat[0];
    size_t n = g->n, slots = s->target.slots;
    for (size_t i = 0; i < slots; i++)
        c->stream[i] = (uint32_t)(chain + 1);
    if (s->target.effects) gibbs_start_effects(g, chain, c->u);
    for (size_t attempt = 0; attempt < TRIES; attempt++) {
        struct random_key key = {.seed = g->l->o->estimator.seed,
                                 .purpose = RANDOM_CHAIN,
                                 .item = (attempt + 1) * g->chains + chain};
        double far = 2.0 * pow(0.9, (double)attempt);
        random_normals(&key, 0, n, 0, 1, s->z);
        key.purpose = RANDOM_ACCEPT;
        random_uniforms(&key, 0, g->l->n, 0, 1, u);
        memcpy(c->theta, mode, g->l->n * sizeof *mode);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                c->theta[g->place[i]] +=
                    far * g->proposal.root[i * n + j] * s->z[j];
        obey_priors(g, c->theta, u);
        int status = target_at(&s->target, g->ceiling, c);
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
    struct target *t = &g->seat[0].target;
    struct chain *trial = &g->seat[0].trial;
    memset(trial->stream, 0, t->slots * sizeof *trial->stream);
    memcpy(trial->theta, mode, g->l->n * sizeof *mode);
    if (t->effects)
        memcpy(trial->u, g->guess.center,
               t->tracks * t->effects * sizeof *trial->u);
    int status = target_at(t, INFINITY, trial);
    if (isfinite(trial->level.loglik))
        g->ceiling =
            trial->level.loglik + ABOVE + ABOVE_A_GAP * (double)t->slots;
    return status;
}

static int start_chains(struct gibbs *g, const double *mode)
{
    double *u = NEW(double, g->l->n);
    int status = u ? 0 : GSV_NO_MEMORY;
    for (size_t c = 0; !status && c < g->chains; c++)
        status = start_chain(g, c, mode, u);
    mem_free(u);
    return status;
}

/* --- Warm-up -------------------------------------------------------------- */

/* Shares of successes below which moves are of no use. */
static const double FEWEST_JUMPS = 0.02, FEWEST_PATHS = 0.15;

/* Warm-up has quarters; what was learned before counts as so many draws. */
enum { QUARTERS = 4, BEFORE = 10 };

static double share(const struct counts *c, enum move move)
{
    return c->tried[move] > 0.0 ? c->kept[move] / c->tried[move] : 1.0;
}

/* After a quarter: the law of proposals, from the draws of all chains in it. */
static void learn(struct gibbs *g, size_t from, size_t to)
{
    size_t row = g->chains * g->n;
    struct proposal *p = &g->proposal;
    proposal_learn(p, (to - from) * g->chains, g->warm + from * row, BEFORE,
                   g->seat[0].y);
    if (share(&g->counts, MOVE_PATHS) < FEWEST_PATHS &&
        p->blocks < g->seat[0].target.longest)
        p->blocks *= 2;
    if (to == g->l->o->warmup && share(&g->counts, MOVE_JUMP) < FEWEST_JUMPS)
        p->independent = false;
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
    proposal_tune(&g->proposal, MOVE_WALK, n, last, iteration);
    proposal_tune(&g->proposal, MOVE_HELD, g->proposal.helds, last, iteration);
    proposal_tune(&g->proposal, MOVE_STEP, g->draws->effects, last, iteration);
    for (size_t q = 1; q <= QUARTERS; q++)
        if (iteration == q * warmup / QUARTERS)
            learn(g, (q - 1) * warmup / QUARTERS, iteration);
}

/* --- Draws ---------------------------------------------------------------- */

static void keep_draw(struct gibbs *g, struct target *t, size_t chain,
                      size_t draw)
{
    gsv_draws *d = g->draws;
    const struct chain *from = &g->chain[chain];
    size_t each = g->l->o->draws, all = d->chains * each;
    size_t at = chain * each + draw;
    target_set(t, from->theta);
    for (size_t i = 0; i < g->n; i++)
        d->value[i * all + at] = t->value[d->place[i]];
    for (size_t i = 0; i < d->tracks * d->effects; i++)
        d->effect[i * all + at] = from->u[i];
    d->lp[at] =
        from->level.loglik + from->level.effects + from->level.log.values;
}

static void shorten_rows(size_t rows, size_t before, size_t after, double *x)
{
    for (size_t r = 1; r < rows; r++)
        memmove(x + r * after, x + r * before, after * sizeof *x);
}

/* Draws that were not made are removed, so that the rows are contiguous. */
static void shorten(gsv_draws *d, size_t draws)
{
    shorten_rows(d->numbers * d->chains, d->draws, draws, d->value);
    shorten_rows(d->chains, d->draws, draws, d->lp);
    if (d->effect)
        shorten_rows(d->tracks * d->effects * d->chains, d->draws, draws,
                     d->effect);
    d->draws = draws;
}

/* --- Rounds --------------------------------------------------------------- */

/* The round of one chain, in a thread. */
static void work(void *context, size_t lane, size_t thread)
{
    struct gibbs *g = context;
    struct seat *s = &g->seat[thread];
    size_t warmup = g->l->o->warmup;
    s->counts = (struct counts){0};
    s->target.refused = 0;
    for (size_t k = 0; k < g->round && !g->status[lane]; k++) {
        size_t i = g->first + k;
        g->status[lane] = gibbs_move(g, s, lane, (uint32_t)i);
        if (g->status[lane])
            snprintf(g->message + lane * MESSAGE_ROOM, MESSAGE_ROOM, "%s",
                     gsv_last_error());
        g->loglik[lane * MOST_ROUND + k] = g->chain[lane].level.loglik;
        if (!g->status[lane] && i > warmup)
            keep_draw(g, &s->target, lane, i - warmup - 1);
    }
    g->count[lane] = s->counts;
    g->refused[lane] = s->target.refused;
}

/* The first failure; chains that were stopped on their way go back to where the
 * round began. */
static int judge_round(struct gibbs *g, int status)
{
    for (size_t c = 0; c < g->chains && !status; c++)
        if (g->status[c])
            status = fail(g->status[c], "%s", g->message + c * MESSAGE_ROOM);
    for (size_t c = 0; status && c < g->chains; c++)
        chain_copy(g, &g->before[c], &g->chain[c]);
    return status;
}

/* last: what chains tried in it. */
static int run_round(struct gibbs *g, struct counts *last)
{
    const struct lanes_job job = {.context = g, .work = work};
    bool warm = g->first <= g->l->o->warmup;
    for (size_t c = 0; c < g->chains; c++) {
        chain_copy(g, &g->chain[c], &g->before[c]);
        g->status[c] = 0;
    }
    int status = lanes_run(g->chains, warm && g->small ? 1 : g->seats, &job);
    status = judge_round(g, status);
    *last = (struct counts){0};
    for (size_t c = 0; !status && c < g->chains; c++) {
        g->l->refused += g->refused[c];
        for (size_t i = 0; i < MOVES; i++) {
            last->tried[i] += g->count[c].tried[i];
            last->kept[i] += g->count[c].kept[i];
        }
    }
    for (size_t i = 0; !status && i < MOVES; i++) {
        g->counts.tried[i] += last->tried[i];
        g->counts.kept[i] += last->kept[i];
    }
    return status;
}

static struct score score_of(const struct gibbs *g, size_t k)
{
    struct score s = {.error = NAN, .gaps = g->l->gaps};
    for (size_t c = 0; c < g->chains; c++)
        s.mean += g->loglik[c * MOST_ROUND + k] / (double)g->chains;
    s.mean /= (double)s.gaps;
    return s;
}

/* Iterations of the next round: proposals learn after each one of warm-up. */
static size_t round_length(const struct gibbs *g, size_t all)
{
    if (g->done < g->l->o->warmup || g->seats == 1) return 1;
    return all - g->done < MOST_ROUND ? all - g->done : MOST_ROUND;
}

static int run(struct gibbs *g)
{
    struct learner *l = g->l;
    size_t warmup = l->o->warmup, all = warmup + l->o->draws;
    bool ended = false;
    int status = 0;
    l->iterations = all;
    l->ended = GSV_ENDED_ITERATIONS;
    while (!status && !ended && g->done < all) {
        struct counts last;
        g->first = g->done + 1;
        g->round = round_length(g, all);
        status = run_round(g, &last);
        if (status) break;
        g->done += g->round;
        if (g->done == warmup) l->refused = 0;
        if (g->done <= warmup) warm_up(g, &last, g->done);
        learner_advance(l);
        for (size_t k = 0; k < g->round && !ended; k++) {
            l->now.iteration = (double)(g->first + k);
            struct score score = score_of(g, k);
            ended = learner_step(l, &score, NAN);
        }
    }
    return status ? status : l->failed;
}

/* --- All of it ------------------------------------------------------------ */

/* Fine enough without extrapolation. */
static const double SHARE = 0.1, OF_A_GAP = 2e-4;

static int choose_estimator(struct learner *l, const double *mode)
{
    gsv_options *o = &l->stage[l->stages - 1];
    o->richardson = false;
    if (l->chosen) return 0;
    if (!l->m->spec->effects) return effort_by_score(l, mode, SHARE);
    return learner_over_gaps(l) ? effort_of_panel(l, mode, OF_A_GAP) : 0;
}

/* What chains need before they begin, or go on. */
static int prepare(struct gibbs *g, const double *mode, const gsv_options *o)
{
    bool effects = g->l->m->spec->effects > 0;
    int status = effects ? effect_guess_init(g, mode, o) : 0;
    if (!status && effects) status = find_held(g, mode);
    if (!status) status = set_ceiling(g, mode);
    if (!status && g->l->chains.count) return gibbs_take(g);
    if (!status) status = first_proposal(g, mode);
    return status ? status : start_chains(g, mode);
}

static int sample(struct gibbs *g, const double *mode, const gsv_options *o)
{
    struct learner *l = g->l;
    l->sampling = true;
    int status = prepare(g, mode, o);
    bool begun = !status;
    l->now = (struct standing){.seconds = l->now.seconds,
                               .heldout = NAN,
                               .best = -INFINITY,
                               .looked_at = -1.0,
                               .factor = 1.0};
    l->keep = begun ? gibbs_keep : NULL;
    l->keeper = g;
    if (begun) status = run(g);
    learner_rest(l);
    status = learner_spared(l, status);
    size_t warmup = l->o->warmup;
    size_t draws = begun && g->done > warmup ? g->done - warmup : 0;
    if (!status && learner_over(l)) status = checkpoint_keep(l);
    l->keep = NULL;
    shorten(g->draws, draws);
    if (status || !draws) return status;
    l->m->draws = g->draws;
    g->draws = NULL;
    posterior_values(l, l->m->draws);
    return 0;
}

int gibbs(struct learner *l, const double *mode)
{
    struct gibbs g = {0};
    int status = choose_estimator(l, mode);
    gsv_options o = l->stage[l->stages - 1];
    if (!status) status = gibbs_init(&g, l, &o);
    if (!status) status = sample(&g, mode, &o);
    gibbs_free(&g);
    if (status) return status;
    double *theta = NEW(double, l->n);
    if (!theta) return GSV_NO_MEMORY;
    if (l->m->draws) gsv_theta_get(l->m, theta);
    else memcpy(theta, mode, l->n * sizeof *theta);
    learner_end_search(l);
    status = finish(l, theta, true);
    if (!status && l->m->state.count && learner_writes(l))
        status = gsv_model_write(l->m, l->o->checkpoint);
    mem_free(theta);
    return status;
}
