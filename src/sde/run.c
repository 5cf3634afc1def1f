/* SPDX-License-Identifier: MIT */
/* Running the items over the lanes, and the result from what they left. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/lanes.h"
#include "sde/khat.h"
#include "sde/result.h"

static void move_sum(size_t n, double *from, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] += from[i];
        from[i] = 0.0;
    }
}

/* --- From weights to their gradient ------------------------------------- */

/* scale times the gradient of the log mean of exp(S), and with delta that of
 * its correction (K sum p^2 - 1)/(K - 1)/2: p + (p^2 - p sum p^2) K/(K - 1),
 * p the normalised weights. */
static void weights_bar(const struct tally *t, bool delta, double scale,
                        size_t n, const double *S, double *S_bar)
{
    double log_sum = tally_log_sum(t);
    double K = (double)t->count, squares = 1.0 / tally_ess(t);
    double extra = delta && t->count > 1 ? K / (K - 1.0) : 0.0;
    for (size_t k = 0; k < n; k++) {
        double p = exp(S[k] - log_sum);
        S_bar[k] = scale * p * (1.0 + extra * (p - squares));
    }
}

/* 2 l(dt) - l(2 dt) takes an error of the first order away; the midpoint's is
 * of a higher one, and is left as it is. Over a track auto takes the midpoint
 * in single steps alone, whose l(2 dt) is l(dt). */
static bool is_extrapolated(const struct estimate *e, size_t group)
{
    const gsv_options *o = e->options;
    bool single = o->joint && o->form == GSV_FORM_AUTO;
    return o->richardson && (single || e->finding[group].form != FORM_MIDPOINT);
}

static void group_bar(const struct estimate *e, struct scratch *s, size_t group,
                      size_t slot, size_t n, const double *S, const double *S2)
{
    bool extrapolated = is_extrapolated(e, group);
    size_t first = group * e->chunks;
    weights_bar(&e->tally[first], e->options->delta, extrapolated ? 2.0 : 1.0,
                n, S, s->S_bar + slot);
    if (e->options->richardson)
        weights_bar(&e->tally2[first], e->options->delta,
                    extrapolated ? -1.0 : 0.0, n, S2, s->S2_bar + slot);
}

/* --- Items -------------------------------------------------------------- */

static size_t chunk_of(const struct estimate *e, size_t item)
{
    return e->chunks > 1 ? item % e->chunks : 0;
}

/* The standard error of 2 l(dt) - l(2 dt): both means are over the same
 * paths, whose normalised weights are p and q. */
static double extrapolated_error(const struct estimate *e, size_t group,
                                 const double *S, const double *S2)
{
    double log_p = tally_log_sum(&e->tally[group * e->chunks]);
    double log_q = tally_log_sum(&e->tally2[group * e->chunks]);
    double K = (double)e->K, sum = 0.0;
    for (size_t k = 0; k < e->K; k++) {
        double u = 2.0 * exp(S[k] - log_p) - exp(S2[k] - log_q) - 1.0 / K;
        sum += u * u;
    }
    return sqrt(sum * K / (K - 1.0));
}

/* What a group's weights say, where all of them are at hand. */
static void find(struct estimate *e, struct scratch *s, size_t group,
                 const double *S, const double *S2)
{
    const struct tally *t = &e->tally[group * e->chunks];
    struct finding *f = &e->finding[group];
    /* Weights that are all but equal have no tail worth a fit. */
    bool even = tally_ess(t) > 0.95 * (double)e->K;
    f->khat = !khat_tells(e->K) ? NAN : even ? 0.0 : khat(e->K, S, s->sorted);
    if (e->options->richardson && e->K > 1)
        f->error = extrapolated_error(e, group, S, S2);
}

/* Of a batch the last gap's; where a group is one gap, its own. */
static void note_contexts(struct estimate *e, const struct scratch *s)
{
    for (size_t i = 0; i < s->contexts; i++) {
        const struct context *c = &s->context[i];
        struct finding *f = &e->finding[c->group];
        f->reference = c->reference.kind;
        f->form = c->form;
        f->energy = c->energy;
    }
}

