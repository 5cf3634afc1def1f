/* SPDX-License-Identifier: MIT */
#include "bridge/plan.h"

#include <math.h>

#include "base/error.h"
#include "base/lanes.h"
#include "bridge/reference.h"

/* --- Gaps and their groups ------------------------------------------------ */

bool plan_has_pairs(const struct plan *p)
{
    return p->halved || p->options->richardson;
}

size_t plan_steps(const struct plan *p, const struct gap *gap)
{
    const gsv_options *o = p->options;
    if (p->weigher->one_step) return 1;
    if (!(o->step > 0.0)) return o->steps ? o->steps : FIRST_STEPS;
    double steps = ceil(gap->length / o->step * (1.0 - 1e-12));
    return steps < 1.0 ? 1 : (size_t)steps;
}

static struct gap gap_at(const struct plan *p, size_t i)
{
    if (p->pairs) return (struct gap){.length = p->pair_length};
    return gaps_at(&p->gaps, i);
}

static int find_longest(struct plan *p)
{
    double step = p->options->step;
    p->longest = plan_steps(p, &(struct gap){0});
    for (size_t i = 0; step > 0.0 && i < p->gaps.count; i++) {
        struct gap gap = gap_at(p, i);
        if (gap.length / step > 1e8)
            return fail(GSV_BAD_INPUT,
                        "a step of %g cuts a gap of length %g into more than "
                        "1e8 steps; take a longer one",
                        step, gap.length);
        size_t M = plan_steps(p, &gap);
        if (M > p->longest) p->longest = M;
    }
    return 0;
}

static int make_groups(struct plan *p)
{
    const struct gaps *g = &p->gaps;
    p->all_groups = g->count;
    if (p->options->joint) {
        p->all_groups = 0;
        p->first_gap = NEW(size_t, g->count + 1);
        if (!p->first_gap) return GSV_NO_MEMORY;
        for (size_t i = 0; i < g->count; i++)
            if (!i || gap_at(p, i).track != gap_at(p, i - 1).track)
                p->first_gap[p->all_groups++] = i;
        p->first_gap[p->all_groups] = g->count;
    }
    if (!p->most || p->most > p->all_groups) p->most = p->all_groups;
    return 0;
}

size_t group_begin(const struct plan *p, size_t group)
{
    return p->first_gap ? p->first_gap[group] : group;
}

size_t group_gaps(const struct plan *p, size_t group)
{
    return group_begin(p, group + 1) - group_begin(p, group);
}

/* --- Programs ------------------------------------------------------------- */

size_t unit_bars(const struct plan *p)
{
    return program_uniforms(p->unit) +
           (p->step ? program_uniforms(p->step) : 0);
}

size_t all_bars(const struct plan *p)
{
    return unit_bars(p) + program_uniforms(p->map);
}

static int make_programs(struct plan *p)
{
    const gsv_model *m = p->model;
    size_t n = m->spec->parameters;
    bool wide = p->options->wide, ranged = m->range && p->weigher->gaussian;
    struct drift_outputs out = {{m->unit_drift}, 1};
    int status = p->weigher->build(p, &out);
    if (status) return status;
    const struct graph *g = p->graph ? p->graph : m->spec->graph;
    p->unit = program_new(g, out.count, out.node, n, wide);
    p->map = program_new(g, 3, m->forth, n, wide);
    p->back = program_new(g, 2, m->back, n, wide);
    if (ranged) p->range = program_new(g, 1, &m->range, n, wide);
    bool made = p->unit && p->map && p->back && (p->range || !ranged);
    return made ? 0 : GSV_NO_MEMORY;
}

int values_init(const struct plan *p, struct values *v)
{
    bool failed = uniforms_init(&v->unit, p->unit) ||
                  uniforms_init(&v->map, p->map) ||
                  uniforms_init(&v->back, p->back) ||
                  (p->step && uniforms_init(&v->step, p->step)) ||
                  (p->range && uniforms_init(&v->range, p->range));
    return failed ? GSV_NO_MEMORY : 0;
}

