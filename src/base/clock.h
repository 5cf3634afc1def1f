/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>

/* Seconds since some moment, which never go back. */
double clock_seconds(void);

/* Lets this thread's n-th look at the clock from now on (1 is the next one),
 * and every one after it, find it so many seconds further on than the one
 * before; 0 switches it off. Only tests call it. */
void clock_leap_at(size_t n, double seconds);

#endif
