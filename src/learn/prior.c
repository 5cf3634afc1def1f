/* SPDX-License-Identifier: MIT */
#include "learn/prior.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/theta.h"

static int check_law(const gsv_prior *p)
{
    const char *fault = prior_fault(p);
    char room[PRIOR_ROOM];
    return fault ? fail(GSV_BAD_INPUT, "the prior %s of '%s' is no law: %s",
                        prior_text(p, room), p->name, fault)
                 : 0;
}

/* given: by the options. What the text says of a fixed number is not used. */
static int set_prior(struct prior *p, const gsv_prior *from, bool given,
                     bool *chosen)
{
    memset(chosen, 0, p->n * sizeof *chosen);
    int status = check_law(from);
    if (!status) status = theta_select(p->m, from->name, chosen);
    for (size_t i = 0; !status && i < p->n; i++) {
        if (!chosen[i]) continue;
        size_t at = spec_param_at(p->m->spec, p->value[i]);
        if (p->fixed[i] && given)
            return fail(GSV_BAD_INPUT,
                        "'%s' has a prior, but is fixed: leave one of them out",
                        from->name);
        if (p->m->spec->param[at].gp)
            return fail(GSV_BAD_INPUT,
                        "'%s' belongs to a gp, whose prior is its kernel; "
                        "priors are for parameters and networks",
                        from->name);
        if (p->fixed[i]) continue;
        p->count += !p->of[i];
        p->of[i] = from;
    }
    return status;
}

/* The prior of an element replaces that of all of them. */
static bool is_of_element(const gsv_prior *p)
{
    return strchr(p->name, '[') != NULL;
}

int prior_init(struct prior *p, const gsv_model *m, const gsv_fit_options *o,
               const bool *fixed, const size_t *value)
{
    size_t n = gsv_theta_size(m);
    *p = (struct prior){.m = m,
                        .n = n,
                        .fixed = fixed,
                        .value = value,
                        .of = NEW(const gsv_prior *, n),
                        .slope = NEW(double, n)};
    bool *chosen = NEW(bool, n);
    int status = p->of && p->slope && chosen ? 0 : GSV_NO_MEMORY;
    for (int element = 0; element < 2; element++)
        for (size_t i = 0; !status && i < m->spec->priors; i++)
            if (is_of_element(&m->spec->prior[i].law) == element)
                status = set_prior(p, &m->spec->prior[i].law, false, chosen);
    for (int element = 0; element < 2; element++)
        for (size_t i = 0; !status && i < o->priors; i++)
            if (is_of_element(&o->prior[i]) == element)
                status = set_prior(p, &o->prior[i], true, chosen);
    mem_free(chosen);
    return status;
}

void prior_free(struct prior *p)
{
    MEM_FREE(p->of, p->slope);
    *p = (struct prior){0};
}

int prior_add(struct prior *p, double share, double *value, double *theta_bar)
{
    double sum = 0.0;
    if (!p->count) return 0;
    if (theta_bar) theta_slopes(p->m, p->slope);
    for (size_t i = 0; i < p->n; i++) {
        if (!p->of[i]) continue;
        double v = p->m->value[p->value[i]];
        sum += prior_log_kernel(p->of[i], v);
        if (theta_bar)
            theta_bar[i] += share * prior_slope(p->of[i], v) * p->slope[i];
    }
    *value += share * sum;
    return isfinite(sum)
               ? 0
               : fail(GSV_NUMERICAL,
                      "a value is outside of its prior, where the density of "
                      "the posterior is 0");
}

struct log_prior prior_at(struct prior *p)
{
    struct log_prior sum = {0};
    theta_slopes(p->m, p->slope);
    for (size_t i = 0; i < p->n; i++) {
        if (p->fixed[i]) continue;
        double v = p->m->value[p->value[i]];
        if (p->of[i]) sum.values += prior_log_density(p->of[i], v);
        sum.theta += log(fabs(p->slope[i]));
    }
    sum.theta += sum.values;
    return sum;
}

static bool is_within(const struct param_spec *p, double v)
{
    bool low = p->bound == BOUND_ABOVE || p->bound == BOUND_BETWEEN;
    bool high = p->bound == BOUND_BELOW || p->bound == BOUND_BETWEEN;
    return (!low || v > p->low) && (!high || v < p->high);
}

int prior_obey(const struct prior *p, gsv_model *m, const double *kept)
{
    char room[PRIOR_ROOM];
    const struct spec *s = m->spec;
    for (size_t i = 0; p->count && i < p->n; i++) {
        const gsv_prior *law = p->of[i];
        double *v = &m->value[p->value[i]];
        if (!law || prior_reaches(law, *v)) continue;
        *v = kept[p->value[i]];
        if (prior_reaches(law, *v)) continue;
        *v = prior_inside(law, 0.5);
        if (!is_within(&s->param[spec_param_at(s, p->value[i])], *v))
            return fail(GSV_BAD_INPUT,
                        "the start value %g of '%s' is outside of its prior "
                        "%s, whose middle is outside of its bounds; give it "
                        "another start or another prior",
                        kept[p->value[i]], law->name, prior_text(law, room));
    }
    return 0;
}
