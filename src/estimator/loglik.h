/* SPDX-License-Identifier: MIT */
/* The log-likelihood of any model with frozen references. */
#ifndef ESTIMATOR_LOGLIK_H
#define ESTIMATOR_LOGLIK_H

#include "girsanov.h"

/* gsv_loglik() with references made from these values; NULL: from the values of
 * the model. */
int loglik_frozen(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                  const double *reference, gsv_result *result);

#endif
