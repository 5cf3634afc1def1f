/* SPDX-License-Identifier: MIT */
/* Functions on a uniform grid, up to four dimensions: between the nodes they
 * are found by cubic convolution (Keys, a = -1/2), axis by axis, so that they
 * are C1 and right for quadratics up to the border. Outside of the box they
 * fade to 0 within one cell, C1 as well, and are 0 beyond.
 *
 * In units of cells, u = (x - low) / cell with nodes at 0, 1, ..., nodes - 1,
 * the weight of a node is a cubic in every cell. */
#ifndef BASE_GRID_H
#define BASE_GRID_H

#include <stdbool.h>
#include <stddef.h>

enum { GRID_AXES = 4, GRID_LEAST = 4, GRID_STENCIL = 256 };

/* Node (i0, i1, ...) has the number (i0 n1 + i1) n2 + ...: the last axis is
 * the fastest. */
struct grid {
    size_t axes;
    size_t nodes[GRID_AXES]; /* at least GRID_LEAST each */
    double low[GRID_AXES], high[GRID_AXES];
};

/* How the weights change within a cell: power[k] has the factors of s^k, for
 * four neighbouring nodes. */
struct grid_cell {
    double power[4][4];
};

/* The cell of u on an axis of so many nodes: its cubics, the first of its four
 * nodes, and where in it u is, 0 <= s <= 1. All weights of a point that is not
 * a number are not, either. */
const struct grid_cell *grid_cell_at(size_t nodes, double u, size_t *first,
                                     double *s);

/* The numbers and weights of the 4^axes nodes around x, and with slope, which
 * may be NULL, the derivatives of the weights, (axes, 4^axes). Returns how many
 * there are: sum over j of weight[j] value[index[j]] is the function. */
size_t grid_weights(const struct grid *g, const double *x, size_t *index,
                    double *weight, double *slope);

/* The same of a derivative of the function, of order 0 to 3 along each axis. */
size_t grid_derivative(const struct grid *g, const size_t *order,
                       const double *x, size_t *index, double *weight);

/* Whether x is outside of the box, or not a number. */
bool grid_outside(const struct grid *g, const double *x);

#endif
