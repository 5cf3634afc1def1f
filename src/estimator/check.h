/* SPDX-License-Identifier: MIT */
/* The gradient of an estimate compared with differences of its values. */
#ifndef ESTIMATOR_CHECK_H
#define ESTIMATOR_CHECK_H

#include "girsanov.h"

/* Fills a result with a gradient: loglik_frozen(). Tests give wrong ones. */
typedef int gradient_function(const gsv_model *m, const gsv_series *s,
                              const gsv_options *o, const double *reference,
                              gsv_result *result);

/* gsv_check_gradient() of any gradient. */
int check_gradient(gsv_model *m, const gsv_series *s, const gsv_options *o,
                   gradient_function *gradient, gsv_gradient_check *check);

#endif
