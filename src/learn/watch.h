/* SPDX-License-Identifier: MIT */
/* What a fit by batches is watched by: the log-likelihood of fixed gaps, of
 * those that are held out, or else of some that are learned from. It decides
 * which state is kept, undoes a fall, and ends a fit that stands still. */
#ifndef LEARN_WATCH_H
#define LEARN_WATCH_H

#include "learn/learner.h"

struct watch {
    struct learner *l;
    struct objective at;
    size_t n;        /* gaps; 0: nothing is watched */
    size_t *group;   /* (n) */
    size_t *learned; /* (n) gaps that are learned from, with which they are
                      * compared; NULL: with none  */
    size_t apart;    /* iterations between two looks  */
    double *average; /* (theta)                       */
    double *value;   /* (n) of this look              */
};

/* The gaps that any stage watches, at most. */
size_t watch_most(const struct learner *l);

int watch_init(struct watch *w, struct learner *l, int stage);
void watch_free(struct watch *w);

/* Forgets the best: under another estimator values are others. */
void watch_forget(struct learner *l);

bool watch_is_due(const struct watch *w);

/* Looks at the average of theta. end: the stage has stood still. */
int watch_look(struct watch *w, bool *end);

#endif
