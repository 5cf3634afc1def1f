/* SPDX-License-Identifier: MIT */
/* Noises whose covariance has no inverse whatever the parameters and states
 * are. */
#ifndef LANG_SINGULAR_H
#define LANG_SINGULAR_H

#include "graph/graph.h"

/* The first row of the diffusion without any noise; if all have some, the first
 * one that is a combination of the rows before it. */
struct deficit {
    bool found, missing;
    size_t row;
};

/* Whether an element of a vector is the number 0. */
bool element_is_zero(const struct graph *g, node a, size_t i);

/* Of a diffusion (dim, noises) by its elements. */
int find_deficit(const struct graph *g, size_t dim, size_t noises,
                 const node *element, struct deficit *d);

/* Rows eliminated one after the other: the column of each one's pivot, up to
 * the first row that is a combination of those before it. pivot (rows). */
int find_pivots(const struct graph *g, size_t rows, size_t columns,
                const node *element, size_t *pivot, struct deficit *d);

#endif
