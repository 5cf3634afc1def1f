/* SPDX-License-Identifier: MIT */
/* What the rows of option_table.c say: defaults and checks. Every public
 * function that takes options checks them here before it reads them. Options
 * that exclude each other, or depend on the model, are checked where they are
 * used. A test goes over all fields of the header and finds those without a
 * row (python/tests/test_guard.py). */
#ifndef BASE_OPTION_RULES_H
#define BASE_OPTION_RULES_H

#include "girsanov.h"

/* Checks a struct, with the estimator inside it. */
int option_check(enum gsv_option_struct of, const void *options);

/* The words of a choice with this field, by value, ending with NULL. */
const char *const *option_words(const char *field);

int callback_rules(const gsv_callback *c);
int prior_rules(size_t n, const gsv_prior *prior);
int check_rows(const void *options, size_t rows, const gsv_option *row);

#endif
