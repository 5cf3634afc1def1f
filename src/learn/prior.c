/* SPDX-License-Identifier: MIT */
#include "learn/prior.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "model/theta.h"

static const double LOG_ROOT_TWO_PI = 0.91893853320467274178;
static const double LOG_PI = 1.14472988584940017414;

/* --- Laws ----------------------------------------------------------------- */

static double log_normal_density(double v, double mean, double sd)
{
    double z = (v - mean) / sd;
    return -0.5 * z * z - log(sd) - LOG_ROOT_TWO_PI;
}

/* Where a law has a density: all numbers, from 0 on, or from a to b. */
enum domain { ALL, POSITIVE, BETWEEN, SHARE };

static const struct {
    enum domain domain;
    bool a_positive, b_positive; /* whether it must be */
} LAWS[] = {
    [GSV_LAW_NORMAL] = {ALL, false, true},
    [GSV_LAW_LOGNORMAL] = {POSITIVE, false, true},
    [GSV_LAW_HALFNORMAL] = {POSITIVE, true, false},
    [GSV_LAW_UNIFORM] = {BETWEEN, false, false},
    [GSV_LAW_GAMMA] = {POSITIVE, true, true},
    [GSV_LAW_EXPONENTIAL] = {POSITIVE, true, false},
    [GSV_LAW_BETA] = {SHARE, true, true},
    [GSV_LAW_CAUCHY] = {ALL, false, true},
};

static bool is_inside(const gsv_prior *p, double v)
{
    switch (LAWS[p->law].domain) {
    case ALL: return true;
    case POSITIVE: return v > 0.0;
    case BETWEEN: return v > p->a && v < p->b;
    case SHARE: return v > 0.0 && v < 1.0;
    }
    return false;
}

double prior_log_density(const gsv_prior *p, double v)
{
    double a = p->a, b = p->b, z = (v - a) / b;
    if (!is_inside(p, v)) return -INFINITY;
    switch (p->law) {
    case GSV_LAW_NORMAL: return log_normal_density(v, a, b);
    case GSV_LAW_LOGNORMAL: return log_normal_density(log(v), a, b) - log(v);
    case GSV_LAW_HALFNORMAL: return log_normal_density(v, 0.0, a) + log(2.0);
    case GSV_LAW_UNIFORM: return -log(b - a);
    case GSV_LAW_GAMMA:
        return a * log(b) - lgamma(a) + (a - 1.0) * log(v) - b * v;
    case GSV_LAW_EXPONENTIAL: return log(a) - a * v;
    case GSV_LAW_BETA:
        return lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1.0) * log(v) +
               (b - 1.0) * log1p(-v);
    case GSV_LAW_CAUCHY: return -LOG_PI - log(b) - log1p(z * z);
    }
    return -INFINITY;
}

double prior_inside(const gsv_prior *p, double u)
{
    switch (LAWS[p->law].domain) {
    case ALL: return p->a + p->b * (2.0 * u - 1.0);
    case POSITIVE: return u;
    case BETWEEN: return p->a + (p->b - p->a) * u;
    case SHARE: return u;
    }
    return u;
}

/* --- Of a model ----------------------------------------------------------- */

static int check_law(const gsv_prior *p)
{
    bool good = isfinite(p->a) && isfinite(p->b) &&
                (!LAWS[p->law].a_positive || p->a > 0.0) &&
                (!LAWS[p->law].b_positive || p->b > 0.0);
    if (!good)
        return fail(GSV_BAD_INPUT,
                    "the prior of '%s' has the numbers %g and %g: deviations, "
                    "widths, rates and shapes must be positive",
                    p->name, p->a, p->b);
    if (p->law == GSV_LAW_UNIFORM && !(p->a < p->b))
        return fail(GSV_BAD_INPUT,
                    "the uniform prior of '%s' goes from %g to %g: the first "
                    "must be the smaller one",
                    p->name, p->a, p->b);
    return 0;
}

static int set_prior(struct prior *p, const gsv_prior *from, bool *chosen)
{
    const struct learner *l = p->l;
    memset(chosen, 0, l->n * sizeof *chosen);
    int status = check_law(from);
    if (!status) status = theta_select(l->m, from->name, chosen);
    for (size_t i = 0; !status && i < l->n; i++) {
        if (!chosen[i]) continue;
        if (l->fixed[i])
            return fail(GSV_BAD_INPUT,
                        "'%s' has a prior, but is fixed: leave one of them out",
                        from->name);
        p->of[i] = from;
    }
    return status;
}

int prior_init(struct prior *p, const struct learner *l)
{
    *p = (struct prior){
        .l = l, .of = NEW(const gsv_prior *, l->n), .slope = NEW(double, l->n)};
    bool *chosen = NEW(bool, l->n);
    int status = p->of && p->slope && chosen ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < l->o->priors; i++)
        status = set_prior(p, &l->o->prior[i], chosen);
    mem_free(chosen);
    return status;
}

void prior_free(struct prior *p)
{
    MEM_FREE(p->of, p->slope);
    *p = (struct prior){0};
}

struct log_prior prior_at(struct prior *p)
{
    const struct learner *l = p->l;
    struct log_prior sum = {0};
    theta_slopes(l->m, p->slope);
    for (size_t i = 0; i < l->n; i++) {
        if (l->fixed[i]) continue;
        double v = l->m->value[l->value[i]];
        if (p->of[i]) sum.values += prior_log_density(p->of[i], v);
        sum.theta += log(fabs(p->slope[i]));
    }
    sum.theta += sum.values;
    return sum;
}
