/* SPDX-License-Identifier: MIT */
/* Estimators of exactly observed series: gap by gap, or with joint track by
 * track. They differ in how a gap is weighed. */
#include "bridge/gap_method.h"

#include <math.h>

#include "base/comm.h"
#include "base/error.h"
#include "bridge/context.h"
#include "bridge/driver.h"
#include "bridge/weighers.h"

static int accept(const struct method *row, const struct task *t)
{
    if (!spec_is_latent(t->model->spec)) return refuse_chainless(t->model);
    return fail(GSV_BAD_INPUT,
                "the estimator %s is for states that are observed themselves; "
                "this model observes them with noise",
                row->name);
}

static int init(const struct method *row, void *machine, const struct task *t)
{
    struct task own = *t;
    if (!own.most) own.most = t->options->sample;
    if (!t->by_group) own.most = window_groups(t->options, own.most);
    return estimate_init(machine, row->inner, &own);
}

static void release(void *machine)
{
    estimate_free(machine);
}

/* --- A run ---------------------------------------------------------------- */

struct summing {
    struct moments all;
    size_t gaps;
    double *gradient;
};

static int add_window(void *user, struct run *r, size_t first)
{
    struct summing *s = user;
    if (first) moments_merge(&s->all, &r->all);
    else s->all = r->all;
    s->gaps += r->gaps.count;
    return s->gradient ? window_gradient(r, first, s->gradient) : 0;
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
    struct run *r = &((struct estimate *)machine)->run;
    struct summing s = {.gradient = q->gradient};
    run_set_values(r, q->reference_values);
    int status = run_windows(r, q->iteration, q->n, q->group, add_window, &s);
    if (!status) *score = score_of(&s.all, s.gaps);
    return status;
}

static struct score last_score(const void *machine)
{
    const struct run *r = &((const struct estimate *)machine)->run;
    return score_of(&r->all, r->gaps.count);
}

/* --- A result ------------------------------------------------------------- */

/* A group that follows those before it. */
static void add_group(gsv_result *r, const gsv_gap *gap, double *variance)
{
    if (gap->flags) r->flagged++;
    r->loglik += gap->loglik;
    r->log_bias += gap->log_bias;
    *variance += gap->error * gap->error;
    if (gap->ess < r->ess_min) r->ess_min = gap->ess;
    if (gap->khat > r->khat_max || isnan(r->khat_max)) r->khat_max = gap->khat;
    if (!isnan(gap->discretisation)) r->discretisation += gap->discretisation;
}

/* The sums of the first rank to all. */
static void share_sums(gsv_ranks *ranks, gsv_result *r)
{
    double flagged = (double)r->flagged;
    double *const sum[] = {&r->loglik,        &r->log_bias, &r->error,
                           &r->ess_min,       &r->khat_max, &flagged,
                           &r->discretisation};
    enum { SUMS = sizeof sum / sizeof *sum };
    double value[SUMS];
    if (gsv_ranks_count(ranks) < 2) return;
    for (size_t i = 0; i < SUMS; i++)
        value[i] = *sum[i];
    comm_broadcast(ranks, SUMS, value);
    for (size_t i = 0; i < SUMS; i++)
        *sum[i] = value[i];
    r->flagged = (size_t)flagged;
}

static void count_work(const struct run *run, gsv_result *r)
{
    const struct plan *p = run->plan;
    size_t gaps = run->gaps.count;
    for (size_t i = 0; i < gaps; i++)
        r->drift_evaluations +=
            (uint64_t)p->weigher->columns(p, run_gap_steps(run, i)) * p->K;
    if (p->potential) r->drift_evaluations += POTENTIAL_NODES * gaps;
    r->gaps += gaps;
}

/* gap has room for a window, or on the first rank for all groups where the
 * result keeps its list. */
struct filling {
    gsv_result *r;
    gsv_gap *gap;
    bool kept;
    double variance;
};

static int fill_window(void *user, struct run *run, size_t first)
{
    struct filling *f = user;
    size_t own, end;
    gsv_gap *to = f->gap + (f->kept ? first : 0);
    groups_own(run, &own, &end);
    for (size_t g = own; g < end; g++) {
        to[g] = group_result(run, g);
        to[g].flags = group_flags(run, &to[g]);
    }
    int status = collect_groups(run, to);
    if (status) return status;
    if (!gsv_ranks_rank(run->plan->options->ranks))
        for (size_t g = 0; g < run->groups; g++)
            add_group(f->r, &to[g], &f->variance);
    count_work(run, f->r);
    return f->r->gradient ? window_gradient(run, first, f->r->gradient) : 0;
}

static void note_sizes(const struct run *run, gsv_result *r)
{
    const struct plan *p = run->plan;
    size_t point = program_bytes(p->unit, p->options->gradient);
    if (p->step) point += program_bytes(p->step, p->options->gradient) / 2;
    r->steps = p->longest;
    r->paths = p->K;
    r->memory =
        run->threads * (p->capacity * point + scratch_bytes(run->scratch));
}

