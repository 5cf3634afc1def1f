/* SPDX-License-Identifier: MIT */
#include "sde/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/memory.h"

/* Items beyond this bring no more balance; chunks are only cut to get there.
 * Both are functions of the problem alone, never of the number of threads. */
enum { ITEMS = 64, LANES = 64 };

/* A block's points fill about this much of the cache; a few points more or
 * less make no difference. */
enum { BLOCK_BYTES = 1 << 20, FEWEST_POINTS = 64, MOST_POINTS = 8192 };

gsv_options gsv_options_default(void)
{
    return (gsv_options){.paths = 64, .steps = 16, .seed = 1};
}

size_t estimate_steps(const struct estimate *e, const struct gap *gap)
{
    const gsv_options *o = e->options;
    if (!(o->step > 0.0)) return o->steps;
    double steps = ceil(gap->length / o->step * (1.0 - 1e-12));
    return steps < 1.0 ? 1 : (size_t)steps;
}

/* --- Setting up --------------------------------------------------------- */

static int check_options(const gsv_options *o)
{
    if (o->paths < 1 || o->paths > 100000000)
        return fail(GSV_BAD_INPUT,
                    "the number of paths is %zu, but must be from 1 to 1e8",
                    o->paths);
    if (!(o->step >= 0.0) || !isfinite(o->step))
        return fail(GSV_BAD_INPUT, "the step is %g, but must be positive",
                    o->step);
    if (o->step == 0.0 && (o->steps < 1 || o->steps > 100000000))
        return fail(GSV_BAD_INPUT,
                    "the number of steps is %zu, but must be from 1 to 1e8",
                    o->steps);
    return 0;
}

static int check_steps(const struct estimate *e)
{
    for (size_t i = 0; i < e->gaps.count; i++)
        if (e->options->step > 0.0 &&
            e->gaps.gap[i].length / e->options->step > 1e8)
            return fail(GSV_BAD_INPUT,
                        "a step of %g cuts a gap of length %g into more than "
                        "1e8 steps; take a longer one",
                        e->options->step, e->gaps.gap[i].length);
    return 0;
}

static int make_groups(struct estimate *e)
{
    const struct gaps *g = &e->gaps;
    e->group_first = NEW(size_t, g->count + 1);
    if (!e->group_first) return GSV_NO_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        if (!e->options->joint || !i || g->gap[i].track != g->gap[i - 1].track)
            e->group_first[e->groups++] = i;
    e->group_first[e->groups] = g->count;
    return 0;
}

static int make_programs(struct estimate *e)
{
    const gsv_model *m = e->model;
    const struct graph *g = m->spec->graph;
    node map[2] = {m->unit_state, m->log_jacobian};
    e->unit = program_new(g, 1, &m->unit_drift, m->spec->parameters,
                          e->options->wide);
    e->map = program_new(g, 2, map, m->spec->parameters, e->options->wide);
    if (!e->unit || !e->map || uniforms_init(&e->unit_uniforms, e->unit) ||
        uniforms_init(&e->map_uniforms, e->map))
        return GSV_NO_MEMORY;
    program_prepare(e->unit, m->value, &e->unit_uniforms);
    program_prepare(e->map, m->value, &e->map_uniforms);
    return 0;
}

/* The points of a block, and the chunks that give all threads work. */
static void make_sizes(struct estimate *e)
{
    bool gradient = e->options->gradient;
    size_t K = e->options->paths, bytes = program_bytes(e->unit, gradient);
    bytes += e->d * sizeof(double) * (gradient ? 6 : 3);
    size_t points = BLOCK_BYTES / bytes;
    if (points < FEWEST_POINTS) points = FEWEST_POINTS;
    if (points > MOST_POINTS) points = MOST_POINTS;
    e->capacity = points;
    e->chunks = e->groups < ITEMS ? (ITEMS + e->groups - 1) / e->groups : 1;
    if (e->chunks > (K + 7) / 8) e->chunks = (K + 7) / 8;
}

/* Chunks begin at multiples of 8 paths: whole vectors. */
size_t estimate_chunk_first(const struct estimate *e, size_t chunk)
{
    size_t K = e->options->paths;
    size_t first = 8 * lanes_first(chunk, e->chunks, (K + 7) / 8);
    return first < K ? first : K;
}

