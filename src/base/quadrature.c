/* SPDX-License-Identifier: MIT */
#include "base/quadrature.h"

#include <math.h>

#include "base/constant.h"

/* --- An interval ---------------------------------------------------------- */

/* P_n(x) and its derivative by the three-term recurrence. */
static double legendre(int n, double x, double *slope)
{
    double before = 1.0, p = x;
    for (int k = 2; k <= n; k++) {
        double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
        before = p;
        p = next;
    }
    *slope = n * (x * p - before) / (x * x - 1.0);
    return p;
}

/* Zeros of P_n by Newton steps. */
void quadrature_interval(size_t n, double *point, double *weight)
{
    for (int i = 0; i < (int)n; i++) {
        double x = cos(PI * (i + 0.75) / ((double)n + 0.5));
        double slope;
        for (int k = 0; k < 20; k++) {
            double p = legendre((int)n, x, &slope);
            x -= p / slope;
        }
        legendre((int)n, x, &slope);
        point[i] = 0.5 * (1.0 - x);
        weight[i] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
}

/* --- A normal law --------------------------------------------------------- */

enum { FEW = 3 };

/* Gauss-Hermite rules of 3 and of 4 points; the latter has
 * z = +-sqrt(3 +- sqrt(6)). */
static const double THREE[2][3] = {
    {-1.7320508075688773, 0.0, 1.7320508075688773},
    {1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0}};
static const double FOUR[2][4] = {{-2.3344142183389773, -0.74196378430272591,
                                   0.74196378430272591, 2.3344142183389773},
                                  {0.045875854768068498, 0.45412414523193151,
                                   0.45412414523193151, 0.045875854768068498}};

static const struct {
    size_t nodes;
    const double *point, *weight;
} RULE[FEW + 1] = {[1] = {4, FOUR[0], FOUR[1]},
                   [2] = {4, FOUR[0], FOUR[1]},
                   [3] = {3, THREE[0], THREE[1]}};

size_t quadrature_normal_count(size_t d)
{
    size_t count = 1;
    if (d > FEW) return 2 * d;
    for (size_t i = 0; i < d; i++)
        count *= RULE[d].nodes;
    return count;
}

static void on_axes(size_t d, double *z, double *weight)
{
    size_t n = 2 * d;
    for (size_t i = 0; i < d; i++)
        for (size_t q = 0; q < n; q++) {
            double far = sqrt((double)d);
            z[i * n + q] = q / 2 != i ? 0.0 : q % 2 ? far : -far;
        }
    for (size_t q = 0; q < n; q++)
        weight[q] = 1.0 / (double)n;
}

void quadrature_normal(size_t d, double *z, double *weight)
{
    size_t n = quadrature_normal_count(d);
    if (d > FEW) {
        on_axes(d, z, weight);
        return;
    }
    for (size_t q = 0; q < n; q++) {
        size_t rest = q;
        weight[q] = 1.0;
        for (size_t i = 0; i < d; i++, rest /= RULE[d].nodes) {
            size_t k = rest % RULE[d].nodes;
            z[i * n + q] = RULE[d].point[k];
            weight[q] *= RULE[d].weight[k];
        }
    }
}
