/* SPDX-License-Identifier: MIT */
/* The log-likelihood of any model: once, or until a tolerance is met. */
#include "estimator/loglik.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "data/series.h"
#include "estimator/estimator.h"
#include "estimator/refine.h"
#include "estimator/settle.h"
#include "model/model.h"
#include "panel/panel.h"

/* steps: what they may change the sum by, see refine.h; a negative number: they
 * are not checked. left: see there. */
static int fill(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                const double *reference, double steps, gsv_result *result,
                double *left)
{
    double begin = clock_seconds();
    gsv_options own = *o;
    /* Steps are checked by runs with others (refine.c). */
    const struct task task = {
        .model = m, .series = s, .options = &own, .halved = o->richardson};
    /* Frozen references are for finite differences of the estimate that has the
     * gradient. Without a gradient others may take fewer steps (joint.c). */
    const struct method *method = estimator_choose(&task).method;
    const struct method *inner = panel_inner(method);
    if (reference && !(inner ? inner : method)->holds) own.gradient = true;
    gsv_result r = {.values = m->spec->parameters};
    int status = 0;
    if (o->gradient) {
        r.gradient = NEW(double, r.values);
        if (!r.gradient) status = GSV_NO_MEMORY;
    }
    const struct request q = {.reference_values = reference,
                              .iteration = o->iteration,
                              .gradient = r.gradient,
                              .trial = reference != NULL};
    if (!status) status = refine_fill(&task, &q, steps, &r, left);
    r.seconds = clock_seconds() - begin;
    if (status) gsv_result_free(&r);
    *result = r;
    return status;
}

int loglik_frozen(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                  const double *reference, gsv_result *result)
{
    gsv_options fixed = *o;
    if (steps_are_open(o)) fixed.steps = FIRST_STEPS;
    return fill(m, s, &fixed, reference, -1.0, result, NULL);
}

/* --- Until a tolerance is met ------------------------------------------- */

/* Beyond these an estimate is not made better by waiting. */
static const double MOST_PATHS = 1 << 20, MOST_EVALUATIONS = 1e9;
enum { MOST_POINTS = 1024, MOST_STEPS = 512 };

/* Twice as many, of all rows or gaps, where what they change is too much. */
static bool raise_steps(const gsv_result *r, double change, gsv_options *o)
{
    size_t steps = o->steps ? o->steps : r->steps;
    bool finer = change > o->tolerance && steps < MOST_STEPS;
    if (finer && o->step > 0.0) o->step *= 0.5;
    else if (finer) o->steps = 2 * steps;
    return finer;
}

/* Of hidden states: more points and steps of all rows. */
static bool raise_points(const gsv_model *m, const gsv_result *r,
                         gsv_options *o)
{
    size_t now = estimator_points(m, o, r);
    bool points = r->error > o->tolerance && now < MOST_POINTS;
    if (points) o->points = 2 * now;
    return raise_steps(r, fabs(r->discretisation), o) || points;
}

/* The change by other steps is a difference of two estimates: a check that is
 * less exact than the tolerance neither finds an error of steps nor excludes
 * it, and a change that is noise falls with more paths. */
static double check_error(const gsv_result *r)
{
    bool checked = !r->observe && r->steps > 1;
    return checked ? sqrt(2.0) * r->error : r->error;
}

/* More paths of all gaps; refine.c finds steps, and more paths of some, but not
 * of series with random effects. False where there are no more. */
static bool raise_effort(const gsv_model *m, const gsv_result *r, double left,
                         gsv_options *o)
{
    if (r->observe) return raise_points(m, r, o);
    if (r->nodes && check_error(r) <= o->tolerance)
        return raise_steps(r, left, o);
    double paths = o->paths ? (double)o->paths : FIRST_PATHS;
    double error = check_error(r);
    /* Steps are sought once the check is exact enough (pick.c). */
    double ratio = (error > o->tolerance ? error : left) / o->tolerance;
    double more = ratio > 1.0 ? fmin(fmax(ratio * ratio, 2.0), 16.0) : 1.0;
    double room = MOST_EVALUATIONS / (double)r->drift_evaluations;
    more = fmin(more, fmin(MOST_PATHS / paths, room));
    if (more < 2.0) return false;
    o->paths = (size_t)(paths * more);
    return true;
}

/* Without the gradient until the tolerance is met, then once with it. */
static int loglik_until(const gsv_model *m, const gsv_series *s,
                        const gsv_options *wish, gsv_result *result)
{
    gsv_options o = *wish;
    o.gradient = false;
    /* One path has no standard error, one step no discretisation error. */
    if (o.paths == 1) o.paths = 2;
    if (o.steps == 1) o.steps = 2;
    for (;;) {
        double left = 0.0;
        int status = fill(m, s, &o, NULL, o.tolerance, result, &left);
        if (status) return status;
        left = fmax(left, fabs(result->discretisation)); /* which may be NAN */
        result->settled = check_error(result) <= o.tolerance &&
                          !result->flagged && left <= o.tolerance;
        if (result->settled || !raise_effort(m, result, left, &o)) break;
        gsv_result_free(result);
    }
    if (!wish->gradient) return 0;
    bool settled = result->settled;
    gsv_result_free(result);
    o.gradient = true;
    int status = fill(m, s, &o, NULL, o.tolerance, result, NULL);
    result->settled = settled;
    return status;
}

enum gsv_status gsv_loglik(const gsv_model *m, const gsv_series *s,
                           const gsv_options *o, gsv_result *result)
{
    if (ANY_NULL(m, s, o, result)) return GSV_BAD_INPUT;
    *result = (gsv_result){0};
    if (option_check(GSV_OF_ESTIMATOR, o) || series_check(s))
        return GSV_BAD_INPUT;
    gsv_options own = *o;
    int status = estimator_settle(m, s, &own);
    if (status) return status;
    return own.tolerance > 0.0 ? loglik_until(m, s, &own, result)
                               : fill(m, s, &own, NULL, 0.0, result, NULL);
}
