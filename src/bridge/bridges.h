/* SPDX-License-Identifier: MIT */
#ifndef BRIDGE_BRIDGES_H
#define BRIDGE_BRIDGES_H

#include "bridge/estimate.h"

extern const struct weigher BRIDGES;

#endif
