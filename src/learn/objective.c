/* SPDX-License-Identifier: MIT */
#include "learn/objective.h"

#include <string.h>

int objective_init(struct objective *o, gsv_model *m, const struct task *task)
{
    *o = (struct objective){.model = m,
                            .options = *task->options,
                            .n = gsv_theta_size(m),
                            .value_bar = NEW(double, m->spec->parameters)};
    if (!o->value_bar) return GSV_NO_MEMORY;
    struct task own = *task;
    own.model = m;
    own.options = &o->options;
    /* The gradient of the midpoint form does not use it. */
    own.halved =
        !task->values_alone && (task->by_group || !o->options.gradient);
    return estimator_init(&o->estimator, &own);
}

int objective_init_loglik(struct objective *o, gsv_model *m,
                          const gsv_series *s, const gsv_options *options,
                          size_t most)
{
    return objective_init(
        o, m, &(struct task){.series = s, .options = options, .most = most});
}

void objective_free(struct objective *o)
{
    estimator_free(&o->estimator);
    MEM_FREE(o->value_bar, o->held);
    *o = (struct objective){0};
}

bool objective_matches(enum gsv_objective objective)
{
    return objective == GSV_OBJECTIVE_GRADIENT_MATCHING ||
           objective == GSV_OBJECTIVE_EM_LINEAR ||
           objective == GSV_OBJECTIVE_SLOPES;
}

int objective_hold(struct objective *o)
{
    size_t n = o->model->spec->parameters;
    if (!o->held) o->held = NEW(double, n);
    if (!o->held) return GSV_NO_MEMORY;
    memcpy(o->held, o->model->value, n * sizeof *o->held);
    return 0;
}

struct score objective_score(const struct objective *o)
{
    return o->estimator.method->score(o->estimator.machine);
}

/* To theta, of the mean. */
static void bring_back(struct objective *o, size_t gaps, double *theta_bar)
{
    double share = 1.0 / (double)gaps;
    for (size_t i = 0; i < o->model->spec->parameters; i++)
        o->value_bar[i] *= share;
    memset(theta_bar, 0, o->n * sizeof *theta_bar);
    gsv_theta_vjp(o->model, o->value_bar, theta_bar);
}

static const double *held_of(const struct objective *o)
{
    return o->estimator.method->holds ? o->held : NULL;
}

int objective_at(struct objective *o, const double *theta, uint32_t iteration,
                 size_t groups, const size_t *group, struct score *score,
                 double *theta_bar)
{
    const struct request q = {.reference_values = held_of(o),
                              .iteration = iteration,
                              .n = groups,
                              .group = group,
                              .gradient = theta_bar ? o->value_bar : NULL};
    gsv_theta_set(o->model, theta);
    int status = estimator_run(&o->estimator, &q, score);
    if (status) return status;
    o->gaps = score->gaps;
    if (theta_bar) bring_back(o, score->gaps, theta_bar);
    return 0;
}

int objective_sums(struct objective *o, const double *theta, size_t groups,
                   const size_t *group, gsv_result *r)
{
    const struct request q = {
        .reference_values = held_of(o), .n = groups, .group = group};
    gsv_theta_set(o->model, theta);
    return estimator_fill(&o->estimator, &q, false, r);
}
