/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/option_rules.h"
#include "base/random.h"
#include "data/series.h"
#include "estimator/settle.h"
#include "lang/law.h"
#include "model/theta.h"
#include "predict/predict.h"
#include <string.h>

enum { DRAWS = 1024, FEWEST = 128, PLACES = 1 << 19 };

int quantiles_check(size_t n, const double *quantile)
{
    for (size_t i = 0; i < n; i++)
        if (!(quantile[i] > 0.0 && quantile[i] < 1.0))
            return fail(GSV_BAD_INPUT,
                        "the quantile %g is not between 0 and 1 (--quantiles)",
                        quantile[i]);
    return 0;
}

int predict_check(const gsv_predict_options *o)
{
    int status = option_check(GSV_OF_PREDICT, o);
    if (!status) status = quantiles_check(o->quantiles, o->quantile);
    if (status) return status;
    if (o->rolling && o->parameters)
        return fail(GSV_BAD_INPUT, "rolling forecasts are made at the "
                                   "estimates; leave --parameters out");
    for (size_t k = 0; k < o->times; k++)
        if (!isfinite(o->time[k]) || (k && !(o->time[k] > o->time[k - 1])))
            return fail(GSV_BAD_INPUT,
                        "time %zu is %g; times must be finite and increase",
                        k + 1, o->time[k]);
    return 0;
}

size_t predict_draws(const gsv_predict_options *o, size_t places)
{
    if (o->draws) return o->draws;
    size_t n = places ? PLACES / places : DRAWS;
    return n > DRAWS ? DRAWS : n < FEWEST ? FEWEST : n;
}

size_t predict_columns(const struct spec *spec, size_t *column,
                       const char **name)
{
    size_t n = spec->dim;
    for (size_t i = 0; column && i < spec->dim; i++) {
        column[i] = i;
        name[i] = spec->column[i];
    }
    for (size_t i = 0; i < spec->observations; i++) {
        const struct obs_spec *o = &spec->obs[i];
        for (size_t k = 0; k < o->values - law_given(o); k++, n++) {
            if (!column) continue;
            column[n] = spec->dim + o->value + k;
            name[n] = spec->value_column[o->value + k];
        }
    }
    return n;
}

double predict_actual(const struct gaps *g, size_t column, size_t row)
{
    size_t d = g->spec->dim;
    return column < d ? gaps_state(g, column, row)
                      : gaps_value(g, column - d, row);
}

gsv_options predict_estimator(const gsv_predict_options *o)
{
    gsv_options e = gsv_options_default();
    e.observe = o->observe;
    e.points = o->points;
    e.steps = o->steps;
    e.seed = o->seed;
    e.threads = o->threads;
    return e;
}

int predict_settle(const gsv_model *m, const gsv_series *s,
                   gsv_predict_options *o)
{
    gsv_options e = predict_estimator(o);
    int status = predict_check(o);
    if (!status) status = series_check(s);
    if (!status) status = estimator_settle(m, s, &e);
    if (!status) status = filter_check(m, &e);
    o->observe = e.observe;
    o->steps = e.steps;
    return status;
}

struct forecast_options predict_forecast(const gsv_predict_options *o,
                                         size_t draws)
{
    return (struct forecast_options){.draws = draws,
                                     .step = o->step,
                                     .seed = o->seed,
                                     .threads = o->threads};
}

/* --- Parameters from the law of a fit's estimates ------------------------- */

/* The record has standard errors of the values and the correlations; those of
 * theta are these over the slopes. */
struct estimates {
    size_t n;              /* numbers of theta with a standard error */
    size_t *at;            /* (n) of theta  */
    size_t *place;         /* (theta) among the values */
    double *theta, *slope; /* (theta) */
    double *L;             /* (n, n) root of their covariance */
    double *z;             /* (n, 2) */
};

static void set_covariance(struct estimates *e, const gsv_record *r)
{
    for (size_t i = 0; i < e->n; i++)
        for (size_t j = 0; j < e->n; j++) {
            size_t a = e->at[i], b = e->at[j];
            size_t v = e->place[a], w = e->place[b];
            double c = gsv_record_correlation(r, v, w);
            e->L[i * e->n + j] = (i == j ? 1.0 : c) * r->error_of[v] *
                                 r->error_of[w] / (e->slope[a] * e->slope[b]);
        }
}

static int estimates_init(struct estimates *e, const gsv_model *m)
{
    const gsv_record *r = m->record;
    size_t size = gsv_theta_size(m);
    *e = (struct estimates){.at = NEW(size_t, size),
                            .place = NEW(size_t, size),
                            .theta = NEW(double, size),
                            .slope = NEW(double, size)};
    if (!e->at || !e->place || !e->theta || !e->slope) return GSV_NO_MEMORY;
    gsv_theta_get(m, e->theta);
    theta_places(m, e->place);
    theta_slopes(m, e->slope);
    for (size_t i = 0; i < size; i++)
        if (isfinite(r->error_of[e->place[i]])) e->at[e->n++] = i;
    e->L = NEW(double, e->n * e->n);
    e->z = NEW(double, e->n);
    if (!e->L || !e->z) return GSV_NO_MEMORY;
    set_covariance(e, r);
    if (linalg_cholesky(e->n, e->L)) return 0;
    return fail(GSV_NUMERICAL, "the covariance of the estimates is not "
                               "positive; leave --parameters out");
}

static void draw(const gsv_model *m, struct estimates *e, size_t number,
                 uint64_t seed, double *value)
{
    const struct random_key key = {
        .seed = seed, .purpose = RANDOM_PARAMETERS, .item = number};
    memcpy(value, m->value, m->spec->parameters * sizeof *value);
    random_normals(&key, 0, e->n, 0, 1, e->z);
    for (size_t i = 0; i < e->n; i++) {
        double theta = e->theta[e->at[i]];
        for (size_t j = 0; j <= i; j++)
            theta += e->L[i * e->n + j] * e->z[j];
        value[e->place[e->at[i]]] = theta_value(m, e->at[i], theta);
    }
}

static double square_of(size_t n, const double *z)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += z[i] * z[i];
    return sum;
}

double *predict_values(const gsv_model *m, size_t count, uint64_t seed,
                       double *length)
{
    const gsv_record *r = m->record;
    struct estimates e;
    if (!r || !r->correlation)
        return fail_null(
            GSV_BAD_INPUT,
            "parameters can be drawn only from a fit that has "
            "standard errors; fit with --errors observed, or leave "
            "--parameters out");
    size_t values = m->spec->parameters;
    double *value = NEW(double, count *values);
    int status = estimates_init(&e, m);
    for (size_t g = 0; value && !status && g < count; g++) {
        draw(m, &e, g, seed, value + g * values);
        if (length) length[g] = square_of(e.n, e.z);
    }
    MEM_FREE(e.at, e.place, e.theta, e.slope, e.L, e.z);
    if (!status) return value;
    mem_free(value);
    return NULL;
}
