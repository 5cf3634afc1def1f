/* SPDX-License-Identifier: MIT */
#include "learn/cost.h"

#include <math.h>

#include "base/gamma.h"

/* log P(chi^2_m > 2 c): erfc(sqrt(c)) or exp(-c), and from there
 * Q(a + 1, c) = Q(a, c) + c^a exp(-c) / Gamma(a + 1). */
static double log_tail(size_t m, double c)
{
    double tail = m % 2 ? erfc(sqrt(c)) : exp(-c);
    for (size_t k = m % 2 ? 1 : 2; k < m; k += 2) {
        double a = 0.5 * (double)k;
        tail += exp(a * log(c) - c - log_gamma(a + 1.0));
    }
    return log(tail);
}

/* Where it is log_p. */
static double half_quantile(size_t m, double log_p)
{
    double low = 0.0, high = 1.0;
    while (log_tail(m, high) > log_p && high < 600.0)
        high *= 2.0;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (log_tail(m, middle) > log_p) low = middle;
        else high = middle;
    }
    return high;
}

static double unit_cost(const struct cost *c, size_t unit, size_t all)
{
    double m = (double)c->size[unit];
    switch (c->criterion) {
    case GSV_CRITERION_FAMILYWISE:
        return half_quantile(c->size[unit],
                             log(c->significance * c->share[unit]));
    case GSV_CRITERION_PASTIS: return m * log((double)all / c->significance);
    case GSV_CRITERION_EBIC:
    case GSV_CRITERION_BIC: return 0.5 * m * log(c->gaps);
    case GSV_CRITERION_AIC: break;
    }
    return m;
}

void cost_fill(const struct cost *c)
{
    size_t all = 0;
    for (size_t u = 0; u < c->units; u++)
        all += c->size[u];
    for (size_t u = 0; u < c->units; u++)
        c->nats[u] = unit_cost(c, u, all);
}

/* --- Sets ----------------------------------------------------------------- */

struct cost_sum cost_move(const struct cost *c, struct cost_sum s, size_t unit,
                          bool in)
{
    if (!in)
        return (struct cost_sum){.nats = s.nats - c->nats[unit],
                                 .units = s.units - 1,
                                 .numbers = s.numbers - c->size[unit]};
    return (struct cost_sum){.nats = s.nats + c->nats[unit],
                             .units = s.units + 1,
                             .numbers = s.numbers + c->size[unit]};
}

struct cost_sum cost_add(const struct cost *c, const bool *set)
{
    struct cost_sum s = {0};
    for (size_t u = 0; u < c->units; u++)
        if (set[u]) s = cost_move(c, s, u, true);
    return s;
}

/* The log of the number of sets of as many units. */
static double log_sets(size_t units, size_t of)
{
    double n = (double)of, k = (double)units;
    return log_gamma(n + 1.0) - log_gamma(k + 1.0) - log_gamma(n - k + 1.0);
}

double cost_of(const struct cost *c, struct cost_sum s)
{
    double left = fmax(c->gaps - (double)s.numbers / c->equations, 1.0);
    if (c->criterion == GSV_CRITERION_EBIC)
        return s.nats + log_sets(s.units, c->units);
    if (c->criterion != GSV_CRITERION_FAMILYWISE || !s.units) return s.nats;
    return s.nats * fmax(c->gaps / left, 1.0);
}

double cost_set(const struct cost *c, const bool *set)
{
    return cost_of(c, cost_add(c, set));
}
