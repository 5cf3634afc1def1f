/* SPDX-License-Identifier: MIT */
/* The ways to weigh a gap, one file each. */
#ifndef BRIDGE_WEIGHERS_H
#define BRIDGE_WEIGHERS_H

#include "bridge/plan.h"

/* Bridges of a Gaussian reference; modified bridges of noise that no map
 * removes; a bound by quadrature, and a density composed of short steps on a
 * lattice, both without paths. */
extern const struct weigher BRIDGES, MODIFIED, BOUND, COMPOSED;

/* The density of linear equations, which is normal (exact.c). */
extern const struct weigher EXACT;

/* Whether the model is such a one, and the options leave the form to it. */
bool exact_applies(const gsv_model *m, const gsv_options *o);

/* Of modified bridges (modified_build.c). The programs are over (X; v), 2 d
 * rows, in a graph of the plan's own: sigma^-1 (v - f) and log |det sigma| to
 * plan->unit, sigma v to plan->step. */
int modified_check(const struct plan *p);
int modified_build(struct plan *p, struct drift_outputs *out);

/* Adds the divergence of f~, in a copy of the graph (bridges.c). */
int add_divergence(struct plan *p, node *divergence);

#endif