static void tally_group(struct estimate *e, struct scratch *s, size_t item,
                        size_t group, size_t slot)
{
    const struct item *t = &e->item[item];
    size_t n = t->k1 - t->k0, at = group * e->chunks + chunk_of(e, item);
    tally_start(&e->tally[at]);
    tally_start(&e->tally2[at]);
    tally_add(&e->tally[at], n, s->S + slot);
    tally_add(&e->tally2[at], n, s->S2 + slot);
    if (e->chunks == 1) {
        find(e, s, group, s->S + slot, s->S2 + slot);
        return;
    }
    memcpy(e->S + group * e->K + t->k0, s->S, n * sizeof *s->S);
    memcpy(e->S2 + group * e->K + t->k0, s->S2, n * sizeof *s->S2);
}

/* --- A group online ------------------------------------------------------ */

/* The paths of a group that are one block, where its gradient can be summed as
 * they come: 0 where not even one is, or where the weights' gradient needs the
 * whole group. */
static size_t online_paths(const struct estimate *e, const struct item *t)
{
    const gsv_options *o = e->options;
    size_t gaps = e->group_first[t->group1] - e->group_first[t->group0];
    if (o->richardson || o->delta || t->group1 - t->group0 > 1 ||
        gaps > e->batch)
        return 0;
    size_t paths = e->capacity / group_columns(e, t->group0);
    return paths < 8 ? paths : paths / 8 * 8;
}

