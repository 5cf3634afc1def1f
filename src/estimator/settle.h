/* SPDX-License-Identifier: MIT */
/* Which estimator of hidden states is the better one for some data: measured
 * on their first rows. */
#ifndef ESTIMATOR_SETTLE_H
#define ESTIMATOR_SETTLE_H

#include "model/method.h"

/* Puts GSV_OBSERVE_GUIDED or GSV_OBSERVE_SCAN into o, where it is
 * GSV_OBSERVE_AUTO and either may be meant; and the steps of the guided filter,
 * where they are open. */
int estimator_settle(const gsv_model *m, const gsv_series *s, gsv_options *o);

/* The first of both alone, for those who ask for steps later, at better values.
 */
int estimator_settle_method(const gsv_model *m, const gsv_series *s,
                            gsv_options *o);

#endif
