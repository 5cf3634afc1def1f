/* SPDX-License-Identifier: MIT */
#include "base/gamma.h"

#include <math.h>

#include "base/constant.h"

const double BERNOULLI[GAMMA_TERMS] = {1.0 / 6,   -1.0 / 30,    1.0 / 42,
                                       -1.0 / 30, 5.0 / 66,     -691.0 / 2730.0,
                                       7.0 / 6,   -3617.0 / 510};

double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* The distance from the nearest whole number: exact, and all that sin(pi x)^2
 * and tan(pi x) depend on. */
static double from_whole(double x)
{
    return x - nearbyint(x);
}

double digamma(double x)
{
    /* digamma(1 - x) - digamma(x) = pi / tan(pi x); poles at 0, -1, ... */
    if (x <= 0.0) {
        double r = from_whole(x);
        return r == 0.0 ? NAN : digamma(1.0 - x) - PI / tan(PI * r);
    }
    double sum = 0.0;
    while (x < GAMMA_SHIFT) {
        sum -= 1.0 / x;
        x += 1.0;
    }
    double w = 1.0 / (x * x), series = 0.0;
    for (int k = GAMMA_TERMS; k > 0; k--)
        series = w * (series + BERNOULLI[k - 1] / (2.0 * k));
    return sum + log(x) - 0.5 / x - series;
}

double trigamma(double x)
{
    /* trigamma(1 - x) + trigamma(x) = (pi / sin(pi x))^2 */
    if (x <= 0.0) {
        double root = PI / sin(PI * from_whole(x));
        return root * root - trigamma(1.0 - x);
    }
    double sum = 0.0;
    while (x < GAMMA_SHIFT) {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    double w = 1.0 / (x * x), series = 0.0;
    for (int k = GAMMA_TERMS; k > 0; k--)
        series = w * (series + BERNOULLI[k - 1]);
    return sum + (1.0 + 0.5 / x + series) / x;
}
