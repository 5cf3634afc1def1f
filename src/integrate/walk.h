/* SPDX-License-Identifier: MIT */
/* One item's paths there and back, with the memory of a thread. */
#ifndef INTEGRATE_WALK_H
#define INTEGRATE_WALK_H

#include "integrate/integrate.h"

struct walker {
    struct workspace one; /* of the program there                            */
    struct workspace two; /* of the one back, or of Heun's other stage       */
    struct arena arena;
    double *x, *a;                    /* (dim, P) paths and their adjoints   */
    double *stage, *stage_bar, *half; /* (dim, P)                            */
    double *move, *last;              /* (dim, P)                            */
    double *room;                     /* (dim + noise size, P)               */
    double *h, *root, *time;          /* (P)                                 */
    double *input, *slope;            /* (inputs, P)                         */
    double *z, *drawn;                /* (drawn steps, noises, P), twice     */
    size_t chunk;                     /* of steps that z is of               */
    double *kept;      /* (rows, dim, P) states; rows are steps and one, or
                        * with the adjoint gaps; none without a gradient   */
    double *all, *dot; /* (parameters + dim, P) forward: lifted, see rhs.h */
    double *J, *J_move, *J_stage; /* (parameters, dim, P), too              */
    double *uniform_bar; /* of back's program                                */
};

int walker_init(struct walker *w, const struct integrator *i);
void walker_free(struct walker *w);

/* Rows of what a walker keeps. */
size_t walk_kept_rows(const struct integrator *i);

/* Fills the item's sums of squares and, where gradient is set, the walker's
 * uniform_bar, which is not added to. */
void walk_item(struct integrator *i, const struct parcel *item,
               struct walker *w, bool gradient);

#endif
