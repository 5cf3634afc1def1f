/* SPDX-License-Identifier: MIT */
#include "base/prior_law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plain.h"

static const double LOG_ROOT_TWO_PI = 0.91893853320467274178;
static const double LOG_PI = 1.14472988584940017414;
static const double LOG_TWO = 0.69314718055994530942;

const struct prior_law PRIOR_LAW[PRIOR_LAWS] = {
    [GSV_LAW_NORMAL] = {"normal", 2, "normal(mean, sd)", PRIOR_ALL, false,
                        true},
    [GSV_LAW_LOGNORMAL] = {"lognormal", 2, "lognormal(mean, sd)",
                           PRIOR_POSITIVE, false, true},
    [GSV_LAW_HALFNORMAL] = {"halfnormal", 1, "halfnormal(sd)", PRIOR_POSITIVE,
                            true, false},
    [GSV_LAW_UNIFORM] = {"uniform", 2, "uniform(a, b)", PRIOR_BETWEEN, false,
                         false},
    [GSV_LAW_GAMMA] = {"gamma", 2, "gamma(shape, rate)", PRIOR_POSITIVE, true,
                       true},
    [GSV_LAW_EXPONENTIAL] = {"exponential", 1, "exponential(rate)",
                             PRIOR_POSITIVE, true, false},
    [GSV_LAW_BETA] = {"beta", 2, "beta(a, b)", PRIOR_SHARE, true, true},
    [GSV_LAW_CAUCHY] = {"cauchy", 2, "cauchy(middle, width)", PRIOR_ALL, false,
                        true},
};

size_t prior_law_find(const char *word)
{
    size_t i = 0;
    while (i < PRIOR_LAWS && strcmp(PRIOR_LAW[i].word, word))
        i++;
    return i;
}

void prior_law_list(char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < PRIOR_LAWS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 !i                    ? ""
                                 : i + 1 == PRIOR_LAWS ? " or "
                                                       : ", ",
                                 PRIOR_LAW[i].form);
}

const char *prior_fault(const gsv_prior *p)
{
    const struct prior_law *l = &PRIOR_LAW[p->law];
    bool good = isfinite(p->a) && isfinite(p->b) &&
                (!l->a_positive || p->a > 0.0) &&
                (!l->b_positive || p->b > 0.0);
    if (!good) return "deviations, widths, rates and shapes must be positive";
    if (p->law == GSV_LAW_UNIFORM && !(p->a < p->b))
        return "the first number must be the smaller one";
    return NULL;
}

bool prior_reaches(const gsv_prior *p, double v)
{
    switch (PRIOR_LAW[p->law].domain) {
    case PRIOR_ALL: return isfinite(v);
    case PRIOR_POSITIVE: return v > 0.0;
    case PRIOR_BETWEEN: return v > p->a && v < p->b;
    case PRIOR_SHARE: return v > 0.0 && v < 1.0;
    }
    return false;
}

static double log_constant(const gsv_prior *p)
{
    double a = p->a, b = p->b;
    switch (p->law) {
    case GSV_LAW_NORMAL:
    case GSV_LAW_LOGNORMAL: return -log(b) - LOG_ROOT_TWO_PI;
    case GSV_LAW_HALFNORMAL: return LOG_TWO - log(a) - LOG_ROOT_TWO_PI;
    case GSV_LAW_UNIFORM: return -log(b - a);
    case GSV_LAW_GAMMA: return a * log(b) - lgamma(a);
    case GSV_LAW_EXPONENTIAL: return log(a);
    case GSV_LAW_BETA: return lgamma(a + b) - lgamma(a) - lgamma(b);
    case GSV_LAW_CAUCHY: return -LOG_PI - log(b);
    }
    return -INFINITY;
}

double prior_log_kernel(const gsv_prior *p, double v)
{
    double a = p->a, b = p->b, z = (v - a) / b;
    if (!prior_reaches(p, v)) return -INFINITY;
    switch (p->law) {
    case GSV_LAW_NORMAL: return -0.5 * z * z;
    case GSV_LAW_LOGNORMAL: z = (log(v) - a) / b; return -0.5 * z * z - log(v);
    case GSV_LAW_HALFNORMAL: return -0.5 * (v / a) * (v / a);
    case GSV_LAW_UNIFORM: return 0.0;
    case GSV_LAW_GAMMA: return (a - 1.0) * log(v) - b * v;
    case GSV_LAW_EXPONENTIAL: return -a * v;
    case GSV_LAW_BETA: return (a - 1.0) * log(v) + (b - 1.0) * log1p(-v);
    case GSV_LAW_CAUCHY: return -log1p(z * z);
    }
    return -INFINITY;
}

double prior_slope(const gsv_prior *p, double v)
{
    double a = p->a, b = p->b, z = (v - a) / b;
    if (!prior_reaches(p, v)) return 0.0;
    switch (p->law) {
    case GSV_LAW_NORMAL: return -z / b;
    case GSV_LAW_LOGNORMAL: return -((log(v) - a) / (b * b) + 1.0) / v;
    case GSV_LAW_HALFNORMAL: return -v / (a * a);
    case GSV_LAW_UNIFORM: return 0.0;
    case GSV_LAW_GAMMA: return (a - 1.0) / v - b;
    case GSV_LAW_EXPONENTIAL: return -a;
    case GSV_LAW_BETA: return (a - 1.0) / v - (b - 1.0) / (1.0 - v);
    case GSV_LAW_CAUCHY: return -2.0 * z / (b * (1.0 + z * z));
    }
    return 0.0;
}

double prior_log_density(const gsv_prior *p, double v)
{
    return prior_log_kernel(p, v) + log_constant(p);
}

double prior_inside(const gsv_prior *p, double u)
{
    switch (PRIOR_LAW[p->law].domain) {
    case PRIOR_ALL: return p->a + p->b * (2.0 * u - 1.0);
    case PRIOR_BETWEEN: return p->a + (p->b - p->a) * u;
    case PRIOR_POSITIVE:
    case PRIOR_SHARE: break;
    }
    return u;
}

const char *prior_text(const gsv_prior *p, char room[PRIOR_ROOM])
{
    const struct prior_law *l = &PRIOR_LAW[p->law];
    if (l->numbers == 1)
        plain_format(room, PRIOR_ROOM, "%s(%g)", l->word, p->a);
    else plain_format(room, PRIOR_ROOM, "%s(%g, %g)", l->word, p->a, p->b);
    return room;
}
