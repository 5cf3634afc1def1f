/* SPDX-License-Identifier: MIT */
/* Which groups (gaps; with joint, tracks) are learned from, which are held
 * out, and the batches of an iteration: all functions of the seed alone. */
#ifndef LEARN_SPLIT_H
#define LEARN_SPLIT_H

#include <stddef.h>
#include <stdint.h>

struct split {
    uint64_t seed;
    size_t *train, trains;
    size_t *held, helds;
    size_t *order;  /* (trains) of the epoch that was drawn last */
    size_t *group;  /* (batch)                                    */
    size_t batch;   /* groups at once, at most                    */
    uint64_t epoch; /* of order; 0 for none */
};

/* A share of the groups is held out, rounded down, but one where it is not 0.
 */
int split_init(struct split *s, uint64_t seed, size_t groups, double share,
               size_t batch);

/* The same of whole tracks: track r has the groups first[r] to first[r + 1] -
 * 1, first is (tracks + 1). */
int split_tracks(struct split *s, uint64_t seed, size_t tracks,
                 const size_t *first, double share, size_t batch);
void split_free(struct split *s);

/* n groups from this place on. Every epoch is another order of all groups: no
 * group repeats before all others have come. */
const size_t *split_batch(struct split *s, uint64_t place, size_t n);

#endif
