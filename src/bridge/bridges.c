/* SPDX-License-Identifier: MIT */
/* Bridges of a Gaussian reference, weighed by Girsanov's theorem: the row of
 * most models. A block is sampled, the drift is run on all of its points at
 * once, and the weights are summed; and back again from right to left. */
#include "bridge/bridges.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "bridge/bridge.h"
#include "bridge/rows.h"

/* --- Checks and programs ------------------------------------------------- */

/* A linear reference keeps matrices for every step. */
static int bridges_check(const struct estimate *e)
{
    double bytes = 8.0 * (double)reference_size(e->d, 1) * (double)e->longest;
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

static int bridges_build(struct estimate *e, struct drift_outputs *out)
{
    const gsv_model *m = e->model;
    choose_form(e);
    if (e->form == GSV_FORM_STRATONOVICH) {
        int status = add_divergence(e, &out->node[1]);
        if (status) return status;
        out->count = 2;
    }
    if (e->potential && m->distance) {
        e->barriers = graph_size(m->spec->graph, m->distance);
        out->node[out->count++] = m->distance;
        out->node[out->count++] = m->steepness;
    }
    return 0;
}

/* The trapezoids of stratonovich have both ends. */
static size_t bridges_columns(const struct estimate *e, size_t M)
{
    return M + (e->form == GSV_FORM_STRATONOVICH);
}

/* --- Sampling ----------------------------------------------------------- */

/* z = the reference's forecast of the middle of each step. */
static void middles(const struct scratch *s, const struct piece *p, size_t P)
{
    const struct reference *r = &p->context->reference;
    size_t d = r->d;
    for (size_t m = 0; m < p->steps; m++) {
        size_t step = p->first + m, at = p->at + m * p->K;
        rows_times(d, p->K, r->half_Phi + step * d * d, false, s->Y + at, P,
                   r->half_c + step * d, false, s->Z + at, P);
    }
}

static void sample(const struct estimate *e, struct scratch *s,
                   const struct piece *p, size_t P, enum random_purpose purpose)
{
    const struct context *c = p->context;
    size_t d = e->d, K = p->K;
    double *left = left_ends(s, p), *room = s->weigh;
    if (!p->first) {
        draw_begin(e, s, p, purpose);
        for (size_t i = 0; i < d; i++)
            for (size_t k = 0; k < K; k++)
                s->at[i * K + k] = c->y0[i];
    }
    draw_steps(&s->draw, p->first, p->steps, s->xi);
    bridge_walk(&c->reference, c->y1, p->first, p->steps, K, s->xi, s->at, left,
                s->dY + p->at, P, room);
    if (has_middle(p)) middles(s, p, P);
    for (size_t i = 0; p->columns > p->steps && i < d; i++)
        memcpy(left + i * P + p->steps * K, s->at + i * K, K * sizeof *left);
}

/* Time and inputs where f is evaluated, the same for all paths. */
static void fill_times(const struct estimate *e, const struct scratch *s,
                       const struct piece *p, size_t P)
{
    const struct context *c = p->context;
    double shift = has_middle(p) ? 0.5 : 0.0;
    for (size_t m = 0; m < p->columns; m++) {
        double t = c->gap->start + c->dt * ((double)(p->first + m) + shift);
        size_t at = p->at + m * p->K;
        bool end = p->first + m == c->M;
        if (e->inputs)
            gap_inputs(&e->gaps, c->gap->track, t, end, s->input + at,
                       s->slope + at, P);
        for (size_t k = 0; k < p->K; k++)
            s->time[at + k] = t;
        for (size_t i = 0; i < e->inputs; i++)
            for (size_t k = 1; k < p->K; k++) {
                s->input[i * P + at + k] = s->input[i * P + at];
                s->slope[i * P + at + k] = s->slope[i * P + at];
            }
    }
}

/* --- A block ------------------------------------------------------------ */

static struct slice slice_of(const struct estimate *e, const struct scratch *s,
                             const struct block *b, const struct piece *p)
{
    const double *f = program_output(e->unit, &s->unit, b->P, 0);
    bool divergence = p->context->form == GSV_FORM_STRATONOVICH;
    const double *wall[2] = {NULL, NULL};
    for (size_t i = 0; e->barriers && i < 2; i++)
        wall[i] = program_output(e->unit, &s->unit, b->P, 2 + i) + p->at;
    return (struct slice){
        .form = p->context->form,
        .whole = e->potential,
        .reference = &p->context->reference,
        .first = p->first,
        .steps = p->steps,
        .K = p->K,
        .ld = b->P,
        .Y = left_ends(s, p),
        .Z = s->Z + p->at,
        .dY = s->dY + p->at,
        .f = f + p->at,
        .div = divergence ? program_output(e->unit, &s->unit, b->P, 1) + p->at
                          : NULL,
        .barriers = e->barriers,
        .distance = wall[0],
        .steepness = wall[1],
        .scratch = s->weigh};
}

/* A path that leaves T's range has weight zero. Its points there move to the
 * chord, so that nothing that is not finite comes of them. */
static void stay_inside(const struct estimate *e, struct scratch *s,
                        const struct block *b, const struct uniforms *u)
{
    struct points in = block_points(s, b);
    bool guided = e->frozen && u == e->guide_unit;
    range_look(e, s, guided ? &e->frozen_range : &e->range_uniforms, &in);
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *p = &b->piece[i];
        const struct context *c = p->context;
        double shift = has_middle(p) ? 0.5 : 0.0;
        for (size_t n = 0; n < p->columns * p->K; n++) {
            if (!s->outside[p->at + n]) continue;
            size_t step = p->first + n / p->K;
            double share = ((double)step + shift) / (double)c->M;
            for (size_t j = 0; j < e->d; j++)
                s->Z[j * b->P + p->at + n] =
                    c->y0[j] + share * (c->y1[j] - c->y0[j]);
        }
    }
}

