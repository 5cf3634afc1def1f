/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>

/* Seconds since an arbitrary start; they never decrease. */
double clock_seconds(void);

/* For tests. From this thread's n-th call of clock_seconds() on (1 is the next
 * call), each call adds so many seconds to the clock; 0 switches it off. */
void clock_skip_at(size_t n, double seconds);

#endif
