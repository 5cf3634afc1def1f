/* SPDX-License-Identifier: MIT */
/* How finely a fit looks: first at one step a gap against a linear reference,
 * which takes no sampling at all; then at a few steps and paths against lna,
 * as many as the data ask for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/learner.h"

enum { SAMPLE = 128, PROBE_PATHS = 16, MOST_STEPS = 32 };

static bool chosen_by_user(const gsv_options *o)
{
    return o->paths || o->steps || o->step > 0.0 || o->joint ||
           o->reference != GSV_REFERENCE_AUTO || o->form != GSV_FORM_AUTO;
}

void effort_plan(struct learner *l)
{
    gsv_options o = l->o->estimator;
    bool adam = l->optimizer == GSV_OPTIMIZER_ADAM;
    o.gradient = true;
    o.tolerance = 0.0;
    l->stages = 1;
    if (chosen_by_user(&o)) {
        if (!o.paths) o.paths = adam ? 8 : 64;
        if (!o.steps) o.steps = 8;
        /* Of left sums it is the score that needs it more than the value. */
        if (o.form == GSV_FORM_AUTO && !o.joint) o.richardson = true;
        l->stage[0] = o;
        return;
    }
    l->stages = 2;
    l->stage[0] = l->stage[1] = o;
    l->stage[0].paths = l->stage[0].steps = 1;
    l->stage[0].reference = GSV_REFERENCE_LINEAR;
    l->stage[0].form = GSV_FORM_MIDPOINT;
    l->stage[1].reference = GSV_REFERENCE_LNA;
    l->stage[1].richardson = true;
    l->stage[1].paths = l->stage[1].steps = 2;
}

/* --- By value ----------------------------------------------------------- */

struct probe {
    double mean;   /* of a gap                                             */
    double spread; /* what the log of a mean of K weights loses, times K   */
    double ito;    /* share of the gaps                                    */
};

/* A sample of gaps with M steps. */
static int look(struct learner *l, const double *theta, size_t M,
                struct probe *p)
{
    gsv_options o = l->stage[1];
    size_t n = l->split.trains < SAMPLE ? l->split.trains : SAMPLE;
    struct objective at;
    struct score score;
    o.paths = PROBE_PATHS;
    o.steps = M;
    o.gradient = false;
    int status = objective_init(&at, l->m, l->s, &o, n);
    if (!status)
        status =
            objective_at(&at, theta, NULL, 0, n, l->split.train, &score, NULL);
    *p = (struct probe){.mean = score.mean};
    for (size_t g = 0; !status && g < at.estimate.groups; g++) {
        gsv_gap gap = estimate_group(&at.estimate, g);
        double share = 1.0 / (double)at.estimate.groups;
        p->spread -= gap.log_bias * PROBE_PATHS * share;
        p->ito += gap.form == GSV_FORM_ITO ? share : 0.0;
    }
    objective_free(&at);
    return status;
}

static size_t paths_for(double spread, double accuracy, size_t most)
{
    size_t K = 1;
    while (K < most && spread / (double)K > 0.5 * accuracy)
        K *= 2;
    return K;
}

/* What is fixed now is part of what a checkpoint keeps. */
static void settle(struct learner *l, const gsv_options *o)
{
    l->stage[1].reference = o->reference;
    l->stage[1].form = o->form;
    l->stage[1].paths = o->paths;
    l->stage[1].steps = o->steps;
    l->now.reference = (double)o->reference;
    l->now.form = (double)o->form;
    l->now.paths = (double)o->paths;
    l->now.steps = (double)o->steps;
}

int effort_by_value(struct learner *l, const double *theta, double accuracy)
{
    enum { MOST_PATHS = 32 };
    struct probe coarse, fine = {0};
    int status = look(l, theta, 2, &coarse);
    /* The score of a left sum is further off than its value. */
    size_t M = !status && coarse.ito > 0.5 ? 4 : 2;
    if (!status && M > 2) status = look(l, theta, M, &coarse);
    for (; !status && M < MOST_STEPS; M *= 2, coarse = fine) {
        status = look(l, theta, 2 * M, &fine);
        if (!status && fabs(fine.mean - coarse.mean) <= accuracy) break;
    }
    /* Where it cannot be told, the fit itself will say why. */
    if (status && status != GSV_NUMERICAL) return status;
    gsv_options o = l->stage[1];
    o.paths = status ? 8 : paths_for(fine.spread, accuracy, MOST_PATHS);
    o.steps = status ? 4 : M;
    settle(l, &o);
    return 0;
}

/* --- By score ----------------------------------------------------------- */

