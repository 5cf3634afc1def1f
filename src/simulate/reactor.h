/* SPDX-License-Identifier: MIT */
/* Populations in whole numbers that reactions change: the exact simulation of
 * Gillespie, one reaction after the other, and tau-leaping, which lets many
 * happen in a step. One of these is for a block of tracks of one thread; the
 * random numbers of a track are a sequence of its own. */
#ifndef SIMULATE_REACTOR_H
#define SIMULATE_REACTOR_H

#include "base/sampler.h"
#include "simulate/scheme.h"

struct reactor {
    const struct field *field;
    struct workspace rate;
    struct sampler *sampler; /* (P)                                         */
    size_t *track;           /* (P) those that have not reached the end     */
    size_t *first;           /* (reactions + 1) of a reaction's changes     */
    size_t *row;             /* their rows, and by how much                 */
    struct arena arena;
    double *by;
    double *now, *next; /* (P) times of tracks: of now, of a next reaction   */
    double *z;          /* (dim, P) states of the tracks in the list         */
    double *a;          /* (reactions, P) rates that are possible            */
    double *total;      /* (P) of them, and what is above it up to the end   */
    double *bound;
    double *time, *input, *slope; /* of points */
    bool outrun; /* rates grew beyond their bound within a step */
};

/* The field is borrowed. To be freed after a failure, too. */
int reactor_init(struct reactor *e, const struct field *f, size_t P);
void reactor_free(struct reactor *e);

/* Before the first step of the tracks from this one on. */
void reactor_begin(struct reactor *e, uint64_t seed, size_t first, size_t P);

/* Move the first `tracks` tracks of s->x. False where one is lost: its rates
 * are not finite, or outran their bound. */
bool reactor_exact(struct reactor *e, struct stepper *s,
                   const struct step *step, size_t tracks, size_t *lost);
bool reactor_leap(struct reactor *e, struct stepper *s, const struct step *step,
                  size_t tracks, size_t *lost);

#endif
