/* SPDX-License-Identifier: MIT */
/* A thread's own memory for an estimate: asked for once, before any block. */
#include "base/khat.h"
#include "bridge/bound.h"
#include "bridge/estimate.h"

/* The most weights that an item has at once: small groups fill a block of
 * points at most, and every path has a point; a large one is alone. */
static size_t item_weights(const struct estimate *e)
{
    size_t alone = e->chunks > 1 ? chunk_first(e, 1) + 8 : e->K;
    return alone > e->capacity ? alone : e->capacity;
}

/* Numbers at all points of a block; its ends are brought through T by the same
 * arrays. */
static size_t path_size(const struct estimate *e)
{
    size_t columns = 2 * e->batch;
    if (e->capacity > columns) columns = e->capacity;
    return e->d * columns;
}

/* A block: its paths, their drift's points, the weights. */
static int lay_block(const struct estimate *e, struct scratch *s)
{
    size_t P = e->capacity, n = e->inputs, path = path_size(e);
    size_t weights = item_weights(e);
    size_t both = e->step ? 2 : 1, half = e->step ? P / 2 : 0;
    size_t basis = s->draw.sobol ? draw_basis_room(e->longest) : 0;
    const struct arena_part part[] = {
        {&s->draw.basis, basis},
        {&s->draw.mode, e->d * (P > 16 * MODES ? P : 16 * MODES)},
        {&s->draw.row, FEW_MODES},
        {&s->xi, path},
        {&s->at, path},
        {&s->Y, path},
        {&s->Z, both * path},
        {&s->dY, path},
        {&s->dot, path},
        {&s->time, P},
        {&s->input, n * P},
        {&s->slope, n * P},
        {&s->alive, e->step ? P : 0},
        {&s->step_time, half},
        {&s->step_input, n * half},
        {&s->step_slope, n * half},
        {&s->weigh, weigh_scratch(e->d, P)},
        {&s->S, weights},
        {&s->S2, weights},
    };
    return arena_lay(&s->block, sizeof part / sizeof *part, part);
}

/* A batch of gaps: their ends, pilots, tails of weights. */
static int lay_batch(const struct estimate *e, struct scratch *s)
{
    size_t d = e->d, n = e->inputs, G = 2 * e->batch;
    const struct arena_part part[] = {
        {&s->context_memory, e->batch * context_size(e)},
        {&s->pilot, PILOTS},
        {&s->pilot2, PILOTS},
        {&s->x, 2 * d * G},
        {&s->y_bar, d * G},
        {&s->end_time, G},
        {&s->end_input, n * G},
        {&s->end_slope, n * G},
        {&s->small, 4 * d + G},
        {&s->sorted, khat_room(e->K)},
        {&s->single, single_size(e)},
    };
    return arena_lay(&s->batch, sizeof part / sizeof *part, part);
}

/* What only a gradient needs; without one they are all of no length. */
static int lay_bars(const struct estimate *e, struct scratch *s)
{
    size_t on = e->options->gradient ? 1 : 0, P = on * e->capacity;
    size_t path = on * path_size(e), weights = on * item_weights(e);
    const struct arena_part part[] = {
        {&s->f_bar, path},
        {&s->div_bar, P},
        {&s->distance_bar, e->barriers * P},
        {&s->steepness_bar, e->barriers * P},
        {&s->dY_bar, path},
        {&s->Y_bar, path},
        {&s->Z_bar, (e->step ? 2 : 1) * path},
        {&s->S_bar, weights},
        {&s->S2_bar, weights},
        {&s->unit_bar, on * all_bars(e)},
        {&s->unit_part, on * all_bars(e)},
        {&s->group_S, on * e->K},
    };
    if (arena_lay(&s->bars, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    s->map_bar = s->unit_bar + on * unit_bars(e);
    s->map_part = s->unit_part + on * unit_bars(e);
    return 0;
}

static int make_workspaces(const struct estimate *e, struct scratch *s)
{
    const gsv_options *o = e->options;
    size_t P = e->capacity, G = 2 * e->batch;
    bool tangent = o->reference != GSV_REFERENCE_BROWNIAN && !e->step;
    if (workspace_init(&s->unit, e->unit, P, o->gradient, tangent) ||
        workspace_init(&s->map, e->map, G, o->gradient, false) ||
        workspace_init(&s->back, e->back, G, false, false))
        return GSV_NO_MEMORY;
    if (e->step && workspace_init(&s->step, e->step, P / 2, o->gradient, false))
        return GSV_NO_MEMORY;
    if (!e->range) return 0;
    s->outside = NEW(bool, P);
    if (!s->outside) return GSV_NO_MEMORY;
    return workspace_init(&s->range, e->range, P, false, false);
}

int scratch_init(const struct estimate *e, struct scratch *s)
{
    s->draw.d = e->d;
    s->draw.sobol = e->options->random == GSV_RANDOM_SOBOL;
    s->context = NEW(struct context, e->batch);
    s->piece = NEW(struct piece, e->batch);
    if (!s->context || !s->piece || lay_block(e, s) || lay_batch(e, s) ||
        lay_bars(e, s))
        return GSV_NO_MEMORY;
    return make_workspaces(e, s);
}

void scratch_free(struct scratch *s)
{
    workspace_free(&s->unit);
    workspace_free(&s->step);
    workspace_free(&s->map);
    workspace_free(&s->back);
    workspace_free(&s->range);
    mem_free(s->outside);
    arena_free(&s->block);
    arena_free(&s->batch);
    arena_free(&s->bars);
    mem_free(s->context);
    mem_free(s->piece);
}

size_t scratch_bytes(const struct scratch *s)
{
    return s->block.size + s->batch.size + s->bars.size;
}
