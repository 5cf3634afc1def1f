/* SPDX-License-Identifier: MIT */
/* Prints the nanoseconds that a normal number takes on one thread, for blocks
 * of 400 rows and some numbers of paths: the least of many repeats. */
#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"

enum { ROWS = 400, REPEATS = 25 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double nanoseconds(size_t paths, double *z)
{
    double best = 1e300;
    const uint32_t calls = (uint32_t)(2000 / paths + 1);
    for (size_t r = 0; r < REPEATS; r++) {
        double start = now();
        for (uint32_t i = 0; i < calls; i++) {
            struct random_key key = {.seed = r, .item = i};
            random_normals(&key, 0, ROWS, 0, paths, z);
        }
        double took = now() - start;
        if (took < best) best = took;
    }
    return 1e9 * best / ((double)calls * ROWS * (double)paths);
}

int main(void)
{
    static const size_t paths[] = {1, 4, 16, 64, 100, 256};
    double *z = NEW(double, ROWS * 256);
    if (!z) return 1;
    puts("paths  ns per normal");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        printf("%5zu  %.2f\n", paths[i], nanoseconds(paths[i], z));
    mem_free(z);
    return 0;
}
