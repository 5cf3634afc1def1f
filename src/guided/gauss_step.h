/* SPDX-License-Identifier: MIT */
/* Small Gaussian algebra of one step x' = a + A (x - x_0) + B xi, and of
 * observations as quadratic functions. small is scratch of 16 n^2 + 64 n
 * numbers, n = max(D, m). */
#ifndef GUIDED_GAUSS_STEP_H
#define GUIDED_GAUSS_STEP_H

#include <stdbool.h>
#include <stddef.h>

struct psi;

struct gauss_step {
    size_t D, m;
    double *a, *B; /* (D), (D, m)               */
    double *A;     /* (D, D) or NULL            */
    double *small;
};

/* S (D, D) = B B'. */
void gauss_square(size_t D, size_t m, const double *B, double *S);

/* A symmetric H without its negative eigenvalues. */
void gauss_make_positive(size_t D, double *H, double *small);

/* mean = a + A off, where off is x - x_0 or NULL for 0; cov = A cov A' + B B'.
 */
void gauss_predict(const struct gauss_step *s, const double *off, double *mean,
                   double *cov);

/* N(mean, cov) times exp(l + g'(x - mu) - (x - mu)'H(x - mu)/2); gain: the log
 * of its integral. false where it has none. */
bool gauss_observe(size_t D, const double *mu, double l, const double *g,
                   const double *H, double *mean, double *cov, double *gain,
                   double *small);

/* Its mean alone, as mean + cov pull. */
bool gauss_pull(size_t D, const double *mu, const double *g, const double *H,
                const double *mean, const double *cov, double *pull,
                double *small);

/* N(mean, cov) given the first d elements that are not NaN in exact; gain: the
 * log density of these. */
bool gauss_pin(size_t D, size_t d, const double *exact, double *mean,
               double *cov, double *gain, double *small);

/* A step given the elements of x' in exact: a, B and A change; gain: the log
 * density of these at x_0. */
bool gauss_given(struct gauss_step *s, size_t d, const double *exact,
                 double *gain);

/* log E psi(x') as a function of x: its value at x_0, slope to e and curvature
 * to Lambda. A step that is given exact states changes. */
double gauss_back(struct gauss_step *s, const struct psi *next, size_t d,
                  const double *exact, double *e, double *Lambda);

/* The mean of x' under the step times psi; returns |xi|^2 there. */
double gauss_mean(const struct gauss_step *s, const struct psi *next,
                  double *mean);

#endif
