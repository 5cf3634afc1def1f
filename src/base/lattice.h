/* SPDX-License-Identifier: MIT */
/* Rank-1 lattices with a random shift: point j of J is {j a^k / J + shift_k} in
 * coordinate k. A mean over the points is unbiased. For smooth functions that
 * vanish at the ends of the cube, or are the same there, its error falls faster
 * than that of any net: in one dimension it is the trapezoidal rule. */
#ifndef BASE_LATTICE_H
#define BASE_LATTICE_H

#include <stddef.h>

#include "base/random.h"

/* The a that is best for J points in so many coordinates, by the worst error
 * for functions with two smooth periodic derivatives (P_2). */
size_t lattice_generator(size_t J, size_t dimensions);

/* Coordinate k of all points, as standard normal numbers z (J). */
void lattice_normals(const struct random_key *key, size_t generator, size_t k,
                     size_t J, double *z);

#endif
