/* SPDX-License-Identifier: MIT */
/* L-BFGS over all gaps with common random numbers, and then Newton's steps.
 * References follow theta, but are constants under differentiation: what the
 * estimate itself would gain by a better reference is not in its gradient. So
 * L-BFGS brings theta near to the maximum; the last steps are by differences of
 * the log-likelihood itself. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimator/refine.h"
#include "learn/climb.h"
#include "learn/learner.h"
#include "learn/maximise.h"
#include "learn/sensitivity.h"
#include "learn/twin.h"

/* A round is what is done again after a resume: L-BFGS then begins without its
 * memory, in an uninterrupted fit, too. */
enum { ROUND = 25, ROUNDS = 200 };

/* So many steps have the curvature of the first of them. */
enum { NEWTON_STEPS = 12, KEPT_STEPS = 3 };

/* In nats of the whole: a round that gains less has moved theta by about a
 * twentieth of its standard error. Newton's steps end at a fiftieth of one. */
static const double GAIN = 1e-3, SMALL_STEP = 0.02;

/* Of fits for their likelihood, which is compared with others. */
static const double ALONE_GAIN = 2e-2;

/* Of regressions, which no Newton's step follows: to the maximum. */
static const double MATCH_GAIN = 1e-7;

/* The same where the likelihood jumps, and what a step may lose by that. */
static const double ROUGH_SMALL_STEP = 0.2, ROUGH_LOSS = 0.2;

struct round {
    struct learner *l;
    struct objective all;
    double *theta;    /* (n)                        */
    double *gradient; /* (n)                        */
    double *x;        /* (free) what is searched over */
    double *own;      /* (free) the numbers themselves */
    size_t *place;    /* (free) in theta            */
    size_t free;
    struct whitener whitener;
    double first; /* value at the round's start */
    bool begun, resting;
    bool raised;        /* the effort is chosen already */
    bool rising;        /* it ended where there is no maximum */
    struct score score; /* at the last point          */
};

/* The numbers themselves to their places in theta. */
static void put_theta(struct round *r, const double *x, double *theta)
{
    memcpy(r->own, x, r->free * sizeof *x);
    whitener_undo(&r->whitener, r->own);
    for (size_t i = 0; i < r->free; i++)
        theta[r->place[i]] = r->own[i];
}

static int at(void *context, const double *x, double *value, double *gradient)
{
    struct round *r = context;
    put_theta(r, x, r->theta);
    int status = objective_at(&r->all, r->theta, 0, r->l->split.trains,
                              r->l->split.train, &r->score, r->gradient);
    if (status) return status;
    double gaps = (double)r->score.gaps;
    *value = r->score.mean * gaps;
    for (size_t i = 0; i < r->l->n; i++)
        r->gradient[i] *= gaps;
    status = prior_add(&r->l->prior, 1.0, value, r->gradient);
    if (status) return status;
    for (size_t i = 0; i < r->free; i++)
        gradient[i] = r->gradient[r->place[i]];
    whitener_gradient(&r->whitener, gradient);
    if (!r->begun) r->first = *value;
    r->begun = true;
    return 0;
}

static bool step(void *context, const double *x, double value)
{
    struct round *r = context;
    struct learner *l = r->l;
    put_theta(r, x, l->theta);
    struct score score = r->score;
    score.mean = value / (double)score.gaps;
    l->now.iteration += 1.0;
    if ((size_t)l->now.iteration >= l->iterations) r->resting = true;
    gsv_theta_set(l->m, l->theta);
    return learner_step(l, &score, 1.0) || r->resting;
}

/* With em-linear this is the E-step: a round is the M-step that follows. */
static int start_round(struct round *r)
{
    struct learner *l = r->l;
    memcpy(r->theta, l->theta, l->n * sizeof *r->theta);
    memcpy(l->safe, l->theta, l->n * sizeof *l->safe);
    for (size_t i = 0; i < r->free; i++)
        r->x[i] = l->theta[r->place[i]];
    whitener_apply(&r->whitener, r->x);
    l->now.round_began = l->now.iteration;
    r->begun = false;
    if (!learner_alternates(l)) return 0;
    gsv_theta_set(l->m, l->theta);
    return objective_hold(&r->all);
}

/* Rounds under one stage's estimator. done: stopped by the caller or by time.
 */
