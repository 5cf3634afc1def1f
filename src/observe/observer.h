/* SPDX-License-Identifier: MIT */
/* One of the estimators with noisy observations, as the options ask for. */
#ifndef OBSERVE_OBSERVER_H
#define OBSERVE_OBSERVER_H

#include "observe/joint.h"
#include "observe/particle.h"
#include "observe/scan.h"

struct observer {
    const gsv_model *model;
    enum gsv_observe kind; /* never auto */
    struct scan scan;
    struct particle particle;
    struct joint joint; /* conjugate, variational */
};

/* Model and series are borrowed; the options are copied. Must stay where it
 * is. To be freed after a failure, too. */
int observer_init(struct observer *o, const gsv_model *m,
                  const gsv_series *series, const gsv_options *options);
void observer_free(struct observer *o);

/* At the model's present values; guide: values that points and references are
 * made from, or NULL for the same. gradient (values): set, or NULL. */
int observer_run(struct observer *o, const double *guide, uint32_t iteration,
                 double *gradient);

/* Where things were observed; after a run, what each stop adds to log p(data),
 * and all of a result that is zero but its gradient. */
const struct stops *observer_stops(const struct observer *o);
const double *observer_increment(const struct observer *o);
int observer_fill(const struct observer *o, gsv_result *r);

/* After a run: whether the value jumps where parameters move, as it does where
 * particles are drawn again. Its gradient does not say so. */
bool observer_is_rough(const struct observer *o);

/* Other random numbers for one stop alone: added to the iteration. */
void observer_turn(struct observer *o, size_t stop, uint32_t turn);

/* gsv_loglik() of a model with latent states. */
int observer_loglik(const gsv_model *m, const gsv_series *s,
                    const gsv_options *o, const double *guide,
                    gsv_result *result);

#endif
