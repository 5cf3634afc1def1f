/* SPDX-License-Identifier: MIT */
/* The derivatives of a Gaussian-process function that a drift is made of. With
 * `grad()` in a model, a drift f has not only the function h itself but
 * derivatives D_o h of several orders o along its axes, and moves by
 *
 *     df = sum over o of df/d(D_o h) a_o' dw,
 *
 * where a_o is the row of D_o h at a point: derivatives of its interpolation
 * weights and features. Most drifts have h alone: then there is one order, 0,
 * and slopes are those of gp_slope(). */
#ifndef MODEL_GP_ORDERS_H
#define MODEL_GP_ORDERS_H

#include "model/model.h"

enum { MOST_ORDERS = 16 };

struct gp_orders {
    size_t gp, count;          /* at least 1                               */
    size_t order[MOST_ORDERS]; /* two bits for each axis: gp_order()       */
    bool plain;                /* h alone                                  */
    struct graph *graph;       /* a copy with the slopes; NULL where plain */
    node *slope;               /* (outputs, count) of size (rows of f)     */
    size_t size;               /* rows of f                                */
};

/* Of a drift f, a node of the model's graph. */
int gp_orders_init(struct gp_orders *d, const gsv_model *m, node f, size_t gp);
void gp_orders_free(struct gp_orders *d);

/* slope (count, size of f, P) = df / d(D_o h_output) at points; not where
 * plain. */
int gp_orders_slopes(const struct gp_orders *d, const gsv_model *m,
                     const struct points *in, size_t output, double *slope);

/* The variance of D_o h for an amplitude of 1, far from all data. Of orders
 * above one a scale, as rough kernels have none. */
double gp_order_variance(const gsv_model *m, size_t gp, size_t order);

#endif
