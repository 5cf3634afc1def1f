/* SPDX-License-Identifier: MIT */
/* The log-likelihood of any model, for those who hold references. */
#ifndef ESTIMATOR_LOGLIK_H
#define ESTIMATOR_LOGLIK_H

#include "girsanov.h"

/* gsv_loglik() with references that stay those of the guide's values. */
int loglik_guided(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                  const double *guide, gsv_result *result);

#endif
