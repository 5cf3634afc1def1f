/* SPDX-License-Identifier: MIT */
/* Forces in time that are faster than the rows: a search with steps that do not
 * see them takes what they look like at its nodes, as a constant, for the
 * truth. */
#include <string.h>

#include "base/memory.h"
#include "estimator/resolve.h"
#include "learn/learner.h"

enum { MOST_DOUBLINGS = 8 };

/* A force whose size starts at 0 would not be seen. */
static const double ANY_SIZE = 0.5;

static void switch_on(struct learner *l)
{
    const struct spec *s = l->m->spec;
    for (size_t i = 0; i < l->n; i++) {
        double *value = &l->m->value[l->value[i]];
        bool weight = s->param[spec_param_at(s, l->value[i])].fan_in > 0;
        if (!l->fixed[i] && !weight && *value == 0.0) *value = ANY_SIZE;
    }
}

int learner_see(struct learner *l)
{
    size_t bytes = l->m->spec->parameters * sizeof *l->m->value;
    double *kept = NEW(double, l->m->spec->parameters);
    if (!kept) return GSV_NO_MEMORY;
    memcpy(kept, l->m->value, bytes);
    switch_on(l);
    int status = resolve_steps(l->m, l->s, 1, MOST_DOUBLINGS, &l->seen);
    memcpy(l->m->value, kept, bytes);
    mem_free(kept);
    return status;
}
