/* SPDX-License-Identifier: MIT */
#include "base/lattice.h"

#include <math.h>

#include "base/quantile.h"

/* a^k mod J. */
static size_t power(size_t a, size_t k, size_t J)
{
    size_t product = 1 % J;
    for (size_t i = 0; i < k; i++)
        product = product * a % J;
    return product;
}

/* Up to a factor and a constant: mean of prod (1 + 2 pi^2 B_2(x_k)) over the
 * points, B_2(x) = x^2 - x + 1/6. */
static double worst_error(size_t J, size_t dimensions, size_t a)
{
    double sum = 0.0;
    for (size_t j = 0; j < J; j++) {
        double product = 1.0;
        size_t at = j;
        for (size_t k = 0; k < dimensions; k++, at = at * a % J) {
            double x = (double)at / (double)J;
            product *= 1.0 + 19.739208802178717 * (x * x - x + 1.0 / 6.0);
        }
        sum += product;
    }
    return sum;
}

size_t lattice_generator(size_t J, size_t dimensions)
{
    size_t best = 1;
    double least = INFINITY;
    if (dimensions < 2) return 1;
    for (size_t a = 1; a < J; a += 2) {
        double error = worst_error(J, dimensions, a);
        if (error >= least) continue;
        least = error;
        best = a;
    }
    return best;
}

void lattice_normals(const struct random_key *key, size_t generator, size_t k,
                     size_t J, double *z)
{
    size_t step = power(generator, k, J), at = 0;
    double shift;
    random_uniforms(key, k, 1, 0, 1, &shift);
    for (size_t j = 0; j < J; j++, at = (at + step) % J) {
        double x = (double)at / (double)J + shift;
        if (x >= 1.0) x -= 1.0;
        if (!(x > 0.0)) x = 0.5 / (double)J;
        z[j] = normal_quantile(2.0 * x - 1.0);
    }
}
