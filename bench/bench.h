/* SPDX-License-Identifier: MIT */
/* What benches of whole fits share. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "girsanov.h"

static inline void *must(void *thing)
{
    if (thing) return thing;
    fprintf(stderr, "%s\n", gsv_last_error());
    exit(1);
}

static inline double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
