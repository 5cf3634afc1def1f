/* SPDX-License-Identifier: MIT */
/* From the items to the result: setting up (estimate.c), running (run.c). */
#ifndef SDE_RESULT_H
#define SDE_RESULT_H

#include "sde/estimate.h"

/* guide: values that references are made from; NULL for the model's own. */
int estimate_init(struct estimate *e, const gsv_model *m,
                  const gsv_series *series, const gsv_options *o,
                  const double *guide);
void estimate_free(struct estimate *e);

/* gsv_loglik() with references that stay those of the guide's values. */
int loglik_guided(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                  const double *guide, gsv_result *result);

#endif
