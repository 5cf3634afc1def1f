/* SPDX-License-Identifier: MIT */
/* What draws of several Markov chains are worth: R-hat, effective sizes and
 * Monte Carlo errors of Vehtari, Gelman, Simpson, Carpenter and Buerkner
 * (Bayesian Analysis 16, 2021). Chains are split into halves, so that one that
 * still moves differs from itself. With W the mean variance within m chains of
 * n draws, B/n the variance of their means, V = W (n - 1)/n + B/n:
 *
 *     R-hat = sqrt(V / W),    rho_t = 1 - (W - mean autocovariance_t) / V,
 *     ESS   = m n / (-1 + 2 sum of P_k),    P_k = rho_2k + rho_(2k+1),
 *
 * where the sum ends before the first negative P and P may not rise (Geyer).
 * For bulk values draws are first replaced by normal scores of their ranks, so
 * that no moments need exist. */
#ifndef BASE_CHAIN_STATS_H
#define BASE_CHAIN_STATS_H

#include <stddef.h>

struct chain_stats {
    double mean, sd;
    double q2, q5, median, q95, q98; /* 2.5, 5, 50, 95 and 97.5 %            */
    double rhat;     /* the larger one of ranks and of folded ranks          */
    double ess_bulk; /* of ranks                                             */
    double ess_tail; /* the smaller one of both sides of q5, and of q95      */
    double mcse;     /* standard error of the mean                           */
};

/* Of draws x (chains, draws). What cannot be told is NaN: R-hat and sizes of
 * fewer than 4 draws a chain, or of draws that are all the same. */
int chain_stats(size_t chains, size_t draws, const double *x,
                struct chain_stats *out);

/* The formulas above, of chains as they are: not split, not ranked. */
double chain_rhat(size_t chains, size_t draws, const double *x);
double chain_ess(size_t chains, size_t draws, const double *x);

/* Normal scores Phi^-1((rank - 3/8) / (n + 1/4)), mean ranks for equal
 * numbers. room is (n). */
void chain_scores(size_t n, const double *x, double *score, double *room);

#endif
