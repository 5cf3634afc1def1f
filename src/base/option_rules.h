/* SPDX-License-Identifier: MIT */
/* What the fields of the public option structs may be: one table for each
 * struct, with one row for each field that has a wrong value. Every public
 * function that takes options has them checked here before it reads them. What
 * does not go together, or depends on the model, is checked where it is used.
 *
 * A test goes over all fields in the header (python/tests/test_guard.py), so
 * that a new one without a row is found. */
#ifndef BASE_OPTION_RULES_H
#define BASE_OPTION_RULES_H

#include "girsanov.h"

/* Paths and steps may be 0 here, where that means that they are chosen. */
int estimator_rules(const gsv_options *o);
int fit_rules(const gsv_fit_options *o);
int simulate_rules(const gsv_simulate_options *o);
int predict_rules(const gsv_predict_options *o);
int paths_rules(const gsv_paths_options *o);
int callback_rules(const gsv_callback *c);

#endif
