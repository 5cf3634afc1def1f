/* SPDX-License-Identifier: MIT */
#include "sde/estimate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/spread.h"
#include "sde/bound.h"
#include "sde/khat.h"
#include "sde/modified.h"
#include "sde/result.h"

/* Items beyond this bring no more balance; chunks are only cut to get there.
 * All of these are functions of the problem alone, never of the threads. */
enum { ITEMS = 64 };

/* A block's points fill about this much of the cache; an item of small groups
 * has at least as many points as keep the kernels busy. */
enum { BLOCK_BYTES = 1 << 20, FEWEST_POINTS = 64, MOST_POINTS = 8192 };
enum { BUSY_POINTS = 64, CONTEXT_BYTES = 1 << 20, MOST_GAPS = 256 };

gsv_options gsv_options_default(void)
{
    return (gsv_options){.paths = 64, .steps = 8, .seed = 1};
}

size_t unit_bars(const struct estimate *e)
{
    return program_uniforms(e->unit) +
           (e->step ? program_uniforms(e->step) : 0);
}

size_t all_bars(const struct estimate *e)
{
    return unit_bars(e) + program_uniforms(e->map);
}

size_t estimate_lanes(const struct estimate *e)
{
    enum { FEWEST_ITEMS = 4, MOST = 16 * LANES };
    size_t lanes = e->items / FEWEST_ITEMS;
    if (lanes > MOST) return MOST;
    if (lanes > LANES) return lanes;
    return e->items < LANES ? e->items : LANES;
}

size_t estimate_steps(const struct estimate *e, const struct gap *gap)
{
    const gsv_options *o = e->options;
    if (o->form == GSV_FORM_BOUND) return 1;
    if (!(o->step > 0.0)) return o->steps;
    double steps = ceil(gap->length / o->step * (1.0 - 1e-12));
    return steps < 1.0 ? 1 : (size_t)steps;
}

/* --- Checking ----------------------------------------------------------- */

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

static int find_longest(struct estimate *e)
{
    for (size_t i = 0; i < e->gaps.count; i++) {
        double length = e->gaps.gap[i].length;
        if (e->options->step > 0.0 && length / e->options->step > 1e8)
            return fail(GSV_BAD_INPUT,
                        "a step of %g cuts a gap of length %g into more than "
                        "1e8 steps; take a longer one",
                        e->options->step, length);
        size_t M = estimate_steps(e, &e->gaps.gap[i]);
        if (M > e->longest) e->longest = M;
    }
    return 0;
}

/* A linear reference keeps matrices for every step. */
static int check_reference(const struct estimate *e)
{
    double bytes = 8.0 * (double)reference_size(e->d, 1) * (double)e->longest;
    if (e->model->bridged) return modified_check(e);
    if (e->options->form == GSV_FORM_BOUND) return bound_check(e);
    if (e->options->reference == GSV_REFERENCE_MODIFIED ||
        e->options->form == GSV_FORM_EULER)
        return fail(GSV_BAD_INPUT,
                    "modified bridges and their euler weights are for noise "
                    "that depends on the state in a way that no map takes "
                    "out; this model's noise does not");
    if (e->options->reference == GSV_REFERENCE_BROWNIAN || bytes < 2e9)
        return 0;
    return fail(GSV_BAD_INPUT,
                "a linear reference of %zu steps in %zu dimensions would take "
                "%.0f GB; take fewer steps, or the brownian reference",
                e->longest, e->d, bytes / 1e9);
}

/* --- Programs ----------------------------------------------------------- */

/* Exact divergences cost a pass for every dimension. */
enum { MOST_DIVERGENCE = 16 };

/* The graph with the divergence of f~ added, in a copy: the model's own is
 * read by others at the same time. */
static int add_divergence(struct estimate *e, node *divergence)
{
    const gsv_model *m = e->model;
    const struct graph *g = m->spec->graph;
    if (m->calls)
        return fail(GSV_BAD_INPUT,
                    "the stratonovich form needs the drift's divergence, "
                    "which a C callback does not give; use ito or midpoint");
    if (g->nets && e->d > MOST_DIVERGENCE)
        return fail(GSV_BAD_INPUT,
                    "the stratonovich form needs the divergence of a network "
                    "in %zu dimensions, but computes it up to %d only; use "
                    "ito or midpoint",
                    e->d, MOST_DIVERGENCE);
    e->graph = graph_copy(g);
    if (!e->graph) return GSV_NO_MEMORY;
    node state = graph_leaf(e->graph, OP_STATE, 0, e->d, 1);
    *divergence = graph_divergence(e->graph, m->unit_drift, state);
    return e->graph->failed ? GSV_NO_MEMORY : 0;
}

