/* SPDX-License-Identifier: MIT */
/* Steps that stay inside of the domain: a track that comes near to its boundary
 * goes in shorter steps, along the same Brownian path. */
#ifndef SIMULATE_GUARD_H
#define SIMULATE_GUARD_H

#include <stdint.h>

#include "simulate/scheme.h"

/* Scratch of one thread. */
struct guard {
    const struct scheme *scheme;
    double *number;          /* (depths, 2 halves, 2 noises, P): dW, zeta    */
    bool *active;            /* (depths + 2, P): tracks still to be moved    */
    double *share;           /* (d, P) of the way to a point beyond the      */
                             /* boundary                                     */
    double *inside, *beyond; /* (P) the last share inside, the first outside */
    bool *crosses;           /* (P) tracks that would leave the domain       */
    bool *goes;              /* (d, P) states on their way to the boundary   */
};

/* Of random numbers: the first track of the block, how many steps were taken.
 */
struct address {
    uint64_t seed, first, step;
};

/* Both are borrowed. For blocks of up to P tracks. */
int guard_init(struct guard *g, const struct field *f, const struct scheme *s,
               size_t P);
void guard_free(struct guard *g);

/* One step of all tracks; false where one of the first `tracks` is lost, with
 * its number. A track's way does not depend on the others. */
bool guard_step(struct guard *g, struct stepper *s, const struct step *step,
                size_t tracks, const struct address *from, size_t *lost);

#endif
