/* SPDX-License-Identifier: MIT */
/* The prior of a Gaussian process on a grid, whitened. The values v at the
 * nodes and the weights c of polynomial features are
 *
 *     v ~ N(0, K),  K = amplitude^2 K_1 (x) ... (x) K_D,    c ~ N(0, p^2 I),
 *
 * and w = (v, c) = R (u, e) with (u, e) ~ N(0, I) a priori. R comes from the
 * eigenvectors of each K_i: of their products only those are kept that carry
 * more than a 1e-10th of what the largest one does. For smooth kernels this
 * is a small part of them: all later steps take the cube of their number
 * in time, and nothing is divided by what is almost 0. Cholesky factors would
 * keep all, and need a jitter. */
#ifndef GP_GP_ROOT_H
#define GP_GP_ROOT_H

#include "base/kernel.h"
#include "base/kron.h"
#include "base/memory.h"

enum { GP_AXES = 4, GP_NO_AXIS = GP_AXES };

/* Grids are uniform and row by row, the first axis slowest. */
struct gp_prior {
    enum kernel kernel;
    size_t axes;                           /* 1 .. GP_AXES             */
    size_t nodes[GP_AXES];                 /* along each               */
    double step[GP_AXES], length[GP_AXES]; /* between nodes; of K_i    */
    double amplitude;
    size_t features;   /* F, may be 0              */
    double feature_sd; /* p                        */
};

struct gp_root {
    struct gp_prior prior;
    size_t nodes;   /* G                                               */
    size_t numbers; /* G + F, of w                                     */
    size_t kept;    /* of u                                            */
    size_t rank;    /* kept + F                                        */
    double lost;    /* the mean share of a node's variance not kept    */
    struct kron R;  /* (nodes[i], k_i) each, of correlations           */
    double *slope[GP_AXES]; /* dR_i / dlog length_i                     */
    size_t *place; /* (kept) in the product of all k_i, rising        */
    size_t *row;   /* the other way round; GP_DROPPED                 */
    struct arena arena;
};

#define GP_DROPPED ((size_t)-1)

int gp_root_init(struct gp_root *r, const struct gp_prior *prior);
void gp_root_free(struct gp_root *r);

/* How many numbers the two below need as room. */
size_t gp_root_room(const struct gp_root *r, size_t m);

/* w (G + F, m) = R u (rank, m). */
void gp_root_product(const struct gp_root *r, size_t m, const double *u,
                     double *w, double *room);

/* u (rank, m) = R' w (G + F, m). */
void gp_root_adjoint(const struct gp_root *r, size_t m, const double *w,
                     double *u, double *room);

/* u (rank) with R u nearest to w (G + F): the columns of R are orthogonal. */
void gp_root_whiten(const struct gp_root *r, const double *w, double *u,
                    double *room);

/* The adjoint with dR / dlog length of this axis: its rows of features are 0.
 */
void gp_root_adjoint_slope(const struct gp_root *r, size_t axis, size_t m,
                           const double *w, double *u, double *room);

#endif
