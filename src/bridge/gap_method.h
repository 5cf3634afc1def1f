/* SPDX-License-Identifier: MIT */
#ifndef BRIDGE_GAP_METHOD_H
#define BRIDGE_GAP_METHOD_H

#include "model/method.h"

/* Estimators of exactly observed series: bridges of a Gaussian reference,
 * modified bridges of noise that no map removes; a bound, and a density
 * composed of short steps, without paths. */
extern const struct method METHOD_BRIDGES, METHOD_MODIFIED, METHOD_BOUND,
    METHOD_COMPOSED, METHOD_EXACT;

/* What a model lacks for the form composed, in a few words; NULL: nothing. */
const char *composed_reason(const gsv_model *m);

#endif
