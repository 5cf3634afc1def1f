/* SPDX-License-Identifier: MIT */
/* Gaussian-process functions and data: where a grid is put, and which rows are
 * outside of it. */
#ifndef MODEL_GP_ROWS_H
#define MODEL_GP_ROWS_H

#include "base/grid.h"
#include "model/model.h"

/* The grid of a gp under the model's values. */
struct grid gp_grid(const gsv_model *m, size_t gp);

/* How many rows have an argument outside of the box of a gp, and how many have
 * an argument at all: states that are latent or missing leave none. */
struct gp_count {
    size_t outside, rows;
};
int gp_outside(const gsv_model *m, const gsv_series *s, size_t gp,
               struct gp_count *count);

/* The least and the largest argument along each axis, (axes) each; fails where
 * no row has one. */
int gp_range(const gsv_model *m, const gsv_series *s, size_t gp, double *low,
             double *high);

/* Whether the box is where the text or someone else put it, not the data. */
bool gp_is_placed(const gsv_model *m, size_t gp);

/* Moves the box there, and length scales that are not set to a quarter of it.
 */
void gp_place(gsv_model *m, size_t gp, const double *low, const double *high);

#endif
