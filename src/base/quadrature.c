/* SPDX-License-Identifier: MIT */
#include "base/quadrature.h"

#include <math.h>

#include "base/constant.h"
#include "base/linalg.h"

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

/* --- A normal law in one dimension ---------------------------------------- */

/* The Hermite polynomial of degree n, orthonormal under N(0, 1), and that of
 * degree n - 1. */
static double hermite(size_t n, double x, double *before)
{
    double h = 1.0, last = 0.0;
    for (size_t k = 0; k < n; k++) {
        double next = (x * h - sqrt((double)k) * last) / sqrt((double)(k + 1));
        last = h;
        h = next;
    }
    *before = last;
    return h;
}

/* Zeros are the eigenvalues of the recurrence's matrix, made exact by Newton
 * steps: h_n' = sqrt(n) h_(n-1). */
void quadrature_hermite(size_t n, double *point, double *weight)
{
    double A[HERMITE_MOST * HERMITE_MOST] = {0}, room[64 * HERMITE_MOST];
    double root = sqrt((double)n), before;
    for (size_t k = 1; k < n; k++)
        A[(k - 1) * n + k] = A[k * n + k - 1] = sqrt((double)k);
    linalg_eigen(n, A, point, room);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            point[i] -= hermite(n, point[i], &before) / (root * before);
        if (2 * i + 1 == n) point[i] = 0.0;
        hermite(n, point[i], &before);
        weight[i] = 1.0 / ((double)n * before * before);
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
