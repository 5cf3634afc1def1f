/* SPDX-License-Identifier: MIT */
/* The log-likelihood of any model as it is: without a check of the steps. */
#ifndef ESTIMATOR_LOGLIK_H
#define ESTIMATOR_LOGLIK_H

#include "girsanov.h"

/* gsv_loglik() with one number of paths and steps for all gaps, and references
 * made from these values; NULL: from the values of the model. */
int loglik_frozen(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                  const double *reference, gsv_result *result);

#endif