void values_set(const struct plan *p, const double *value, struct values *v)
{
    program_prepare(p->unit, value, &v->unit);
    program_prepare(p->map, value, &v->map);
    program_prepare(p->back, value, &v->back);
    if (p->step) program_prepare(p->step, value, &v->step);
    if (p->range) program_prepare(p->range, value, &v->range);
}

void values_free(struct values *v)
{
    uniforms_free(&v->unit);
    uniforms_free(&v->step);
    uniforms_free(&v->map);
    uniforms_free(&v->back);
    uniforms_free(&v->range);
}

/* --- Sizes ---------------------------------------------------------------- */

/* Chunks are only cut to reach this number of items. */
enum { ITEMS = 64 };

/* The points of a block fill about so much of the cache. */
enum { BLOCK_BYTES = 1 << 20, FEWEST_POINTS = 64, MOST_POINTS = 8192 };
enum { CONTEXT_BYTES = 1 << 20, MOST_GAPS = 256 };

static size_t clamp(size_t x, size_t low, size_t high)
{
    return x < low ? low : x > high ? high : x;
}

bool has_matrices(const struct plan *p)
{
    bool brownian = p->options->reference == GSV_REFERENCE_BROWNIAN;
    return p->weigher->gaussian && !p->weigher->one_path &&
           (!brownian || p->model->chain.next);
}

/* y_bar, k_bar, lambda and, where there are matrices, the reference's. */
size_t bars_size(const struct plan *p)
{
    size_t d = p->d, M = p->longest;
    return 3 * d + (M + 1) * d + (has_matrices(p) ? 4 * M * d : 0);
}

size_t context_size(const struct plan *p)
{
    size_t d = p->d, M = p->longest;
    return 2 * d + bars_size(p) +
           (p->weigher->context_size ? p->weigher->context_size(p) : 0) +
           (has_matrices(p) ? reference_size(d, M) : 0);
}

size_t chunk_first(const struct plan *p, size_t chunk)
{
    size_t first = 8 * lanes_first(chunk, p->chunks, (p->K + 7) / 8);
    return first < p->K ? first : p->K;
}

/* K as it is used: one path where no gap has an inner point, and a power of
 * two for Sobol' points. */
static size_t real_paths(const struct plan *p)
{
    size_t K = 1;
    if (p->longest == 1 || p->weigher->one_path) return 1;
    size_t paths = p->options->paths ? p->options->paths : FIRST_PATHS;
    if (p->options->random == GSV_RANDOM_IID) return paths;
    while (K < paths)
        K *= 2;
    return K;
}

/* A chunk has at least a vector of paths. Every chunk builds the linear
 * reference of its gap again, and sampling should cost more than that. */
static size_t fewest_paths(const struct plan *p)
{
    return has_matrices(p) ? 16 * (p->d + 1) : 8;
}

/* With joint the weight of a path is known only at the end of the track. A
 * block gets room for a few paths of a whole track, up to so many bytes, and
 * the drift is not evaluated again for the gradient (driver.c). With fewer
 * tracks than this there would be too few items. */
enum { ONLINE_PATHS = 4, ONLINE_TRACKS = 8, ONLINE_BYTES = 24 << 20 };

static void make_room_for_tracks(struct plan *p, size_t point_bytes)
{
    size_t points = 0, gaps = 0, context = context_size(p) * sizeof(double);
    if (!p->options->joint || !p->options->gradient || p->most < ONLINE_TRACKS)
        return;
    for (size_t g = 0; g < p->all_groups; g++) {
        size_t columns = group_columns(p, g);
        if (columns > points) points = columns;
        if (group_gaps(p, g) > gaps) gaps = group_gaps(p, g);
    }
    points *= p->K < ONLINE_PATHS ? p->K : ONLINE_PATHS;
    if (points * point_bytes + gaps * context > ONLINE_BYTES) return;
    p->chunks = 1;
    if (points > p->capacity) p->capacity = points;
    if (gaps > p->batch) p->batch = gaps;
}