/* The sums over n groups (group NULL: all), and on the first rank their list.
 */
static int fill_sums(struct run *run, const struct request *q, size_t n,
                     const size_t *group, bool list, gsv_result *r)
{
    const struct plan *p = run->plan;
    if (!group) n = p->all_groups;
    size_t window = p->most < n ? p->most : n;
    struct filling f = {.r = r,
                        .kept = list && !gsv_ranks_rank(p->options->ranks)};
    f.gap = NEW(gsv_gap, f.kept ? n : window);
    r->ess_min = INFINITY;
    r->khat_max = NAN;
    int status = f.gap
                     ? run_windows(run, q->iteration, n, group, fill_window, &f)
                     : GSV_NO_MEMORY;
    r->error = sqrt(f.variance);
    if (p->longest == 1) r->discretisation = NAN;
    if (!status) share_sums(p->options->ranks, r);
    if (!status) note_sizes(run, r);
    bool found = !status && f.kept;
    if (!found) mem_free(f.gap);
    r->gap = found ? f.gap : NULL;
    r->groups = found ? n : 0;
    return status;
}

/* The option sample: so many groups, evenly spread. NULL for all groups, with
 * nothing to free. */
static int choose_sample(const struct plan *p, size_t *n, size_t **group)
{
    const gsv_options *o = p->options;
    *group = NULL;
    *n = 0;
    if (!o->sample || o->joint || o->sample >= p->all_groups) return 0;
    *group = NEW(size_t, o->sample);
    if (!*group) return GSV_NO_MEMORY;
    *n = o->sample;
    double each = (double)p->all_groups / (double)*n;
    for (size_t i = 0; i < *n; i++)
        (*group)[i] = (size_t)((double)i * each);
    return 0;
}

static int fill(void *machine, const struct request *q, bool list,
                gsv_result *r)
{
    struct estimate *e = machine;
    size_t n = q->n, *sample = NULL;
    int status = q->group ? 0 : choose_sample(&e->plan, &n, &sample);
    if (status) return status;
    run_set_values(&e->run, q->reference_values);
    status = fill_sums(&e->run, q, n, sample ? sample : q->group, list, r);
    mem_free(sample);
    return status;
}

void gsv_result_free(gsv_result *result)
{
    if (!result) return;
    mem_free(result->gradient);
    mem_free(result->gap);
    result->gradient = NULL;
    result->gap = NULL;
}

/* --- After a run ---------------------------------------------------------- */

static size_t groups(const void *machine)
{
    return ((const struct estimate *)machine)->run.groups;
}

static gsv_gap group(const void *machine, size_t g)
{
    return group_result(&((const struct estimate *)machine)->run, g);
}

static double doubt(const void *machine)
{
    return groups_doubt(&((const struct estimate *)machine)->run);
}

/* Slots are gaps, units are groups. */
static struct slots slots(const void *machine, size_t *unit)
{
    const struct run *r = &((const struct estimate *)machine)->run;
    for (size_t g = 0; unit && g < r->groups; g++)
        for (size_t i = r->group_first[g]; i < r->group_first[g + 1]; i++)
            unit[i] = g;
    return (struct slots){r->gaps.count, r->groups, r->plan->longest > 1};
}

static int units(void *machine, const uint32_t *turn, double *unit)
{
    struct run *r = &((struct estimate *)machine)->run;
    for (size_t i = 0; i < r->gaps.count; i++)
        r->gaps.gap[i].turn = turn[i];
    run_set_values(r, NULL);
    int status = run_groups(r, 0);
    if (status) return status;
    for (size_t g = 0; g < r->groups; g++) {
        double loglik = group_result(r, g).loglik;
        bool broken = r->tally[g * r->plan->chunks].broken || !isfinite(loglik);
        unit[g] = broken ? -INFINITY : loglik;
    }
    return 0;
}

/* --- Rows ----------------------------------------------------------------- */

#define GAP_METHOD(NAME)                                                       \
    .name = (NAME), .shares = true, .selects = true, .holds = true,            \
    .size = sizeof(struct estimate), .accept = accept, .init = init,           \
    .free = release, .run = run, .fill = fill, .score = last_score,            \
    .groups = groups, .group = group, .doubt = doubt, .slots = slots,          \
    .units = units

const struct method METHOD_BRIDGES = {GAP_METHOD("bridges"), .inner = &BRIDGES};
const struct method METHOD_MODIFIED = {GAP_METHOD("modified"),
                                       .inner = &MODIFIED};
const struct method METHOD_BOUND = {GAP_METHOD("bound"), .inner = &BOUND};
const struct method METHOD_EXACT = {GAP_METHOD("exact"), .inner = &EXACT};
const struct method METHOD_COMPOSED = {GAP_METHOD("composed"),
                                       .inner = &COMPOSED};
