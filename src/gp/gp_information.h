/* SPDX-License-Identifier: MIT */
/* What data say about w = (v, c), the values at a grid's nodes and the weights
 * of features: up to a constant their log-likelihood is taken to be
 *
 *     pull' w - w' H w / 2,     H = sum over points of factor a a',
 *
 * where the row a of a point has its interpolation weights at a few nodes and
 * its features. Near w0, where the log-likelihood has the gradient s, the pull
 * is s + H w0. No two nodes of a row are more than 3 cells apart along any
 * axis, so that a node is coupled with 7 per axis: H is stored as
 *
 *     stencil  (nodes[0], 7, nodes[1], 7, ...)  node and its neighbour's offset
 *     cross    (G, F)
 *     square   (F, F)
 *
 * in the order in which the Gram matrix of gp_gram.h takes the axes. */
#ifndef GP_GP_INFORMATION_H
#define GP_GP_INFORMATION_H

#include "gp/gp_root.h"

enum { GP_REACH = 3, GP_BAND = 2 * GP_REACH + 1 };

struct gp_information {
    size_t axes, grid[GP_AXES];
    size_t nodes, features;
    size_t *offset; /* (G) of a node as a neighbour, in the stencil */
    size_t *centre; /* (G) nodes a, b meet at centre[a] + offset[b] */
    size_t count;   /* numbers in all of the following              */
    double *stencil, *cross, *square;
    double *pull; /* (G + F)                                      */
    struct arena arena;
    struct gp_sorted *sorted; /* room for points that are added   */
};

/* Rows of points: `touched` nodes each, at most 4 per axis; a node may stand
 * there twice. */
struct gp_points {
    size_t count, touched;
    const size_t *index;   /* (count, touched)                 */
    const double *weight;  /* (count, touched)                 */
    const double *feature; /* (count, F), unused when F is 0   */
};

int gp_information_init(struct gp_information *h, const struct gp_prior *prior);
void gp_information_free(struct gp_information *h);

/* Nothing is known. */
void gp_information_clear(struct gp_information *h);

/* Adds the points to H, each times its factor (count). Points between the same
 * nodes are added up before they go there, the more at once the better. */
void gp_information_add(struct gp_information *h, const struct gp_points *p,
                        const double *factor);

/* y = H x, both (G + F). */
void gp_information_product(const struct gp_information *h, const double *x,
                            double *y);

/* pull = s + H w0. */
void gp_information_pull(struct gp_information *h, const double *s,
                         const double *w0);

#endif
