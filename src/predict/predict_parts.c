/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "base/option_rules.h"
#include "data/series.h"
#include "estimator/settle.h"
#include "lang/law.h"
#include "predict/predict.h"

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
