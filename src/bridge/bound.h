/* SPDX-License-Identifier: MIT */
/* The form `bound`: instead of the log of a mean of weights, the mean of the
 * log weight, which Jensen's inequality puts below it,
 *
 *     log p(y1 | y0) >= log p_ref + int E[r'u - r'r / 2] dt,
 *     r = f - l,  l = A Y + b,  u = F' R^-1 (y1 - F Y - k),
 *
 * Y being the bridge of a linear reference, whose drift is l + u, and
 * N(F y + k, R) the reference's law of y1 from Y = y at time t on. So no path
 * is drawn: times are Gauss and Legendre's, and at each of them the bridge's
 * law
 *
 *     Y ~ N(m, V),  m = P0 y0 + P1 y1 + Pb b
 *
 * is met by the points of base/quadrature.h. Where the drift is linear, r = 0
 * and the bound is log p itself. Up to what does not depend on f it is minus
 * the mean of |f - (l + u)|^2 / 2: a regression of the bridge's drift.
 *
 * A and V are constants under differentiation; b moves as in reference.h. */
#ifndef BRIDGE_BOUND_H
#define BRIDGE_BOUND_H

#include "bridge/estimate.h"

/* Times on (0, 1) with weights, and points z (d, points) with theirs. */
struct bound_rule {
    size_t times, points;
    double *time, *time_weight, *z, *weight;
    struct arena arena;
};

/* A gap has one "path", and S is its bound. */
extern const struct weigher BOUND;

void bound_free(struct bound_rule *rule);

#endif
