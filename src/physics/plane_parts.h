/* SPDX-License-Identifier: MIT */
/* What the files of the plane share. */
#ifndef PHYSICS_PLANE_PARTS_H
#define PHYSICS_PLANE_PARTS_H

#include "physics/plane.h"

/* The cell before face k, and the axis that the face is across; the cell after
 * it. */
size_t face_cell(const struct plane *q, size_t k, size_t *axis);
size_t face_next(const struct plane *q, size_t cell, size_t axis);

/* The current through a face is in * p - out * p', and the sum of weight * p
 * over cells, which it returns the number of. */
void face_rates(const struct plane *q, size_t k, double *in, double *out);
size_t face_cross(const struct plane *q, size_t k, size_t cell[4],
                  double weight[4]);

/* The matrix of dp/dt, or its transpose. */
void plane_matrix(const struct plane *q, bool transposed, struct band *L);

#endif
