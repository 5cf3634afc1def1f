/* SPDX-License-Identifier: MIT */
/* Points that stand for a normal density in n directions: the middle, corners,
 * and for a few directions points on the axes, all equally far from the middle.
 * With equal shares their moments up to the third are those of the density. */
#ifndef LEARN_CORNERS_H
#define LEARN_CORNERS_H

#include <stddef.h>

/* Up to so many directions there are points on the axes, too. */
enum { CORNERS_AXES = 4 };

size_t corners_count(size_t n);

/* Point i in direction j; the first is the middle. */
double corners_at(size_t n, size_t i, size_t j);

#endif
