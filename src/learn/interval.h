/* SPDX-License-Identifier: MIT */
/* Likelihood-ratio intervals: see interval.c. */
#ifndef LEARN_INTERVAL_H
#define LEARN_INTERVAL_H

#include "learn/information.h"

/* Wald's intervals, or others, of the model's values. */
struct intervals {
    double *low, *high;   /* (values)                                 */
    const double *factor; /* (theta size) of the limit 3.84, or NULL: 1 */
    bool all;             /* there are none yet: all are searched     */
};

/* sqrt(3.84) for number i of theta, times the root of its factor. */
double intervals_reach(const struct intervals *t, size_t i);

/* After information_invert(): replaces the intervals that are not near to the
 * likelihood ratio's. Leaves all as they are where the likelihood jumps, where
 * functions are integrated out, or where numbers are many. */
int likelihood_intervals(struct information *a, const double *theta,
                         const struct intervals *t);

/* Likelihood ratios 2 (max l - p(truth)) of every number, to ratio (theta
 * size); where the above leaves all as they are, squares of Wald's statistic.
 */
int likelihood_ratios(struct information *a, const double *theta,
                      const struct compared *c);

#endif
