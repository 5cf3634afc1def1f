/* SPDX-License-Identifier: MIT */
/* L-BFGS by the slope of the log-likelihood itself, from any point: see
 * information_slope(). The gradient that fits use leaves out that references
 * follow, and can point down where steps are long; Newton steps need a point
 * near the maximum. */
#ifndef LEARN_CLIMB_H
#define LEARN_CLIMB_H

#include "learn/information.h"

/* Over the n numbers. theta (its size) is moved to the best point, and *value
 * is l there; both stay as they are where nothing gains. */
int climb(struct information *a, double *theta, double *value);

#endif
