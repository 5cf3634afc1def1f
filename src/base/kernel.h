/* SPDX-License-Identifier: MIT */
/* Stationary correlations along one axis. With q = distance / length:
 *
 *     rbf       exp(-q^2 / 2)
 *     matern32  (1 + a) exp(-a),            a = sqrt(3) q
 *     matern52  (1 + a + a^2 / 3) exp(-a),  a = sqrt(5) q
 *
 * On several axes the correlation is the product of those along each. */
#ifndef BASE_KERNEL_H
#define BASE_KERNEL_H

#include <stddef.h>

enum kernel { KERNEL_RBF, KERNEL_MATERN32, KERNEL_MATERN52, KERNELS };

/* Its name in a model. */
const char *kernel_name(enum kernel kernel);

/* The correlation at a distance, and in *slope, unless that is NULL, its
 * derivative by the logarithm of the length. */
double kernel_at(enum kernel kernel, double distance, double length,
                 double *slope);

/* The same between all pairs of n points that are step apart: K (n, n) and,
 * unless NULL, its derivative dK (n, n) by the logarithm of the length. */
void kernel_matrix(enum kernel kernel, size_t n, double step, double length,
                   double *K, double *dK);

/* The variance of the derivative of a function with this correlation, of
 * variance and length 1: minus its second derivative at 0. */
double kernel_slope_variance(enum kernel kernel);

#endif
