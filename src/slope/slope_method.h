/* SPDX-License-Identifier: MIT */
#ifndef SLOPE_SLOPE_METHOD_H
#define SLOPE_SLOPE_METHOD_H

#include "model/method.h"

/* Corrected slopes of exactly observed series: an objective of fits. */
extern const struct method METHOD_SLOPES;

#endif
