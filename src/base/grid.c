/* SPDX-License-Identifier: MIT */
/* An axis has six types of cells. Inside, with values f0 to f3 at
 * -1, 0, 1, 2 and s between 0 and 1, the function is the cubic with the values
 * f1 and f2 and the slopes (f2 - f0)/2 and (f3 - f1)/2 at the ends. A cell at
 * the border lacks one of the nodes, for which the parabola through the three
 * others stands, f0 = 3 f1 - 3 f2 + f3. Outside the border it is the cubic with
 * the border's value and slope at one end, and 0 and 0 at the other. */
#include "base/grid.h"

#include <math.h>

enum cell_type { FADE_IN, LEFT, INSIDE, RIGHT, FADE_OUT, NOWHERE, CELL_TYPES };

/* [power of s][node] */
static const struct grid_cell CELL[CELL_TYPES] = {
    [FADE_IN] = {{{0.0, 0.0, 0.0, 0.0},
                  {0.0, 0.0, 0.0, 0.0},
                  {4.5, -2.0, 0.5, 0.0},
                  {-3.5, 2.0, -0.5, 0.0}}},
    [LEFT] = {{{1.0, 0.0, 0.0, 0.0},
               {-1.5, 2.0, -0.5, 0.0},
               {0.5, -1.0, 0.5, 0.0},
               {0.0, 0.0, 0.0, 0.0}}},
    [INSIDE] = {{{0.0, 1.0, 0.0, 0.0},
                 {-0.5, 0.0, 0.5, 0.0},
                 {1.0, -2.5, 2.0, -0.5},
                 {-0.5, 1.5, -1.5, 0.5}}},
    [RIGHT] = {{{0.0, 0.0, 1.0, 0.0},
                {0.0, -0.5, 0.0, 0.5},
                {0.0, 0.5, -1.0, 0.5},
                {0.0, 0.0, 0.0, 0.0}}},
    [FADE_OUT] = {{{0.0, 0.0, 0.0, 1.0},
                   {0.0, 0.5, -2.0, 1.5},
                   {0.0, -1.0, 4.0, -6.0},
                   {0.0, 0.5, -2.0, 3.5}}},
    [NOWHERE] = {{{0.0}}},
};

const struct grid_cell *grid_cell_at(size_t nodes, double u, size_t *first,
                                     double *s)
{
    double last = (double)(nodes - 1);
    *first = 0;
    *s = isnan(u) ? u : 0.0;
    if (!(u >= -1.0 && u <= last + 1.0)) return &CELL[NOWHERE];
    /* Cell 0 is outside the border. A u that is rounded up to a node leaves s a
     * trifle below 0, where the cubics still hold. */
    size_t cell = (size_t)(u + 1.0);
    if (u == last) cell--; /* the border is inside */
    *s = u + 1.0 - (double)cell;
    if (cell >= 2 && cell <= nodes - 2) {
        *first = cell - 2;
        return &CELL[INSIDE];
    }
    if (cell < 2) return &CELL[cell == 0 ? FADE_IN : LEFT];
    *first = nodes - 4;
    return &CELL[cell == nodes - 1 ? RIGHT
                 : cell == nodes   ? FADE_OUT
                                   : NOWHERE];
}

/* Weights of four nodes, and their slopes by u. */
static void axis_weights(const struct grid_cell *c, double s, double *weight,
                         double *slope)
{
    for (size_t j = 0; j < 4; j++) {
        double c0 = c->power[0][j], c1 = c->power[1][j];
        double c2 = c->power[2][j], c3 = c->power[3][j];
        weight[j] = c0 + s * (c1 + s * (c2 + s * c3));
        slope[j] = c1 + s * (2.0 * c2 + 3.0 * s * c3);
    }
}

size_t grid_weights(const struct grid *g, const double *x, size_t *index,
                    double *weight, double *slope)
{
    double w[GRID_AXES][4], dw[GRID_AXES][4], s;
    size_t first[GRID_AXES], n = (size_t)1 << (2 * g->axes);
    for (size_t k = 0; k < g->axes; k++) {
        double scale = (double)(g->nodes[k] - 1) / (g->high[k] - g->low[k]);
        const struct grid_cell *c = grid_cell_at(
            g->nodes[k], (x[k] - g->low[k]) * scale, &first[k], &s);
        axis_weights(c, s, w[k], dw[k]);
        for (size_t j = 0; j < 4; j++)
            dw[k][j] *= scale;
    }
    for (size_t j = 0; j < n; j++) {
        size_t number = 0;
        double product = 1.0, by[GRID_AXES] = {1.0, 1.0, 1.0, 1.0};
        for (size_t k = 0; k < g->axes; k++) {
            size_t i = j >> (2 * (g->axes - 1 - k)) & 3;
            number = number * g->nodes[k] + first[k] + i;
            product *= w[k][i];
            for (size_t l = 0; l < g->axes; l++)
                by[l] *= l == k ? dw[k][i] : w[k][i];
        }
        index[j] = number;
        weight[j] = product;
        for (size_t l = 0; slope && l < g->axes; l++)
            slope[l * n + j] = by[l];
    }
    return n;
}

/* The derivative of an order of c0 + c1 s + c2 s^2 + c3 s^3. */
static double cubic(const double c[4], size_t order, double s)
{
    switch (order) {
    case 0: return c[0] + s * (c[1] + s * (c[2] + s * c[3]));
    case 1: return c[1] + s * (2.0 * c[2] + 3.0 * s * c[3]);
    case 2: return 2.0 * c[2] + 6.0 * s * c[3];
    default: return 6.0 * c[3] + 0.0 * s;
    }
}

size_t grid_derivative(const struct grid *g, const size_t *order,
                       const double *x, size_t *index, double *weight)
{
    double w[GRID_AXES][4], s;
    size_t first[GRID_AXES], n = (size_t)1 << (2 * g->axes);
    for (size_t k = 0; k < g->axes; k++) {
        double scale = (double)(g->nodes[k] - 1) / (g->high[k] - g->low[k]);
        const struct grid_cell *c = grid_cell_at(
            g->nodes[k], (x[k] - g->low[k]) * scale, &first[k], &s);
        for (size_t j = 0; j < 4; j++) {
            const double power[4] = {c->power[0][j], c->power[1][j],
                                     c->power[2][j], c->power[3][j]};
            w[k][j] = cubic(power, order[k], s);
            for (size_t i = 0; i < order[k]; i++)
                w[k][j] *= scale;
        }
    }
    for (size_t j = 0; j < n; j++) {
        index[j] = 0;
        weight[j] = 1.0;
        for (size_t k = 0; k < g->axes; k++) {
            size_t i = j >> (2 * (g->axes - 1 - k)) & 3;
            index[j] = index[j] * g->nodes[k] + first[k] + i;
            weight[j] *= w[k][i];
        }
    }
    return n;
}

bool grid_outside(const struct grid *g, const double *x)
{
    for (size_t k = 0; k < g->axes; k++)
        if (!(x[k] >= g->low[k] && x[k] <= g->high[k])) return true;
    return false;
}
