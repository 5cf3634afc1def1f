/* SPDX-License-Identifier: MIT */
#ifndef BRIDGE_GAP_METHOD_H
#define BRIDGE_GAP_METHOD_H

#include "model/method.h"

/* Estimators of exactly observed series: bridges of a Gaussian reference,
 * modified bridges of noise that no map removes, and a bound without paths. */
extern const struct method METHOD_BRIDGES, METHOD_MODIFIED, METHOD_BOUND;

#endif
