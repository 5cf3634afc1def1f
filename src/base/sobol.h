/* SPDX-License-Identifier: MIT */
/* Scrambled Sobol' points with the addresses of base/random.h: coordinate
 * `row` of point `path` is a pure function of (key, row, path). The first 2^m
 * points of a key fill the cube evenly, every point alone is uniform, and the
 * points of two keys are independent; a mean over the points of a key is
 * unbiased. K points should be a power of two, from path 0 on. */
#ifndef BASE_SOBOL_H
#define BASE_SOBOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

/* z[(r - row) * paths + (k - path)] = coordinate r of point k, scrambled by
 * the key, as a standard normal number, for r in [row, row + rows) and k in
 * [path, path + paths), k < 2^32. Rows from SOBOL_DIMENSIONS (sobol_table.h)
 * on are those of random_normals(). */
void sobol_normals(const struct random_key *key, uint64_t row, size_t rows,
                   uint64_t path, size_t paths, double *z);

/* The same with uniform numbers inside (0, 1). */
void sobol_uniforms(const struct random_key *key, uint64_t row, size_t rows,
                    uint64_t path, size_t paths, double *u);

#endif
