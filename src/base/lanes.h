/* SPDX-License-Identifier: MIT */
/* Lanes: a fixed share of the work each, whatever the number of threads, and
 * merged in the order of their numbers, so that sums have the same bits on
 * any number of threads. Loops go to threads here and nowhere else. */
#ifndef BASE_LANES_H
#define BASE_LANES_H

#include <stddef.h>

struct lanes_job {
    void *context;
    /* Does the work of a lane with the thread's own scratch memory. */
    void (*work)(void *context, size_t lane, size_t thread);
    /* Adds the sums of a thread to the total; called in the order of lanes,
     * one at a time. NULL when there is nothing to add. */
    void (*merge)(void *context, size_t lane, size_t thread);
};

/* The number of threads to use where so many are requested: 0 stands for all
 * processors. At most 1024. */
size_t lanes_threads(size_t wish);

/* Runs every lane below count on so many threads. If the work is
 * stopped (halt.h), lanes that have not begun do nothing, but are merged, and
 * it fails with GSV_STOPPED. */
int lanes_run(size_t count, size_t threads, const struct lanes_job *job);

/* The first item of a lane when n items are shared by count lanes; the lane
 * ends where the next one begins. */
size_t lanes_first(size_t lane, size_t count, size_t n);

/* For merging: to (n) += from, which becomes 0. */
void move_sum(size_t n, double *from, double *to);

#endif
