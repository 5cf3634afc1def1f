/* SPDX-License-Identifier: MIT */
/* Gaps of models whose noise depends on the state in a way that no map takes
 * out, dX = f(X, t) dt + sigma(X, t) dW: modified diffusion bridges (Durham and
 * Gallant 2002). From y0 to y1 over time T, in steps of length dt with tau left
 * before each,
 *
 *     X' = X + b dt + sigma(X) s xi,   b = (y1 - X) / tau,
 *     s^2 = dt (tau - dt) / tau:       0 in the last step, which ends in y1.
 *
 * Their law against Euler's chain of the model, whose density is the limit for
 * many paths, with e = sigma^-1 (X' - X - f dt) = r dt + s xi and
 * r = sigma^-1 (b - f),
 *
 *     S = sum over the steps of (|xi|^2 - |e|^2 / dt) / 2
 *         - log |det sigma(X)| of the last step - d/2 log(2 pi T):
 *
 * the determinants of the other steps are in both laws. Paths are sequential in
 * sigma alone; f, sigma^-1 and all of the weights are one batch.
 *
 * S2 is a second walk, with steps twice as long (an odd last step alone) and
 * the same Brownian numbers: with a constant sigma, every second point.
 *
 * A path that comes to where drift or noise are not finite or sigma cannot be
 * inverted has left the domain: its weight is zero. */
#ifndef BRIDGE_MODIFIED_H
#define BRIDGE_MODIFIED_H

#include "bridge/estimate.h"

extern const struct weigher MODIFIED;

/* Over (X; v), 2 d rows, in a graph of the estimate's own: sigma^-1 (v - f) and
 * log |det sigma| to unit, sigma v to e->step. */
int modified_build(struct estimate *e, struct drift_outputs *out);

/* Whether these options make sense for the model. */
int modified_check(const struct estimate *e);

#endif
