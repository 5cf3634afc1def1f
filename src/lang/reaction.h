/* SPDX-License-Identifier: MIT */
/* Reactions: what they add to drift and noise. */
#ifndef LANG_REACTION_H
#define LANG_REACTION_H

#include "lang/scope.h"

/* Fills spec->reaction from all statements, and notes which states they
 * change. */
int build_reactions(struct builder *b);

/* drift + sum over j of change_j rate_j, and spec->rates. */
int add_rates(struct spec *spec, node *drift);

/* The noise of reaction j in row i of the diffusion: change sqrt(rate), with 0
 * for the square root of what is not positive. */
node reaction_noise(const struct spec *spec, size_t j, size_t i);

#endif
