/* SPDX-License-Identifier: MIT */
/* Chains of integrals: equations without noise of their own. Every noise enters
 * at the top of one chain, and what is below are its integrals. With f the
 * drift in Stratonovich's sense and L a = da/dt + a_z f,
 *
 *     y_1 = bottom / scale,   y_(k+1) = L y_k,
 *     dy_k = y_(k+1) dt,      dy_top = f~ dt + dW,   f~ = L y_top,
 *
 * where the bottom is a state, stretched where the noise of the top depends on
 * it (lamperti.h), and the scale makes the noise of the top 1. These are as
 * many coordinates as there are states. The states are found again from the
 * bottoms up, as every y is affine in the state that it brings in. */
#ifndef MODEL_CHAIN_H
#define MODEL_CHAIN_H

#include "lang/lamperti.h"
#include "model/model.h"

/* A chain's bottom, stretched: U(z) with dU/dz = 1 / shape. Without a shape it
 * is the state itself. */
struct bottom {
    size_t state, length;
    node shape;
    struct lamperti map;
};

/* The chains are in the order of their lengths, the longest first. A state's
 * distance is that from the noise: 1 where it has its own. Coordinates are in
 * the order of lengths, then of levels, then of chains. */
struct chains {
    struct gsv_model *model;
    const struct spec *spec;
    struct graph *g;
    size_t d, count, levels; /* levels: the length of the longest          */
    node z;                  /* the leaf of the states                     */
    node drift;              /* f                                          */
    node *column;            /* (noises) of the diffusion                  */
    size_t *distance;        /* (d)                                        */
    size_t *next;            /* (d) the state above it in its chain, or d  */
    struct bottom *bottom;   /* (count)                                    */
    bool *uses;              /* (d, d) states that a row of f is made of   */
    /* The noise of the tops: a vector (count, 1), or where chains share noises
     * a lower triangle (count, count). */
    node scale;
    bool shared;
};

/* The chains of a model (chain_find.c); found is false where there are none,
 * with the reason in the model's chain. chains_free() in any case. */
int chains_find(struct chains *c, struct gsv_model *m, bool *found);
void chains_free(struct chains *c);

/* The number of chains of at least this length: they are the first ones. */
size_t chains_from(const struct chains *c, size_t length);

/* Where level k, from 1 on, of the first chain of a length is in y. */
size_t chains_level(const struct chains *c, size_t length, size_t k);

/* The bottoms (n, 1) of the chains of a length, stretched. */
node chains_bottoms(const struct chains *c, size_t length);

/* L a. */
node chains_lie(const struct chains *c, node a);

/* The derivative of a by states: along the sum of n of their axes. */
node chains_along(const struct chains *c, node a, size_t n,
                  const size_t *state);

/* A constant vector of n numbers. */
node chains_index(struct graph *g, size_t n, const size_t *number);

/* Says why there are no chains, at the equation of a state. */
void chains_explain(struct chains *c, enum no_chain why, size_t state);

#endif
