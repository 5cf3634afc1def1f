/* SPDX-License-Identifier: MIT */
/* One gradient of an objective, at the model's values: what a fit climbs along,
 * for those who want to look at it. */
#include <string.h>

#include "base/error.h"
#include "base/option_rules.h"
#include "data/series.h"
#include "learn/objective.h"

static int likelihood(const gsv_model *m, const gsv_series *s,
                      const gsv_options *o, double *value, double *gradient)
{
    gsv_result r = {0};
    int status = gsv_loglik(m, s, o, &r);
    if (status) return status;
    *value = r.loglik / (double)r.gaps;
    for (size_t i = 0; i < r.values; i++)
        gradient[i] = r.gradient[i] / (double)r.gaps;
    gsv_result_free(&r);
    return 0;
}

static int squares(const gsv_model *m, const gsv_series *s,
                   const struct integrate_options *o, uint32_t iteration,
                   double *value, double *gradient)
{
    struct integrator i = {0};
    double loss = 0.0;
    int status = integrator_init(&i, m, s, o);
    if (!status) status = integrator_run(&i, iteration, 0, NULL, gradient);
    for (size_t g = 0; !status && g < i.groups; g++)
        loss += i.loss[g];
    if (!status) {
        double gaps = (double)i.gaps.count;
        *value = -loss / gaps;
        for (size_t n = 0; n < m->spec->parameters; n++)
            gradient[n] /= gaps;
    }
    integrator_free(&i);
    return status;
}

int gsv_objective_gradient(const gsv_model *m, const gsv_series *s,
                           const gsv_fit_options *o, double *value,
                           double *gradient)
{
    if (ANY_NULL(m, s, o, value, gradient)) return GSV_BAD_INPUT;
    if (fit_rules(o) || series_check(s)) return GSV_BAD_INPUT;
    gsv_options e = o->estimator, usual = gsv_options_default();
    e.gradient = true;
    if (objective_matches(o->objective))
        return fail(GSV_BAD_INPUT, "the gradient of a regression has no random "
                                   "part: ask for the likelihood's or a "
                                   "squared error's");
    if (o->objective != GSV_OBJECTIVE_LIKELIHOOD) {
        struct integrate_options mse = objective_integrates(o, &e);
        return squares(m, s, &mse, e.iteration, value, gradient);
    }
    if (!e.paths) e.paths = usual.paths;
    if (!e.steps) e.steps = usual.steps;
    return likelihood(m, s, &e, value, gradient);
}
