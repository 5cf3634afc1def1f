/* SPDX-License-Identifier: MIT */
/* Random numbers without a state: number `row` of path `path` is a pure
 * function of (key, row, path), so it is the same on any thread, in any order
 * and in any blocking. Threefry-4x32-20 from Random123 under Box-Muller. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* What a stream of numbers is for: two purposes never share numbers. */
enum random_purpose {
    RANDOM_BRIDGE,
    RANDOM_SIMULATE,
    RANDOM_START,
    RANDOM_NET,
    RANDOM_PILOT,
    RANDOM_BATCH,
    RANDOM_SCRAMBLE,
    RANDOM_OBSERVE,
    RANDOM_SUPPORT,
    RANDOM_RESAMPLE,
    RANDOM_PARAMETERS,
    RANDOM_RESIDUAL,
    RANDOM_PATHS,
    RANDOM_STRAND,
    RANDOM_CHAIN,
    RANDOM_ACCEPT,
    RANDOM_FUNCTION,
    RANDOM_INTEGRATE,
    RANDOM_REACTION,
    RANDOM_EFFECT,
    RANDOM_EFFECT_CHAIN,
    RANDOM_EFFECT_ACCEPT
};

struct random_key {
    uint64_t seed;
    uint32_t purpose;   /* enum random_purpose                    */
    uint32_t iteration; /* 0 where there are none                 */
    uint64_t item;      /* the gap, track or weight that it is of */
};

/* z[(r - row) * paths + (k - path)] = standard normal number r of path k, for
 * r in [row, row + rows) and k in [path, path + paths). */
void random_normals(const struct random_key *key, uint64_t row, size_t rows,
                    uint64_t path, size_t paths, double *z);

/* The same with uniform numbers inside (0, 1). */
void random_uniforms(const struct random_key *key, uint64_t row, size_t rows,
                     uint64_t path, size_t paths, double *u);

#endif
