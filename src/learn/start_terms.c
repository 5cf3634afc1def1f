/* SPDX-License-Identifier: MIT */
/* Where the coefficients of terms begin if states are hidden. The model without
 * its terms, with other numbers learned, gives a first draw of the states; a
 * regression on these gives coefficients, with which the states are drawn
 * again. The other numbers are not kept: without drift all is noise. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "learn/learner.h"
#include "learn/sensitivity.h"
#include "learn/start.h"
#include "learn/twin.h"
#include "model/reduce.h"

enum { PASSES = 3 };

/* Coefficients that are not 0 were given by the user. */
static bool is_open(const gsv_model *m, size_t param)
{
    const struct param_spec *p = &m->spec->param[param];
    return p->term && m->value[p->offset] == 0.0;
}

/* The model without terms that are still 0, with its numbers learned; NULL
 * also where it has no likelihood. */
static gsv_model *learn_rest(struct learner *l)
{
    gsv_fit_options o = gsv_fit_options_default();
    bool *kept = NEW(bool, l->m->spec->params);
    const char **fix = NEW(const char *, l->o->fixed);
    gsv_model *m = NULL;
    for (size_t p = 0; kept && p < l->m->spec->params; p++)
        kept[p] = !is_open(l->m, p);
    if (kept && fix) m = model_reduce(l->m, kept);
    o.estimator = learner_usual(l);
    o.errors = GSV_ERRORS_NONE;
    o.estimate = GSV_ESTIMATE_NONE;
    o.stop = l->o->stop;
    o.user = l->o->user;
    if (l->o->time_limit > 0.0) o.time_limit = 0.25 * l->o->time_limit;
    if (m && (fit_options_fix(&o, m, l->o, fix) || gsv_fit(m, l->s, &o))) {
        gsv_model_free(m);
        m = NULL;
    }
    MEM_FREE(kept, fix);
    return m;
}

/* One draw of the states, and the regression. */
static int draw_and_regress(struct learner *l, const gsv_model *from,
                            const bool *kept)
{
    struct twin t;
    gsv_options o = learner_usual(l);
    int status = twin_draw(&t, l->m, from, l->s, &o);
    if (!status && t.m) status = start_terms(t.m, t.s, kept);
    for (size_t p = 0; !status && t.m && p < l->m->spec->params; p++)
        if (l->m->spec->param[p].term) {
            size_t at = l->m->spec->param[p].offset;
            l->m->value[at] = t.m->value[at];
        }
    twin_free(&t);
    return status;
}

int start_hidden_terms(struct learner *l, const bool *kept)
{
    const struct spec *s = l->m->spec;
    bool open = false;
    for (size_t p = 0; p < s->params; p++)
        open = open || is_open(l->m, p);
    if (!open || !spec_is_latent(s) || spec_has_weights(s) || s->mapped)
        return 0;
    gsv_model *rest = learn_rest(l);
    int status = rest ? draw_and_regress(l, rest, kept) : 0;
    if (!rest && gsv_last_status() == GSV_NO_MEMORY) status = GSV_NO_MEMORY;
    for (int i = 1; rest && !status && i < PASSES; i++) {
        status = learner_go_on(l);
        if (!status) status = draw_and_regress(l, l->m, kept);
    }
    gsv_model_free(rest);
    return status;
}
