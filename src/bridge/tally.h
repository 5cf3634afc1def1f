/* SPDX-License-Identifier: MIT */
/* The log of a mean of exponentials, kept up to date as weights come in: a
 * running maximum, and sums relative to it. Memory does not grow with K. */
#ifndef BRIDGE_TALLY_H
#define BRIDGE_TALLY_H

#include <stddef.h>

struct tally {
    double most;         /* largest S so far                       */
    double sum, squares; /* of exp(S - most), and of its square    */
    size_t count;
    size_t broken; /* weights that are NaN or infinite; -inf is a weight 0 */
};

void tally_start(struct tally *t);
void tally_add(struct tally *t, size_t n, const double *S);
void tally_merge(struct tally *t, const struct tally *other);

double tally_log_sum(const struct tally *t);
double tally_log_mean(const struct tally *t);
double tally_variance(const struct tally *t); /* of the log mean */
double tally_ess(const struct tally *t);

/* (K/ESS - 1)/(K - 1): twice the delta method's bias of the log mean, negated;
 * 0 where one path does not tell. */
double tally_delta(const struct tally *t);

#endif
