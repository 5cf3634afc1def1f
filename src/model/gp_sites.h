/* SPDX-License-Identifier: MIT */
/* Where a Gaussian-process function h is asked, and how much a drift moves with
 * it there. At a point with the argument u an output of h is
 *
 *     h = a' w,   a = (interpolation weights at u, features at u),
 *
 * and a drift f moves by df/dh times a' dw. Gaps of data ask on the chord in
 * unit-diffusion coordinates, and the log-likelihood bends by
 *
 *     length |df~/dh|^2 a a',
 *
 * all but what the path's noise adds (Gauss-Newton). Where a drift has
 * derivatives of h (gp_orders.h) it bends by the sum over pairs of orders o, p
 * of
 *
 *     length (df~/d(D_o h))' (df~/d(D_p h)) a_o a_p'.
 *
 * Only the increment of a
 * gap is observed, so one point in its middle tells what the data say. The sum
 * over several times is what whole paths would say: under a bound whose bridges
 * are held it bends by as much, in directions, too, that no increment sees. */
#ifndef MODEL_GP_SITES_H
#define MODEL_GP_SITES_H

#include "base/memory.h"
#include "gp/gp_information.h"
#include "model/gaps.h"
#include "model/gp_orders.h"

/* The prior of an output under the model's values. */
struct gp_prior gp_prior_of(const gsv_model *m, size_t gp, size_t output);

/* Rows of a gp at points. */
struct gp_rows {
    struct gp_points points;
    size_t *index;
    double *weight, *feature;
    double
        *sum; /* (count) of the weights: 1 inside of the box, 0 far outside */
};

/* At arguments (axes, count): of the function, or where the order is not 0 of a
 * derivative; then the sum of the weights means nothing. */
int gp_rows_init(struct gp_rows *r, const gsv_model *m, size_t gp, size_t order,
                 size_t count, const double *argument);
void gp_rows_free(struct gp_rows *r);

/* slope (size of what, P) = d what / dh_output at points of what's own leaves;
 * sum (P): of the rows of the same points. By differences, which are exact
 * where h enters linearly; where h stands in it at several arguments, it is
 * that of a constant that is added to h. */
int gp_slope(const gsv_model *m, node what, const struct points *in, size_t gp,
             size_t output, const double *sum, double *slope);

/* --- Gaps ---------------------------------------------------------------- */

struct gp_sites {
    const gsv_model *m;
    struct gaps gaps;
    size_t gap_count;             /* of the gaps that are used             */
    size_t *gap;                  /* (gap_count)                           */
    double *end;                  /* (dim, 2 gap_count) data at both ends  */
    double *state;                /* (dim, 2 gap_count) unit coordinates   */
    double *time, *input, *slope; /* (.., 2 gap_count)                    */
    size_t times;                 /* in every gap                          */
    double *share, *part;         /* (times) of its length; they count     */
    size_t count;                 /* gap_count times, gap by gap           */
    double *unit;                 /* (dim, count) the points               */
    double *length;               /* (count) of time that they stand for   */
    double *at_time, *at_input, *at_slope;
    double *argument; /* (gps, GRID_AXES, count)                          */
    double *sum;      /* (gps, count) of a row's weights                  */
    double *room;     /* (2 dim, count)                                   */
    struct arena arena;
    struct gp_orders *orders; /* (gps) of unit diffusion's drift              */
};

/* Of the gaps of some groups: each gap is one, or each track. They ask at Gauss
 * and Legendre's times, or where times is 0 at their start. Model and series
 * are borrowed. */
int gp_sites_init(struct gp_sites *s, const gsv_model *m, const gsv_series *d,
                  size_t times, bool tracks, size_t groups,
                  const size_t *group);
void gp_sites_free(struct gp_sites *s);

/* The points under the values of m: gp_sites_init() has done it once. */
int gp_sites_place(struct gp_sites *s, const gsv_model *m);

/* What functions are asked there. */
int gp_sites_ask(struct gp_sites *s, const gsv_model *m);

/* The sum over the gaps of |y' - y|^2 / length in unit-diffusion coordinates:
 * with the sum of factors below, how large a function may be. */
int gp_sites_squares(struct gp_sites *s, const gsv_model *m, double *squares);

/* factor (pairs, count) of the points in the information about an output: of
 * all pairs of orders o <= p, (0, 0), (0, 1), (1, 1), (0, 2) and so on. One
 * pair where the drift has the function alone. And how many numbers these are.
 */
int gp_sites_factor(struct gp_sites *s, const gsv_model *m, size_t gp,
                    size_t output, double *factor);
size_t gp_sites_factors(const struct gp_sites *s, size_t gp);

/* The square of the drift, summed up over time, that is expected of the
 * function under a prior amplitude of 1. */
double gp_sites_square(const struct gp_sites *s, const gsv_model *m, size_t gp,
                       const double *factor);

/* h += the sum of factor (a_o a_p' + a_p a_o') / 2, twice that where o and p
 * differ, over all points and pairs. */
int gp_sites_add(const struct gp_sites *s, const gsv_model *m, size_t gp,
                 const double *factor, struct gp_information *h);

#endif
