/* SPDX-License-Identifier: MIT */
/* The result from what the items left: sums, errors, flags, the gradient by
 * value. */
#include "bridge/result.h"

#include <float.h>
#include <math.h>

#include "base/comm.h"
#include "base/error.h"
#include "base/fast.h"
#include "base/khat.h"

/* Whether any gap of a group has two steps, so that l(2 dt) differs. */
static bool has_pairs(const struct estimate *e, size_t group)
{
    for (size_t i = e->group_first[group]; i < e->group_first[group + 1]; i++)
        if (gap_steps(e, i) > 1) return true;
    return false;
}

/* What is left at dt of the change from 2 dt: about all of it, but for the
 * midpoint where the drift dominates a fifth (docs/ESTIMATOR.md). */
static double left_of(const gsv_gap *gap, double energy)
{
    double left = fabs(gap->discretisation);
    return gap->form == GSV_FORM_MIDPOINT && energy > 20.0 ? left / 5.0 : left;
}

static unsigned flags_of(const gsv_gap *gap, size_t K, double energy)
{
    double k = (double)K, least = fmin(fmax(10.0, 0.1 * k), 0.5 * k);
    unsigned flags = 0;
    if (K > 1 && gap->ess < least) flags |= GSV_FLAG_ESS;
    /* A heavy tail does no harm to weights that hardly differ. */
    if (gap->khat > khat_threshold(K) && gap->ess < 0.8 * k)
        flags |= GSV_FLAG_KHAT;
    if (left_of(gap, energy) > fmax(0.1, 3.0 * gap->error))
        flags |= GSV_FLAG_STEPS;
    return flags;
}

/* With one path there is none, but where no gap has an inner point. */
static double error_of(const struct estimate *e, size_t group,
                       const struct tally *t)
{
    if (e->K == 1) return e->longest > 1 ? NAN : 0.0;
    return is_extrapolated(e, group) ? e->finding[group].error
                                     : sqrt(tally_variance(t));
}

/* The log of the mean weight, with steps of dt or of 2 dt. */
static double log_weight(const struct estimate *e, const struct tally *t)
{
    double bias = e->options->delta ? 0.5 * tally_delta(t) : 0.0;
    return tally_log_mean(t) + bias;
}

static double group_loglik(const struct estimate *e, size_t g)
{
    double fine = log_weight(e, &e->tally[g * e->chunks]);
    if (is_extrapolated(e, g))
        fine = 2.0 * fine - log_weight(e, &e->tally2[g * e->chunks]);
    return e->base[g * e->chunks] + fine;
}

gsv_gap estimate_group(const struct estimate *e, size_t g)
{
    const gsv_options *o = e->options;
    const struct tally *t = &e->tally[g * e->chunks];
    const struct tally *t2 = &e->tally2[g * e->chunks];
    struct gap first = estimate_gap(e, e->group_first[g]);
    struct gap last = estimate_gap(e, e->group_first[g + 1] - 1);
    double change = log_weight(e, t) - log_weight(e, t2);
    return (gsv_gap){.track = first.track,
                     .from = first.from,
                     .to = last.to,
                     .loglik = group_loglik(e, g),
                     .error = error_of(e, g, t),
                     .ess = tally_ess(t),
                     .khat = e->finding[g].khat,
                     .log_bias = o->delta ? 0.0 : -0.5 * tally_delta(t),
                     .discretisation = has_pairs(e, g) ? change : NAN,
                     .reference = e->finding[g].reference,
                     .form = e->finding[g].form};
}

/* --- Sums --------------------------------------------------------------- */

struct moments estimate_moments(const struct estimate *e, size_t first,
                                size_t end)
{
    struct moments m = {.lost = NO_GROUP};
    double mean = 0.0;
    for (size_t g = first; g < end; g++) {
        double loglik = group_loglik(e, g), off = loglik - mean;
        bool whole = !e->tally[g * e->chunks].broken && isfinite(loglik);
        if (!whole && m.lost == NO_GROUP) m.lost = g;
        mean += off / (double)++m.groups;
        m.sum += loglik;
        m.squares += off * (loglik - mean);
    }
    return m;
}

