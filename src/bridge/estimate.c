/* SPDX-License-Identifier: MIT */
#include "bridge/estimate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "bridge/bound.h"
#include "bridge/bridges.h"
#include "bridge/modified.h"
#include "bridge/result.h"

size_t unit_bars(const struct estimate *e)
{
    return program_uniforms(e->unit) +
           (e->step ? program_uniforms(e->step) : 0);
}

size_t all_bars(const struct estimate *e)
{
    return unit_bars(e) + program_uniforms(e->map);
}

size_t estimate_steps(const struct estimate *e, const struct gap *gap)
{
    const gsv_options *o = e->options;
    if (e->weigher->one_step) return 1;
    if (!(o->step > 0.0)) return o->steps;
    double steps = ceil(gap->length / o->step * (1.0 - 1e-12));
    return steps < 1.0 ? 1 : (size_t)steps;
}

struct gap estimate_gap(const struct estimate *e, size_t i)
{
    if (i >= e->filled && i < e->filled_end) return e->gaps.gap[i];
    return gaps_at(&e->gaps, e->chosen ? e->chosen[i] : i);
}

size_t gap_steps(const struct estimate *e, size_t i)
{
    struct gap gap = {0};
    if (e->options->step > 0.0) gap = estimate_gap(e, i);
    return estimate_steps(e, &gap);
}

/* --- Checking ----------------------------------------------------------- */

static int check_options(const gsv_options *o)
{
    bool pathless = !o->paths;
    if (o->paths && (o->steps || o->step > 0.0)) return 0;
    return fail(GSV_BAD_INPUT,
                "the number of %s is 0, but must be from 1 to 1e8",
                pathless ? "paths" : "steps");
}

static int find_longest(struct estimate *e)
{
    double step = e->options->step;
    e->longest = estimate_steps(e, &(struct gap){0});
    for (size_t i = 0; step > 0.0 && i < e->gaps.count; i++) {
        struct gap gap = estimate_gap(e, i);
        if (gap.length / step > 1e8)
            return fail(GSV_BAD_INPUT,
                        "a step of %g cuts a gap of length %g into more than "
                        "1e8 steps; take a longer one",
                        step, gap.length);
        size_t M = estimate_steps(e, &gap);
        if (M > e->longest) e->longest = M;
    }
    return 0;
}

/* --- Programs ----------------------------------------------------------- */

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

static int make_programs(struct estimate *e)
{
    const gsv_model *m = e->model;
    size_t n = m->spec->parameters;
    bool wide = e->options->wide;
    struct drift_outputs out = {{m->unit_drift}, 1};
    int status = e->weigher->build(e, &out);
    if (status) return status;
    const struct graph *g = e->graph ? e->graph : m->spec->graph;
    e->unit = program_new(g, out.count, out.node, n, wide);
    e->map = program_new(g, 3, m->forth, n, wide);
    e->back = program_new(g, 2, m->back, n, wide);
    if (m->range && e->weigher->gaussian) {
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

/* --- Setting up --------------------------------------------------------- */

static int make_memory(struct estimate *e)
{
    size_t slots = e->groups * e->chunks;
    bool stored = e->chunks > 1;
    e->threads = lanes_threads(e->options->threads);
    if (e->threads > estimate_lanes(e)) e->threads = estimate_lanes(e);
    if (!e->threads) e->threads = 1;
    e->tally = NEW(struct tally, slots);
    e->tally2 = NEW(struct tally, slots);
    e->base = NEW(double, slots);
    e->finding = NEW(struct finding, e->groups);
    e->lane = NEW(struct moments, MOST_LANES);
    e->scratch = NEW(struct scratch, e->threads);
    e->S = stored ? NEW(double, e->groups * e->K) : NULL;
    e->S2 = stored ? NEW(double, e->groups * e->K) : NULL;
    if (!e->tally || !e->tally2 || !e->base || !e->finding || !e->lane ||
        !e->scratch || (stored && (!e->S || !e->S2)))
        return GSV_NO_MEMORY;
    for (size_t i = 0; i < e->threads; i++)
        if (scratch_init(e, &e->scratch[i])) return GSV_NO_MEMORY;
    return 0;
}

int estimate_choose(struct estimate *e, size_t n, const size_t *group)
{
    if (e->most < e->every_group) groups_take(e, n, group);
    int status = items_make(e);
    if (!status) groups_fill(e);
    return status;
}

/* Everything from the gaps on. */
static int set_up(struct estimate *e)
{
    int status = find_longest(e);
    if (!status) status = e->weigher->check(e);
    if (!status) status = groups_make(e);
    if (!status) status = groups_room(e);
    if (!status) status = make_programs(e);
    if (!status) status = items_check(e);
    if (status) return status;
    items_sizes(e);
    status = estimate_choose(e, e->most, NULL);
    return status ? status : make_memory(e);
}

const struct weigher *weigher_choose(const gsv_model *m, const gsv_options *o)
{
    if (m->bridged) return &MODIFIED;
    return o->form == GSV_FORM_BOUND ? &BOUND : &BRIDGES;
}

int estimate_init(struct estimate *e, const gsv_model *m,
                  const gsv_series *series, const gsv_options *o, size_t most)
{
    *e = (struct estimate){.model = m,
                           .options = o,
                           .weigher = weigher_choose(m, o),
                           .form = o->form,
                           .d = m->spec->dim,
                           .inputs = m->spec->inputs,
                           .halved = true,
                           .known = true,
                           .most = most};
    int status = check_options(o);
    if (!status) status = gaps_find(&e->gaps, m, series);
    if (!status) status = domain_check(e);
    return status ? status : set_up(e);
}

int estimate_init_pairs(struct estimate *e, const gsv_model *m,
                        const gsv_series *series, const gsv_options *o,
                        size_t pairs, double longest)
{
    *e = (struct estimate){.model = m,
                           .options = o,
                           .weigher = weigher_choose(m, o),
                           .form = o->form,
                           .d = m->spec->dim,
                           .inputs = m->spec->inputs,
                           .known = true};
    int status = check_options(o);
    if (!status) status = gaps_inputs_init(&e->gaps, m, series);
    if (status) return status;
    e->gaps.gap = NEW(struct gap, pairs);
    if (!e->gaps.gap) return GSV_NO_MEMORY;
    e->gaps.count = e->filled_end = pairs;
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
    return items_make(e);
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
    mem_free(e->lane);
    mem_free(e->S);
    mem_free(e->S2);
    mem_free(e->unit_bar);
    mem_free(e->group_first);
    mem_free(e->window);
    mem_free(e->window_bar);
    mem_free(e->every_first);
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
