/* SPDX-License-Identifier: MIT */
/* Points and weights for means and integrals of smooth functions. */
#ifndef BASE_QUADRATURE_H
#define BASE_QUADRATURE_H

#include <stddef.h>

/* The n Gauss-Legendre points on (0, 1), in rising order, and their weights:
 * exact for polynomials up to degree 2 n - 1. */
void quadrature_interval(size_t n, double *point, double *weight);

/* Points z (d, count) with weights (count) for means over N(0, I) in d
 * dimensions; all weights are positive. Exact for polynomials up to degree 7 in
 * one and two dimensions, 5 in three (products of Gauss-Hermite rules), and 3
 * in more dimensions (two points on each axis). */
size_t quadrature_normal_count(size_t d);
void quadrature_normal(size_t d, double *z, double *weight);

/* The n points of the Gauss-Hermite rule for means over N(0, 1), in rising
 * order, and their weights; n is at most HERMITE_MOST. */
enum { HERMITE_MOST = 33 };
void quadrature_hermite(size_t n, double *point, double *weight);

#endif