static int scratch_init(const struct estimate *e, struct scratch *s)
{
    size_t d = e->d, P = e->capacity, n = e->inputs;
    size_t K = estimate_chunk_first(e, 1);
    bool gradient = e->options->gradient;
    size_t unit = gradient ? program_uniforms(e->unit) : 0;
    size_t map = gradient ? program_uniforms(e->map) : 0;
    size_t path = d * P > 2 * d ? d * P : 2 * d, ends = 2 * (d + n + 1);
    struct {
        double **array;
        size_t count;
    } part[] = {
        {&s->z, path},         {&s->at, path},       {&s->Y, path},
        {&s->dY, path},        {&s->f_bar, path},    {&s->dY_bar, path},
        {&s->Y_bar, path},     {&s->time, P},        {&s->input, n * P},
        {&s->slope, n * P},    {&s->S, K},           {&s->S2, K},
        {&s->S_bar, K},        {&s->x, ends},        {&s->y, ends},
        {&s->y_bar, ends},     {&s->end_time, 2},    {&s->end_input, ends},
        {&s->end_slope, ends}, {&s->unit_bar, unit}, {&s->map_bar, map}};
    size_t bytes = 0, parts = sizeof part / sizeof *part;
    for (size_t i = 0; i < parts; i++)
        bytes += arena_size(part[i].count);
    if (arena_init(&s->arena, bytes) ||
        workspace_init(&s->unit, e->unit, P, gradient, false) ||
        workspace_init(&s->map, e->map, 2, gradient, false))
        return GSV_NO_MEMORY;
    for (size_t i = 0; i < parts; i++)
        *part[i].array = arena_take(&s->arena, part[i].count);
    return 0;
}

static int make_memory(struct estimate *e)
{
    size_t items = e->groups * e->chunks;
    bool gradient = e->options->gradient;
    e->threads = lanes_threads(e->options->threads);
    if (e->threads > items) e->threads = items;
    e->tally = NEW(struct tally, items);
    e->tally2 = NEW(struct tally, items);
    e->base = NEW(double, items);
    e->scratch = NEW(struct scratch, e->threads);
    if (gradient) {
        e->unit_bar = NEW(double, program_uniforms(e->unit));
        e->map_bar = NEW(double, program_uniforms(e->map));
        if (e->chunks > 1) e->S = NEW(double, e->groups * e->options->paths);
    }
    if (!e->tally || !e->tally2 || !e->base || !e->scratch ||
        (gradient && (!e->unit_bar || !e->map_bar || (e->chunks > 1 && !e->S))))
        return GSV_NO_MEMORY;
    for (size_t i = 0; i < e->threads; i++)
        if (scratch_init(e, &e->scratch[i])) return GSV_NO_MEMORY;
    return 0;
}

static int estimate_init(struct estimate *e, const gsv_model *m,
                         const gsv_series *series, const gsv_options *o)
{
    *e = (struct estimate){
        .model = m, .options = o, .d = m->spec->dim, .inputs = m->spec->inputs};
    int status = check_options(o);
    if (!status) status = gaps_init(&e->gaps, m, series);
    if (!status) status = check_steps(e);
    if (!status) status = make_groups(e);
    if (!status) status = make_programs(e);
    if (status) return status;
    make_sizes(e);
    return make_memory(e);
}

static void estimate_free(struct estimate *e)
{
    for (size_t i = 0; e->scratch && i < e->threads; i++) {
        workspace_free(&e->scratch[i].unit);
        workspace_free(&e->scratch[i].map);
        arena_free(&e->scratch[i].arena);
    }
    mem_free(e->scratch);
    mem_free(e->tally);
    mem_free(e->tally2);
    mem_free(e->base);
    mem_free(e->S);
    mem_free(e->unit_bar);
    mem_free(e->map_bar);
    mem_free(e->group_first);
    uniforms_free(&e->unit_uniforms);
    uniforms_free(&e->map_uniforms);
    program_free(e->unit);
    program_free(e->map);
    gaps_free(&e->gaps);
}

/* --- Items -------------------------------------------------------------- */

/* S_bar = the paths' weights, which sum to 1 over the group. */
static void weights(size_t n, const double *S, double log_sum, double *S_bar)
{
    for (size_t k = 0; k < n; k++)
        S_bar[k] = exp(S[k] - log_sum);
}

static void item_forward(struct estimate *e, struct scratch *s, size_t item)
{
    size_t group = item / e->chunks, chunk = item % e->chunks;
    size_t k0 = estimate_chunk_first(e, chunk);
    size_t k1 = estimate_chunk_first(e, chunk + 1), n = k1 - k0;
    struct tally *t = &e->tally[item];
    walk_forward(e, s, group, k0, k1, &e->base[item]);
    tally_start(t);
    tally_start(&e->tally2[item]);
    tally_add(t, n, s->S);
    tally_add(&e->tally2[item], n, s->S2);
    if (e->S)
        memcpy(e->S + group * e->options->paths + k0, s->S, n * sizeof *s->S);
    if (!e->options->gradient || e->chunks > 1) return;
    weights(n, s->S, tally_log_sum(t), s->S_bar);
    walk_backward(e, s, group, k0, k1, walk_is_one_block(e, group));
}

