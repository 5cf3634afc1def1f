/* SPDX-License-Identifier: MIT */
/* Pareto k-hat: the shape of a generalised Pareto law fitted to the largest
 * weights (Zhang and Stephens 2009). Above its threshold the mean of the
 * weights cannot be trusted, whatever the effective sample size is. */
#ifndef BASE_KHAT_H
#define BASE_KHAT_H

#include <stdbool.h>
#include <stddef.h>

/* From the log weights S (K); room holds 3 sqrt(K) + 2 numbers. NaN where K is
 * too small to tell. */
double khat(size_t K, const double *S, double *room);
size_t khat_room(size_t K);

/* The same, with the largest weights replaced by the quantiles of that law,
 * none above the largest (Vehtari et al. 2024). Where it cannot tell, or there
 * is no tail, they stay as they are. */
double khat_smooth(size_t K, double *S, double *room);

/* Whether K weights are enough for an estimate. */
bool khat_tells(size_t K);

/* What k-hat must stay below: min(1 - 1 / log10 K, 0.7). */
double khat_threshold(size_t K);

#endif