size_t group_columns(const struct plan *p, size_t group)
{
    size_t columns = 0, end = group_begin(p, group + 1);
    for (size_t i = group_begin(p, group); i < end; i++) {
        struct gap gap = {0};
        if (p->options->step > 0.0) gap = gap_at(p, i);
        columns += p->weigher->columns(p, plan_steps(p, &gap));
    }
    return columns;
}

static size_t least_points(const struct plan *p)
{
    return p->weigher->least ? p->weigher->least(p) : 0;
}

/* At most half of the points of modified bridges step at a time. */
static size_t point_bytes(const struct plan *p)
{
    bool gradient = p->options->gradient;
    return program_bytes(p->unit, gradient) +
           (p->step ? program_bytes(p->step, gradient) / 2 : 0) +
           p->d * sizeof(double) * (gradient ? 16 : 12);
}

/* Series that are much shorter than a block, as those of a panel, need no more
 * room than for all of their paths: to set it to zero takes longer than they
 * do. */
static void save_room(struct plan *p)
{
    size_t points = 0, least = least_points(p);
    if (p->pairs || p->gaps.count >= p->capacity) return;
    for (size_t g = 0; g < p->all_groups && points < p->capacity; g++)
        points += group_columns(p, g) * p->K;
    if (points < FEWEST_POINTS) points = FEWEST_POINTS;
    if (points < least) points = least;
    if (points > p->capacity / 4) return;
    p->capacity = points;
    if (p->gaps.count && p->gaps.count < p->batch) p->batch = p->gaps.count;
}

static int find_sizes(struct plan *p)
{
    size_t bytes = point_bytes(p), least = least_points(p);
    size_t context = context_size(p) * sizeof(double);
    if ((double)least * (double)bytes >= 2e9)
        return fail(GSV_BAD_INPUT,
                    "bridges of %zu steps would take %.0f GB; take fewer steps",
                    p->longest, (double)least * (double)bytes / 1e9);
    p->K = real_paths(p);
    p->capacity = clamp(BLOCK_BYTES / bytes, FEWEST_POINTS, MOST_POINTS);
    if (p->capacity < least) p->capacity = least;
    p->batch = clamp(CONTEXT_BYTES / context, 1, MOST_GAPS);
    p->chunks = p->most < ITEMS ? (ITEMS + p->most - 1) / p->most : 1;
    size_t most = p->K / fewest_paths(p);
    p->chunks = clamp(p->chunks, 1, most ? most : 1);
    make_room_for_tracks(p, bytes);
    save_room(p);
    return 0;
}

/* --- Making --------------------------------------------------------------- */

int plan_init(struct plan *p, const struct weigher *w, const struct task *t,
              size_t pairs, double longest)
{
    *p = (struct plan){.model = t->model,
                       .options = t->options,
                       .weigher = w,
                       .form = t->options->form,
                       .d = t->model->spec->dim,
                       .inputs = t->model->spec->inputs,
                       .halved = t->halved,
                       .is_shared = t->by_group,
                       .most = t->most,
                       .pairs = pairs,
                       .pair_length = longest};
    int status = 0;
    if (!status)
        status = pairs ? gaps_inputs_init(&p->gaps, t->model, t->series)
                       : gaps_find(&p->gaps, t->model, t->series);
    if (pairs) p->gaps.count = pairs;
    else if (!status) status = domain_check(p);
    if (!status) status = find_longest(p);
    if (!status) status = p->weigher->check(p);
    if (!status) status = make_groups(p);
    if (!status) status = make_programs(p);
    return status ? status : find_sizes(p);
}

void plan_free(struct plan *p)
{
    mem_free(p->first_gap);
    program_free(p->unit);
    program_free(p->step);
    program_free(p->map);
    program_free(p->back);
    program_free(p->range);
    graph_free(p->graph);
    arena_free(&p->bound.arena);
    gaps_free(&p->gaps);
}