void moments_merge(struct moments *a, const struct moments *b)
{
    double n = (double)a->groups, more = (double)b->groups;
    if (!b->groups) return;
    if (a->groups) {
        double apart = b->sum / more - a->sum / n;
        a->squares += apart * apart * n * more / (n + more);
    }
    a->squares += b->squares;
    a->sum += b->sum;
    a->groups += b->groups;
    if (b->lost < a->lost) a->lost = b->lost;
}

double estimate_doubt(const struct estimate *e)
{
    double sum = 0.0;
    for (size_t g = 0; g < e->groups; g++) {
        gsv_gap gap = estimate_group(e, g);
        double left = left_of(&gap, e->finding[g].energy);
        if (!isnan(left)) sum += left;
        if (e->K > 1) sum += fabs(gap.log_bias);
    }
    return sum / (double)e->gaps.count;
}

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

/* The first rank's sums to all. */
static void tell_sums(gsv_ranks *ranks, gsv_result *r)
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

static void count_work(const struct estimate *e, gsv_result *r)
{
    for (size_t i = 0; i < e->gaps.count; i++)
        r->drift_evaluations +=
            (uint64_t)e->weigher->columns(e, gap_steps(e, i)) * e->K;
    if (e->potential) r->drift_evaluations += POTENTIAL_NODES * e->gaps.count;
    r->gaps += e->gaps.count;
}

/* The list is of a window, or on the first rank of all where it is kept. */
struct filling {
    gsv_result *r;
    gsv_gap *gap;
    bool kept;
    double variance;
};

static int take_window(void *user, struct estimate *e, size_t first)
{
    struct filling *f = user;
    size_t own, end;
    gsv_gap *to = f->gap + (f->kept ? first : 0);
    groups_own(e, &own, &end);
    for (size_t g = own; g < end; g++) {
        to[g] = estimate_group(e, g);
        to[g].flags = flags_of(&to[g], e->K, e->finding[g].energy);
    }
    int status = estimate_collect(e, to);
    if (status) return status;
    if (!gsv_ranks_rank(e->options->ranks))
        for (size_t g = 0; g < e->groups; g++)
            add_group(f->r, &to[g], &f->variance);
    count_work(e, f->r);
    return f->r->gradient ? window_gradient(e, first, f->r->gradient) : 0;
}

static void note_sizes(const struct estimate *e, gsv_result *r)
{
    size_t point = program_bytes(e->unit, e->options->gradient);
    if (e->step) point += program_bytes(e->step, e->options->gradient) / 2;
    r->steps = e->longest;
    r->paths = e->K;
    r->memory =
        e->threads * (e->capacity * point + scratch_bytes(&e->scratch[0]));
}

int estimate_sum(struct estimate *e, uint32_t iteration, size_t n,
                 const size_t *group, bool list, gsv_result *r)
{
    gsv_ranks *ranks = e->options->ranks;
    if (!group) n = e->every_group;
    size_t window = e->most < n ? e->most : n;
    struct filling f = {.r = r, .kept = list && !gsv_ranks_rank(ranks)};
    f.gap = NEW(gsv_gap, f.kept ? n : window);
    r->ess_min = INFINITY;
    r->khat_max = NAN;
    int status = f.gap
                     ? estimate_windows(e, iteration, n, group, take_window, &f)
                     : GSV_NO_MEMORY;
    r->error = sqrt(f.variance);
    if (e->longest == 1) r->discretisation = NAN;
    if (!status) tell_sums(ranks, r);
    if (!status) note_sizes(e, r);
    bool found = !status && f.kept;
    if (!found) mem_free(f.gap);
    r->gap = found ? f.gap : NULL;
    r->groups = found ? n : 0;
    return status;
}

