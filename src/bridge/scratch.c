/* SPDX-License-Identifier: MIT */
#include "bridge/scratch.h"

#include <string.h>

#include "base/khat.h"

/* The most weights that an item has at once: small groups fill a block of
 * points at most, and every path has a point; a large one is alone. */
static size_t item_weights(const struct plan *p)
{
    size_t alone = p->chunks > 1 ? chunk_first(p, 1) + 8 : p->K;
    return alone > p->capacity ? alone : p->capacity;
}

/* Numbers at all points of a block, or at the ends of a batch. */
static size_t path_size(const struct plan *p)
{
    size_t columns = 2 * p->batch;
    if (p->capacity > columns) columns = p->capacity;
    return p->d * columns;
}

/* A block: its paths, their drift's points, the weights. */
static int lay_block(const struct plan *p, struct scratch *s)
{
    size_t P = p->capacity, n = p->inputs, path = path_size(p);
    size_t weights = item_weights(p);
    size_t both = p->step ? 2 : 1, half = p->step ? P / 2 : 0;
    size_t basis = s->draw.sobol ? draw_basis_room(p->longest) : 0;
    const struct arena_part part[] = {
        {&s->draw.basis, basis},
        {&s->draw.mode, p->d * (P > 16 * MODES ? P : 16 * MODES)},
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
        {&s->alive, p->step ? P : 0},
        {&s->step_time, half},
        {&s->step_input, n * half},
        {&s->step_slope, n * half},
        {&s->weigh, weigh_scratch(p->d, P)},
        {&s->S, weights},
        {&s->S2, weights},
    };
    return arena_lay(&s->block, sizeof part / sizeof *part, part);
}

/* A batch of gaps: their ends, pilots, tails of weights. */
static int lay_batch(const struct plan *p, struct scratch *s)
{
    size_t d = p->d, n = p->inputs, G = 2 * p->batch;
    const struct arena_part part[] = {
        {&s->context_memory, p->batch * context_size(p)},
        {&s->pilot, PILOTS},
        {&s->pilot2, PILOTS},
        {&s->x, 2 * d * G},
        {&s->y_bar, d * G},
        {&s->end_time, G},
        {&s->end_input, n * G},
        {&s->end_slope, n * G},
        {&s->small, 4 * d + G},
        {&s->sorted, khat_room(p->K)},
        {&s->single, single_size(p)},
    };
    return arena_lay(&s->batch, sizeof part / sizeof *part, part);
}

/* What only a gradient needs; without one all lengths are 0. */
static int lay_bars(const struct plan *p, struct scratch *s)
{
    size_t on = p->options->gradient ? 1 : 0, P = on * p->capacity;
    size_t path = on * path_size(p), weights = on * item_weights(p);
    const struct arena_part part[] = {
        {&s->f_bar, path},
        {&s->div_bar, P},
        {&s->distance_bar, p->barriers * P},
        {&s->steepness_bar, p->barriers * P},
        {&s->dY_bar, path},
        {&s->Y_bar, path},
        {&s->Z_bar, (p->step ? 2 : 1) * path},
        {&s->S_bar, weights},
        {&s->S2_bar, weights},
        {&s->unit_bar, on * all_bars(p)},
        {&s->unit_part, on * all_bars(p)},
        {&s->group_S, on * p->K},
    };
    if (arena_lay(&s->bars, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    s->map_bar = s->unit_bar + on * unit_bars(p);
    s->map_part = s->unit_part + on * unit_bars(p);
    return 0;
}

static int make_workspaces(const struct plan *p, struct scratch *s)
{
    const gsv_options *o = p->options;
    size_t P = p->capacity, G = 2 * p->batch;
    bool tangent = o->reference != GSV_REFERENCE_BROWNIAN && !p->step;
    if (workspace_init(&s->unit, p->unit, P, o->gradient, tangent) ||
        workspace_init(&s->map, p->map, G, o->gradient, false) ||
        workspace_init(&s->back, p->back, G, false, false))
        return GSV_NO_MEMORY;
    if (p->step && workspace_init(&s->step, p->step, P / 2, o->gradient, false))
        return GSV_NO_MEMORY;
    if (!p->range) return 0;
    s->outside = NEW(bool, P);
    if (!s->outside) return GSV_NO_MEMORY;
    return workspace_init(&s->range, p->range, P, false, false);
}

int scratch_init(const struct plan *p, struct scratch *s)
{
    s->draw.d = p->d;
    s->draw.sobol = p->options->random == GSV_RANDOM_SOBOL;
    s->context = NEW(struct context, p->batch);
    s->piece = NEW(struct piece, p->batch);
    if (!s->context || !s->piece || lay_block(p, s) || lay_batch(p, s) ||
        lay_bars(p, s))
        return GSV_NO_MEMORY;
    int status = p->weigher->start ? p->weigher->start(p, s) : 0;
    s->end = p->weigher->end;
    return status ? status : make_workspaces(p, s);
}

void scratch_free(struct scratch *s)
{
    if (s->end) s->end(s);
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

void find_outside(const struct plan *p, const struct values *v,
                  struct scratch *s, const struct points *in)
{
    size_t conditions = graph_size(p->model->spec->graph, p->model->range);
    memset(s->outside, 0, in->P * sizeof *s->outside);
    program_forward(p->range, &v->range, &s->range, in);
    const double *margin = program_output(p->range, &s->range, in->P, 0);
    for (size_t i = 0; i < conditions; i++)
        for (size_t k = 0; k < in->P; k++)
            if (!(margin[i * in->P + k] > 0.0)) s->outside[k] = true;
}

void chord_point(const struct context *c, double share, double *x, size_t ld)
{
    for (size_t i = 0; i < c->reference.d; i++)
        x[i * ld] = c->y0[i] + share * (c->y1[i] - c->y0[i]);
}

void fill_time(const struct plan *p, const struct scratch *s,
               const struct instant *now, size_t at, size_t n, size_t P)
{
    if (p->inputs) {
        gap_inputs(&p->gaps, now->track, now->time, now->end, s->input + at,
                   s->slope + at, P);
        gap_mean_inputs(&p->gaps, now->track, now->low, now->high,
                        s->input + at, s->slope + at, P);
    }
    for (size_t k = 0; k < n; k++)
        s->time[at + k] = now->time;
    for (size_t i = 0; i < p->inputs; i++)
        for (size_t k = 1; k < n; k++) {
            s->input[i * P + at + k] = s->input[i * P + at];
            s->slope[i * P + at + k] = s->slope[i * P + at];
        }
}
