/* SPDX-License-Identifier: MIT */
/* Data sets like the data, drawn from the model: see bootstrap_draw.c. */
#ifndef LEARN_BOOTSTRAP_H
#define LEARN_BOOTSTRAP_H

#include "girsanov.h"

/* The same tracks, times, inputs, missing values and first rows, with states
 * and observations simulated from m in steps of at most 1 / steps of a gap.
 * It is number `set` of those that the seed gives. */
gsv_series *bootstrap_draw(const gsv_model *m, const gsv_series *s,
                           uint64_t seed, size_t set, size_t steps);

#endif
