/* SPDX-License-Identifier: MIT */
/* What a fit makes largest, as a function of theta with its gradient: an
 * estimator that is set up once and then run again and again. */
#ifndef LEARN_OBJECTIVE_H
#define LEARN_OBJECTIVE_H

#include "bridge/driver.h"
#include "estimator/estimator.h"

struct objective {
    gsv_model *model; /* its values are moved */
    gsv_options options;
    struct estimator estimator;
    double *value_bar; /* (values) */
    size_t gaps;       /* of the last run, or rows */
    double *held;      /* (values) that references are made from, or NULL */
    size_t n;          /* of theta */
};

/* For a task, whose options are copied. Must stay where it is: the estimator
 * points into it. */
int objective_init(struct objective *o, gsv_model *m, const struct task *task);

/* The same for the likelihood: over all groups, or over at most so many at
 * once. */
int objective_init_loglik(struct objective *o, gsv_model *m,
                          const gsv_series *s, const gsv_options *options,
                          size_t most);
void objective_free(struct objective *o);

/* Whether an objective is a regression: see match.c. */
bool objective_matches(enum gsv_objective objective);

/* From here on references stay those of the model's values as they are now. */
int objective_hold(struct objective *o);

/* At theta, over the chosen groups (NULL: all). theta_bar, the gradient
 * of the mean, may be NULL. Fails with GSV_NUMERICAL where something is not
 * finite. */
int objective_at(struct objective *o, const double *theta, uint32_t iteration,
                 size_t groups, const size_t *group, struct score *score,
                 double *theta_bar);

/* After objective_sums() of gaps that are one window: the mean of a gap, with
 * its error over gaps. */
struct score objective_score(const struct objective *o);

/* The same to all sums of a result that is zero, which is yours. */
int objective_sums(struct objective *o, const double *theta, size_t groups,
                   const size_t *group, gsv_result *r);

#endif
