/* SPDX-License-Identifier: MIT */
/* The numbers of the noise alone, once a drift was learned by slopes: the
 * residuals of a network are too small where it followed the noise, and too
 * large where it missed the truth. Differences of neighbouring gaps are neither
 * (slope/slope.h; Rice 1984), and say how much noise there is. */
#ifndef LEARN_NOISE_SETTLE_H
#define LEARN_NOISE_SETTLE_H

#include "learn/learner.h"

/* Moves those in theta that move by natural gradients, if the first stage has
 * slopes. They stay where the data
 * have few neighbouring gaps, or where it would make the data much less likely.
 */
int noise_settle(struct learner *l, double *theta);

#endif
