/* SPDX-License-Identifier: MIT */
/* The rows of R' H R for the values at the nodes, one after the other, and of
 * R' H dR with a derivative of R. With r_j the columns of R_i along one axis,
 * an axis of the stencil goes in two steps,
 *
 *     z[x'] = sum over x of r_j[x] H[x, x'],    row[j'] = sum of z[x']
 * r_j'[x'],
 *
 * and what the inner axes left is shared by all rows with the same j there:
 * for n nodes along each of D axes this takes about n^(2 D + 1) operations in
 * all, where products of H with the columns of R would take 7^D n^(2 D). */
#ifndef GP_GP_GRAM_H
#define GP_GP_GRAM_H

#include "gp/gp_information.h"

/* How many numbers gp_gram_rows() needs as room. */
size_t gp_gram_room(const struct gp_root *r);

/* Calls use() once for each row below r->kept, not in their order: values has
 * one number for each place in the product of all k_i, amplitudes left out.
 * The right R has its slope along an axis, or not: GP_NO_AXIS. */
void gp_gram_rows(const struct gp_root *r, const struct gp_information *H,
                  size_t slope_axis, double *room,
                  void (*use)(void *context, size_t row, const double *values),
                  void *context);

#endif
