/* SPDX-License-Identifier: MIT */
/* Estimators of exactly observed series: gap by gap, or with joint track by
 * track, over the windows of estimate.h. They differ in how a gap is weighed.
 */
#ifndef BRIDGE_GAP_METHOD_H
#define BRIDGE_GAP_METHOD_H

#include "bridge/result.h"
#include "model/method.h"

extern const struct method METHOD_BRIDGES, METHOD_MODIFIED, METHOD_BOUND;

#endif
