/* SPDX-License-Identifier: MIT */
#ifndef SDE_BRIDGES_H
#define SDE_BRIDGES_H

#include "sde/estimate.h"

extern const struct weigher BRIDGES;

#endif
