/* SPDX-License-Identifier: MIT */
/* Prints the nanoseconds that a normal number from a scrambled Sobol' point
 * takes on one thread, for some numbers of rows and paths, and beside it that
 * of random_normals: the least of many repeats. */
#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "base/sobol.h"

enum { REPEATS = 25, ROWS = 1000, PATHS = 1024, NUMBERS = 1 << 18 };

typedef void draw(const struct random_key *key, uint64_t row, size_t rows,
                  uint64_t path, size_t paths, double *z);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double nanoseconds(draw *normals, size_t rows, size_t paths, double *z)
{
    double best = 1e300;
    const uint32_t calls = (uint32_t)(NUMBERS / (rows * paths) + 1);
    for (size_t r = 0; r < REPEATS; r++) {
        double start = now();
        for (uint32_t i = 0; i < calls; i++) {
            struct random_key key = {.seed = r, .item = i};
            normals(&key, 0, rows, 0, paths, z);
        }
        double took = now() - start;
        if (took < best) best = took;
    }
    return 1e9 * best / ((double)calls * (double)rows * (double)paths);
}

int main(void)
{
    static const size_t rows[] = {3, 30, 300, ROWS};
    static const size_t paths[] = {4, 64, 100, 256, PATHS};
    double *z = NEW(double, ROWS *PATHS);
    if (!z) return 1;
    puts("rows  paths  ns per normal: sobol  random");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t p = 0; p < sizeof paths / sizeof *paths; p++)
            printf("%4zu  %5zu  %20.2f  %6.2f\n", rows[r], paths[p],
                   nanoseconds(sobol_normals, rows[r], paths[p], z),
                   nanoseconds(random_normals, rows[r], paths[p], z));
    mem_free(z);
    return 0;
}