static void scale(size_t n, double by, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

static void swap(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

/* The thread's gradients and those of the group change places. */
static void swap_parts(struct scratch *s)
{
    swap(&s->unit_bar, &s->unit_part);
    swap(&s->map_bar, &s->map_part);
}

static void scale_parts(const struct estimate *e, struct scratch *s, double by)
{
    scale(program_uniforms(e->unit), by, s->unit_part);
    scale(program_uniforms(e->map), by, s->map_part);
}

/* Some paths of a group: their weights relative to the largest so far go
 * straight into the group's gradient, which is scaled when that one grows. */
static void online_block(struct estimate *e, struct scratch *s,
                         const struct item *t, struct tally *tally,
                         struct tally *tally2, double *base)
{
    size_t n = t->k1 - t->k0;
    double most = tally->most;
    item_walk(e, s, t, base);
    tally_add(tally, n, s->S);
    tally_add(tally2, n, s->S2);
    memcpy(s->group_S + t->k0, s->S, n * sizeof *s->S);
    if (tally->most > most) scale_parts(e, s, exp(most - tally->most));
    for (size_t k = 0; k < n; k++)
        s->S_bar[k] =
            tally->most == -INFINITY ? 0.0 : exp(s->S[k] - tally->most);
    swap_parts(s);
    item_walk_back(e, s, t, 0.0, true);
    swap_parts(s);
}

static void item_online(struct estimate *e, struct scratch *s,
                        const struct item *t, size_t paths)
{
    size_t group = t->group0;
    struct tally *tally = &e->tally[group], *tally2 = &e->tally2[group];
    double unused = 0.0;
    tally_start(tally);
    tally_start(tally2);
    scale_parts(e, s, 0.0);
    for (size_t k = 0; k < e->K; k += paths) {
        size_t end = k + paths < e->K ? k + paths : e->K;
        struct item part = {group, group + 1, k, end};
        online_block(e, s, &part, tally, tally2, k ? &unused : &e->base[group]);
    }
    scale_parts(e, s, 1.0 / tally->sum);
    move_sum(program_uniforms(e->unit), s->unit_part, s->unit_bar);
    move_sum(program_uniforms(e->map), s->map_part, s->map_bar);
    item_base_back(e, s, t);
    find(e, s, group, s->group_S, NULL);
}

static void item_forward(struct estimate *e, struct scratch *s, size_t item)
{
    const struct item *t = &e->item[item];
    bool one_block = item_is_one_block(e, t);
    size_t online = one_block || e->chunks > 1 || !e->options->gradient
                        ? 0
                        : online_paths(e, t);
    if (online) {
        item_online(e, s, t, online);
        note_contexts(e, s);
        return;
    }
    size_t n = t->k1 - t->k0, at = t->group0 * e->chunks + chunk_of(e, item);
    item_walk(e, s, t, &e->base[at]);
    if (!t->k0) note_contexts(e, s);
    for (size_t g = t->group0; g < t->group1; g++)
        tally_group(e, s, item, g, (g - t->group0) * n);
    if (!e->options->gradient || e->chunks > 1) return;
    for (size_t g = t->group0; g < t->group1; g++) {
        size_t slot = (g - t->group0) * n;
        group_bar(e, s, g, slot, n, s->S + slot, s->S2 + slot);
    }
    item_walk_back(e, s, t, 1.0, one_block);
}

/* Where a group has several chunks its weights are known only after all of
 * them, and the paths are walked again. */
static void item_backward(struct estimate *e, struct scratch *s, size_t item)
{
    const struct item *t = &e->item[item];
    size_t at = t->group0 * e->K + t->k0;
    group_bar(e, s, t->group0, 0, t->k1 - t->k0, e->S + at, e->S2 + at);
    item_walk_back(e, s, t, t->k0 == 0, false);
}

/* --- Lanes -------------------------------------------------------------- */

static size_t lane_count(const struct estimate *e)
{
    return e->items < LANES ? e->items : LANES;
}

static void lane_run(struct estimate *e, size_t lane, size_t thread,
                     void (*item)(struct estimate *, struct scratch *, size_t))
{
    size_t end = lanes_first(lane + 1, lane_count(e), e->items);
    for (size_t i = lanes_first(lane, lane_count(e), e->items); i < end; i++)
        item(e, &e->scratch[thread], i);
}

static void lane_forward(void *context, size_t lane, size_t thread)
{
    lane_run(context, lane, thread, item_forward);
}

static void lane_backward(void *context, size_t lane, size_t thread)
{
    lane_run(context, lane, thread, item_backward);
}

static void lane_merge(void *context, size_t lane, size_t thread)
{
    (void)lane;
    struct estimate *e = context;
    struct scratch *s = &e->scratch[thread];
    move_sum(program_uniforms(e->unit), s->unit_bar, e->unit_bar);
    move_sum(program_uniforms(e->map), s->map_bar, e->map_bar);
}

static void merge_chunks(struct estimate *e)
{
    for (size_t g = 0; e->chunks > 1 && g < e->groups; g++) {
        size_t first = g * e->chunks;
        for (size_t c = 1; c < e->chunks; c++) {
            tally_merge(&e->tally[first], &e->tally[first + c]);
            tally_merge(&e->tally2[first], &e->tally2[first + c]);
        }
        find(e, &e->scratch[0], g, e->S + g * e->K, e->S2 + g * e->K);
    }
}

static void run(struct estimate *e)
{
    bool gradient = e->options->gradient, twice = gradient && e->chunks > 1;
    struct lanes_job job = {.context = e, .work = lane_forward};
    if (gradient && !twice) job.merge = lane_merge;
    lanes_run(lane_count(e), e->threads, &job);
    merge_chunks(e);
    if (!twice) return;
    job = (struct lanes_job){e, lane_backward, lane_merge};
    lanes_run(lane_count(e), e->threads, &job);
}

/* --- The result --------------------------------------------------------- */

/* Whether any gap of a group has two steps, so that l(2 dt) differs. */
static bool has_pairs(const struct estimate *e, size_t group)
{
    for (size_t i = e->group_first[group]; i < e->group_first[group + 1]; i++)
        if (estimate_steps(e, &e->gaps.gap[i]) > 1) return true;
    return false;
}

static unsigned flags_of(const gsv_gap *gap, size_t K, double energy)
{
    double k = (double)K, least = fmin(fmax(10.0, 0.1 * k), 0.5 * k);
    unsigned flags = 0;
    if (K > 1 && gap->ess < least) flags |= GSV_FLAG_ESS;
    /* A heavy tail does no harm to weights that hardly differ. */
    if (gap->khat > khat_threshold(K) && gap->ess < 0.8 * k)
        flags |= GSV_FLAG_KHAT;
    /* What is left at dt of the change from 2 dt: about all of it, but for the
     * midpoint where the drift dominates a fifth (docs/ESTIMATOR.md). */
    double left = fabs(gap->discretisation);
    if (gap->form == GSV_FORM_MIDPOINT && energy > 20.0) left /= 5.0;
    if (left > fmax(0.1, 3.0 * gap->error)) flags |= GSV_FLAG_STEPS;
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

static gsv_gap group_result(const struct estimate *e, size_t g)
{
    static const enum gsv_reference reference[] = {
        [REFERENCE_BROWNIAN] = GSV_REFERENCE_BROWNIAN,
        [REFERENCE_LINEAR] = GSV_REFERENCE_LINEAR,
        [REFERENCE_LNA] = GSV_REFERENCE_LNA};
    static const enum gsv_form form[] = {[FORM_ITO] = GSV_FORM_ITO,
                                         [FORM_MIDPOINT] = GSV_FORM_MIDPOINT,
                                         [FORM_STRATONOVICH] =
                                             GSV_FORM_STRATONOVICH};
    const gsv_options *o = e->options;
    const struct tally *t = &e->tally[g * e->chunks];
    const struct tally *t2 = &e->tally2[g * e->chunks];
    const struct gap *first = &e->gaps.gap[e->group_first[g]];
    const struct gap *last = &e->gaps.gap[e->group_first[g + 1] - 1];
    double bias = 0.5 * tally_delta(t), bias2 = 0.5 * tally_delta(t2);
    double fine = tally_log_mean(t) + (o->delta ? bias : 0.0);
    double coarse = tally_log_mean(t2) + (o->delta ? bias2 : 0.0);
    bool halved = has_pairs(e, g);
    return (gsv_gap){.track = first->track,
                     .from = first->from,
                     .to = last->to,
                     .loglik =
                         e->base[g * e->chunks] +
                         (is_extrapolated(e, g) ? 2.0 * fine - coarse : fine),
                     .error = error_of(e, g, t),
                     .ess = tally_ess(t),
                     .khat = e->finding[g].khat,
                     .log_bias = o->delta ? 0.0 : -bias,
                     .discretisation = halved ? fine - coarse : NAN,
                     .reference = reference[e->finding[g].reference],
                     .form = form[e->finding[g].form]};
}

static void sum_groups(const struct estimate *e, gsv_result *r)
{
    double variance = 0.0;
    r->ess_min = INFINITY;
    r->khat_max = NAN;
    for (size_t g = 0; g < e->groups; g++) {
        gsv_gap *out = &r->gap[g];
        *out = group_result(e, g);
        out->flags = flags_of(out, e->K, e->finding[g].energy);
        if (out->flags) r->flagged++;
        r->loglik += out->loglik;
        r->log_bias += out->log_bias;
        variance += out->error * out->error;
        if (out->ess < r->ess_min) r->ess_min = out->ess;
        if (out->khat > r->khat_max || isnan(r->khat_max))
            r->khat_max = out->khat;
        if (!isnan(out->discretisation))
            r->discretisation += out->discretisation;
    }
    r->error = sqrt(variance);
    if (e->longest == 1) r->discretisation = NAN;
}

static void count_work(const struct estimate *e, gsv_result *r)
{
    for (size_t i = 0; i < e->gaps.count; i++)
        r->drift_evaluations +=
            (uint64_t)walk_columns(e, estimate_steps(e, &e->gaps.gap[i])) *
            e->K;
    size_t point = program_bytes(e->unit, e->options->gradient);
    r->steps = e->longest;
    r->paths = e->K;
    r->memory = e->threads * (e->capacity * point + e->scratch[0].arena.size);
}

/* NaN never spreads silently: the first group that has one is named. */
static int check_finite(const struct estimate *e, const gsv_result *r)
{
    const gsv_series *s = e->gaps.series;
    for (size_t g = 0; g < e->groups; g++) {
        const gsv_gap *gap = &r->gap[g];
        size_t broken = e->tally[g * e->chunks].broken;
        const char *label = s->label[gap->track];
        double from = s->time[gap->from], to = s->time[gap->to];
        if (broken)
            return fail(GSV_NUMERICAL,
                        "%zu of %zu paths of series '%s' from time %g to %g "
                        "have weights that are not finite: the drift or the "
                        "noise is not finite there; check the model's "
                        "formula and its parameters",
                        broken, e->K, label, from, to);
        if (!isfinite(gap->loglik))
            return fail(GSV_NUMERICAL,
                        "the log-likelihood of series '%s' from time %g to "
                        "%g is %g; check the noise and the data there",
                        label, from, to, gap->loglik);
    }
    return 0;
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

static int collect_gradient(struct estimate *e, gsv_result *r)
{
    if (!e->options->gradient) return 0;
    r->gradient = NEW(double, r->values);
    if (!r->gradient) return GSV_NO_MEMORY;
    program_finish(e->unit, &e->unit_uniforms, e->unit_bar);
    program_finish(e->map, &e->map_uniforms, e->map_bar);
    for (size_t i = 0; i < r->values; i++) {
        r->gradient[i] = e->unit_bar[i] + e->map_bar[i];
        if (!isfinite(r->gradient[i]))
            return fail(GSV_NUMERICAL,
                        "the gradient is not finite although the "
                        "log-likelihood is: a function has an infinite slope "
                        "at the data");
    }
    clear_upper(e->model->spec, r->gradient);
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int loglik_guided(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                  const double *guide, gsv_result *result)
{
    double begin = now();
    struct estimate e;
    gsv_result r = {.values = m->spec->parameters};
    int status = estimate_init(&e, m, s, o, guide);
    if (!status) {
        r.gaps = e.gaps.count;
        r.groups = e.groups;
        r.gap = NEW(gsv_gap, e.groups);
        if (!r.gap) status = GSV_NO_MEMORY;
    }
    if (!status) {
        run(&e);
        sum_groups(&e, &r);
        count_work(&e, &r);
        status = check_finite(&e, &r);
    }
    if (!status) status = collect_gradient(&e, &r);
    r.seconds = now() - begin;
    estimate_free(&e);
    if (status) gsv_result_free(&r);
    *result = r;
    return status;
}

/* --- Until a tolerance is met ------------------------------------------- */

/* Beyond these an estimate is not made better by waiting. */
static const double MOST_PATHS = 1 << 20, MOST_STEPS = 1 << 12;
static const double MOST_EVALUATIONS = 1e9;

/* The next numbers of paths and steps, each as far as it goes; false where
 * neither goes further. */
static bool raise_effort(const gsv_result *r, gsv_options *o)
{
    double paths = (double)r->paths, steps = (double)r->steps;
    double ratio = r->error / o->tolerance;
    double more = ratio > 1.0 ? fmin(fmax(ratio * ratio, 2.0), 16.0) : 1.0;
    double finer = fabs(r->discretisation) > o->tolerance ? 2.0 : 1.0;
    if (steps * finer > MOST_STEPS) finer = 1.0;
    more = fmin(more, MOST_PATHS / paths);
    double room = MOST_EVALUATIONS / ((double)r->gaps * paths * steps);
    if (finer > room) finer = 1.0;
    more = fmin(more, room / finer);
    if (more < 2.0) more = 1.0;
    o->paths = (size_t)(paths * more);
    if (o->step > 0.0) o->step /= finer;
    else o->steps = (size_t)(steps * finer);
    return more > 1.0 || finer > 1.0;
}

/* Without the gradient until the numbers are found, then once with it. */
static int loglik_until(const gsv_model *m, const gsv_series *s,
                        const gsv_options *wish, gsv_result *result)
{
    gsv_options o = *wish;
    o.gradient = false;
    /* One path or one step tells nothing about either error. */
    if (o.paths < 2) o.paths = 2;
    if (!(o.step > 0.0) && o.steps < 2) o.steps = 2;
    for (;;) {
        int status = loglik_guided(m, s, &o, NULL, result);
        if (status) return status;
        result->settled = result->error <= o.tolerance &&
                          !(fabs(result->discretisation) > o.tolerance);
        if (result->settled || !raise_effort(result, &o)) break;
        gsv_result_free(result);
    }
    if (!wish->gradient) return 0;
    bool settled = result->settled;
    gsv_result_free(result);
    o.gradient = true;
    int status = loglik_guided(m, s, &o, NULL, result);
    result->settled = settled;
    return status;
}

int gsv_loglik(const gsv_model *m, const gsv_series *s, const gsv_options *o,
               gsv_result *result)
{
    if (!(o->tolerance >= 0.0))
        return fail(GSV_BAD_INPUT, "the tolerance is %g, but must be positive",
                    o->tolerance);
    return o->tolerance > 0.0 ? loglik_until(m, s, o, result)
                              : loglik_guided(m, s, o, NULL, result);
}

void gsv_result_free(gsv_result *result)
{
    mem_free(result->gradient);
    mem_free(result->gap);
    result->gradient = NULL;
    result->gap = NULL;
}
