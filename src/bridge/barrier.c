/* SPDX-License-Identifier: MIT */
#include "bridge/barrier.h"

#include <math.h>
#include <stddef.h>

static const double TWO_PI = 6.2831853071795864769;

/* Below this a the boundary is not left again. */
static const double LEAST = -0.45;

/* From this nu on Debye's series has 9 digits. */
static const double LARGE = 16.0;

bool barrier_exists(double a)
{
    return a > LEAST && isfinite(a);
}

/* log h for large z: the series in 1/(8 z), with mu = 4 nu^2. */
static double log_h_far(double nu, double z)
{
    double mu = 4.0 * nu * nu, term = 1.0, sum = 1.0;
    for (int k = 1; k < 25; k++) {
        double odd = 2.0 * k - 1.0, last = term;
        term *= -(mu - odd * odd) / (8.0 * z * k);
        if (fabs(term) > fabs(last)) break;
        sum += term;
        if (fabs(term) < 1e-17 * fabs(sum)) break;
    }
    return log(sum);
}

/* I_nu(z) = (z/2)^nu / Gamma(nu + 1) (1 + ...). */
static double log_h_near(double nu, double z)
{
    double quarter = 0.25 * z * z, term = 1.0, sum = 1.0;
    for (double k = 1.0; term > 1e-17 * sum; k += 1.0) {
        term *= quarter / (k * (k + nu));
        sum += term;
    }
    return 0.5 * log(TWO_PI * z) - z + nu * log(0.5 * z) - lgamma(nu + 1.0) +
           log(sum);
}

/* Debye's series of I_nu(z) for large nu, in p / nu with p = nu / s, s^2 = nu^2
 * + z^2. */
static double log_h_large(double nu, double z)
{
    double s = hypot(nu, z), p = nu / s, q = p * p, x = 1.0 / s;
    double one = (3.0 - 5.0 * q) / 24.0;
    double two = (81.0 + q * (-462.0 + q * 385.0)) / 1152.0;
    double three =
        (30375.0 + q * (-369603.0 + q * (765765.0 - q * 425425.0))) / 414720.0;
    double four =
        (4465125.0 +
         q * (-94121676.0 +
              q * (349922430.0 + q * (-446185740.0 + q * 185910725.0)))) /
        39813120.0;
    double sum = x * (one + x * (two + x * (three + x * four)));
    return 0.5 * log(z / s) + nu * nu / (s + z) - nu * asinh(nu / z) +
           log1p(sum);
}

static double log_h(double nu, double z)
{
    if (nu > LARGE) return log_h_large(nu, z);
    return z > 25.0 + nu * nu ? log_h_far(nu, z) : log_h_near(nu, z);
}

/* d log h / dz = (nu + 1/2)/z - 1 + I_{nu+1}/I_nu. */
static double log_h_slope(double nu, double z)
{
    return (nu + 0.5) / z - 1.0 + exp(log_h(nu + 1.0, z) - log_h(nu, z));
}

double barrier_log_h(double a, double z)
{
    return log_h(a - 0.5, z);
}

double barrier_slope_z(double a, double z)
{
    return log_h_slope(a - 0.5, z);
}

double barrier(double a, double left, double right, double dt)
{
    double squares = 1.0 / (left * left) + 1.0 / (right * right);
    return log_h(a - 0.5, left * right / dt) +
           0.25 * (a * a - a) * dt * squares;
}

struct barrier_slope barrier_slopes(double a, double left, double right,
                                    double dt)
{
    static const double STEP = 1e-5;
    double z = left * right / dt, nu = a - 0.5, half = 0.5 * (a * a - a) * dt;
    double by_z = log_h_slope(nu, z) / dt;
    double squares = 1.0 / (left * left) + 1.0 / (right * right);
    double by_nu = (log_h(nu + STEP, z) - log_h(nu - STEP, z)) / (2.0 * STEP);
    return (struct barrier_slope){
        .a = by_nu + 0.25 * (2.0 * a - 1.0) * dt * squares,
        .left = by_z * right - half / (left * left * left),
        .right = by_z * left - half / (right * right * right)};
}
