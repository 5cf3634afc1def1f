/* SPDX-License-Identifier: MIT */
/* The log-likelihood of some gaps, or minus the squared error of simulated
 * paths, as a function of theta, with its gradient: an estimate that is set up
 * once and then run again and again. */
#ifndef LEARN_OBJECTIVE_H
#define LEARN_OBJECTIVE_H

#include "integrate/integrate.h"
#include "observe/observer.h"
#include "sde/result.h"

struct objective {
    gsv_model *model; /* its values are moved */
    gsv_options options;
    struct estimate estimate;
    bool observed; /* noisy: then over all stops instead */
    struct observer observer;
    bool integrated; /* by simulated paths instead */
    struct integrator integrator;
    double *value_bar; /* (values) */
    size_t gaps;       /* of the last run      */
    double *guide;     /* (values) that references stay those of, or NULL */
    size_t n;          /* of theta */
};

struct score {
    double mean;  /* of a gap's log-likelihood        */
    double error; /* standard error of that, over gaps */
    size_t gaps;
};

/* Over all groups, or over at most so many at once. Model and series are
 * borrowed. Must stay where it is: the estimate points into it. */
int objective_init(struct objective *o, gsv_model *m, const gsv_series *s,
                   const gsv_options *options, size_t most);

/* The same for who looks at single groups after a run: all ranks are told about
 * every one, and what steps twice as long make of it. */
int objective_init_watched(struct objective *o, gsv_model *m,
                           const gsv_series *s, const gsv_options *options,
                           size_t most);

/* Whether an objective is a regression: see match.c. */
bool objective_matches(enum gsv_objective objective);

/* How the paths of a squared error are simulated: scheme and objective are the
 * fit's, everything else the estimator's. */
struct integrate_options objective_integrates(const gsv_fit_options *o,
                                              const gsv_options *e);

/* Minus the mean squared error of simulated paths instead, over tracks. */
int objective_init_mse(struct objective *o, gsv_model *m, const gsv_series *s,
                       const struct integrate_options *options);
void objective_free(struct objective *o);

/* From here on references stay those of the model's values as they are now. */
int objective_guide(struct objective *o);

/* After objective_at(): the gaps or rows, and whether the value jumps, see
 * observer_is_rough(); of one that is watched by how much the mean of a gap may
 * be off, in nats. */
size_t objective_gaps(const struct objective *o);
bool objective_is_rough(const struct objective *o);
double objective_doubt(const struct objective *o);

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