void estimate_prepare(struct estimate *e, const double *guide)
{
    const double *value = e->model->value;
    program_prepare(e->unit, value, &e->unit_uniforms);
    program_prepare(e->map, value, &e->map_uniforms);
    program_prepare(e->back, value, &e->back_uniforms);
    if (e->step) program_prepare(e->step, value, &e->step_uniforms);
    if (e->range) program_prepare(e->range, value, &e->range_uniforms);
    e->frozen = guide != NULL;
    e->guide_unit = guide ? &e->frozen_unit : &e->unit_uniforms;
    e->guide_map = guide ? &e->frozen_map : &e->map_uniforms;
    if (!guide) return;
    program_prepare(e->unit, guide, &e->frozen_unit);
    program_prepare(e->map, guide, &e->frozen_map);
    program_prepare(e->back, guide, &e->frozen_back);
    if (e->range) program_prepare(e->range, guide, &e->frozen_range);
}

/* With a potential only an integral over time is left to sum, and its error is
 * of a higher order. Networks would have to be differentiated twice. */
static void choose_form(struct estimate *e)
{
    const gsv_model *m = e->model;
    bool formula = !m->calls && !m->spec->graph->nets;
    bool potential = has_potential(e);
    e->form = e->options->form;
    if (e->form == GSV_FORM_AUTO && potential && formula && e->longest > 1 &&
        !e->options->joint && e->options->reference != GSV_REFERENCE_BROWNIAN)
        e->form = GSV_FORM_STRATONOVICH;
    e->potential = potential && e->form == GSV_FORM_STRATONOVICH;
}

/* Of a bridged model: modified.h. */
static int make_step(struct estimate *e, node unit[2])
{
    node step;
    int status = modified_build(e, unit, &step);
    if (status) return status;
    e->step = program_new(e->graph, 1, &step, e->model->spec->parameters,
                          e->options->wide);
    return e->step ? uniforms_init(&e->step_uniforms, e->step) : GSV_NO_MEMORY;
}

static int make_programs(struct estimate *e)
{
    const gsv_model *m = e->model;
    size_t n = m->spec->parameters, outputs = 1;
    bool wide = e->options->wide;
    node unit[4] = {m->unit_drift};
    if (m->bridged || e->form == GSV_FORM_STRATONOVICH) {
        int status =
            m->bridged ? make_step(e, unit) : add_divergence(e, &unit[1]);
        if (status) return status;
        outputs = 2;
    }
    if (e->potential && m->distance) {
        e->barriers = graph_size(m->spec->graph, m->distance);
        unit[outputs++] = m->distance;
        unit[outputs++] = m->steepness;
    }
    const struct graph *g = e->graph ? e->graph : m->spec->graph;
    e->unit = program_new(g, outputs, unit, n, wide);
    e->map = program_new(g, 3, m->forth, n, wide);
    e->back = program_new(g, 2, m->back, n, wide);
    if (m->range && !m->bridged) {
        e->range = program_new(g, 1, &m->range, n, wide);
        if (!e->range || uniforms_init(&e->range_uniforms, e->range) ||
            uniforms_init(&e->frozen_range, e->range))
            return GSV_NO_MEMORY;
    }
    if (!e->unit || !e->map || !e->back ||
        uniforms_init(&e->unit_uniforms, e->unit) ||
        uniforms_init(&e->map_uniforms, e->map) ||
        uniforms_init(&e->back_uniforms, e->back) ||
        uniforms_init(&e->frozen_unit, e->unit) ||
        uniforms_init(&e->frozen_map, e->map) ||
        uniforms_init(&e->frozen_back, e->back))
        return GSV_NO_MEMORY;
    return 0;
}

/* --- Groups, items, sizes ----------------------------------------------- */

