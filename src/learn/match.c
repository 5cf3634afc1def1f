/* SPDX-License-Identifier: MIT */
/* Objectives that are regressions, two of them of other methods:
 *
 *     gradient-matching  increments against f~ at their left ends; with sigma,
 *                        the likelihood of Euler's chain of one step a gap
 *     em-linear          the drift of linear bridges, linearised again and
 *                        again: the form bound, see bridge/bound.c
 *     slopes             the first stage of networks alone, see slope/slope.h
 *
 * All are existing estimators: this file says which, and refuses the options
 * that do not go with them. */
#include <math.h>

#include "base/error.h"
#include "estimator/estimator.h"
#include "learn/learner.h"

/* Times in a gap at which the drift of its bridge is evaluated: of 400 gaps of
 * a double well, as long as two of its relaxations, the sum is right to 3e-4.
 */
enum { TIMES = 6 };

/* As many exact fifth powers will do where the likelihood follows. */
enum { FIRST_TIMES = 3 };

bool learner_matches(const struct learner *l)
{
    return objective_matches(l->o->objective);
}

bool learner_alternates(const struct learner *l)
{
    return l->o->objective == GSV_OBJECTIVE_EM_LINEAR;
}

/* Options that only one of the two accepts. */
static int check_steps(const struct learner *l, const gsv_options *e)
{
    if (!learner_alternates(l)) {
        if (!e->steps && !(e->step > 0.0)) return 0;
        return fail(GSV_BAD_INPUT, "gradient-matching takes every gap in one "
                                   "step: leave steps and step out");
    }
    if (l->recipe->one_form)
        return refuse_noise(l->m, "em-linear needs one: use "
                                  "gradient-matching or the likelihood");
    return 0;
}

/* Corrected slopes leave nothing to choose. Their gradient is that of no
 * function, which a line search or an evidence would need. */
static int check_slopes(const struct learner *l, const gsv_fit_options *o)
{
    const gsv_options *e = &o->estimator;
    const struct task task = {
        .model = l->m, .options = e, .objective = o->objective};
    if (o->method == GSV_METHOD_GIBBS)
        return fail(GSV_BAD_INPUT, "the objective slopes has no posterior: the "
                                   "method gibbs is for the likelihood");
    if (o->errors != GSV_ERRORS_AUTO && o->errors != GSV_ERRORS_NONE)
        return fail(GSV_BAD_INPUT, "the objective slopes gives no standard "
                                   "errors: they need the likelihood");
    if (o->optimizer == GSV_OPTIMIZER_LBFGS || l->m->spec->gps)
        return fail(GSV_BAD_INPUT,
                    "the objective slopes is an equation for estimates and "
                    "nothing that is largest there: it is learned by adam or "
                    "soap; lbfgs and models with a gp need the likelihood");
    if (e->paths || e->steps || e->step > 0.0 ||
        e->reference != GSV_REFERENCE_AUTO || e->form != GSV_FORM_AUTO ||
        e->joint || e->richardson || e->delta)
        return fail(GSV_BAD_INPUT,
                    "paths, steps, step, reference, form, joint, richardson "
                    "and delta are the likelihood's: the objective slopes "
                    "takes every gap in one step; leave them out");
    return estimator_accept(l->method, &task);
}

int match_check(const struct learner *l, const gsv_fit_options *o)
{
    const gsv_options *e = &o->estimator;
    if (o->objective == GSV_OBJECTIVE_SLOPES) return check_slopes(l, o);
    if (o->method == GSV_METHOD_GIBBS)
        return fail(GSV_BAD_INPUT, "gradient-matching and em-linear have no "
                                   "posterior: the method gibbs is for the "
                                   "likelihood");
    if (o->errors != GSV_ERRORS_AUTO && o->errors != GSV_ERRORS_NONE)
        return fail(GSV_BAD_INPUT, "gradient-matching and em-linear give no "
                                   "standard errors: they need the likelihood");
    if (e->paths || e->reference != GSV_REFERENCE_AUTO ||
        e->form != GSV_FORM_AUTO || e->joint || e->richardson || e->delta)
        return fail(GSV_BAD_INPUT,
                    "paths, reference, form, joint, richardson and delta are "
                    "the likelihood's: gradient-matching takes none of them, "
                    "em-linear takes steps, the times in a gap");
    if (!learner_has_groups(l))
        return fail(GSV_BAD_INPUT,
                    "gradient-matching and em-linear need states that are "
                    "observed themselves, but this model observes them with "
                    "noise; use the objective likelihood");
    return check_steps(l, e);
}

void match_plan(struct learner *l, gsv_options *o)
{
    o->paths = 1;
    if (learner_alternates(l)) {
        o->reference = GSV_REFERENCE_LINEAR;
        o->form = GSV_FORM_BOUND;
        if (!o->steps) o->steps = TIMES;
        return;
    }
    o->steps = 1;
    o->reference = l->recipe->euler;
    o->form = l->recipe->euler_form;
}

void match_first(gsv_options *o)
{
    o->paths = 1;
    o->reference = GSV_REFERENCE_LINEAR;
    o->form = GSV_FORM_BOUND;
    o->steps = FIRST_TIMES;
}
