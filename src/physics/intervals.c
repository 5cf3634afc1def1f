/* SPDX-License-Identifier: MIT */
/* Draws are computed on a coarser grid than the estimate. What a draw changes
 * is then its difference, or ratio, to the estimate on the same grid. */
#include "physics/intervals.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/memory.h"
#include "base/sample_stats.h"
#include "predict/estimates.h"

/* By the number of states: one, two, more. */
static const size_t DRAWS[] = {200, 100, 20};

/* --- Values --------------------------------------------------------------- */

/* Of gibbs, evenly spread over its draws. */
static void take_draws(const gsv_model *m, size_t count, double *value)
{
    const gsv_draws *d = m->draws;
    size_t all = d->chains * d->draws, values = m->spec->parameters;
    for (size_t k = 0; k < count; k++) {
        memcpy(value + k * values, m->value, values * sizeof *value);
        for (size_t i = 0; i < d->numbers; i++)
            value[k * values + d->place[i]] =
                d->value[i * all + k * all / count];
    }
}

/* From the covariance of the estimates, or that of a bootstrap's refits. */
static double *normal_values(const gsv_model *m, size_t count, uint64_t seed)
{
    gsv_model model = *m;
    gsv_record record = *m->record;
    if (record.bootstrap)
        record.error_of =
            record.bootstrap + GSV_BOOTSTRAP_ERROR * record.values;
    model.record = &record;
    return predict_values(&model, count, seed);
}

/* Functions of gps, too. */
static int draw_functions(const gsv_model *m, size_t count, uint64_t seed,
                          double *value)
{
    size_t values = m->spec->parameters;
    gsv_model *copy = gsv_model_copy(m);
    gsv_functions *q = copy ? gsv_functions_new(m) : NULL;
    int status = q ? 0 : (int)gsv_last_status();
    for (size_t k = 0; copy && !status && k < count; k++) {
        double *row = value + k * values;
        memcpy(copy->value, row, values * sizeof *row);
        status = (int)gsv_functions_draw(q, copy, seed, k);
        memcpy(row, copy->value, values * sizeof *row);
    }
    gsv_functions_free(q);
    gsv_model_free(copy);
    return status;
}

/* (count, values); *value is NULL where a model has no uncertainty. */
static int draw_values(const gsv_model *m, size_t count, uint64_t seed,
                       double **value)
{
    const gsv_record *r = m->record;
    size_t values = m->spec->parameters;
    bool functions = gsv_model_has_posterior(m);
    bool normal = r && r->correlation && r->estimates;
    *value = NULL;
    if (!m->draws && !normal && !functions) return 0;
    if (m->draws || !normal) *value = NEW(double, count *values);
    else *value = normal_values(m, count, seed);
    /* A covariance that is not positive has no draws. */
    if (!*value)
        return gsv_last_status() == GSV_NUMERICAL ? 0 : (int)gsv_last_status();
    if (m->draws) take_draws(m, count, *value);
    else if (!normal)
        for (size_t k = 0; k < count; k++)
            memcpy(*value + k * values, m->value, values * sizeof **value);
    return functions && !m->draws ? draw_functions(m, count, seed, *value) : 0;
}

/* --- Draws ---------------------------------------------------------------- */

struct work {
    const struct study *study;
    const double *value; /* (draws, values)                             */
    double *number;      /* (draws, size); the first of a failed one is inf */
    bool *failed;        /* (draws) */
};

static void run_draw(void *context, size_t k, size_t thread)
{
    struct work *w = context;
    const struct study *s = w->study;
    gsv_model m = *s->scene.model;
    (void)thread;
    size_t values = m.spec->parameters;
    double *value = NEW(double, values);
    if (value) memcpy(value, w->value + k * values, values * sizeof *value);
    m.value = value;
    w->failed[k] = !value || study_run(s, &m, study_grid(s, true),
                                       w->number + k * s->size, NULL);
    mem_free(value);
}

static int run_draws(struct work *w, size_t draws)
{
    const struct study *s = w->study;
    const struct lanes_job job = {.context = w, .work = run_draw};
    /* Simulations have threads of their own. */
    size_t threads =
        study_kind(s) == 2 ? 1 : lanes_threads(s->options->threads);
    return lanes_run(draws, threads, &job);
}

