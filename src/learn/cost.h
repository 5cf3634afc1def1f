/* SPDX-License-Identifier: MIT */
/* What a set of terms costs, in nats: an information criterion that knows how
 * many sets there were to choose from.
 *
 *     pastis  the log of G/p for each of G units: a term that is not there
 *             gains that much with a probability below p/G, so that all of
 *             them together are taken in with a probability of about p
 *     ebic    half the log of n for each coefficient, and the log of the number
 *             of sets of as many units
 *     bic     half the log of n;  aic  1 for each coefficient
 *
 * The gain by a unit of m coefficients that are 0 is half a chi^2 of m degrees
 * of freedom, and log(G/p) is its quantile for m = 2. A unit of more has the
 * quantile of its own m (the next even number, for which it is a finite sum).
 */
#ifndef LEARN_COST_H
#define LEARN_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "girsanov.h"

struct cost {
    enum gsv_criterion criterion;
    double significance; /* p                         */
    double gaps;         /* n                         */
    size_t units;        /* G                         */
    const size_t *size;  /* (units) coefficients of each */
};

/* Of one unit, without what a set costs as a whole. */
double cost_unit(const struct cost *c, size_t unit);

/* Of a set (units). */
double cost_set(const struct cost *c, const bool *set);

/* What a set of this many units costs as a whole. */
double cost_count(const struct cost *c, size_t units);

#endif
