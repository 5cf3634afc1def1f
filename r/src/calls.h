/* SPDX-License-Identifier: MIT */
/* The functions that R calls. */
#ifndef GIRSANOV_CALLS_H
#define GIRSANOV_CALLS_H

#include "package.h"

SEXP c_version(void);
SEXP c_model_parse(SEXP text, SEXP name);
SEXP c_model_read(SEXP path);
SEXP c_model_write(SEXP model, SEXP path);
SEXP c_model_copy(SEXP model);
SEXP c_alive(SEXP pointer);
SEXP c_model_draw(SEXP model, SEXP seed);
SEXP c_model_set(SEXP model, SEXP name, SEXP value);
SEXP c_model_facts(SEXP model);
SEXP c_model_describe(SEXP model);
SEXP c_model_record(SEXP model);
SEXP c_model_draws(SEXP model);
SEXP c_series(SEXP start, SEXP label, SEXP name, SEXP time, SEXP value,
              SEXP words);
SEXP c_series_read(SEXP model, SEXP path, SEXP time, SEXP series);
SEXP c_series_read_all(SEXP path, SEXP time, SEXP series);
SEXP c_series_join(SEXP a, SEXP b);
SEXP c_series_list(SEXP series);
SEXP c_category(SEXP texts);
SEXP c_model_bind(SEXP model, SEXP series);
SEXP c_loglik(SEXP model, SEXP series, SEXP options);
SEXP c_fit(SEXP model, SEXP series, SEXP options, SEXP priors, SEXP files,
           SEXP progress);
SEXP c_select(SEXP model, SEXP series, SEXP options);
SEXP c_profile(SEXP model, SEXP series, SEXP options, SEXP name, SEXP values);
SEXP c_predict(SEXP model, SEXP series, SEXP options, SEXP until);
SEXP c_residuals(SEXP model, SEXP series, SEXP options);
SEXP c_paths(SEXP model, SEXP series, SEXP options);
SEXP c_simulate(SEXP model, SEXP options, SEXP start, SEXP input);
SEXP c_field(SEXP model, SEXP time, SEXP points);
SEXP c_physics(SEXP model, SEXP series, SEXP options, SEXP from, SEXP to);
SEXP c_look(SEXP series, SEXP seed, SEXP threads);
SEXP c_options(SEXP use);
SEXP c_suggestion(SEXP word, SEXP known);
SEXP c_external_names(SEXP model);
SEXP c_external_size(SEXP model, SEXP name);
SEXP c_model_external(SEXP model, SEXP name, SEXP list, SEXP start,
                      SEXP weights);

#endif
