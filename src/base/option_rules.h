/* SPDX-License-Identifier: MIT */
/* What the rows of option_table.c say: defaults and checks. Every public
 * function that takes options checks them here before it reads them. Options
 * that exclude each other, or depend on the model, are checked where they are
 * used. A test goes over all fields of the header and finds those without a
 * row (python/tests/test_guard.py). */
#ifndef BASE_OPTION_RULES_H
#define BASE_OPTION_RULES_H

#include "girsanov.h"

/* Paths and steps may be 0 here: then they are chosen. */
int estimator_rules(const gsv_options *o);
int fit_rules(const gsv_fit_options *o);
int simulate_rules(const gsv_simulate_options *o);
int predict_rules(const gsv_predict_options *o);
int paths_rules(const gsv_paths_options *o);
int callback_rules(const gsv_callback *c);
int prior_rules(size_t n, const gsv_prior *prior);

/* Any rows of a struct. */
int check_rows(const void *options, size_t rows, const gsv_option *row);

#endif
