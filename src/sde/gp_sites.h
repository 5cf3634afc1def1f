/* SPDX-License-Identifier: MIT */
/* Where a Gaussian-process function h is asked, and how much a drift moves with
 * it there. At a point with the argument u an output of h is
 *
 *     h = a' w,   a = (interpolation weights at u, features at u),
 *
 * and a drift f moves by df/dh times a' dw. Gaps of data ask at one point each,
 * on the chord in unit-diffusion coordinates: there the log-likelihood bends by
 * length |df~/dh|^2 a a', all but what the path's noise adds (Gauss-Newton).
 * Only the increment of a gap is observed, so it has one row for each state,
 * not an integral of rows. */
#ifndef SDE_GP_SITES_H
#define SDE_GP_SITES_H

#include "gp/gp_information.h"
#include "sde/gaps.h"

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

/* At arguments (axes, count). */
int gp_rows_init(struct gp_rows *r, const gsv_model *m, size_t gp, size_t count,
                 const double *argument);
void gp_rows_free(struct gp_rows *r);

/* slope (size of what, P) = d what / dh_output at points of what's own leaves;
 * r: the rows of the same points. By differences, which are exact where h
 * enters linearly; where h stands in it at several arguments, or under grad(),
 * it is that of a constant that is added to h. */
int gp_slope(const gsv_model *m, node what, const struct points *in, size_t gp,
             size_t output, const struct gp_rows *r, double *slope);

/* --- Gaps ---------------------------------------------------------------- */

struct gp_sites {
    const gsv_model *m;
    struct gaps gaps;
    size_t count;  /* of the gaps that are used                      */
    double share;  /* where on the chord: 0 its start, 0.5 its middle */
    size_t *gap;   /* (count)                                        */
    double *end;   /* (dim, 2 count) data at both ends               */
    double *state; /* (dim, 2 count) in other coordinates            */
    double *unit;  /* (dim, count) the points                        */
    double *time, *input, *slope; /* (.., 2 count)                   */
    double *at_time, *at_input, *at_slope;
    double *argument; /* (GRID_AXES, count)                          */
    double *drift;    /* (dim, count)                                */
};

/* Of the gaps of some groups: each gap is one, or each track. Model and series
 * are borrowed. */
int gp_sites_init(struct gp_sites *s, const gsv_model *m, const gsv_series *d,
                  double share, bool tracks, size_t groups,
                  const size_t *group);
void gp_sites_free(struct gp_sites *s);

/* The points under the values of m: gp_sites_init() has done it once. */
int gp_sites_place(struct gp_sites *s, const gsv_model *m);

/* The sum over the gaps of |y' - y|^2 / length in unit-diffusion coordinates:
 * with the sum of factors below, how large a function may be. */
int gp_sites_squares(struct gp_sites *s, const gsv_model *m, double *squares);

/* The rows of a gp at the points. */
int gp_sites_rows(struct gp_sites *s, const gsv_model *m, size_t gp,
                  struct gp_rows *r);

/* factor (count) of the rows in the information about an output. */
int gp_sites_factor(struct gp_sites *s, const gsv_model *m, size_t gp,
                    size_t output, const struct gp_rows *r, double *factor);

#endif