/* The score of all gaps under an estimator, to gradient (n). */
static int score_with(struct learner *l, const double *theta,
                      const gsv_options *o, uint32_t iteration,
                      double *gradient)
{
    struct objective at;
    struct score score;
    int status = objective_init(&at, l->m, l->s, o, l->split.trains);
    if (!status)
        status = objective_at(&at, theta, NULL, iteration, l->split.trains,
                              l->split.train, &score, gradient);
    for (size_t i = 0; !status && i < l->n; i++)
        gradient[i] *= (double)score.gaps;
    objective_free(&at);
    return status;
}

/* The deviation of the whole score, from the squares of some gaps' own. */
static int score_deviation(struct learner *l, const double *theta, double *one,
                           double *deviation)
{
    struct objective at;
    struct score score;
    size_t n = l->split.trains < SAMPLE ? l->split.trains : SAMPLE;
    int status = objective_init(&at, l->m, l->s, &l->stage[0], 1);
    memset(deviation, 0, l->n * sizeof *deviation);
    for (size_t g = 0; !status && g < n; g++) {
        size_t group = l->split.train[g * l->split.trains / n];
        status = objective_at(&at, theta, NULL, 0, 1, &group, &score, one);
        for (size_t i = 0; !status && i < l->n; i++)
            deviation[i] += one[i] * one[i];
    }
    objective_free(&at);
    double times = (double)l->split.trains / (double)n;
    for (size_t i = 0; i < l->n; i++)
        deviation[i] = sqrt(deviation[i] * times);
    return status;
}

struct search {
    struct learner *l;
    const double *theta;
    double share;
    double *deviation;            /* (n) of the score           */
    double *here, *again, *finer; /* (n) scores                 */
};

static bool agree(const struct search *s, const double *one, const double *two)
{
    for (size_t i = 0; i < s->l->n; i++)
        if (!s->l->fixed[i] &&
            !(fabs(two[i] - one[i]) <= s->share * s->deviation[i]))
            return false;
    return true;
}

/* More paths, until other random numbers give about the same score. */
static int search_paths(struct search *s, gsv_options *o)
{
    enum { MOST_PATHS = 256 };
    for (;; o->paths *= 4) {
        int status = score_with(s->l, s->theta, o, 0, s->here);
        if (!status) status = score_with(s->l, s->theta, o, 1, s->again);
        if (status || o->paths >= MOST_PATHS || agree(s, s->here, s->again))
            return status;
    }
}

/* Under one form, more steps until twice as many give about the same. */
static int search_steps(struct search *s, gsv_options *o, bool *found)
{
    *found = false;
    int status = search_paths(s, o);
    while (!status && !*found && o->steps < MOST_STEPS) {
        gsv_options twice = *o;
        twice.steps *= 2;
        status = score_with(s->l, s->theta, &twice, 0, s->finer);
        if (status) break;
        *found = agree(s, s->here, s->finer);
        if (*found) break;
        o->steps *= 2;
        status = search_paths(s, o);
    }
    return status;
}

/* From the cheapest on: one step a gap, without any sampling; the midpoint,
 * which is exact where the drift is linear, however strong the noise is; the
 * form that every gap chooses. */
static int search_all(struct search *s)
{
    struct learner *l = s->l;
    gsv_options one = l->stage[0], o = l->stage[1], best;
    bool found = false;
    o.paths = 4;
    o.steps = 2;
    o.form = GSV_FORM_MIDPOINT;
    int status = search_paths(s, &o);
    if (!status) status = score_with(l, s->theta, &one, 0, s->finer);
    if (!status && agree(s, s->here, s->finer)) {
        settle(l, &one);
        return 0;
    }
    best = o;
    best.form = GSV_FORM_AUTO;
    if (!status) status = search_steps(s, &best, &found);
    if (status || !found) return status;
    settle(l, &best);
    return 0;
}

int effort_by_score(struct learner *l, const double *theta, double share)
{
    size_t n = l->n;
    double *room = NEW(double, 4 * n);
    if (!room) return GSV_NO_MEMORY;
    struct search s = {.l = l,
                       .theta = theta,
                       .share = share,
                       .deviation = room,
                       .here = room + n,
                       .again = room + 2 * n,
                       .finer = room + 3 * n};
    gsv_options usual = l->stage[1];
    usual.paths = 64;
    usual.steps = MOST_STEPS;
    settle(l, &usual);
    int status = score_deviation(l, theta, s.here, s.deviation);
    if (!status) status = search_all(&s);
    for (size_t i = 0; !status && i < n; i++)
        if (s.deviation[i] > 0.0) l->move[i] = 0.05 / s.deviation[i];
    mem_free(room);
    return status == GSV_NUMERICAL ? 0 : status;
}
