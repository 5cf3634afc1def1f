/* SPDX-License-Identifier: MIT */
#include "learn/objective.h"

#include <math.h>
#include <string.h>

#include "base/comm.h"

static int begin(struct objective *o, gsv_model *m, const gsv_series *s,
                 const gsv_options *options, size_t most, bool watched)
{
    *o = (struct objective){.model = m,
                            .options = *options,
                            .n = gsv_theta_size(m),
                            .value_bar = NEW(double, m->spec->parameters)};
    if (!o->value_bar) return GSV_NO_MEMORY;
    o->observed = spec_is_latent(m->spec);
    if (o->observed) return observer_init(&o->observer, m, s, &o->options);
    if (!watched) most = estimate_window(options, most);
    int status = estimate_init(&o->estimate, m, s, &o->options, most);
    /* Where nobody asks for it; the midpoint's gradient does not use it. */
    o->estimate.halved = watched || !options->gradient;
    /* An iteration needs their sum alone. */
    o->estimate.known = watched;
    return status;
}

int objective_init(struct objective *o, gsv_model *m, const gsv_series *s,
                   const gsv_options *options, size_t most)
{
    return begin(o, m, s, options, most, false);
}

int objective_init_watched(struct objective *o, gsv_model *m,
                           const gsv_series *s, const gsv_options *options,
                           size_t most)
{
    return begin(o, m, s, options, most, true);
}

bool objective_matches(enum gsv_objective objective)
{
    return objective == GSV_OBJECTIVE_GRADIENT_MATCHING ||
           objective == GSV_OBJECTIVE_EM_LINEAR;
}

struct integrate_options objective_integrates(const gsv_fit_options *o,
                                              const gsv_options *e)
{
    static const enum sensitivity BY[] = {
        [GSV_OBJECTIVE_MSE_BACKPROP] = BY_BACKPROP,
        [GSV_OBJECTIVE_MSE_ADJOINT] = BY_ADJOINT,
        [GSV_OBJECTIVE_MSE_FORWARD] = BY_FORWARD};
    return (struct integrate_options){.paths = e->paths,
                                      .steps = e->steps,
                                      .step = e->step,
                                      .scheme = o->scheme,
                                      .by = BY[o->objective],
                                      .gradient = e->gradient,
                                      .wide = e->wide,
                                      .seed = e->seed,
                                      .threads = e->threads,
                                      .ranks = e->ranks};
}

int objective_init_mse(struct objective *o, gsv_model *m, const gsv_series *s,
                       const struct integrate_options *options)
{
    *o = (struct objective){.model = m,
                            .n = gsv_theta_size(m),
                            .integrated = true,
                            .value_bar = NEW(double, m->spec->parameters)};
    if (!o->value_bar) return GSV_NO_MEMORY;
    return integrator_init(&o->integrator, m, s, options);
}

void objective_free(struct objective *o)
{
    if (o->integrated) integrator_free(&o->integrator);
    else if (o->model && o->observed) observer_free(&o->observer);
    else if (o->model) estimate_free(&o->estimate);
    mem_free(o->value_bar);
    mem_free(o->guide);
    *o = (struct objective){0};
}

int objective_guide(struct objective *o)
{
    size_t n = o->model->spec->parameters;
    if (!o->guide) o->guide = NEW(double, n);
    if (!o->guide) return GSV_NO_MEMORY;
    memcpy(o->guide, o->model->value, n * sizeof *o->guide);
    return 0;
}

/* Groups are gaps, or with joint tracks; their spread gives the error. */
static struct score score_of(const struct moments *m, size_t count)
{
    double n = (double)m->groups, gaps = (double)count;
    double squares = m->squares * n / (n - 1.0);
    return (struct score){.mean = m->sum / gaps,
                          .error = n > 1.0 ? sqrt(squares) / gaps : NAN,
                          .gaps = count};
}

struct score objective_score(const struct objective *o)
{
    return score_of(&o->estimate.all, o->estimate.gaps.count);
}

size_t objective_gaps(const struct objective *o)
{
    return o->observed ? stops_rows(observer_stops(&o->observer)) : o->gaps;
}

bool objective_is_rough(const struct objective *o)
{
    return o->observed && observer_is_rough(&o->observer);
}

