/* SPDX-License-Identifier: MIT */
/* One gradient of an objective at the model's values, for diagnosis. */
#include <string.h>

#include "base/error.h"
#include "base/option_rules.h"
#include "data/series.h"
#include "estimator/loglik.h"
#include "learn/objective.h"

static int likelihood(const gsv_model *m, const gsv_series *s,
                      const gsv_options *o, double *value, double *gradient)
{
    gsv_result r = {0};
    int status = loglik_frozen(m, s, o, NULL, &r);
    if (status) return status;
    *value = r.loglik / (double)r.gaps;
    for (size_t i = 0; i < r.values; i++)
        gradient[i] = r.gradient[i] / (double)r.gaps;
    gsv_result_free(&r);
    return 0;
}

static int squares(const gsv_model *m, const struct task *t, double *value,
                   double *gradient)
{
    struct estimator e;
    struct score score = {0};
    const struct request q = {.iteration = t->options->iteration,
                              .gradient = gradient};
    int status = estimator_init(&e, t);
    if (!status) status = estimator_run(&e, &q, &score);
    for (size_t n = 0; !status && n < m->spec->parameters; n++)
        gradient[n] /= (double)score.gaps;
    *value = score.mean;
    estimator_free(&e);
    return status;
}

enum gsv_status gsv_objective_gradient(const gsv_model *m, const gsv_series *s,
                                       const gsv_fit_options *o, double *value,
                                       double *gradient)
{
    if (ANY_NULL(m, s, o, value, gradient)) return GSV_BAD_INPUT;
    if (option_check(GSV_OF_FIT, o) || series_check(s)) return GSV_BAD_INPUT;
    gsv_options e = o->estimator, usual = gsv_options_default();
    e.gradient = true;
    if (objective_matches(o->objective))
        return fail(GSV_BAD_INPUT, "the gradient of a regression has no random "
                                   "part: ask for the likelihood's or a "
                                   "squared error's");
    if (o->objective != GSV_OBJECTIVE_LIKELIHOOD) {
        const struct task task = {.model = m,
                                  .series = s,
                                  .options = &e,
                                  .objective = o->objective,
                                  .scheme = o->scheme};
        return squares(m, &task, value, gradient);
    }
    if (!e.paths) e.paths = usual.paths;
    if (!e.steps) e.steps = usual.steps;
    return likelihood(m, s, &e, value, gradient);
}
