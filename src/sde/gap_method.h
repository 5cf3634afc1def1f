/* SPDX-License-Identifier: MIT */
/* Estimators of exactly observed series: gap by gap, or with joint track by
 * track, over the windows of estimate.h. They differ in how a gap is weighed.
 */
#ifndef SDE_GAP_METHOD_H
#define SDE_GAP_METHOD_H

#include "sde/method.h"
#include "sde/result.h"

extern const struct method METHOD_BRIDGES, METHOD_MODIFIED, METHOD_BOUND;

#endif
