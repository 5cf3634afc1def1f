/* SPDX-License-Identifier: MIT */
/* What a set of terms costs, in nats.
 *
 *     familywise  for each unit of m coefficients c with P(chi^2_m > 2 c) =
 *                 p share, and all of it times n / (n - k/d). What a unit
 *                 gains that is not there is half a chi^2_m, so that with
 *                 shares whose sum is 1 any of them is selected with a
 *                 probability of at most p (Bonferroni, with weights). The
 *                 factor is that of an estimated noise: of n gaps, d
 *                 equations have used k/d each for coefficients.
 *     pastis      log(N/p) for each of N coefficients: the tail's exponent
 *     ebic        half the log of n for each coefficient, and the log of the
 *                 number of sets of as many units
 *     bic         half the log of n;  aic  1 for each coefficient
 *
 * A unit's share is larger the simpler its term is: see candidates.c. */
#ifndef LEARN_COST_H
#define LEARN_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "girsanov.h"

struct cost {
    enum gsv_criterion criterion;
    double significance; /* p                              */
    double gaps;         /* n                              */
    double equations;    /* d                              */
    size_t units;
    const size_t *size;  /* (units) coefficients of each   */
    const double *share; /* (units), with sum 1            */
    double *nats;        /* (units), from cost_fill()      */
};

/* nats, by all other fields. */
void cost_fill(const struct cost *c);

/* A set, as far as its cost depends on it. */
struct cost_sum {
    double nats;
    size_t units, numbers; /* coefficients */
};

struct cost_sum cost_add(const struct cost *c, const bool *set);

/* The same with a unit more, or without one. */
struct cost_sum cost_move(const struct cost *c, struct cost_sum s, size_t unit,
                          bool in);

double cost_of(const struct cost *c, struct cost_sum s);
double cost_set(const struct cost *c, const bool *set);

#endif
