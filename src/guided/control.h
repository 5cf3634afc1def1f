/* SPDX-License-Identifier: MIT */
/* A better psi (ahead.h) from particles: one round of controlled sequential
 * Monte Carlo. Pilots walk through the track with the psi of the linearised
 * model; then, from the last node back, what psi misses,
 *
 *     log g(x) + log psi~(x) - log psi(x),
 *
 * psi~ that of the new psi of the next node, is regressed on quadratic
 * functions of their points and added to it. */
#ifndef GUIDED_CONTROL_H
#define GUIDED_CONTROL_H

#include "guided/swarm.h"

/* To `w`, of the swarm's present track. The swarm is that of the pilots, with
 * `memory` at least control_memory() numbers. */
size_t control_memory(const struct course *c, size_t K, size_t nodes);
int control_improve(struct swarm *pilots, struct ahead *w, const struct pace *p,
                    double *memory);

/* Pilots for K particles. */
size_t control_pilots(const struct course *c, size_t K);

#endif
