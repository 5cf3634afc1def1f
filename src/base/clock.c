/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

static _Thread_local size_t leap_in;
static _Thread_local double leap, leapt;

void clock_leap_at(size_t n, double seconds)
{
    leap_in = n;
    leap = seconds;
    leapt = 0.0;
}

double clock_seconds(void)
{
    if (leap_in > 1) leap_in--;
    else if (leap_in) leapt += leap;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec + leapt;
}
