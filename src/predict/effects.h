/* SPDX-License-Identifier: MIT */
/* The random effects of known series given their rows. */
#ifndef PREDICT_EFFECTS_H
#define PREDICT_EFFECTS_H

#include "model/model.h"

/* Posterior means (tracks, n) and standard errors, as gsv_effects(), with the
 * uncertainty of the parameters of a record; NULL: they are known. */
int effects_estimate(const gsv_model *m, const gsv_series *s,
                     const gsv_options *o, const gsv_record *r,
                     double *estimate, double *error);

/* `sets` draws from the normal law of every series' effects given its rows, to
 * u (tracks, sets, n), at the model's values. */
int effects_sample(const gsv_model *m, const gsv_series *s,
                   const gsv_options *o, size_t sets, double *u);

#endif
