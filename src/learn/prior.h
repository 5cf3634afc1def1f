/* SPDX-License-Identifier: MIT */
/* The priors of a model's numbers: those of its text, and those of the options,
 * which replace them. A prior is a density of a value v in its own units. A fit
 * makes
 *
 *     log p(data | v) + sum over numbers of log p(v)
 *
 * largest: the mode of the posterior of the values. Chains walk in theta, where
 *
 *     log p(theta) = sum over free numbers of log p(v) + log |dv/dtheta|. */
#ifndef LEARN_PRIOR_H
#define LEARN_PRIOR_H

#include "base/prior_law.h"
#include "model/model.h"

struct prior {
    const gsv_model *m;
    size_t n, count;      /* of theta; numbers with a prior         */
    const bool *fixed;    /* (n) borrowed                           */
    const size_t *value;  /* (n) borrowed: places among the values  */
    const gsv_prior **of; /* (n) of a number of theta; NULL: flat   */
    double *slope;        /* (n) dv/dtheta                          */
};

/* Checks names and numbers of the options' priors. */
int prior_init(struct prior *p, const gsv_model *m, const gsv_fit_options *o,
               const bool *fixed, const size_t *value);
void prior_free(struct prior *p);

/* Adds the log density at the model's values, up to a constant, to value, and
 * share times its gradient by theta to theta_bar, unless that is NULL. Fails
 * with GSV_NUMERICAL outside of a law. */
int prior_add(struct prior *p, double share, double *value, double *theta_bar);

/* At the model's present values: of the values, with all constants; and of
 * theta, with the slopes. -INFINITY outside of a law. */
struct log_prior {
    double values, theta;
};
struct log_prior prior_at(struct prior *p);

/* Numbers outside of their law go back to their values before the fit, kept
 * (values), or to the middle of the law. Fails where that is out of bounds. */
int prior_obey(const struct prior *p, gsv_model *m, const double *kept);

#endif
