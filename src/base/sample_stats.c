/* SPDX-License-Identifier: MIT */
#include "base/sample_stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/gamma.h"
#include "base/quantile.h"

/* --- Samples -------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sample_sort(size_t n, double *x)
{
    qsort(x, n, sizeof *x, compare);
}

double sample_mean(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

double sample_deviation(size_t n, const double *x)
{
    double mean = sample_mean(n, x), sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / ((double)n - 1.0));
}

double sample_quantile(size_t n, const double *x, double p)
{
    double at = fmax(0.0, p * (double)(n + 1) - 1.0), below = floor(at);
    size_t i = (size_t)below;
    if (i + 1 >= n) return x[n - 1];
    return x[i] + (at - below) * (x[i + 1] - x[i]);
}

/* With x sorted, sum over i and j of |x_i - x_j| is 2 sum (2 i + 1 - n) x_i;
 * taken about the mean, against cancellation. */
double sample_crps(size_t n, const double *x, double y)
{
    double mean = sample_mean(n, x), near = 0.0, apart = 0.0;
    double pairs = n > 1 ? (double)n * ((double)n - 1.0) : 1.0;
    for (size_t i = 0; i < n; i++) {
        near += fabs(x[i] - y);
        apart += (2.0 * (double)i + 1.0 - (double)n) * (x[i] - mean);
    }
    return near / (double)n - apart / pairs;
}

double sample_rank(size_t n, const double *x, double y, double v)
{
    size_t below = 0, equal = 0;
    for (size_t i = 0; i < n; i++) {
        below += x[i] < y;
        equal += x[i] == y;
    }
    return ((double)below + v * (double)(equal + 1)) / (double)(n + 1);
}

/* --- The normal law ------------------------------------------------------- */

double normal_score(double u)
{
    const double most = 1.0 - 0x1p-32;
    return normal_quantile(fmin(fmax(2.0 * u - 1.0, -most), most));
}

double normal_probability(double z)
{
    return 0.5 * erfc(-z * sqrt(0.5));
}

/* --- Uniformity ----------------------------------------------------------- */

double uniform_distance(size_t n, const double *u)
{
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        double low = (double)i / (double)n, high = (double)(i + 1) / (double)n;
        most = fmax(most, fmax(u[i] - low, high - u[i]));
    }
    return most;
}

/* Kolmogorov's series, 2 sum over k of (-1)^(k - 1) exp(-2 k^2 x^2), at a
 * distance that is corrected for small n as Stephens (1970) does. Below 0.2 it
 * is 1 to all digits, and the series would not end. */
double uniform_p_value(size_t n, double distance)
{
    double root = sqrt((double)n);
    double x = (root + 0.12 + 0.11 / root) * distance, sum = 0.0, sign = 1.0;
    if (x < 0.2) return 1.0;
    for (int k = 1; k <= 100; k++, sign = -sign) {
        double term = exp(-2.0 * (double)(k * k) * x * x);
        sum += sign * term;
        if (term < DBL_EPSILON * sum) break;
    }
    return fmin(1.0, fmax(0.0, 2.0 * sum));
}

/* --- The chi-squared law -------------------------------------------------- */

enum { MOST_TERMS = 10000 };

/* P(a, x) = x^a e^-x / Gamma(a + 1) sum over k of x^k / (a + 1) ... (a + k). */
static double gamma_low(double a, double x)
{
    double term = 1.0, sum = 1.0;
    for (int k = 1; k < MOST_TERMS && term > DBL_EPSILON * sum; k++)
        sum += term *= x / (a + k);
    return sum * exp(a * log(x) - x - log_gamma(a + 1.0));
}

/* 1 - P(a, x) as a continued fraction, from its far end. */
static double gamma_high(double a, double x)
{
    double rest = 0.0;
    for (int k = 200; k > 0; k--)
        rest = k * (k - a) / (x + 2.0 * k + 1.0 - a - rest);
    return exp(a * log(x) - x - log_gamma(a)) / (x + 1.0 - a - rest);
}

double chi_squared_tail(double x, double freedom)
{
    double a = 0.5 * freedom, half = 0.5 * x;
    if (!(half > 0.0)) return half <= 0.0 ? 1.0 : NAN;
    return half < a + 1.0 ? 1.0 - gamma_low(a, half) : gamma_high(a, half);
}
