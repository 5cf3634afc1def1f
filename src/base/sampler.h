/* SPDX-License-Identifier: MIT */
/* Draws from laws, exact but for the rounding of doubles. A sampler is a
 * sequence of uniform numbers that is a pure function of (key, path): however
 * many of them a draw takes, no other sampler's numbers move. */
#ifndef BASE_SAMPLER_H
#define BASE_SAMPLER_H

#include "base/random.h"

/* Words of Threefry that are made at once; even. */
enum { SAMPLER_WORDS = 16 };

struct sampler {
    struct random_key key;
    uint64_t path, row; /* row: words made so far */
    size_t next;        /* the first of them that is not used */
    double word[SAMPLER_WORDS];
};

void sampler_start(struct sampler *s, const struct random_key *key,
                   uint64_t path);

/* Inside (0, 1), with 53 bits. */
double sampler_uniform(struct sampler *s);
double sampler_normal(struct sampler *s);

/* Of density x^(shape - 1) exp(-x) / Gamma(shape), shape > 0. */
double sampler_gamma(struct sampler *s, double shape);

/* Of density x^(a - 1) (1 - x)^(b - 1) / B(a, b), a and b > 0; never 0 or 1. */
double sampler_beta(struct sampler *s, double a, double b);

/* With nu > 0 degrees of freedom; infinite where nu is so small that the
 * number does not fit. */
double sampler_student(struct sampler *s, double nu);

double sampler_poisson(struct sampler *s, double mean);

/* With the variance mean + mean^2 / size. */
double sampler_negbin(struct sampler *s, double mean, double size);

/* n is a whole number. */
double sampler_binomial(struct sampler *s, double n, double p);

/* With a probability of law beta, whose mean is p and a + b = size. */
double sampler_betabinomial(struct sampler *s, double n, double p, double size);

/* From 1 to n, with probabilities that are proportional to p. */
double sampler_category(struct sampler *s, size_t n, const double *p);

/* n draws over some categories, with probabilities that are proportional to p;
 * entries of both are strided. */
void sampler_multinomial(struct sampler *s, double n, size_t categories,
                         const double *p, size_t p_stride, double *count,
                         size_t count_stride);

#endif
