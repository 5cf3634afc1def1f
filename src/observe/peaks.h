/* SPDX-License-Identifier: MIT */
/* Other modes of the densities of what was observed, along a line through the
 * mean of a law. On a grid the modes that stand apart are seen, and their tops
 * are found by finer and finer grids. */
#ifndef OBSERVE_PEAKS_H
#define OBSERVE_PEAKS_H

#include <stdbool.h>
#include <stddef.h>

/* Points of the grid, of which the middle one is the mean. */
enum { PEAKS_MIDDLE = 64, PEAKS_GRID = 2 * PEAKS_MIDDLE + 1 };

/* A mode counts if its top is not so much lower than the one at hand, in nats.
 */
static const double PEAKS_DEFICIT = 15.0;

struct peaks {
    void *user;
    /* Log densities at P places of the line at stop n; false: nothing was
     * observed there. */
    bool (*look)(void *user, size_t n, size_t P, const double *place,
                 double *value);
    double low, high;         /* where the state may be         */
    double place[PEAKS_GRID]; /* the grid of one stop, and log  */
    double value[PEAKS_GRID]; /* densities there                */
};

/* The grid of stop n around its mean, with the densities; false as above. */
bool peaks_look(struct peaks *l, size_t n, double mean);

/* The top of a mode around point p of the grid, and its place. */
double peaks_top(const struct peaks *l, size_t n, size_t p, double *top_at);

/* After peaks_look(): from the mean to the mode above, and below; 0 where there
 * is none. */
void peaks_shift(const struct peaks *l, size_t n, double *above, double *below);

/* Between the stops (N) where something was observed shifts change linearly:
 * elsewhere they are NaN before. */
void peaks_fill(size_t N, const double *time, double *shift);

#endif
