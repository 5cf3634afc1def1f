/* SPDX-License-Identifier: MIT */
/* The stages of a fit before anything is measured: the first has one step a gap
 * against a linear reference, which needs no sampling; the second has a few
 * steps and paths against lna. With modified bridges one step is the density of
 * an Euler step, and there is no other form. */
#include <stdlib.h>

#include "bridge/gap_method.h"
#include "estimator/settle.h"
#include "learn/learner.h"
#include "panel/panel.h"

/* Matrices of many dimensions in every step are too expensive for a network.
 * The error of the Euler scheme may fall by no more than a half when the steps
 * do, which takes a smaller share. */
static const struct recipe UNIT = {.one_step = GSV_REFERENCE_LINEAR,
                                   .euler = GSV_REFERENCE_BROWNIAN,
                                   .sampled = GSV_REFERENCE_LNA,
                                   .one_step_form = GSV_FORM_MIDPOINT,
                                   .euler_form = GSV_FORM_ITO,
                                   .by_value = true,
                                   .share = 1.0,
                                   .most_dims = 8};
static const struct recipe NO_MAP = {.one_step = GSV_REFERENCE_MODIFIED,
                                     .euler = GSV_REFERENCE_MODIFIED,
                                     .sampled = GSV_REFERENCE_MODIFIED,
                                     .one_step_form = GSV_FORM_EULER,
                                     .euler_form = GSV_FORM_EULER,
                                     .one_form = true,
                                     .share = 0.5,
                                     .most_dims = SIZE_MAX};

const struct recipe *recipe_choose(const gsv_model *m)
{
    return m->bridged ? &NO_MAP : &UNIT;
}

static bool chosen_by_user(const gsv_options *o)
{
    return o->paths || o->steps || o->step > 0.0 || o->joint ||
           o->reference != GSV_REFERENCE_AUTO || o->form != GSV_FORM_AUTO;
}

size_t learner_steps(const struct learner *l, size_t least)
{
    return l->seen > least ? l->seen : least;
}

/* The steps that are tried first: noise that is integrated has steps of a
 * higher order. */
static size_t usual_steps(const struct learner *l)
{
    if (l->m->spec->noise == NOISE_SINGULAR) return 2;
    return l->method->fewest ? l->method->fewest : 4;
}

/* States that are not in the data: few steps a gap, then more. */
static void plan_for_latent(struct learner *l, const gsv_options *o)
{
    l->stage[0] = l->stage[1] = *o;
    if (steps_are_open(o)) {
        l->stages = 2;
        /* One step across a gap may be unstable with particles. */
        l->stage[0].steps = learner_steps(l, l->method->fewest > 1 ? 2 : 1);
        l->stage[1].steps = learner_steps(l, usual_steps(l));
        l->asks_steps = l->method->fewest > 0;
    }
    l->chosen = true;
}

int effort_of_steps(struct learner *l)
{
    gsv_options o = l->stage[1];
    if (!l->asks_steps) return 0;
    o.steps = 0;
    gsv_theta_set(l->m, l->theta);
    int status = estimator_settle(l->m, l->s, &o);
    l->stage[1].steps = learner_steps(l, o.steps ? o.steps : usual_steps(l));
    l->now.steps = (double)o.steps;
    return status;
}

/* Networks with hidden states: few particles, since every batch has others. */
static void plan_for_tracks(struct learner *l, const gsv_options *o)
{
    enum { PARTICLES = 32, STEPS = 4, INERT_STEPS = 2 };
    bool inert = gsv_model_singular(l->m); /* steps are of a higher order */
    l->stage[0] = *o;
    if (!o->points) l->stage[0].points = PARTICLES;
    if (steps_are_open(o))
        l->stage[0].steps = learner_steps(l, inert ? INERT_STEPS : STEPS);
    l->chosen = true;
}

/* A first stage needs no more nodes of random effects than a check has. */
static void plan_nodes(struct learner *l)
{
    size_t nodes = l->o->estimator.nodes;
    if (l->stages > 1 && l->m->spec->effects)
        l->stage[0].nodes = rule_fewer(nodes ? nodes : USUAL_NODES);
}

bool learner_over_gaps(const struct learner *l)
{
    const struct method *inner = panel_inner(l->method);
    return inner && inner->selects;
}

/* One step a gap would learn from a drift that it does not see. */
static void plan_in_time(struct learner *l, bool adam)
{
    enum { SEES = 2, PATHS = 4 };
    if (l->seen <= SEES) return;
    l->stage[1].steps = l->seen;
    if (adam || l->m->spec->gps) return;
    l->stage[0] = l->stage[1];
    l->stage[0].paths = PATHS;
}

void effort_plan(struct learner *l)
{
    gsv_options o = l->o->estimator;
    bool adam = learner_by_batches(l);
    o.gradient = true;
    o.tolerance = 0.0;
    l->stages = 1;
    l->aim[0] = l->aim[1] = l->o->objective;
    l->chosen = chosen_by_user(&o);
    if (learner_integrates(l) || learner_matches(l)) {
        if (learner_matches(l)) match_plan(l, &o);
        l->stage[0] = o;
        l->chosen = true;
        return;
    }
    if (l->method == &METHOD_EXACT || panel_inner(l->method) == &METHOD_EXACT) {
        l->stage[0] = o;
        l->chosen = true;
        return;
    }
    if (!learner_has_groups(l) && !learner_over_gaps(l)) {
        if (learner_by_tracks(l)) plan_for_tracks(l, &o);
        else plan_for_latent(l, &o);
        plan_nodes(l);
        return;
    }
    if (l->chosen) {
        if (!o.paths) o.paths = adam ? 8 : 64;
        if (!o.steps) o.steps = learner_steps(l, 8);
        /* Of left sums it is the score that needs it more than the value. */
        if (o.form == GSV_FORM_AUTO && !o.joint) o.richardson = true;
        l->stage[0] = o;
        return;
    }
    l->stages = 2;
    l->stage[0] = l->stage[1] = o;
    l->stage[0].paths = l->stage[0].steps = 1;
    l->stage[0].reference = l->recipe->one_step;
    l->stage[0].form = l->recipe->one_step_form;
    if (l->m->spec->gps && !l->m->chain.next) match_first(&l->stage[0]);
    if (adam && !l->m->spec->mapped && !l->m->chain.next &&
        !l->m->spec->effects)
        l->aim[0] = GSV_OBJECTIVE_SLOPES;
    l->stage[1].reference = l->recipe->sampled;
    l->stage[1].richardson = true;
    l->stage[1].paths = l->stage[1].steps = 2;
    plan_in_time(l, adam);
    plan_nodes(l);
    if (adam && l->m->spec->dim > l->recipe->most_dims) l->stages = 1;
}
