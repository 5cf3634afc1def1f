/* SPDX-License-Identifier: MIT */
#include "learn/objective.h"

#include <math.h>
#include <string.h>

int objective_init(struct objective *o, gsv_model *m, const gsv_series *s,
                   const gsv_options *options, size_t most)
{
    *o = (struct objective){.model = m,
                            .options = *options,
                            .n = gsv_theta_size(m),
                            .value_bar = NEW(double, m->spec->parameters)};
    if (!o->value_bar) return GSV_NO_MEMORY;
    o->observed = spec_is_latent(m->spec);
    if (o->observed) return observer_init(&o->observer, m, s, &o->options);
    int status = estimate_init(&o->estimate, m, s, &o->options, most);
    /* Nobody asks for it, and the midpoint's gradient does not use it. */
    o->estimate.halved = !options->gradient;
    return status;
}

void objective_free(struct objective *o)
{
    if (o->model && o->observed) observer_free(&o->observer);
    else if (o->model) estimate_free(&o->estimate);
    mem_free(o->value_bar);
    *o = (struct objective){0};
}

/* Groups are gaps, or with joint tracks; their spread gives the error. */
static struct score score_of(const struct estimate *e)
{
    struct score s = {.gaps = e->gaps.count};
    double sum = 0.0, squares = 0.0, n = (double)e->groups;
    for (size_t g = 0; g < e->groups; g++)
        sum += estimate_group(e, g).loglik;
    for (size_t g = 0; g < e->groups; g++) {
        double off = estimate_group(e, g).loglik - sum / n;
        squares += off * off;
    }
    s.mean = sum / (double)s.gaps;
    s.error = n > 1.0 ? sqrt(squares * n / (n - 1.0)) / (double)s.gaps : NAN;
    return s;
}

size_t objective_gaps(const struct objective *o)
{
    return o->observed ? observer_stops(&o->observer)->count
                       : o->estimate.gaps.count;
}

bool objective_is_rough(const struct objective *o)
{
    return o->observed && observer_is_rough(&o->observer);
}

int objective_sums(const struct objective *o, gsv_result *r)
{
    if (o->observed) return observer_fill(&o->observer, r);
    r->gaps = o->estimate.gaps.count;
    r->groups = o->estimate.groups;
    r->gap = NEW(gsv_gap, r->groups);
    if (!r->gap) return GSV_NO_MEMORY;
    estimate_sum(&o->estimate, r);
    r->paths = o->estimate.K;
    r->steps = o->estimate.longest;
    return 0;
}

/* Of stops: what each adds, given those before it. */
static struct score score_of_stops(const struct observer *o)
{
    size_t n = observer_stops(o)->count;
    const double *increment = observer_increment(o);
    double mean = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += increment[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (increment[i] - mean) * (increment[i] - mean);
    return (struct score){
        .mean = mean,
        .error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : NAN,
        .gaps = n};
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

static int observer_at(struct objective *o, const double *theta,
                       uint32_t iteration, struct score *score,
                       double *theta_bar)
{
    gsv_theta_set(o->model, theta);
    int status = observer_run(&o->observer, NULL, iteration,
                              theta_bar ? o->value_bar : NULL);
    if (status) return status;
    *score = score_of_stops(&o->observer);
    if (theta_bar) bring_back(o, score->gaps, theta_bar);
    return 0;
}

int objective_at(struct objective *o, const double *theta, uint32_t iteration,
                 size_t groups, const size_t *group, struct score *score,
                 double *theta_bar)
{
    struct estimate *e = &o->estimate;
    if (o->observed) return observer_at(o, theta, iteration, score, theta_bar);
    int status = group ? estimate_choose(e, groups, group) : 0;
    if (status) return status;
    gsv_theta_set(o->model, theta);
    estimate_prepare(e, NULL);
    estimate_run(e, iteration);
    status = estimate_check(e);
    if (status) return status;
    *score = score_of(e);
    if (!theta_bar) return 0;
    status = estimate_gradient(e, o->value_bar);
    if (status) return status;
    bring_back(o, score->gaps, theta_bar);
    return 0;
}
