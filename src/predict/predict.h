/* SPDX-License-Identifier: MIT */
/* What forecasts and residuals share: the columns, the draws' number, checks of
 * the options. */
#ifndef PREDICT_PREDICT_H
#define PREDICT_PREDICT_H

#include "predict/estimates.h"
#include "predict/filter.h"
#include "predict/forecast.h"

/* Fail where an option has a value that it cannot have. */
int quantiles_check(size_t n, const double *quantile);
int predict_check(const gsv_predict_options *o);

/* Numbers of a forecast that are held at once, if there is a choice. */
enum { PREDICT_ROOM = 1 << 22 };

/* As many draws as the options say, or so many that `places` forecasts of so
 * many columns stay below a bound; never below 128. */
size_t predict_draws(const gsv_predict_options *o, size_t places);

/* The columns of a forecast that are not given to laws: states, then values.
 * Fills in the first of them, unless NULL, and returns their number. */
size_t predict_columns(const struct spec *spec, size_t *column,
                       const char **name);

/* What a forecast's column is in a row of the data: NaN where it is missing or
 * never seen. */
double predict_actual(const struct gaps *g, size_t column, size_t row);

/* The estimator's options for laws of latent states. */
gsv_options predict_estimator(const gsv_predict_options *o);

/* Fails where options or series cannot be used, and chooses the estimator where
 * that is open. */
int predict_settle(const gsv_model *m, const gsv_series *s,
                   gsv_predict_options *o);

/* Forecasts with checked options, where random effects are the model's values;
 * with sets (VALUE_SETS, values), each has its share of the draws. A model with
 * random effects may have no forecast at all. */
enum { VALUE_SETS = 32 };
int predict_given(const gsv_model *m, const gsv_series *s,
                  const gsv_predict_options *o, const double *sets,
                  gsv_prediction *result);

/* The same where every series has random effects, which are drawn given its
 * rows so far (subjects.c). */
int predict_subjects(const gsv_model *m, const gsv_series *s,
                     const gsv_predict_options *o, gsv_prediction *result);

struct forecast_options predict_forecast(const gsv_predict_options *o,
                                         size_t draws);

#endif