double objective_doubt(const struct objective *o)
{
    if (o->observed || o->integrated) return 0.0;
    return estimate_doubt(&o->estimate);
}

/* Of rows: what each adds, given those before it, with the stops between. */
static struct score score_of_rows(const struct observer *o)
{
    const struct stops *s = observer_stops(o);
    const double *increment = observer_increment(o);
    double sum = 0.0, squares = 0.0, row = 0.0, n = (double)stops_rows(s);
    for (size_t i = 0; i < s->count; i++)
        sum += increment[i];
    for (size_t i = 0; i < s->count; i++) {
        row += increment[i];
        if (s->stop[i].row == NO_ROW) continue;
        squares += (row - sum / n) * (row - sum / n);
        row = 0.0;
    }
    return (struct score){.mean = sum / n,
                          .error =
                              n > 1.0 ? sqrt(squares / (n - 1.0) / n) : NAN,
                          .gaps = (size_t)n};
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
    int stopped = comm_stop(o->options.ranks);
    if (stopped) return stopped;
    if (status) return status;
    *score = score_of_rows(&o->observer);
    if (theta_bar) bring_back(o, score->gaps, theta_bar);
    return 0;
}

/* Minus the squared error of a gap, by the tracks that were chosen. */
static struct score score_of_tracks(const struct integrator *i)
{
    struct score s = {0};
    double sum = 0.0, squares = 0.0, n = (double)i->chosen;
    for (size_t g = 0; g < i->chosen; g++) {
        sum -= i->loss[i->order[g]];
        s.gaps += i->course[i->order[g]].gaps;
    }
    s.mean = sum / (double)s.gaps;
    for (size_t g = 0; g < i->chosen; g++) {
        double gaps = (double)i->course[i->order[g]].gaps;
        double off = -i->loss[i->order[g]] - s.mean * gaps;
        squares += off * off;
    }
    s.error = n > 1.0 ? sqrt(squares * n / (n - 1.0)) / (double)s.gaps : NAN;
    return s;
}

static int integrator_at(struct objective *o, const double *theta,
                         uint32_t iteration, size_t groups, const size_t *group,
                         struct score *score, double *theta_bar)
{
    gsv_theta_set(o->model, theta);
    int status = integrator_run(&o->integrator, iteration, groups, group,
                                theta_bar ? o->value_bar : NULL);
    if (status) return status;
    *score = score_of_tracks(&o->integrator);
    if (theta_bar) bring_back(o, score->gaps, theta_bar);
    return 0;
}

struct summing {
    struct objective *o;
    struct moments all;
    bool gradient;
};

static int add_window(void *user, struct estimate *e, size_t first)
{
    struct summing *s = user;
    struct objective *o = s->o;
    if (first) moments_merge(&s->all, &e->all);
    else s->all = e->all;
    o->gaps += e->gaps.count;
    return s->gradient ? window_gradient(e, first, o->value_bar) : 0;
}

int objective_at(struct objective *o, const double *theta, uint32_t iteration,
                 size_t groups, const size_t *group, struct score *score,
                 double *theta_bar)
{
    struct summing s = {.o = o, .gradient = theta_bar};
    if (o->observed) return observer_at(o, theta, iteration, score, theta_bar);
    if (o->integrated)
        return integrator_at(o, theta, iteration, groups, group, score,
                             theta_bar);
    gsv_theta_set(o->model, theta);
    estimate_prepare(&o->estimate, o->guide);
    o->gaps = 0;
    int status = estimate_windows(&o->estimate, iteration, groups, group,
                                  add_window, &s);
    if (status) return status;
    *score = score_of(&s.all, o->gaps);
    if (theta_bar) bring_back(o, score->gaps, theta_bar);
    return 0;
}

int objective_sums(struct objective *o, const double *theta, size_t groups,
                   const size_t *group, gsv_result *r)
{
    struct score score;
    if (o->observed) {
        int status = observer_at(o, theta, 0, &score, NULL);
        return status ? status : observer_fill(&o->observer, r);
    }
    gsv_theta_set(o->model, theta);
    estimate_prepare(&o->estimate, o->guide);
    return estimate_sum(&o->estimate, 0, groups, group, false, r);
}
