/* SPDX-License-Identifier: MIT */
/* A thread's own memory for an estimate: asked for once, before any block. */
#include "sde/bound.h"
#include "sde/estimate.h"
#include "sde/khat.h"

/* The most weights that an item has at once: small groups fill a block of
 * points at most, and every path has a point; a large one is alone. */
static size_t item_weights(const struct estimate *e)
{
    size_t alone = e->chunks > 1 ? chunk_first(e, 1) + 8 : e->K;
    return alone > e->capacity ? alone : e->capacity;
}

int scratch_init(const struct estimate *e, struct scratch *s)
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

void scratch_free(struct scratch *s)
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
