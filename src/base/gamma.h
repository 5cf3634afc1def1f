/* SPDX-License-Identifier: MIT */
/* The logarithm of the gamma function and its first two derivatives. */
#ifndef BASE_GAMMA_H
#define BASE_GAMMA_H

/* log |Gamma(x)|; unlike lgamma() it writes to no global. */
double log_gamma(double x);

/* The derivative of log_gamma(), to some 1e-15 (1 + |digamma(x)|). */
double digamma(double x);

/* The derivative of digamma(), to some 1e-14 of itself where x > 0. */
double trigamma(double x);

/* Both are a recurrence up to GAMMA_SHIFT and, from there on, series in 1/z
 * with the Bernoulli numbers B_2, B_4, ...:
 *
 *     digamma(z)  ~ log z - 1/(2z) - sum over k of B_2k / (2k z^2k)
 *     trigamma(z) ~ 1/z + 1/(2z^2) + sum over k of B_2k / z^(2k+1). */
enum { GAMMA_SHIFT = 10, GAMMA_TERMS = 8 };
extern const double BERNOULLI[GAMMA_TERMS];

#endif
