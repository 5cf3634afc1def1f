/* SPDX-License-Identifier: MIT */
#ifndef BASE_CONSTANT_H
#define BASE_CONSTANT_H

static const double PI = 3.14159265358979323846;
static const double LOG_TWO_PI = 1.8378770664093454836;

#endif
