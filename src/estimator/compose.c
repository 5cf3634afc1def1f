/* SPDX-License-Identifier: MIT */
/* Groups of one state without paths: where paths or steps of a gap do not tell
 * enough, its density is composed of short steps (bridge/composed.c). */
#include <math.h>

#include "base/memory.h"
#include "bridge/gap_method.h"
#include "estimator/estimator.h"
#include "estimator/ladder.h"
#include "model/model.h"

/* What halves of the steps may change in a gap: this is always little enough,
 * and this at the last level. The error is about a fifteenth of it. */
static const double SETTLED = 2e-4, BEARABLE = 0.05;

/* The error of the sum from where on groups are composed. */
static const double USUAL = 0.1;
enum { LATTICE_LEVELS = 3 };

static double aim_of(const struct ladder *l)
{
    return l->tolerance > 0.0 ? l->tolerance : USUAL;
}

/* Groups whose paths or steps do not tell enough. */
static bool is_hard(const struct ladder *l, struct effort e, size_t i)
{
    const gsv_gap *g = &l->r->gap[i];
    double much = 0.25 * aim_of(l) / sqrt((double)l->n);
    if (e.level) return l->wanted[i] == e.level;
    return (g->flags & WEIGHTS) || g->error > much || l->change[i] > 2.0 * much;
}

/* The places from first on, as composed; false where one has no value. */
static int place_composed(struct ladder *l, struct effort e, size_t n,
                          const size_t *group, size_t first, bool *found)
{
    gsv_result fine = {.values = l->r->values}, half = fine;
    double most = fmax(SETTLED, 0.25 * aim_of(l) / (double)l->n);
    if (e.level == LATTICE_LEVELS) most = BEARABLE;
    int status = ladder_run(l, e, n, group, &fine);
    e.share = 0.5;
    if (!status) status = ladder_run(l, e, n, group, &half);
    *found = !status;
    for (size_t i = 0; *found && i < fine.groups; i++) {
        size_t at = l->pick[first + i];
        double change = fine.gap[i].loglik - half.gap[i].loglik;
        l->wanted[at] = (unsigned char)(e.level + 1);
        if (fabs(change) > most) continue;
        l->wanted[at] = 0;
        l->r->gap[at] = fine.gap[i];
        l->r->gap[at].ess = FIRST_PATHS;
        l->r->gap[at].discretisation = change;
        l->change[at] = fabs(change) / 8.0;
        l->before[at] = 4.0 * change; /* at least: see limit.c */
        l->level[at] = (unsigned char)e.level;
        l->rounds[at] = COMPOSED;
    }
    if (!status && fine.steps > l->r->steps) l->r->steps = fine.steps;
    l->r->drift_evaluations += fine.drift_evaluations;
    l->checks += (double)half.drift_evaluations;
    gsv_result_free(&fine);
    gsv_result_free(&half);
    return status == GSV_NUMERICAL ? 0 : status;
}

/* Where the lattice is too narrow for one of them, the others have their turn
 * in two halves. */
static int compose_some(struct ladder *l, struct effort e, size_t n,
                        const size_t *group, size_t first)
{
    bool found = false;
    int status = place_composed(l, e, n, group + first, first, &found);
    if (!found && !status && n == 1 && l->n)
        l->wanted[l->pick[first]] = (unsigned char)(e.level + 1);
    if (status || found || n < 2) return status;
    status = compose_some(l, e, n / 2, group, first);
    return status ? status
                  : compose_some(l, e, n - n / 2, group, first + n / 2);
}

static int compose_level(struct ladder *l, struct effort e, size_t n,
                         const size_t *group, void *user)
{
    (void)user;
    return compose_some(l, e, n, group, 0);
}

/* One state and a drift without time: no random numbers are needed. */
static bool can_compose(const struct task *t)
{
    const gsv_options *o = t->options;
    return o->form == GSV_FORM_AUTO && o->reference == GSV_REFERENCE_AUTO &&
           !o->joint && estimator_choose(t).method == &METHOD_BRIDGES &&
           !composed_reason(t->model);
}

int ladder_compose(struct ladder *l)
{
    int status = 0;
    if (!can_compose(l->task)) return 0;
    l->wanted = NEW(unsigned char, l->n);
    status = ladder_meet(l, l->n && !l->wanted ? GSV_NO_MEMORY : 0);
    for (unsigned k = 0; !status && k <= LATTICE_LEVELS; k++)
        status = ladder_where(l, (struct effort){k, 1.0, COMPOSED}, is_hard,
                              compose_level, NULL);
    return status;
}
