/* SPDX-License-Identifier: MIT */
/* Observations put into a model by hand, and runs of the smoother. */
#ifndef TESTS_SMOOTH_H
#define TESTS_SMOOTH_H

#include "exact.h"
#include "observe/smooth.h"

enum { WATCH_MOST = 8 };

/* All states are latent; the first one's law. */
static inline void watch_begin(gsv_model *m, const double *mean,
                               const double *deviation)
{
    struct spec *s = m->spec;
    mem_free(s->latent);
    s->latent = NEW(bool, s->dim);
    s->obs = NEW(struct obs_spec, WATCH_MOST);
    for (size_t i = 0; i < s->dim; i++)
        s->latent[i] = true;
    s->init_mean = graph_constant(s->graph, s->dim, 1, mean);
    s->init_deviation = graph_constant(s->graph, s->dim, 1, deviation);
}

static inline void watch_free(gsv_model *m)
{
    struct spec *s = m->spec;
    mem_free(s->latent);
    mem_free(s->obs);
    mem_free(s->integral);
    s->latent = NULL;
    s->obs = NULL;
    s->integral = NULL;
    s->observations = s->values = s->integrals = 0;
    gsv_model_free(m);
}

static inline node watch_op(gsv_model *m, enum op op, node a, node b)
{
    return graph_binary(m->spec->graph, op, a, b);
}

/* weight'z, and the value that is next. */
static inline node watch_sum(gsv_model *m, const double *weight)
{
    struct graph *g = m->spec->graph;
    size_t d = m->spec->dim;
    return graph_matmul(g, graph_constant(g, 1, d, weight),
                        graph_leaf(g, OP_STATE, 0, d, 1));
}

static inline node watch_value(gsv_model *m)
{
    struct spec *s = m->spec;
    return graph_leaf(s->graph, OP_INPUT, s->inputs + s->values, 1, 1);
}

static inline void watch_add(gsv_model *m, node log_density)
{
    struct spec *s = m->spec;
    assert_true(s->observations < WATCH_MOST);
    s->obs[s->observations++] = (struct obs_spec){
        .value = s->values, .values = 1, .log_density = log_density};
    s->values++;
}

/* obs ~ normal(weight'z, deviation). */
static inline void watch_normal(gsv_model *m, const double *weight,
                                double deviation)
{
    struct graph *g = m->spec->graph;
    node r = watch_op(m, OP_SUB, watch_value(m), watch_sum(m, weight));
    r = watch_op(m, OP_DIV, r, graph_number(g, deviation));
    r = watch_op(m, OP_MUL, graph_number(g, -0.5), watch_op(m, OP_MUL, r, r));
    watch_add(m, r);
}

/* obs ~ poisson(exp(weight'z)). */
static inline void watch_poisson(gsv_model *m, const double *weight)
{
    node eta = watch_sum(m, weight);
    watch_add(m, watch_op(m, OP_SUB, watch_op(m, OP_MUL, watch_value(m), eta),
                          graph_unary(m->spec->graph, OP_EXP, eta)));
}

/* What a run gives, with memory for it. */
struct smoothed {
    struct smooth_law law;
    size_t passes;
    bool converged;
};

static inline struct smoothed smoothed_new(size_t d, size_t stops)
{
    size_t v = d * stops, m = d * v;
    return (struct smoothed){.law = {.mean = NEW(double, v),
                                     .cov = NEW(double, m),
                                     .gain = NEW(double, m),
                                     .rest = NEW(double, m),
                                     .predicted_mean = NEW(double, v),
                                     .predicted_cov = NEW(double, m)}};
}

static inline void smoothed_free(struct smoothed *r)
{
    mem_free(r->law.mean);
    mem_free(r->law.cov);
    mem_free(r->law.gain);
    mem_free(r->law.rest);
    mem_free(r->law.predicted_mean);
    mem_free(r->law.predicted_cov);
}

static inline struct smoothed smooth_it(const gsv_model *m,
                                        const struct smooth_track *track)
{
    struct smoother s;
    struct smoothed r = smoothed_new(m->spec->dim, track->stops);
    if (smoother_init(&s, m) || smoother_run(&s, m->value, track, &r.law))
        fail_msg("%s", gsv_last_error());
    r.passes = s.passes;
    r.converged = s.converged;
    smoother_free(&s);
    return r;
}

/* Times with gaps of about h. */
static inline void watch_times(size_t n, double h, double *time)
{
    for (size_t i = 0; i < n; i++)
        time[i] =
            i ? time[i - 1] + h * (1.0 + 0.7 * sin(2.3 * (double)i)) : 0.4;
}

#endif
