/* SPDX-License-Identifier: MIT */
/* A function with its values on a grid, and a polynomial beside it,
 *
 *     h_i(x) = sum over nodes j of w_j(x) value_ij
 *            + sum over features f of phi_f(x) weight_if:
 *
 * what is known of a Gaussian process at its inducing points. w are the weights
 * of base/grid.h; phi are all monomials up to the degree, the constant first,
 * of x scaled to [-1, 1] over the box. Both are cubics within a cell, so that
 * every derivative is a function of the same kind: a node of the graph is one
 * of them, with orders 0 to 3 along each axis. */
#ifndef GRAPH_GP_H
#define GRAPH_GP_H

#include <stddef.h>

#include "base/grid.h"

enum { GP_DEGREE = 3, GP_FEATURES = 35, GP_ORDERS = 256 };

struct gp {
    size_t axes, outputs;
    size_t nodes[GRID_AXES]; /* along each axis                      */
    size_t degree;           /* of the polynomial; 0 where there is none */
};

/* The numbers of value and weight for one output. */
size_t gp_nodes(const struct gp *h);
size_t gp_features(const struct gp *h);

/* The exponents of the features, (features, axes), in their order: by degree,
 * and within a degree those with more of the first axis first. */
void gp_exponents(const struct gp *h, unsigned char power[][GRID_AXES]);

/* A node's offset is GP_ORDERS times the function's number, plus two bits for
 * the order along each axis. */
static inline size_t gp_number(size_t offset)
{
    return offset / GP_ORDERS;
}

static inline size_t gp_order(size_t offset, size_t axis)
{
    return offset >> (2 * axis) & 3;
}

#endif
