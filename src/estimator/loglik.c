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
#include "model/model.h"

int loglik_frozen(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                  const double *reference, gsv_result *result)
{
    double begin = clock_seconds();
    gsv_options own = *o;
    const struct task task = {
        .model = m, .series = s, .options = &own, .halved = true};
    /* Frozen references are for finite differences of the estimate that has the
     * gradient. Without a gradient others may take fewer steps (joint.c). */
    if (reference && !estimator_choose(&task).method->holds)
        own.gradient = true;
    struct estimator e;
    gsv_result r = {.values = m->spec->parameters};
    int status = estimator_init(&e, &task);
    if (!status && o->gradient) {
        r.gradient = NEW(double, r.values);
        if (!r.gradient) status = GSV_NO_MEMORY;
    }
    const struct request q = {.reference_values = reference,
                              .iteration = o->iteration,
                              .gradient = r.gradient};
    if (!status) status = estimator_fill(&e, &q, true, &r);
    r.seconds = clock_seconds() - begin;
    estimator_free(&e);
    if (status) gsv_result_free(&r);
    *result = r;
    return status;
}

/* --- Until a tolerance is met ------------------------------------------- */

/* Limits of the effort. */
static const double MOST_PATHS = 1 << 20, MOST_STEPS = 1 << 12;
static const double MOST_EVALUATIONS = 1e9;

/* The next numbers of paths and steps, within the limits; false where both are
 * at their limits. */
static bool raise_effort(const gsv_result *r, gsv_options *o)
{
    double paths = (double)r->paths, steps = (double)r->steps;
    double ratio = r->error / o->tolerance;
    double more = ratio > 1.0 ? fmin(fmax(ratio * ratio, 2.0), 16.0) : 1.0;
    double finer = fabs(r->discretisation) > o->tolerance ? 2.0 : 1.0;
    if (steps * finer > MOST_STEPS) finer = 1.0;
    more = fmin(more, MOST_PATHS / paths);
    double room = MOST_EVALUATIONS / ((double)r->gaps * paths * steps);
    if (finer > room) finer = 1.0;
    more = fmin(more, room / finer);
    if (more < 2.0) more = 1.0;
    o->paths = (size_t)(paths * more);
    if (o->step > 0.0) o->step /= finer;
    else o->steps = (size_t)(steps * finer);
    return more > 1.0 || finer > 1.0;
}

/* Without the gradient until the tolerance is met, then once with it. */
static int loglik_until(const gsv_model *m, const gsv_series *s,
                        const gsv_options *wish, gsv_result *result)
{
    gsv_options o = *wish;
    o.gradient = false;
    /* One path has no standard error, one step no discretisation error. */
    if (o.paths < 2) o.paths = 2;
    if (!(o.step > 0.0) && o.steps < 2) o.steps = 2;
    for (;;) {
        int status = loglik_frozen(m, s, &o, NULL, result);
        if (status) return status;
        result->settled = result->error <= o.tolerance &&
                          !(fabs(result->discretisation) > o.tolerance);
        if (result->settled || !raise_effort(result, &o)) break;
        gsv_result_free(result);
    }
    if (!wish->gradient) return 0;
    bool settled = result->settled;
    gsv_result_free(result);
    o.gradient = true;
    int status = loglik_frozen(m, s, &o, NULL, result);
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
    return o->tolerance > 0.0 ? loglik_until(m, s, o, result)
                              : loglik_frozen(m, s, o, NULL, result);
}
