/* SPDX-License-Identifier: MIT */
/* The log-likelihood near an estimate as a quadratic of the coefficients of
 * terms, with all other numbers at their best:
 *
 *     l(c) = a'c - c'Jc/2,   a = J c0 + g,
 *
 * with g and J the score and the information of c at c0, less what the other
 * numbers u say: J = I_cc - I_cu I_uu^-1 I_uc. Blocks of the data have scores
 * of their own, which can be resampled. */
#ifndef LEARN_LINEARISE_H
#define LEARN_LINEARISE_H

#include "girsanov.h"

struct linearised {
    size_t n;
    double *J;     /* (n, n)                                       */
    double *a;     /* (n)                                          */
    size_t blocks; /* 0 where the estimator has none               */
    double *score; /* (blocks, n)                                  */
    size_t gaps;
};

/* At the model's values; number (n) are the coefficients' places in theta.
 * Options as for gsv_fit(), without the candidates among the fixed numbers. To
 * be freed in any case. */
int linearise(struct linearised *q, gsv_model *m, const gsv_series *s,
              const gsv_fit_options *o, size_t n, const size_t *number,
              bool blocks);
void linearised_free(struct linearised *q);

#endif
