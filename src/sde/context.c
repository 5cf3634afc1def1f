/* SPDX-License-Identifier: MIT */
/* Gaps made ready for their bridges, a batch at a time: the ends of all of
 * them go through T together. */
#include <math.h>
#include <string.h>

#include "sde/bridge.h"
#include "sde/estimate.h"

/* Brownian bridges need no matrices: their memory must not grow by those. */
static bool has_matrices(const struct estimate *e)
{
    return e->options->reference != GSV_REFERENCE_BROWNIAN;
}

size_t context_size(const struct estimate *e)
{
    size_t d = e->d, M = e->longest;
    return 4 * d + (M + 1) * d + (has_matrices(e) ? reference_size(d, M) : 0);
}

static void context_place(const struct estimate *e, struct scratch *s,
                          struct context *c, size_t i)
{
    size_t d = e->d;
    double *memory = s->context_memory + i * context_size(e);
    c->y0 = memory;
    c->y1 = memory + d;
    c->y_bar = memory + 2 * d;
    c->lambda = memory + 4 * d;
    c->reference = (struct reference){.d = d};
    if (has_matrices(e))
        reference_place(&c->reference, d, e->longest,
                        memory + 4 * d + (e->longest + 1) * d);
}

/* --- The ends through T ------------------------------------------------- */

static struct points end_points(const struct scratch *s)
{
    return (struct points){.P = 2 * s->contexts,
                           .state = s->x,
                           .time = s->end_time,
                           .input = s->end_input,
                           .slope = s->end_slope};
}

/* The ends of context i are points 2i and 2i + 1. */
static void read_ends(const struct estimate *e, struct scratch *s)
{
    size_t P = 2 * s->contexts;
    for (size_t i = 0; i < s->contexts; i++) {
        const struct gap *gap = s->context[i].gap;
        gap_ends(&e->gaps, gap, s->x + 2 * i, P);
        s->end_time[2 * i] = gap->start;
        s->end_time[2 * i + 1] = e->gaps.series->time[gap->to];
        for (size_t j = 0; e->inputs && j < 2; j++)
            gap_inputs(&e->gaps, gap->track, s->end_time[2 * i + j], j,
                       s->end_input + 2 * i + j, s->end_slope + 2 * i + j, P);
    }
}

/* y0, y1 of all contexts, and their log Jacobians to base. */
static void map_ends(const struct estimate *e, struct scratch *s,
                     const struct uniforms *u)
{
    struct points in = end_points(s);
    program_forward(e->map, u, &s->map, &in);
    const double *y = program_output(e->map, &s->map, in.P, 0);
    const double *jacobian = program_output(e->map, &s->map, in.P, 1);
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        for (size_t i = 0; i < e->d; i++) {
            c->y0[i] = y[i * in.P + 2 * n];
            c->y1[i] = y[i * in.P + 2 * n + 1];
        }
        c->base = jacobian[2 * n + 1];
    }
}

/* The group of a gap: the last one that begins at or before it. */
static size_t group_of(const struct estimate *e, size_t gap)
{
    size_t low = 0, high = e->groups;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (e->group_first[middle] <= gap) low = middle;
        else high = middle;
    }
    return low;
}

/* --- All together ------------------------------------------------------- */

void contexts_build(const struct estimate *e, struct scratch *s, size_t first,
                    size_t count)
{
    s->contexts = count;
    for (size_t i = 0; i < count; i++) {
        struct context *c = &s->context[i];
        context_place(e, s, c, i);
        c->number = first + i;
        c->group = group_of(e, first + i);
        c->gap = &e->gaps.gap[first + i];
        c->M = estimate_steps(e, c->gap);
        c->dt = c->gap->length / (double)c->M;
    }
    read_ends(e, s);
    if (e->frozen) map_ends(e, s, &e->guide_map);
    else map_ends(e, s, &e->map_uniforms);
    contexts_choose(e, s);
    if (e->frozen) map_ends(e, s, &e->map_uniforms);
    for (size_t i = 0; i < count; i++) {
        struct context *c = &s->context[i];
        c->base += reference_log_density(&c->reference, c->y0, c->y1);
        memset(c->y_bar, 0, 2 * e->d * sizeof *c->y_bar);
        memset(c->lambda, 0, (c->M + 1) * e->d * sizeof *c->lambda);
    }
}

void contexts_vjp(const struct estimate *e, struct scratch *s, double once)
{
    size_t d = e->d, P = 2 * s->contexts;
    if (!e->model->learned_noise) return;
    /* T may have run for another batch, or for the guide, in between. */
    read_ends(e, s);
    struct points in = end_points(s);
    program_forward(e->map, &e->map_uniforms, &s->map, &in);
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        double *y0_bar = c->y_bar, *y1_bar = y0_bar + d;
        bridge_vjp(&c->reference, c->lambda, y0_bar, y1_bar, s->small);
        reference_log_density_vjp(&c->reference, c->y0, c->y1, once, y0_bar,
                                  y1_bar);
        for (size_t i = 0; i < d; i++) {
            s->y_bar[i * P + 2 * n] = y0_bar[i];
            s->y_bar[i * P + 2 * n + 1] = y1_bar[i];
        }
    }
    double *bar = s->small + 4 * d; /* (2 batch) */
    for (size_t n = 0; n < P; n++)
        bar[n] = n % 2 ? once : 0.0;
    program_vjp(e->map, &e->map_uniforms, &s->map, &in,
                (const double *const[2]){s->y_bar, bar}, NULL, s->map_bar);
}