/* All gaps and the groups that they form. */
static int make_groups(struct estimate *e)
{
    struct gaps *g = &e->gaps;
    e->every_first = NEW(size_t, g->count + 1);
    if (!e->every_first) return GSV_NO_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        if (!e->options->joint || !i || g->gap[i].track != g->gap[i - 1].track)
            e->every_first[e->every_group++] = i;
    e->every_first[e->every_group] = g->count;
    if (!e->most || e->most > e->every_group) e->most = e->every_group;
    e->groups = e->most;
    return 0;
}

/* Where only some groups are chosen, their gaps follow each other in a list of
 * their own. */
static int make_room_for_groups(struct estimate *e)
{
    size_t longest = 0;
    e->every = e->gaps.gap;
    e->group_first = e->every_first;
    if (e->most == e->every_group) return 0;
    for (size_t i = 0; i < e->every_group; i++) {
        size_t n = e->every_first[i + 1] - e->every_first[i];
        if (n > longest) longest = n;
    }
    e->gaps.gap = NEW(struct gap, e->most * longest);
    e->group_first = NEW(size_t, e->most + 1);
    return e->gaps.gap && e->group_first ? 0 : GSV_NO_MEMORY;
}

static void copy_groups(struct estimate *e, size_t n, const size_t *group)
{
    size_t gaps = 0;
    for (size_t i = 0; i < n; i++) {
        size_t from = group ? group[i] : i, first = e->every_first[from];
        size_t count = e->every_first[from + 1] - first;
        memcpy(e->gaps.gap + gaps, e->every + first, count * sizeof *e->every);
        e->group_first[i] = gaps;
        gaps += count;
    }
    e->group_first[n] = gaps;
    e->gaps.count = gaps;
    e->groups = n;
}

/* K as it is used: one path where no gap has an inner point, and a power of
 * two for Sobol' points. */
static size_t real_paths(const struct estimate *e)
{
    size_t K = 1;
    if (e->longest == 1) return 1;
    if (e->options->random == GSV_RANDOM_IID) return e->options->paths;
    while (K < e->options->paths)
        K *= 2;
    return K;
}