/* --- Quantiles ------------------------------------------------------------ */

/* What draw number d says about the estimate's value. */
static double moved(bool is_log, double value, double coarse, double d)
{
    return is_log ? value * (d / coarse) : value + (d - coarse);
}

/* Sorted values of number i of the draws that have it; their count. */
static size_t collect(const struct work *w, size_t draws, size_t i,
                      double value, double coarse, double *to)
{
    size_t n = 0;
    bool is_log = study_is_log(w->study, i);
    for (size_t k = 0; k < draws; k++) {
        double d = w->number[k * w->study->size + i];
        double x = moved(is_log, value, coarse, d);
        if (!w->failed[k] && isfinite(x)) to[n++] = x;
    }
    sample_sort(n, to);
    return n;
}

/* Of simulations, which have errors of their own: a normal interval. */
static void set_normal(double value, double sd, double error, bool is_log,
                       double *low, double *high)
{
    double half = 1.96 * sqrt(sd * sd + error * error);
    if (is_log && value > 0.0) {
        *low = value * exp(-half / value);
        *high = value * exp(half / value);
    } else {
        *low = value - half;
        *high = value + half;
    }
}

static void set_interval(struct intervals *q, const struct work *w,
                         size_t draws, size_t i, double value, double coarse,
                         double error, double *room)
{
    size_t n = draws ? collect(w, draws, i, value, coarse, room) : 0;
    q->low[i] = q->high[i] = (double)NAN;
    bool enough = draws && n * 5 >= 4 * q->draws && n > 4;
    if (!isnan(error))
        set_normal(value, enough ? sample_deviation(n, room) : 0.0, error,
                   study_is_log(w->study, i), &q->low[i], &q->high[i]);
    else if (enough) {
        q->low[i] = sample_quantile(n, room, 0.025);
        q->high[i] = sample_quantile(n, room, 0.975);
    }
}

static void count_points(struct intervals *q, const struct work *w,
                         size_t draws)
{
    const struct study *s = w->study;
    size_t d = s->scene.dim;
    for (size_t k = 0; k < s->points; k++) {
        size_t same = 0;
        for (size_t j = 0; j < draws; j++) {
            double x = w->number[j * s->size + s->at_fixed + 3 * d * k];
            if (!w->failed[j] && !isnan(x)) same++;
        }
        q->share[k] = q->draws ? (double)same / (double)draws : (double)NAN;
    }
}

static int summarise(struct intervals *q, const struct work *w, size_t draws,
                     const double *value, const double *coarse,
                     const struct law_field *field)
{
    const struct study *s = w->study;
    double *room = NEW(double, draws + 1);
    if (!room) return GSV_NO_MEMORY;
    for (size_t k = 0; k < draws; k++)
        q->draws += !w->failed[k];
    for (size_t i = 0; i < s->size; i++)
        set_interval(q, w, draws, i, value[i], coarse[i],
                     field->error ? field->error[i] : (double)NAN, room);
    count_points(q, w, draws);
    mem_free(room);
    return 0;
}

int intervals_find(struct intervals *q, const struct study *s,
                   const double *value, const double *coarse,
                   const struct law_field *field)
{
    size_t asked = s->options->draws;
    size_t draws = asked == 1 ? 0 : asked ? asked : DRAWS[study_kind(s)];
    struct work w = {.study = s};
    double *values = NULL;
    *q = (struct intervals){.low = NEW(double, s->size),
                            .high = NEW(double, s->size),
                            .share = NEW(double, s->points)};
    int status = q->low && q->high && q->share ? 0 : GSV_NO_MEMORY;
    if (!status && draws)
        status = draw_values(s->scene.model, draws, s->options->seed, &values);
    if (!values) draws = 0;
    w.value = values;
    w.number = NEW(double, draws * s->size);
    w.failed = NEW(bool, draws);
    if (!status && (!w.number || !w.failed)) status = GSV_NO_MEMORY;
    if (!status) status = run_draws(&w, draws);
    if (!status) status = summarise(q, &w, draws, value, coarse, field);
    MEM_FREE(values, w.number, w.failed);
    return status;
}

void intervals_free(struct intervals *q)
{
    MEM_FREE(q->low, q->high, q->share);
    *q = (struct intervals){0};
}