/* No path of a modified bridge stayed where its noise is a noise: with its own
 * steps, or with those twice as long that it is extrapolated by. */
static int fail_outside(const struct estimate *e, size_t group,
                        const gsv_gap *gap)
{
    const gsv_series *s = e->gaps.series;
    bool own = tally_log_sum(&e->tally[group * e->chunks]) == -INFINITY;
    return fail(GSV_NUMERICAL,
                "all %zu paths of series '%s' from time %g to %g%s leave the "
                "model's domain: drift or noise are not finite there, or the "
                "noise is singular; check the data and the parameters, or take "
                "more paths or steps",
                e->K, s->label[gap->track], s->time[gap->from],
                s->time[gap->to], own ? "" : ", with steps twice as long,");
}

static int fail_lost(const struct estimate *e, size_t g)
{
    const gsv_series *s = e->gaps.series;
    size_t broken = e->tally[g * e->chunks].broken;
    gsv_gap gap = estimate_group(e, g);
    const char *label = s->label[gap.track];
    double from = s->time[gap.from], to = s->time[gap.to];
    if (!broken && !e->weigher->gaussian && isfinite(e->base[g * e->chunks]))
        return fail_outside(e, g, &gap);
    if (broken)
        return fail(GSV_NUMERICAL,
                    "%zu of %zu paths of series '%s' from time %g to %g "
                    "have weights that are not finite: the drift or the "
                    "noise is not finite there; check the model's "
                    "formula and its parameters",
                    broken, e->K, label, from, to);
    return fail(GSV_NUMERICAL,
                "the log-likelihood of series '%s' from time %g to "
                "%g is %g; check the noise and the data there",
                label, from, to, gap.loglik);
}

/* NaN never spreads silently: the first group that has one is named. */
int estimate_check(struct estimate *e)
{
    if (e->all.lost == NO_GROUP) return 0;
    int status = estimate_tell(e);
    return status ? status : fail_lost(e, e->all.lost);
}

/* Above the diagonal of a lower matrix there is nothing to move. */
static void clear_upper(const struct spec *spec, double *gradient)
{
    for (size_t q = 0; q < spec->params; q++) {
        const struct param_spec *p = &spec->param[q];
        for (size_t i = 0; p->lower && i < p->rows; i++)
            for (size_t j = i + 1; j < p->columns; j++)
                gradient[p->offset + i * p->columns + j] = 0.0;
    }
}

/* Whether all of the sum is finite. */
FAST static bool add_finite(size_t n, const double *restrict a,
                            const double *restrict b, const double *restrict c,
                            double *restrict sum)
{
    size_t finite = 0;
    for (size_t i = 0; i < n; i++) {
        sum[i] = a[i] + b[i] + (c ? c[i] : 0.0);
        finite += fabs(sum[i]) <= DBL_MAX;
    }
    return finite == n;
}

int estimate_gradient(struct estimate *e, double *gradient)
{
    program_finish(e->unit, &e->unit_uniforms, e->unit_bar);
    program_finish(e->map, &e->map_uniforms, e->map_bar);
    double *step_bar = e->step ? e->unit_bar + program_uniforms(e->unit) : NULL;
    if (e->step) program_finish(e->step, &e->step_uniforms, step_bar);
    if (!add_finite(e->model->spec->parameters, e->unit_bar, e->map_bar,
                    step_bar, gradient))
        return fail(GSV_NUMERICAL,
                    "the gradient is not finite although the log-likelihood "
                    "is: a function has an infinite slope at the data");
    clear_upper(e->model->spec, gradient);
    return 0;
}

void gsv_result_free(gsv_result *result)
{
    if (!result) return;
    mem_free(result->gradient);
    mem_free(result->gap);
    result->gradient = NULL;
    result->gap = NULL;
}
