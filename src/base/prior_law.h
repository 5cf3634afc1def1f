/* SPDX-License-Identifier: MIT */
/* The laws of priors: enum gsv_law as a table, with densities and slopes. */
#ifndef BASE_PRIOR_LAW_H
#define BASE_PRIOR_LAW_H

#include <stdbool.h>
#include <stddef.h>

#include "girsanov.h"

enum { PRIOR_LAWS = GSV_LAW_CAUCHY + 1 };

/* Where a law has a density: all numbers, from 0 on, from a to b, 0 to 1. */
enum prior_domain {
    PRIOR_ALL,
    PRIOR_POSITIVE,
    PRIOR_BETWEEN,
    PRIOR_SHARE,
};

struct prior_law {
    const char *word;
    size_t numbers;
    const char *form; /* as it is written: normal(mean, sd) */
    enum prior_domain domain;
    bool a_positive, b_positive; /* whether it must be */
};

extern const struct prior_law PRIOR_LAW[PRIOR_LAWS];

/* The law of this name, or PRIOR_LAWS; all forms in words. */
size_t prior_law_find(const char *word);
void prior_law_list(char *text, size_t size);

/* Why the numbers of a prior are not those of its law, or NULL. */
const char *prior_fault(const gsv_prior *p);

/* Whether the law has a density at v. */
bool prior_reaches(const gsv_prior *p, double v);

/* The log density, -INFINITY outside; without the constant that makes it one,
 * for searches: a uniform prior leaves every bit of a likelihood as it is; and
 * its slope by v, which is 0 outside. */
double prior_log_density(const gsv_prior *p, double v);
double prior_log_kernel(const gsv_prior *p, double v);
double prior_slope(const gsv_prior *p, double v);

/* A value inside of the law, from u in (0, 1). */
double prior_inside(const gsv_prior *p, double u);

/* "normal(0, 1)". */
enum { PRIOR_ROOM = 80 };
const char *prior_text(const gsv_prior *p, char room[PRIOR_ROOM]);

#endif
