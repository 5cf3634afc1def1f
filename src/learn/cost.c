/* SPDX-License-Identifier: MIT */
#include "learn/cost.h"

#include <math.h>

#include "base/gamma.h"

/* log of P(chi^2 of 2 h degrees of freedom > 2 x): exp(-x) sum of x^j/j!, j<h
 */
static double log_tail(size_t h, double x)
{
    double term = 1.0, sum = 1.0;
    for (size_t j = 1; j < h; j++) {
        term *= x / (double)j;
        sum += term;
    }
    return log(sum) - x;
}

/* Half of the quantile of chi^2 with 2 h degrees of freedom. */
static double half_quantile(size_t h, double log_p)
{
    double low = -log_p, high = low + 1.0;
    while (log_tail(h, high) > log_p)
        high *= 2.0;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (log_tail(h, middle) > log_p) low = middle;
        else high = middle;
    }
    return h > 1 ? high : -log_p;
}

double cost_unit(const struct cost *c, size_t unit)
{
    double m = (double)c->size[unit];
    switch (c->criterion) {
    case GSV_CRITERION_PASTIS:
        return half_quantile((c->size[unit] + 1) / 2,
                             log(c->significance / (double)c->units));
    case GSV_CRITERION_EBIC:
    case GSV_CRITERION_BIC: return 0.5 * m * log(c->gaps);
    case GSV_CRITERION_AIC: break;
    }
    return m;
}

double cost_count(const struct cost *c, size_t units)
{
    double n = (double)c->units, k = (double)units;
    if (c->criterion != GSV_CRITERION_EBIC) return 0.0;
    return log_gamma(n + 1.0) - log_gamma(k + 1.0) - log_gamma(n - k + 1.0);
}

double cost_set(const struct cost *c, const bool *set)
{
    size_t count = 0;
    double sum = 0.0;
    for (size_t u = 0; u < c->units; u++) {
        if (!set[u]) continue;
        sum += cost_unit(c, u);
        count++;
    }
    return sum + cost_count(c, count);
}
