/* SPDX-License-Identifier: MIT */
/* Paths in blocks: bridges between the ends, the drift on all of their points
 * at once, weights; and backward from the weights. */
#ifndef BRIDGE_WALK_H
#define BRIDGE_WALK_H

#include "bridge/run.h"
#include "bridge/scratch.h"

/* The random numbers of a block, which those of each gap are drawn from. */
struct random_key block_key(const struct run *r, enum random_purpose purpose);

/* Samples, evaluates the drift and adds to S and S2 (both may be NULL). */
void block_forward(const struct plan *p, const struct values *v,
                   struct scratch *s, const struct block *b, double *S,
                   double *S2);

/* The same for paths [k0, k1) of one context, in as many blocks as it takes. */
void context_walk(const struct run *r, const struct values *v,
                  struct scratch *s, struct context *c, size_t k0, size_t k1,
                  enum random_purpose purpose, double *S, double *S2);

/* From S_bar and S2_bar, from slot on, to the gradients of the thread and of
 * the context. */
void context_walk_back(const struct run *r, struct scratch *s,
                       struct context *c, size_t k0, size_t k1, size_t slot);

/* Starts the random numbers of a piece that begins with its gap. */
void draw_begin(struct scratch *s, const struct block *b,
                const struct piece *q);

#endif
