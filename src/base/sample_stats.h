/* SPDX-License-Identifier: MIT */
/* What a sample says: moments, quantiles and scores of a forecast that is a
 * sample; and whether a sequence of numbers is uniform and independent. */
#ifndef BASE_SAMPLE_STATS_H
#define BASE_SAMPLE_STATS_H

#include <stddef.h>

void sample_sort(size_t n, double *x);

/* Of any order. The deviation is NaN for one number. */
double sample_mean(size_t n, const double *x);
double sample_deviation(size_t n, const double *x);

/* x is sorted, p in [0, 1]; linear between the order statistics, of which
 * number i of n is the quantile (i + 1) / (n + 1): one more draw is below it
 * with just this probability, so that intervals cover what they say for any n.
 */
double sample_quantile(size_t n, const double *x, double p);

/* Continuous ranked probability score of the law that sorted x were drawn from,
 * at y: E|X - y| - E|X - X'| / 2, without bias where n > 1. */
double sample_crps(size_t n, const double *x, double y);

/* How far y stands among n draws of its own law, in any order: uniform on
 * (0, 1) where y is one more draw, ties included, for a uniform v. */
double sample_rank(size_t n, const double *x, double y, double v);

/* z with P(Z < z) = u for u inside (0, 1), and back. */
double normal_score(double u);
double normal_probability(double z);

/* The largest distance of the sorted u from the uniform law on (0, 1), and how
 * likely a larger one is for n independent uniform numbers. */
double uniform_distance(size_t n, const double *u);
double uniform_p_value(size_t n, double distance);

/* P(X > x) for a chi-squared law with so many degrees of freedom. */
double chi_squared_tail(double x, double freedom);

#endif