static void weigh_nothing(const struct scratch *s, const struct piece *p,
                          double *S, double *S2)
{
    for (size_t n = 0; n < p->columns * p->K; n++)
        if (s->outside[p->at + n])
            S[p->slot + n % p->K] = S2[p->slot + n % p->K] = -INFINITY;
}

static void bridges_forward(const struct estimate *e, struct scratch *s,
                            const struct uniforms *u, const struct block *b,
                            double *S, double *S2)
{
    bool times = e->inputs || program_uses(e->unit, OP_TIME) ||
                 (e->range && program_uses(e->range, OP_TIME));
    for (size_t i = 0; i < b->pieces; i++) {
        sample(e, s, &b->piece[i], b->P, b->purpose);
        if (times) fill_times(e, s, &b->piece[i], b->P);
    }
    struct points in = block_points(s, b);
    if (e->range) stay_inside(e, s, b, u);
    program_forward(e->unit, u, &s->unit, &in);
    for (size_t i = 0; S && i < b->pieces; i++) {
        const struct piece *p = &b->piece[i];
        struct slice slice = slice_of(e, s, b, p);
        weigh(&slice, S + p->slot, S2 + p->slot);
        if (e->range) weigh_nothing(s, p, S, S2);
    }
}

/* Where f's gradient has come to Z_bar: on to the left ends, and to the sums
 * over the paths. */
static void ends_backward(const struct estimate *e, struct scratch *s,
                          const struct block *b, const struct piece *p)
{
    const struct reference *r = &p->context->reference;
    size_t d = e->d, K = p->K;
    double *left_bar = (has_middle(p) ? s->Y_bar : s->Z_bar) + p->at;
    for (size_t m = 0; has_middle(p) && m < p->steps; m++) {
        size_t step = p->first + m;
        const double *Z_bar = s->Z_bar + p->at + m * K;
        rows_times(d, K, r->half_Phi + step * d * d, true, Z_bar, b->P, NULL,
                   true, left_bar + m * K, b->P);
        rows_sum(d, K, 1.0, Z_bar, b->P,
                 p->context->reference_bar.half_c + step * d);
    }
    bridge_gather(d, p->first, p->steps, K, left_bar, s->dY_bar + p->at, b->P,
                  p->context->lambda);
    if (p->columns > p->steps)
        rows_sum(d, K, 1.0, left_bar + p->steps * K, b->P,
                 p->context->lambda + (p->first + p->steps) * d);
}

/* After block_forward: from the weights' gradient to that of the uniforms and
 * of the contexts. */
static void bridges_backward(const struct estimate *e, struct scratch *s,
                             const struct block *b)
{
    struct points in = block_points(s, b);
    bool ends = e->model->learned_noise;
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *p = &b->piece[i];
        struct slice slice = slice_of(e, s, b, p);
        struct slice_bar bar = {
            .S_bar = s->S_bar + p->slot,
            .S2_bar = e->options->richardson ? s->S2_bar + p->slot : NULL,
            .ends = ends,
            .reference = &p->context->reference_bar,
            .f_bar = s->f_bar + p->at,
            .div_bar = s->div_bar + p->at,
            .distance_bar = s->distance_bar + p->at,
            .steepness_bar = s->steepness_bar + p->at,
            .dY_bar = s->dY_bar + p->at,
            .Y_bar = s->Y_bar + p->at,
            .Z_bar = s->Z_bar + p->at};
        weigh_vjp(&slice, &bar);
    }
    program_vjp(e->unit, &e->unit_uniforms, &s->unit, &in,
                (const double *const[4]){s->f_bar, s->div_bar, s->distance_bar,
                                         s->steepness_bar},
                ends ? s->Z_bar : NULL, s->unit_bar);
    for (size_t i = 0; ends && i < b->pieces; i++)
        ends_backward(e, s, b, &b->piece[i]);
}

const struct weigher BRIDGES = {.check = bridges_check,
                                .build = bridges_build,
                                .columns = bridges_columns,
                                .refer = contexts_choose,
                                .forward = bridges_forward,
                                .backward = bridges_backward,
                                .gaussian = true,
                                .sliced = true};
