/* SPDX-License-Identifier: MIT */
/* The prior of theta. A parameter's prior is a density of its value v in its
 * own units; what chains walk in is theta, where
 *
 *     log p(theta) = sum over free numbers of log p(v) + log |dv/dtheta|. */
#ifndef LEARN_PRIOR_H
#define LEARN_PRIOR_H

#include "learn/learner.h"

struct prior {
    const struct learner *l;
    const gsv_prior **of; /* (n) of a number of theta; NULL: flat */
    double *slope;        /* (n) dv/dtheta                        */
};

/* Checks names and numbers of the options' priors. */
int prior_init(struct prior *p, const struct learner *l);
void prior_free(struct prior *p);

/* At the model's present values, without and with the slopes' part: of the
 * values, and of theta. -INFINITY outside of a law. */
struct log_prior {
    double values, theta;
};
struct log_prior prior_at(struct prior *p);

/* The log of a law's density. */
double prior_log_density(const gsv_prior *p, double v);

/* A value inside of the law, from u in (0, 1): a start where others are not. */
double prior_inside(const gsv_prior *p, double u);

#endif