/* Where a group has several chunks its weights are known only after all of
 * them, and the paths are walked again. */
static void item_backward(struct estimate *e, struct scratch *s, size_t item)
{
    size_t group = item / e->chunks, chunk = item % e->chunks;
    size_t k0 = estimate_chunk_first(e, chunk);
    size_t k1 = estimate_chunk_first(e, chunk + 1);
    double log_sum = tally_log_sum(&e->tally[group * e->chunks]);
    weights(k1 - k0, e->S + group * e->options->paths + k0, log_sum, s->S_bar);
    walk_backward(e, s, group, k0, k1, false);
}

/* --- Lanes -------------------------------------------------------------- */

static size_t lane_count(const struct estimate *e)
{
    size_t items = e->groups * e->chunks;
    return items < LANES ? items : LANES;
}

static void lane_run(struct estimate *e, size_t lane, size_t thread,
                     void (*item)(struct estimate *, struct scratch *, size_t))
{
    size_t items = e->groups * e->chunks, lanes = lane_count(e);
    size_t end = lanes_first(lane + 1, lanes, items);
    for (size_t i = lanes_first(lane, lanes, items); i < end; i++)
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

static void move_sum(size_t n, double *from, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] += from[i];
        from[i] = 0.0;
    }
}

static void lane_merge(void *context, size_t lane, size_t thread)
{
    (void)lane;
    struct estimate *e = context;
    struct scratch *s = &e->scratch[thread];
    move_sum(program_uniforms(e->unit), s->unit_bar, e->unit_bar);
    move_sum(program_uniforms(e->map), s->map_bar, e->map_bar);
}

static void run(struct estimate *e)
{
    bool gradient = e->options->gradient, twice = gradient && e->chunks > 1;
    struct lanes_job job = {.context = e, .work = lane_forward};
    if (gradient && !twice) job.merge = lane_merge;
    lanes_run(lane_count(e), e->threads, &job);
    for (size_t g = 0; g < e->groups; g++)
        for (size_t c = 1; c < e->chunks; c++) {
            size_t first = g * e->chunks;
            tally_merge(&e->tally[first], &e->tally[first + c]);
            tally_merge(&e->tally2[first], &e->tally2[first + c]);
        }
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

static void sum_groups(const struct estimate *e, gsv_result *r)
{
    double variance = 0.0;
    r->ess_min = INFINITY;
    for (size_t g = 0; g < e->groups; g++) {
        const struct tally *t = &e->tally[g * e->chunks];
        const struct tally *t2 = &e->tally2[g * e->chunks];
        const struct gap *first = &e->gaps.gap[e->group_first[g]];
        const struct gap *last = &e->gaps.gap[e->group_first[g + 1] - 1];
        bool halved = has_pairs(e, g);
        gsv_gap *out = &r->gap[g];
        *out = (gsv_gap){.track = first->track,
                         .from = first->from,
                         .to = last->to,
                         .loglik = e->base[g * e->chunks] + tally_log_mean(t),
                         .error = sqrt(tally_variance(t)),
                         .ess = tally_ess(t),
                         .discretisation =
                             halved ? tally_log_mean(t) - tally_log_mean(t2)
                                    : NAN};
        r->loglik += out->loglik;
        variance += tally_variance(t);
        if (out->ess < r->ess_min) r->ess_min = out->ess;
        if (halved) r->discretisation += out->discretisation;
    }
    r->error = sqrt(variance);
}

static void count_work(const struct estimate *e, gsv_result *r)
{
    for (size_t i = 0; i < e->gaps.count; i++) {
        size_t M = estimate_steps(e, &e->gaps.gap[i]);
        if (M > r->steps) r->steps = M;
        r->drift_evaluations += (uint64_t)M * e->options->paths;
    }
    size_t point = program_bytes(e->unit, e->options->gradient);
    r->memory = e->threads * (e->capacity * point + e->scratch[0].arena.size);
    if (r->steps == 1) r->discretisation = NAN;
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
                        broken, e->options->paths, label, from, to);
        if (!isfinite(gap->loglik))
            return fail(GSV_NUMERICAL,
                        "the log-likelihood of series '%s' from time %g to "
                        "%g is %g; check the noise and the data there",
                        label, from, to, gap->loglik);
    }
    return 0;
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
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int gsv_loglik(const gsv_model *m, const gsv_series *s, const gsv_options *o,
               gsv_result *result)
{
    double begin = now();
    struct estimate e;
    gsv_result r = {.paths = o->paths, .values = m->spec->parameters};
    int status = estimate_init(&e, m, s, o);
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

void gsv_result_free(gsv_result *result)
{
    mem_free(result->gradient);
    mem_free(result->gap);
    result->gradient = NULL;
    result->gap = NULL;
}
