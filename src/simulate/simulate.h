/* SPDX-License-Identifier: MIT */
#ifndef SIMULATE_SIMULATE_H
#define SIMULATE_SIMULATE_H

#include "girsanov.h"

/* As gsv_simulate(), of a model without random effects, or with those of its
 * values. The options are right. */
gsv_series *simulate_given(const gsv_model *m, const gsv_simulate_options *o);

#endif
