/* SPDX-License-Identifier: MIT */
#include "bridge/gap_method.h"

#include <math.h>

#include "base/error.h"
#include "bridge/bound.h"
#include "bridge/bridges.h"
#include "bridge/modified.h"

static int accept(const struct method *row, const struct task *t)
{
    if (!spec_is_latent(t->model->spec)) return 0;
    return fail(GSV_BAD_INPUT,
                "the estimator %s is for states that are observed themselves; "
                "this model observes them with noise",
                row->name);
}

static int init(const struct method *row, void *machine, const struct task *t)
{
    (void)row;
    struct estimate *e = machine;
    size_t most = t->most ? t->most : t->options->sample;
    if (!t->by_group) most = estimate_window(t->options, most);
    int status = estimate_init(e, t->model, t->series, t->options, most);
    e->halved = t->halved;
    e->known = t->by_group;
    return status;
}

static void release(void *machine)
{
    struct estimate *e = machine;
    if (e->model) estimate_free(e);
}

/* --- A run ---------------------------------------------------------------- */

struct summing {
    struct moments all;
    size_t gaps;
    double *gradient;
};

static int add_window(void *user, struct estimate *e, size_t first)
{
    struct summing *s = user;
    if (first) moments_merge(&s->all, &e->all);
    else s->all = e->all;
    s->gaps += e->gaps.count;
    return s->gradient ? window_gradient(e, first, s->gradient) : 0;
}

/* Groups are gaps, or with joint tracks; their spread gives the error. */
static struct score score_of(const struct moments *m, size_t count)
{
    double n = (double)m->groups, gaps = (double)count;
    double squares = m->squares * n / (n - 1.0);
    return (struct score){.mean = m->sum / gaps,
                          .error = n > 1.0 ? sqrt(squares) / gaps : NAN,
                          .gaps = count};
}

static int run(void *machine, const struct request *q, struct score *score)
{
    struct estimate *e = machine;
    struct summing s = {.gradient = q->gradient};
    estimate_prepare(e, q->guide);
    int status =
        estimate_windows(e, q->iteration, q->n, q->group, add_window, &s);
    if (!status) *score = score_of(&s.all, s.gaps);
    return status;
}

/* So many groups, evenly spread; NULL, with nothing to free, for all. */
static int choose_sample(const struct estimate *e, size_t *n, size_t **group)
{
    const gsv_options *o = e->options;
    *group = NULL;
    *n = 0;
    if (!o->sample || o->joint || o->sample >= e->every_group) return 0;
    *group = NEW(size_t, o->sample);
    if (!*group) return GSV_NO_MEMORY;
    *n = o->sample;
    double each = (double)e->every_group / (double)*n;
    for (size_t i = 0; i < *n; i++)
        (*group)[i] = (size_t)((double)i * each);
    return 0;
}

static int fill(void *machine, const struct request *q, bool list,
                gsv_result *r)
{
    struct estimate *e = machine;
    size_t n = q->n, *sample = NULL;
    int status = q->group ? 0 : choose_sample(e, &n, &sample);
    if (status) return status;
    estimate_prepare(e, q->guide);
    status =
        estimate_sum(e, q->iteration, n, sample ? sample : q->group, list, r);
    mem_free(sample);
    return status;
}

static struct score last_score(const void *machine)
{
    const struct estimate *e = machine;
    return score_of(&e->all, e->gaps.count);
}

/* --- After it ------------------------------------------------------------- */

static size_t groups(const void *machine)
{
    return ((const struct estimate *)machine)->groups;
}

static gsv_gap group(const void *machine, size_t g)
{
    return estimate_group(machine, g);
}

static double doubt(const void *machine)
{
    return estimate_doubt(machine);
}

/* Gaps, whose groups are the units. */
static struct slots slots(const void *machine, size_t *unit)
{
    const struct estimate *e = machine;
    for (size_t g = 0; unit && g < e->groups; g++)
        for (size_t i = e->group_first[g]; i < e->group_first[g + 1]; i++)
            unit[i] = g;
    return (struct slots){e->gaps.count, e->groups, e->longest > 1};
}

static int units(void *machine, const uint32_t *turn, double *unit)
{
    struct estimate *e = machine;
    for (size_t i = 0; i < e->gaps.count; i++)
        e->gaps.gap[i].turn = turn[i];
    estimate_prepare(e, NULL);
    int status = estimate_run(e, 0);
    if (status) return status;
    for (size_t g = 0; g < e->groups; g++) {
        double loglik = estimate_group(e, g).loglik;
        bool broken = e->tally[g * e->chunks].broken || !isfinite(loglik);
        unit[g] = broken ? -INFINITY : loglik;
    }
    return 0;
}

/* --- Rows ----------------------------------------------------------------- */

#define GAP_METHOD(NAME)                                                       \
    .name = (NAME), .shares = true, .chooses = true, .holds = true,            \
    .size = sizeof(struct estimate), .accept = accept, .init = init,           \
    .free = release, .run = run, .fill = fill, .score = last_score,            \
    .groups = groups, .group = group, .doubt = doubt, .slots = slots,          \
    .units = units

const struct method METHOD_BRIDGES = {GAP_METHOD("bridges"), .inner = &BRIDGES};
const struct method METHOD_MODIFIED = {GAP_METHOD("modified"),
                                       .inner = &MODIFIED};
const struct method METHOD_BOUND = {GAP_METHOD("bound"), .inner = &BOUND};
