/* SPDX-License-Identifier: MIT */
/* Lanes over ranks and threads, with sums that have the same bits on any number
 * of either: lanes are the leaves of a binary tree that depends on their number
 * alone, and sums are made along it. A rank has lanes that follow each other,
 * so most of the tree is inside of one rank, and what goes between ranks are
 * few vectors. */
#ifndef BASE_SPREAD_H
#define BASE_SPREAD_H

#include "base/comm.h"

/* An array that lanes write to, each to its own places. */
struct spread_share {
    void *data;
    size_t size; /* bytes of an element */
    /* The first element of a lane; it ends where the next one begins. */
    size_t (*first)(const void *context, size_t lane);
};

struct spread {
    gsv_ranks *ranks; /* NULL: alone */
    size_t lanes, threads;
    void *context;
    /* Does the work of a lane with the thread's own scratch memory. */
    void (*work)(void *context, size_t lane, size_t thread);
    /* The sum of n numbers: part() has those of a thread, which are set to 0
     * after they are added. No sum if n is 0. */
    size_t n;
    double *(*part)(void *context, size_t thread);
    double *sum; /* (spread_slots(), n): the first n are the sum */
    size_t shares;
    const struct spread_share *share;
};

/* How many vectors a sum over so many lanes needs. */
size_t spread_slots(size_t lanes, const gsv_ranks *ranks);

/* Runs every lane on one of the ranks; afterwards all ranks have the sum and
 * the shares. Fails if a rank has failed or was stopped. */
int spread_run(const struct spread *s);

/* Only the shares of an earlier run: to all ranks, or to the first one. */
int spread_gather(const struct spread *s);
int spread_collect(const struct spread *s);

#endif
