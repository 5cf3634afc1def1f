/* SPDX-License-Identifier: MIT */
/* Gaps made ready for their bridges, a batch at a time: the ends of all of
 * them go through T together. */
#include <math.h>
#include <string.h>

#include "bridge/bridge.h"
#include "bridge/estimate.h"

/* Brownian bridges need no matrices: their memory must not grow by those. */
static bool has_matrices(const struct estimate *e)
{
    return e->options->reference != GSV_REFERENCE_BROWNIAN &&
           e->weigher->gaussian;
}

/* y_bar, k_bar, lambda and, where there are matrices, the reference's. */
static size_t bars_size(const struct estimate *e)
{
    size_t d = e->d, M = e->longest;
    return 3 * d + (M + 1) * d + (has_matrices(e) ? 4 * M * d : 0);
}

size_t context_size(const struct estimate *e)
{
    size_t d = e->d, M = e->longest;
    return 2 * d + bars_size(e) +
           (e->weigher->context_size ? e->weigher->context_size(e) : 0) +
           (has_matrices(e) ? reference_size(d, M) : 0);
}

static void context_place(const struct estimate *e, struct scratch *s,
                          struct context *c, size_t i)
{
    size_t d = e->d;
    double *memory = s->context_memory + i * context_size(e);
    c->y0 = memory;
    c->y1 = memory + d;
    c->bars = memory + 2 * d;
    c->y_bar = c->bars;
    c->k_bar = c->bars + 2 * d;
    c->lambda = c->bars + 3 * d;
    c->reference = (struct reference){.d = d};
    if (!has_matrices(e)) return;
    double *b_bar = c->lambda + (e->longest + 1) * d;
    size_t n = e->longest * d;
    c->reference_bar =
        (struct reference_bar){b_bar, b_bar + n, b_bar + 2 * n, b_bar + 3 * n};
    reference_place(&c->reference, d, e->longest, c->bars + bars_size(e));
    c->bound = c->bars + bars_size(e) + reference_size(d, e->longest);
    c->reference.pairs = e->halved;
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
        s->end_time[2 * i + 1] = gap->end;
        for (size_t j = 0; e->inputs && j < 2; j++)
            gap_inputs(&e->gaps, gap->track, s->end_time[2 * i + j], j,
                       s->end_input + 2 * i + j, s->end_slope + 2 * i + j, P);
    }
    memset(s->x + e->d * P, 0, e->d * P * sizeof *s->x);
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

/* --- The references' b in the coordinates of the data ------------------- */

/* A walk over the b of all references. */
struct cursor {
    size_t context, step;
};

static size_t vectors_of(const struct context *c)
{
    enum gsv_reference kind = c->reference.kind;
    if (kind == GSV_REFERENCE_LNA) return c->M;
    return kind == GSV_REFERENCE_LINEAR;
}

/* To the next one, from here on; false after the last. */
static bool find_vector(const struct scratch *s, struct cursor *at)
{
    while (at->context < s->contexts &&
           at->step >= vectors_of(&s->context[at->context]))
        *at = (struct cursor){at->context + 1, 0};
    return at->context < s->contexts;
}

/* How many are left, as far as T has room for them at once. */
static size_t count_vectors(const struct estimate *e, const struct scratch *s,
                            struct cursor at)
{
    size_t n = 0;
    for (; n < 2 * e->batch && find_vector(s, &at); n++)
        at.step++;
    return n;
}

/* With the place where the drift was linearised, in the middle of its step. */
static void fill_vector(const struct estimate *e, struct scratch *s,
                        struct cursor at, size_t n, size_t P)
{
    const struct context *c = &s->context[at.context];
    double share = ((double)at.step + 0.5) / (double)vectors_of(c);
    s->end_time[n] = c->gap->start + c->gap->length * share;
    for (size_t i = 0; i < e->d; i++) {
        s->x[i * P + n] = c->reference.place[at.step * e->d + i];
        s->x[(e->d + i) * P + n] = c->reference.b[at.step * e->d + i];
    }
    if (e->inputs)
        gap_inputs(&e->gaps, c->gap->track, s->end_time[n], false,
                   s->end_input + n, s->end_slope + n, P);
}

/* The next P of them in the data's coordinates: place and b_x, points of their
 * own. */
static struct points vectors_back(const struct estimate *e, struct scratch *s,
                                  const struct uniforms *u, struct cursor at,
                                  size_t P)
{
    struct points in = {.P = P,
                        .state = s->x,
                        .time = s->end_time,
                        .input = s->end_input,
                        .slope = s->end_slope};
    for (size_t n = 0; n < P && find_vector(s, &at); n++, at.step++)
        fill_vector(e, s, at, n, P);
    program_forward(e->back, u, &s->back, &in);
    for (size_t i = 0; i < 2; i++)
        memcpy(s->x + i * e->d * P, program_output(e->back, &s->back, P, i),
               e->d * P * sizeof *s->x);
    return in;
}

