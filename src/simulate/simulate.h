/* SPDX-License-Identifier: MIT */
#ifndef SIMULATE_SIMULATE_H
#define SIMULATE_SIMULATE_H

#include "lang/spec.h"

#include "girsanov.h"

/* Refuses options that cannot be, with a sentence about the first of them. */
int simulate_check(const gsv_simulate_options *o, const struct spec *spec);

#endif
