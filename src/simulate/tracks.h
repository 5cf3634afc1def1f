/* SPDX-License-Identifier: MIT */
/* A block of tracks with all that moves it: one for each thread. Simulations
 * and forecasts run their blocks by it. Random number j of a step is a pure
 * function of (seed, track, step, j), and a track's arithmetic does not depend
 * on its neighbours. */
#ifndef SIMULATE_TRACKS_H
#define SIMULATE_TRACKS_H

#include "simulate/emit.h"
#include "simulate/ensemble.h"
#include "simulate/guard.h"
#include "simulate/reactor.h"

/* Tracks of a block. A block is filled up to whole vectors, so that no track
 * ever goes through the scalar rest of a loop. */
enum { TRACKS_BLOCK = FUNCTIONS_BLOCK };

/* Steps to any output time, at most. */
#define TRACKS_MOST_STEPS 1e9

struct tracks {
    const struct scheme *scheme;
    struct stepper stepper;
    struct guard guard;     /* of noise that depends on the state */
    struct reactor reactor; /* of a scheme in whole numbers       */
    struct emission emission;
    double *z;    /* (drawn, 2 noises, P) random numbers         */
    size_t drawn; /* steps whose numbers are drawn at once       */
    uint64_t seed;
    size_t first, count; /* without those that only fill vectors */
    uint64_t step;       /* how many were made                   */
};

/* For blocks of up to `most` tracks. All is borrowed. To be freed after a
 * failure, too. */
int tracks_init(struct tracks *b, const struct field *f,
                const struct emitter *e, const struct scheme *scheme,
                size_t most);
void tracks_free(struct tracks *b);

/* Block number `block` of so many tracks in all, before its first step. */
void tracks_begin(struct tracks *b, uint64_t seed, size_t block, size_t all);

/* From one time to another in n equal steps, with the integrals of rates. False
 * where a track is lost: which one, and when. */
bool tracks_walk(struct tracks *b, double from, double to, size_t n,
                 size_t *lost, double *time);

/* The events of the inputs' row at this time, if there are any; false as
 * above. */
bool tracks_jump(struct tracks *b, double time, size_t *lost);

/* The first track whose x (dim, P) is not finite, if any. */
bool tracks_find_lost(const struct tracks *b, const double *x, size_t *lost);

#endif