static int run_rounds(struct round *r, bool *done)
{
    struct learner *l = r->l;
    double gain = learner_matches(l)    ? MATCH_GAIN
                  : l->likelihood_alone ? ALONE_GAIN
                                        : GAIN;
    struct maximise job = {r, at, step, ROUND, 0.1 * gain};
    l->foresight = (struct foresight){.tolerance = job.tolerance};
    for (; l->now.round < ROUNDS; l->now.round += 1.0) {
        enum maximise_end end;
        double value;
        int status = start_round(r);
        if (!status) status = maximise(&job, r->free, r->x, &value, &end);
        if (status) return status;
        put_theta(r, r->x, l->theta);
        *done = end == MAXIMISE_STOPPED;
        if (*done && r->resting) l->ended = GSV_ENDED_ITERATIONS;
        bool still = end != MAXIMISE_ITERATIONS && !learner_alternates(l);
        if (*done || still || value - r->first < gain) return 0;
        learner_advance(l);
    }
    l->ended = GSV_ENDED_ITERATIONS;
    return 0;
}

/* --- Newton's steps ----------------------------------------------------- */

/* theta + share V slope to r->theta; the longest step in standard errors. */
static double newton_point(struct round *r, const struct information *a,
                           double share)
{
    double longest = 0.0;
    memcpy(r->theta, r->l->theta, r->l->n * sizeof *r->theta);
    for (size_t i = 0; i < a->n; i++) {
        double move = 0.0, error = sqrt(a->V[i * a->n + i]);
        for (size_t j = 0; j < a->n; j++)
            move += a->V[i * a->n + j] * a->slope[j];
        r->theta[a->place[i]] += share * move;
        longest = fmax(longest, share * fabs(move) / error);
    }
    return longest;
}

/* Half as far, until it is no loss; small: there is no more to gain. */
static int newton_step(struct round *r, struct information *a, double *value,
                       bool *small)
{
    for (int halvings = 0; halvings < 7; halvings++) {
        double there, longest = newton_point(r, a, ldexp(1.0, -halvings));
        int status = information_value(a, r->theta, &there);
        if (status && status != GSV_NUMERICAL) return status;
        double loss = a->rough ? ROUGH_LOSS : 1e-9 * fabs(*value);
        if (status || !(there >= *value - loss)) continue;
        memcpy(r->l->theta, r->theta, r->l->n * sizeof *r->theta);
        *value = there;
        *small = longest < (a->rough ? ROUGH_SMALL_STEP : SMALL_STEP);
        return 0;
    }
    *small = true;
    return 0;
}

/* More numbers would take longer to difference than L-BFGS took. */
enum { MOST_NEWTON = 60 };

/* In nats: what a climb must promise. */
static const double PROMISE = 0.05;

/* What a Newton step would gain where all directions led down. */
static double promise(struct information *a)
{
    double gain = 0.0;
    if (!information_uphill(a)) return 0.0;
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < a->n; j++)
            gain += 0.5 * a->slope[i] * a->V[i * a->n + j] * a->slope[j];
    return gain;
}

/* l, its slope and its curvature here; top: it is curved as at a maximum. */
static int survey(const struct round *r, struct information *a, double *value,
                  bool *top)
{
    const double *theta = r->l->theta;
    memcpy(a->theta, theta, r->l->n * sizeof *theta);
    int status = information_value(a, theta, value);
    if (!status) status = information_fill(a);
    *top = !status && information_invert(a) && !a->rising;
    return status;
}

static bool is_any_lost(const struct information *a)
{
    bool any = false;
    for (size_t i = 0; i < a->n; i++)
        any = any || (a->lost[i] && !a->bound[i]);
    return any;
}

/* Curved otherwise, with a slope, it is not the end of the search. A climb that
 * does not end at a top has followed the error of too few steps, and is undone;
 * so is what it made of the steps to difference by. */
static int climb_to_top(struct round *r, struct information *a, double *value,
                        bool *top)
{
    struct learner *l = r->l;
    int status = survey(r, a, value, top);
    if (status || (*top && !is_any_lost(a))) return status;
    bool rising = a->rising, steep = promise(a) > PROMISE;
    memcpy(r->theta, l->theta, l->n * sizeof *l->theta);
    if (steep) status = climb(a, l->theta, value);
    if (!status) status = survey(r, a, value, top);
    if (*top) return status;
    a->rising = rising || steep;
    memcpy(l->theta, r->theta, l->n * sizeof *l->theta);
    memcpy(l->move, r->gradient, l->n * sizeof *l->move);
    return status;
}

