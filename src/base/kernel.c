/* SPDX-License-Identifier: MIT */
#include "base/kernel.h"

#include <math.h>

/* Each takes q = distance / length; dq / dlog length = -q. */

static double rbf(double q, double *slope)
{
    double k = exp(-0.5 * q * q);
    *slope = q * q * k;
    return k;
}

static double matern32(double q, double *slope)
{
    double a = sqrt(3.0) * q, e = exp(-a);
    *slope = a * a * e;
    return (1.0 + a) * e;
}

static double matern52(double q, double *slope)
{
    double a = sqrt(5.0) * q, e = exp(-a);
    *slope = a * a * (1.0 + a) / 3.0 * e;
    return (1.0 + a + a * a / 3.0) * e;
}

static const struct {
    const char *name;
    double (*at)(double q, double *slope);
    double slope_variance;
} KERNEL[KERNELS] = {
    [KERNEL_RBF] = {"rbf", rbf, 1.0},
    [KERNEL_MATERN32] = {"matern32", matern32, 3.0},
    [KERNEL_MATERN52] = {"matern52", matern52, 5.0 / 3.0},
};

const char *kernel_name(enum kernel kernel)
{
    return KERNEL[kernel].name;
}

double kernel_slope_variance(enum kernel kernel)
{
    return KERNEL[kernel].slope_variance;
}

double kernel_at(enum kernel kernel, double distance, double length,
                 double *slope)
{
    double unused;
    return KERNEL[kernel].at(fabs(distance) / length, slope ? slope : &unused);
}

void kernel_matrix(enum kernel kernel, size_t n, double step, double length,
                   double *K, double *dK)
{
    for (size_t away = 0; away < n; away++) {
        double slope,
            k = kernel_at(kernel, (double)away * step, length, &slope);
        for (size_t i = 0; i + away < n; i++) {
            size_t j = i + away;
            K[i * n + j] = K[j * n + i] = k;
            if (dK) dK[i * n + j] = dK[j * n + i] = slope;
        }
    }
}
