/* SPDX-License-Identifier: MIT */
/* The profile of a parameter: the others are fitted again with it held. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "model/fit_record.h"
#include "model/theta.h"

/* One point: from where the one before ended. */
static int profile_at(gsv_model *m, const gsv_series *s,
                      const gsv_fit_options *o, const char *name, double value,
                      double *loglik)
{
    int status = gsv_model_set(m, name, 1, &value);
    if (!status) status = gsv_fit(m, s, o);
    if (status) return status;
    *loglik = m->record->loglik;
    if (m->record->priors) *loglik += m->record->log_prior;
    if (m->record->ended != GSV_ENDED_STOPPED && !isnan(*loglik)) return 0;
    return fail(GSV_STOPPED, "it was stopped at %s = %g", name, value);
}

static int check_one(const gsv_model *m, const char *name)
{
    size_t n = gsv_theta_size(m), count = 0;
    bool *chosen = NEW(bool, n);
    if (!chosen) return GSV_NO_MEMORY;
    int status = theta_select(m, name, chosen);
    for (size_t i = 0; i < n; i++)
        count += chosen[i];
    mem_free(chosen);
    if (status || count == 1) return status;
    return fail(GSV_BAD_INPUT,
                "'%s' has %zu numbers; name one of them, such as '%s[1]'", name,
                count, name);
}

/* Names in fix, and one more. */
static const char **names_with(const gsv_fit_options *o, const char *name)
{
    const char **all = NEW(const char *, o->fixed + 1);
    for (size_t i = 0; all && i < o->fixed; i++)
        all[i] = o->fix[i];
    if (all) all[o->fixed] = name;
    return all;
}

enum gsv_status gsv_profile(gsv_model *m, const gsv_series *s,
                            const gsv_fit_options *o, const char *name,
                            size_t n, const double *value, double *loglik)
{
    if (ANY_NULL(m, s, o, name) || (n && ANY_NULL(value, loglik)))
        return GSV_BAD_INPUT;
    if (option_check(GSV_OF_FIT, o)) return GSV_BAD_INPUT;
    size_t values = m->spec->parameters;
    gsv_fit_options held = *o;
    gsv_record *record = m->record;
    struct tensors state = m->state;
    int status = check_one(m, name);
    if (status) return status;
    double *kept = NEW(double, values);
    const char **fix = names_with(o, name);
    status = kept && fix ? 0 : GSV_NO_MEMORY;
    if (!status) memcpy(kept, m->value, values * sizeof *kept);
    held.fix = fix;
    held.fixed = o->fixed + 1;
    held.errors = GSV_ERRORS_NONE;
    held.estimate = GSV_ESTIMATE_ALL;
    held.method = GSV_METHOD_LIKELIHOOD;
    held.objective = GSV_OBJECTIVE_LIKELIHOOD;
    held.checkpoint = held.resume = NULL;
    /* With a record a fit goes on from the values as they are. */
    m->state = (struct tensors){0};
    m->record = fit_record_new(m);
    if (!m->record) status = GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++)
        status = profile_at(m, s, &held, name, value[i], &loglik[i]);
    fit_record_free(m->record);
    tensors_free(&m->state);
    m->record = record;
    m->state = state;
    if (kept) memcpy(m->value, kept, values * sizeof *kept);
    MEM_FREE(kept, fix);
    return status;
}