/* Where the time ends it, a resume begins it again, with the same steps. */
static int polish(struct round *r)
{
    struct learner *l = r->l;
    struct information a;
    double value;
    bool small = r->free > MOST_NEWTON || l->likelihood_alone, top = false;
    if (small) return 0;
    memcpy(r->gradient, l->move, l->n * sizeof *l->move);
    int status = information_init(&a, l, l->theta);
    if (!status && a.n) status = climb_to_top(r, &a, &value, &top);
    r->rising = a.rising;
    for (int i = 0; !status && top && !small && i < NEWTON_STEPS; i++) {
        if (i % KEPT_STEPS) status = information_slope(&a, l->theta, a.n);
        else if (i) status = survey(r, &a, &value, &top);
        if (!status && top) status = newton_step(r, &a, &value, &small);
    }
    /* Beside the estimate its lattices have too few steps. */
    if (status == GSV_NUMERICAL && l->stage[1].form == GSV_FORM_COMPOSED)
        r->rising = true;
    information_free(&a);
    if (learner_over(l)) memcpy(l->move, r->gradient, l->n * sizeof *l->move);
    return status == GSV_NUMERICAL ? 0 : learner_spared(l, status);
}

/* --- Stages ------------------------------------------------------------- */

/* Of the score's deviation: the estimate is then off by about as much of its
 * standard error. A fit for its likelihood may be off by more. */
static const double SHARE = 0.1, ALONE_SHARE = 0.2;

/* In nats a gap, where random effects are integrated over gaps. */
static const double ACCURACY = 1e-3;

/* Time was over before the first iteration of a stage: that is where a resume
 * begins. */
static void rest_here(struct learner *l)
{
    memcpy(l->safe, l->theta, l->n * sizeof *l->safe);
    l->now.round_began = l->now.iteration;
}

/* One stage. done: stopped by the caller or by time. */
static int run_stage(struct round *r, size_t stage, bool *done)
{
    struct learner *l = r->l;
    bool last = stage + 1 == l->stages && !learner_matches(l);
    bool first = stage == 1 && l->now.round == 0.0;
    int status = first ? learner_go_on(l) : 0;
    if (!status && first) status = effort_of_steps(l);
    if (!status && first && !l->chosen && learner_over_gaps(l))
        status = effort_of_panel(l, l->theta, ACCURACY);
    else if (!status && first && !l->chosen && !r->raised)
        status = effort_by_score(l, l->theta,
                                 l->likelihood_alone ? ALONE_SHARE : SHARE);
    if (learner_over(l)) rest_here(l);
    else if (!status)
        status = objective_init_loglik(&r->all, l->m, l->s, &l->stage[stage],
                                       l->split.trains);
    if (!status && !learner_over(l)) status = run_rounds(r, done);
    if (!status && !learner_over(l) && !*done && last) status = polish(r);
    objective_free(&r->all);
    if (!learner_over(l)) return status;
    *done = true;
    if (!r->resting) learner_rest(l);
    return learner_spared(l, status);
}

/* --- Whether the search saw the likelihood -------------------------------- */

/* Gaps that are looked at; what the estimator of the search may be off by, in
 * nats a gap. */
enum { SEEN_GAPS = 256 };
static const double SEEN = 0.02;

struct view {
    size_t n, *group;
    double search, real, error; /* log-likelihoods of the groups */
    double prior;
    size_t flagged;
};

/* The groups' log-likelihood at theta as it is: see refine.h. */
static int look(struct learner *l, const double *theta, struct view *v)
{
    gsv_options o = learner_usual(l);
    gsv_result r = {.values = l->m->spec->parameters};
    const struct task task = {.model = l->m, .series = l->s, .options = &o};
    const struct request q = {.n = v->n, .group = v->group};
    gsv_theta_set(l->m, theta);
    int status = refine_fill(&task, &q, 0.0, &r, NULL);
    v->real = status ? -INFINITY : r.loglik;
    v->error = r.error;
    v->flagged = r.flagged;
    v->prior = 0.0;
    if (!status) status = prior_add(&l->prior, 1.0, &v->prior, NULL);
    gsv_result_free(&r);
    return status == GSV_NUMERICAL ? 0 : status;
}

