/* SPDX-License-Identifier: MIT */
/* The estimate: over all gaps, log |det dT/dx| + log p_ref(y'|y) + the log of
 * the mean weight of K bridges, and its gradient in one backward pass.
 *
 * A group is what one mean is taken over: a gap, or with joint a whole track.
 * Its paths are cut into chunks; an item is a chunk of a group, lanes share the
 * items. Inside an item, blocks of paths and slices of steps are as many points
 * as stay in the cache, so memory does not depend on K, M or N. */
#ifndef SDE_ESTIMATE_H
#define SDE_ESTIMATE_H

#include "base/memory.h"
#include "graph/program.h"
#include "sde/gaps.h"
#include "sde/tally.h"

/* Everything that the threads read. */
struct estimate {
    const gsv_model *model;
    const gsv_options *options;
    struct gaps gaps;
    size_t d, inputs;

    struct program *unit; /* f~                          */
    struct program *map;  /* T and log |det dT/dx|       */
    struct uniforms unit_uniforms, map_uniforms;

    size_t *group_first; /* (groups + 1): gaps of a group */
    size_t groups, chunks;
    size_t capacity; /* points of a block */

    struct scratch *scratch; /* (threads) */
    size_t threads;

    /* What the items write; an item writes to its own places only. */
    struct tally *tally, *tally2; /* (groups, chunks): dt and 2 dt     */
    double *base;                 /* (groups): log p_ref + log |det|   */
    double *S;                    /* (groups, K), or NULL: one chunk   */
    double *unit_bar, *map_bar;   /* merged from the threads, in order */
};

/* A thread's own memory. */
struct scratch {
    struct workspace unit, map;
    struct arena arena;
    double *z, *at, *Y, *dY;          /* (P, d), (d, P), ...            */
    double *f_bar, *dY_bar, *Y_bar;   /* (d, P)                         */
    double *time, *input, *slope;     /* (P), (inputs, P)               */
    double *S, *S2, *S_bar;           /* (paths of a chunk)             */
    double *x, *y, *y_bar, *end_time; /* (d, 2), times (2)              */
    double *end_input, *end_slope;    /* (inputs, 2)                    */
    double *unit_bar, *map_bar;       /* gradients of the uniforms      */
};

/* The number of steps of a gap. */
size_t estimate_steps(const struct estimate *e, const struct gap *gap);

size_t estimate_chunk_first(const struct estimate *e, size_t chunk);

/* walk.c: paths [k0, k1) of all gaps of a group. forward fills S and S2
 * (k1 - k0) and adds to *base; backward adds to the thread's gradients. */
void walk_forward(const struct estimate *e, struct scratch *s, size_t group,
                  size_t k0, size_t k1, double *base);
void walk_backward(const struct estimate *e, struct scratch *s, size_t group,
                   size_t k0, size_t k1, bool fresh);

/* Whether a group's paths are one block of one gap, so that backward finds
 * what forward left. */
bool walk_is_one_block(const struct estimate *e, size_t group);

#endif
