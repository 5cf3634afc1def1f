/* SPDX-License-Identifier: MIT */
/* Which reference and which form a gap gets. A reference is a linearisation of
 * the drift in unit-diffusion coordinates: `linear` at the middle of the chord,
 * `lna` in every step along one Picard path
 *
 *     m(t) = y0 + int f(chord) + a line, so that m ends in y1;
 *
 * where the model has chains of integrals, along the mean of their own bridge
 * after one Newton step.
 *
 * `auto` tries them on pilot paths that are not used again: choosing on the
 * paths of the estimate itself would bias it. */
#ifndef BRIDGE_CHOOSE_H
#define BRIDGE_CHOOSE_H

#include "bridge/walk.h"

/* References and forms of all contexts, between contexts_start() and
 * contexts_finish(). */
void references_choose(const struct run *r, struct scratch *s);

#endif