static int look_as_search(struct learner *l, const double *theta,
                          struct view *v)
{
    struct objective at;
    struct score score = {0};
    gsv_options o = l->stage[l->stages - 1];
    o.gradient = false;
    int status = objective_init_loglik(&at, l->m, l->s, &o, v->n);
    if (!status)
        status = objective_at(&at, theta, 0, v->n, v->group, &score, NULL);
    v->search = status ? INFINITY : score.mean * (double)score.gaps;
    objective_free(&at);
    return status == GSV_NUMERICAL ? 0 : status;
}

/* Whether the search ended where its estimator is right, and no lower than it
 * began; else theta is the better one of both, and the search is to be done
 * again with more. */
static int verify(struct learner *l, const double *first, bool *again)
{
    size_t all = l->split.trains;
    struct view v = {.n = all < SEEN_GAPS ? all : SEEN_GAPS};
    v.group = NEW(size_t, v.n);
    if (!v.group) return GSV_NO_MEMORY;
    for (size_t i = 0; i < v.n; i++) {
        size_t at = i * all / v.n;
        v.group[i] = l->split.train ? l->split.train[at] : at;
    }
    int status = look_as_search(l, l->theta, &v);
    if (!status) status = look(l, l->theta, &v);
    struct view end = v;
    double most = fmax(SEEN * (double)v.n, 3.0 * v.error);
    *again = !status && !(fabs(v.search - v.real) <= most);
    if (*again) status = look(l, first, &v);
    /* Where no estimator sees the likelihood, its value says nothing. */
    bool better =
        v.real + v.prior > end.real + end.prior || v.flagged < end.flagged / 2;
    if (*again && !status && better)
        memcpy(l->theta, first, l->n * sizeof *l->theta);
    mem_free(v.group);
    return status;
}

/* What is enough where a search begins may not be where it ends. */
enum { MOST_RAISES = 2 };

static int run_stages(struct round *r)
{
    struct learner *l = r->l;
    bool done = false;
    int status = 0, raises = 0;
    l->ended = GSV_ENDED_CONVERGED;
    while (!status && !done && (size_t)l->now.stage < l->stages) {
        status = run_stage(r, (size_t)l->now.stage, &done);
        if (status || done) break;
        l->now.stage += 1.0;
        l->now.round = 0.0;
        learner_advance(l);
        bool last = (size_t)l->now.stage == l->stages && raises < MOST_RAISES;
        bool again = false;
        if (!last || l->chosen || !learner_has_groups(l) || l->stages < 2)
            continue;
        status = learner_spared(l, verify(l, l->first, &again));
        /* Too few steps can have a likelihood without a maximum. */
        again = again || r->rising;
        if (status || !again) continue;
        status = effort_raise(l);
        l->now.stage -= 1.0;
        r->raised = true;
        raises++;
    }
    return status;
}

/* Directions of coefficients of terms: of hidden states by draws of them. */
static int find_directions(struct round *r)
{
    struct learner *l = r->l;
    struct twin t = {0};
    gsv_options o = learner_usual(l);
    bool hidden = l->m->spec->libraries && spec_is_latent(l->m->spec);
    if (!hidden)
        return whitener_init(&r->whitener, l->m, l->s, r->free, r->place);
    int status = twin_draw(&t, l->m, l->m, l->s, &o);
    if (!status && t.m)
        status = whitener_init(&r->whitener, t.m, t.s, r->free, r->place);
    twin_free(&t);
    return status;
}

int learn_lbfgs(struct learner *l)
{
    struct round r = {.l = l,
                      .theta = NEW(double, l->n),
                      .gradient = NEW(double, l->n),
                      .x = NEW(double, l->n),
                      .own = NEW(double, l->n),
                      .place = NEW(size_t, l->n)};
    int status = GSV_NO_MEMORY;
    for (size_t i = 0; r.place && i < l->n; i++)
        if (!l->fixed[i]) r.place[r.free++] = i;
    l->ended = GSV_ENDED_CONVERGED;
    if (r.theta && r.gradient && r.x && r.own && r.place)
        status = find_directions(&r);
    if (!status && r.free) status = run_stages(&r);
    whitener_free(&r.whitener);
    MEM_FREE(r.theta, r.gradient, r.x, r.own, r.place);
    return status;
}