/* From the guide's noise to the model's own: b = T'(x) b_x. */
static void move_references(const struct estimate *e, struct scratch *s)
{
    struct cursor at = {0, 0};
    for (size_t P; (P = count_vectors(e, s, at)) > 0;) {
        struct points in = vectors_back(e, s, &e->frozen_back, at, P);
        program_forward(e->map, &e->map_uniforms, &s->map, &in);
        const double *place = program_output(e->map, &s->map, P, 0);
        const double *b = program_output(e->map, &s->map, P, 2);
        for (size_t n = 0; n < P && find_vector(s, &at); n++, at.step++) {
            struct reference *r = &s->context[at.context].reference;
            for (size_t i = 0; i < e->d; i++) {
                r->place[at.step * e->d + i] = place[i * P + n];
                r->b[at.step * e->d + i] = b[i * P + n];
            }
        }
    }
    for (size_t n = 0; n < s->contexts; n++) {
        struct reference *r = &s->context[n].reference;
        if (vectors_of(&s->context[n]))
            reference_build(r, r->kind, r->M, r->dt);
    }
}

/* b_bar through T to the uniforms. */
static void references_vjp(const struct estimate *e, struct scratch *s)
{
    struct cursor at = {0, 0};
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        if (vectors_of(c))
            reference_vjp(&c->reference, c->k_bar, &c->reference_bar);
    }
    for (size_t P; (P = count_vectors(e, s, at)) > 0;) {
        struct points in = vectors_back(e, s, &e->back_uniforms, at, P);
        for (size_t n = 0; n < P && find_vector(s, &at); n++, at.step++)
            for (size_t i = 0; i < e->d; i++)
                s->y_bar[i * P + n] =
                    s->context[at.context].reference_bar.b[at.step * e->d + i];
        program_forward(e->map, &e->map_uniforms, &s->map, &in);
        program_vjp(e->map, &e->map_uniforms, &s->map, &in,
                    (const double *const[3]){NULL, NULL, s->y_bar}, NULL,
                    s->map_bar);
    }
}

/* --- All together ------------------------------------------------------- */

void contexts_build(const struct estimate *e, struct scratch *s, size_t first,
                    size_t count)
{
    s->contexts = count;
    for (size_t i = 0; i < count; i++) {
        struct context *c = &s->context[i];
        context_place(e, s, c, i);
        c->group = group_of(e, first + i);
        c->gap = &e->gaps.gap[first + i];
        c->M = estimate_steps(e, c->gap);
        c->dt = c->gap->length / (double)c->M;
    }
    read_ends(e, s);
    if (e->frozen) map_ends(e, s, e->guide_map);
    else map_ends(e, s, &e->map_uniforms);
    e->weigher->refer(e, s);
    if (e->frozen) {
        move_references(e, s);
        read_ends(e, s);
        map_ends(e, s, &e->map_uniforms);
    }
    for (size_t i = 0; i < count; i++) {
        struct context *c = &s->context[i];
        if (e->weigher->gaussian)
            c->base += reference_log_density(&c->reference, c->y0, c->y1);
        memset(c->bars, 0, bars_size(e) * sizeof *c->bars);
    }
    if (e->potential) potentials_add(e, s);
}

bool base_is_learned(const struct estimate *e)
{
    return e->model->learned_noise || e->potential;
}

void contexts_vjp(const struct estimate *e, struct scratch *s, double once)
{
    size_t d = e->d, P = 2 * s->contexts;
    if (e->potential && once != 0.0) potentials_add_vjp(e, s, once);
    if (!e->model->learned_noise) return;
    /* T may have run for another batch, or for the guide, in between. */
    read_ends(e, s);
    struct points in = end_points(s);
    program_forward(e->map, &e->map_uniforms, &s->map, &in);
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        double *y0_bar = c->y_bar, *y1_bar = y0_bar + d;
        if (e->weigher->gaussian) {
            bridge_vjp(&c->reference, c->lambda, y0_bar, y1_bar,
                       &c->reference_bar, s->small);
            reference_log_density_vjp(&c->reference, c->y0, c->y1,
                                      once * group_weight(e, c->group), y0_bar,
                                      y1_bar, c->k_bar);
        }
        for (size_t i = 0; i < d; i++) {
            s->y_bar[i * P + 2 * n] = y0_bar[i];
            s->y_bar[i * P + 2 * n + 1] = y1_bar[i];
        }
    }
    double *bar = s->small + 4 * d; /* (2 batch) */
    for (size_t n = 0; n < P; n++)
        bar[n] = n % 2 ? once * group_weight(e, s->context[n / 2].group) : 0.0;
    program_vjp(e->map, &e->map_uniforms, &s->map, &in,
                (const double *const[3]){s->y_bar, bar, NULL}, NULL,
                s->map_bar);
    references_vjp(e, s);
}