static size_t clamp(size_t x, size_t low, size_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* A chunk has at least a vector of paths; and every chunk builds its gap's
 * linear reference again, so that sampling should cost more than that. */
static size_t fewest_paths(const struct estimate *e)
{
    bool brownian = e->options->reference == GSV_REFERENCE_BROWNIAN;
    return brownian || e->model->bridged ? 8 : 16 * (e->d + 1);
}

static size_t columns_of(const struct estimate *e, const struct gap *gap,
                         size_t gaps)
{
    size_t columns = 0;
    for (size_t i = 0; i < gaps; i++)
        columns += walk_columns(e, estimate_steps(e, &gap[i]));
    return columns;
}

size_t group_columns(const struct estimate *e, size_t group)
{
    size_t first = e->group_first[group];
    return columns_of(e, e->gaps.gap + first,
                      e->group_first[group + 1] - first);
}

/* Averaging over tracks, a path's weight is known only at the track's end. So
 * that its drift need not be run again for the gradient, a block has room for a
 * few paths of a whole track, up to so many bytes; run.c has the rest. For a
 * few tracks alone there would be too few items. */
enum { ONLINE_PATHS = 4, ONLINE_TRACKS = 8, ONLINE_BYTES = 24 << 20 };

static void make_room_for_tracks(struct estimate *e, size_t point_bytes)
{
    size_t points = 0, gaps = 0, context = context_size(e) * sizeof(double);
    if (!e->options->joint || !e->options->gradient ||
        e->groups < ONLINE_TRACKS)
        return;
    for (size_t g = 0; g < e->every_group; g++) {
        size_t n = e->every_first[g + 1] - e->every_first[g];
        size_t columns = columns_of(e, e->every + e->every_first[g], n);
        if (columns > points) points = columns;
        if (n > gaps) gaps = n;
    }
    points *= e->K < ONLINE_PATHS ? e->K : ONLINE_PATHS;
    if (points * point_bytes + gaps * context > ONLINE_BYTES) return;
    e->chunks = 1;
    if (points > e->capacity) e->capacity = points;
    if (gaps > e->batch) e->batch = gaps;
}

/* What a point takes; of a bridged model, half of them are stepping at most. */
static size_t point_bytes(const struct estimate *e)
{
    bool gradient = e->options->gradient;
    return program_bytes(e->unit, gradient) +
           (e->step ? program_bytes(e->step, gradient) / 2 : 0) +
           e->d * sizeof(double) * (gradient ? 16 : 12);
}

static void make_sizes(struct estimate *e)
{
    size_t bytes = point_bytes(e);
    size_t context = context_size(e) * sizeof(double);
    e->K = real_paths(e);
    e->capacity = clamp(BLOCK_BYTES / bytes, FEWEST_POINTS, MOST_POINTS);
    if (e->model->bridged && e->capacity < modified_block(e))
        e->capacity = modified_block(e);
    if (e->bound && e->capacity < bound_columns(e))
        e->capacity = bound_columns(e);
    e->batch = clamp(CONTEXT_BYTES / context, 1, MOST_GAPS);
    e->chunks = e->groups < ITEMS ? (ITEMS + e->groups - 1) / e->groups : 1;
    size_t most = e->K / fewest_paths(e);
    e->chunks = clamp(e->chunks, 1, most ? most : 1);
    make_room_for_tracks(e, bytes);
}

/* Modified bridges are walked with all of their steps. */
static int check_block(const struct estimate *e)
{
    double bytes = (double)modified_block(e) * (double)point_bytes(e);
    if (bytes < 2e9) return 0;
    return fail(GSV_BAD_INPUT,
                "modified bridges of %zu steps would take %.0f GB; take fewer "
                "steps",
                e->longest, bytes / 1e9);
}

static int add_item(struct estimate *e, struct item item)
{
    if (MEM_ROOM(e->item, e->items, e->item_capacity)) return GSV_NO_MEMORY;
    e->item[e->items++] = item;
    return 0;
}

/* Small groups side by side in one block: as many as give each lane some. */
static int pack_groups(struct estimate *e)
{
    size_t total = 0;
    for (size_t g = 0; g < e->groups; g++)
        total += (group_columns(e, g) * e->K);
    size_t target = clamp(total / ITEMS, BUSY_POINTS, e->capacity);
    for (size_t g = 0; g < e->groups;) {
        size_t first = g, points = 0, gaps = 0;
        do {
            points += (group_columns(e, g) * e->K);
            gaps += e->group_first[g + 1] - e->group_first[g];
            g++;
        } while (g < e->groups &&
                 gaps + e->group_first[g + 1] - e->group_first[g] <= e->batch &&
                 points + (group_columns(e, g) * e->K) <= target);
        if (add_item(e, (struct item){first, g, 0, e->K})) return GSV_NO_MEMORY;
    }
    return 0;
}

/* Chunks begin at multiples of 8 paths: whole vectors. */
static size_t chunk_first(const struct estimate *e, size_t chunk)
{
    size_t first = 8 * lanes_first(chunk, e->chunks, (e->K + 7) / 8);
    return first < e->K ? first : e->K;
}

static int cut_groups(struct estimate *e)
{
    for (size_t g = 0; g < e->groups; g++)
        for (size_t c = 0; c < e->chunks; c++)
            if (add_item(e, (struct item){g, g + 1, chunk_first(e, c),
                                          chunk_first(e, c + 1)}))
                return GSV_NO_MEMORY;
    return 0;
}

/* What the lanes' sums are made in. */
static int make_slots(struct estimate *e)
{
    size_t slots = spread_slots(estimate_lanes(e), e->options->ranks);
    if (!e->options->gradient || slots <= e->slots) return 0;
    mem_free(e->unit_bar);
    e->slots = 0;
    e->unit_bar = NEW(double, slots *all_bars(e));
    if (!e->unit_bar) return GSV_NO_MEMORY;
    e->map_bar = e->unit_bar + unit_bars(e);
    e->slots = slots;
    return 0;
}

static int make_items(struct estimate *e)
{
    e->items = 0;
    int status = e->chunks == 1 ? pack_groups(e) : cut_groups(e);
    return status ? status : make_slots(e);
}

/* --- Memory ------------------------------------------------------------- */

/* The most weights that an item has at once: small groups fill a block of
 * points at most, and every path has a point; a large one is alone. */
static size_t item_weights(const struct estimate *e)
{
    size_t alone = e->chunks > 1 ? chunk_first(e, 1) + 8 : e->K;
    return alone > e->capacity ? alone : e->capacity;
}

static int scratch_init(const struct estimate *e, struct scratch *s)
{
    size_t d = e->d, P = e->capacity, n = e->inputs, G = 2 * e->batch;
    size_t weights = item_weights(e), path = d * P > d * G ? d * P : d * G;
    bool gradient = e->options->gradient;
    size_t bars = gradient ? path : 0;
    bool sobol = e->options->random == GSV_RANDOM_SOBOL;
    size_t both = e->step ? 2 : 1, half = e->step ? P / 2 : 0;
    size_t basis = sobol ? draw_basis_room(e->longest) : 0;
    size_t mode = d * (P > 16 * MODES ? P : 16 * MODES);
    const struct arena_part part[] = {
        {&s->context_memory, e->batch * context_size(e)},
        {&s->draw.basis, basis},
        {&s->draw.mode, mode},
        {&s->draw.row, FEW_MODES},
        {&s->xi, path},
        {&s->at, path},
        {&s->Y, path},
        {&s->Z, both * path},
        {&s->dY, path},
        {&s->dot, path},
        {&s->f_bar, bars},
        {&s->div_bar, gradient ? P : 0},
        {&s->distance_bar, gradient ? e->barriers * P : 0},
        {&s->steepness_bar, gradient ? e->barriers * P : 0},
        {&s->dY_bar, bars},
        {&s->Y_bar, bars},
        {&s->Z_bar, both * bars},
        {&s->time, P},
        {&s->input, n * P},
        {&s->slope, n * P},
        {&s->alive, e->step ? P : 0},
        {&s->step_time, half},
        {&s->step_input, n * half},
        {&s->step_slope, n * half},
        {&s->weigh, weigh_scratch(d, P)},
        {&s->S, weights},
        {&s->S2, weights},
        {&s->S_bar, gradient ? weights : 0},
        {&s->S2_bar, gradient ? weights : 0},
        {&s->pilot, PILOTS},
        {&s->pilot2, PILOTS},
        {&s->x, 2 * d * G},
        {&s->y_bar, d * G},
        {&s->end_time, G},
        {&s->end_input, n * G},
        {&s->end_slope, n * G},
        {&s->small, 4 * d + G},
        {&s->sorted, khat_room(e->K)},
        {&s->unit_bar, gradient ? all_bars(e) : 0},
        {&s->unit_part, gradient ? all_bars(e) : 0},
        {&s->group_S, gradient ? e->K : 0},
        {&s->single, single_size(e)},
    };
    s->context = NEW(struct context, e->batch);
    s->piece = NEW(struct piece, e->batch);
    if (!s->context || !s->piece ||
        arena_lay(&s->arena, sizeof part / sizeof *part, part) ||
        workspace_init(&s->unit, e->unit, P, gradient,
                       e->options->reference != GSV_REFERENCE_BROWNIAN &&
                           !e->step) ||
        (e->step && workspace_init(&s->step, e->step, half, gradient, false)) ||
        workspace_init(&s->map, e->map, G, gradient, false) ||
        workspace_init(&s->back, e->back, G, false, false))
        return GSV_NO_MEMORY;
    if (e->range) {
        s->outside = NEW(bool, P);
        if (!s->outside || workspace_init(&s->range, e->range, P, false, false))
            return GSV_NO_MEMORY;
    }
    s->map_bar = s->unit_bar + unit_bars(e);
    s->map_part = s->unit_part + unit_bars(e);
    s->draw.d = d;
    s->draw.sobol = sobol;
    return 0;
}

static void scratch_free(struct scratch *s)
{
    workspace_free(&s->unit);
    workspace_free(&s->step);
    workspace_free(&s->map);
    workspace_free(&s->back);
    workspace_free(&s->range);
    mem_free(s->outside);
    arena_free(&s->arena);
    mem_free(s->context);
    mem_free(s->piece);
}

static int make_memory(struct estimate *e)
{
    size_t slots = e->groups * e->chunks;
    bool stored = e->chunks > 1;
    e->threads = lanes_threads(e->options->threads);
    e->threads = clamp(e->threads, 1, estimate_lanes(e));
    e->tally = NEW(struct tally, slots);
    e->tally2 = NEW(struct tally, slots);
    e->base = NEW(double, slots);
    e->finding = NEW(struct finding, e->groups);
    e->scratch = NEW(struct scratch, e->threads);
    e->S = stored ? NEW(double, e->groups * e->K) : NULL;
    e->S2 = stored ? NEW(double, e->groups * e->K) : NULL;
    if (!e->tally || !e->tally2 || !e->base || !e->finding || !e->scratch ||
        (stored && (!e->S || !e->S2)))
        return GSV_NO_MEMORY;
    for (size_t i = 0; i < e->threads; i++)
        if (scratch_init(e, &e->scratch[i])) return GSV_NO_MEMORY;
    return 0;
}

int estimate_choose(struct estimate *e, size_t n, const size_t *group)
{
    if (e->most < e->every_group) copy_groups(e, n, group);
    return make_items(e);
}

/* Everything from the gaps on. */
static int set_up(struct estimate *e)
{
    int status = find_longest(e);
    if (!status) status = check_reference(e);
    if (!status) status = make_groups(e);
    if (!status) status = make_room_for_groups(e);
    if (!status) choose_form(e);
    if (!status) status = make_programs(e);
    if (!status && e->step) status = check_block(e);
    if (!status && e->form == GSV_FORM_BOUND) status = bound_init(e);
    if (status) return status;
    make_sizes(e);
    status = estimate_choose(e, e->most, NULL);
    return status ? status : make_memory(e);
}

int estimate_init(struct estimate *e, const gsv_model *m,
                  const gsv_series *series, const gsv_options *o, size_t most)
{
    *e = (struct estimate){.model = m,
                           .options = o,
                           .d = m->spec->dim,
                           .inputs = m->spec->inputs,
                           .halved = true,
                           .most = most};
    int status = check_options(o);
    if (!status) status = gaps_init(&e->gaps, m, series);
    if (!status) status = domain_check(e);
    return status ? status : set_up(e);
}

int estimate_init_pairs(struct estimate *e, const gsv_model *m,
                        const gsv_series *series, const gsv_options *o,
                        size_t pairs, double longest)
{
    *e = (struct estimate){
        .model = m, .options = o, .d = m->spec->dim, .inputs = m->spec->inputs};
    int status = check_options(o);
    if (!status) status = gaps_inputs_init(&e->gaps, m, series);
    if (status) return status;
    e->gaps.gap = NEW(struct gap, pairs);
    if (!e->gaps.gap) return GSV_NO_MEMORY;
    e->gaps.count = pairs;
    for (size_t i = 0; i < pairs; i++)
        e->gaps.gap[i] = (struct gap){.length = longest};
    return set_up(e);
}

int estimate_take_pairs(struct estimate *e, size_t pairs, size_t points,
                        const double *point)
{
    e->gaps.count = e->groups = pairs;
    e->gaps.point = point;
    e->gaps.points = points;
    for (size_t i = 0; i <= pairs; i++)
        e->group_first[i] = i;
    return make_items(e);
}

void estimate_free(struct estimate *e)
{
    for (size_t i = 0; e->scratch && i < e->threads; i++)
        scratch_free(&e->scratch[i]);
    mem_free(e->scratch);
    mem_free(e->item);
    mem_free(e->tally);
    mem_free(e->tally2);
    mem_free(e->base);
    mem_free(e->finding);
    mem_free(e->S);
    mem_free(e->S2);
    mem_free(e->unit_bar);
    if (e->group_first != e->every_first) mem_free(e->group_first);
    mem_free(e->every_first);
    if (e->every != e->gaps.gap) mem_free(e->every);
    uniforms_free(&e->unit_uniforms);
    uniforms_free(&e->step_uniforms);
    uniforms_free(&e->map_uniforms);
    uniforms_free(&e->frozen_unit);
    uniforms_free(&e->frozen_map);
    uniforms_free(&e->frozen_back);
    uniforms_free(&e->frozen_range);
    uniforms_free(&e->back_uniforms);
    uniforms_free(&e->range_uniforms);
    program_free(e->unit);
    program_free(e->step);
    program_free(e->map);
    program_free(e->back);
    program_free(e->range);
    graph_free(e->graph);
    bound_free(e->bound);
    gaps_free(&e->gaps);
}
