/* SPDX-License-Identifier: MIT */
/* Bridges of a Gaussian reference, weighed by Girsanov's theorem: the row of
 * most models. A block is sampled, the drift is run on all of its points at
 * once, and the weights are summed; and back again from right to left. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "bridge/context.h"
#include "bridge/rows.h"
#include "bridge/walk.h"
#include "bridge/weighers.h"

/* --- Checks and programs ------------------------------------------------- */

/* A linear reference keeps matrices for every step. */
static int bridges_check(const struct plan *p)
{
    double bytes = 8.0 * (double)reference_size(p->d, 1) * (double)p->longest;
    if (p->options->reference == GSV_REFERENCE_MODIFIED ||
        p->options->form == GSV_FORM_EULER)
        return fail(GSV_BAD_INPUT,
                    "modified bridges and their euler weights are for noise "
                    "that depends on the state in a way that no map takes "
                    "out; this model's noise does not");
    if (!has_matrices(p) || bytes < 2e9) return 0;
    return fail(GSV_BAD_INPUT,
                "a linear reference of %zu steps in %zu dimensions would take "
                "%.0f GB; take fewer steps, or the brownian reference",
                p->longest, p->d, bytes / 1e9);
}

/* Exact divergences cost a pass for every dimension. */
enum { MOST_DIVERGENCE = 16 };

/* The graph with the divergence of f~ added, in a copy: the model's own is
 * read by others at the same time. */
int add_divergence(struct plan *p, node *divergence)
{
    const gsv_model *m = p->model;
    const struct graph *g = m->spec->graph;
    if ((g->nets || g->calls) && p->d > MOST_DIVERGENCE)
        return fail(GSV_BAD_INPUT,
                    "the stratonovich form needs the divergence of a network "
                    "or an external function in %zu dimensions, but computes "
                    "it up to %d only; use "
                    "ito or midpoint",
                    p->d, MOST_DIVERGENCE);
    p->graph = graph_copy(g);
    if (!p->graph) return GSV_NO_MEMORY;
    node state = graph_leaf(p->graph, OP_STATE, 0, p->d, 1);
    *divergence = graph_divergence(p->graph, m->unit_drift, state);
    return p->graph->failed ? GSV_NO_MEMORY : 0;
}

/* With a potential only an integral over time is summed, whose error is of a
 * higher order. Networks are left out: they would be differentiated twice. */
static void choose_form(struct plan *p)
{
    const gsv_model *m = p->model;
    bool formula = !m->spec->externals && !m->spec->graph->nets;
    bool potential = has_potential(p);
    p->form = p->options->form;
    if (p->form == GSV_FORM_AUTO && potential && formula && p->longest > 1 &&
        !p->options->joint && p->options->reference != GSV_REFERENCE_BROWNIAN)
        p->form = GSV_FORM_STRATONOVICH;
    p->potential = potential && p->form == GSV_FORM_STRATONOVICH;
}

static int bridges_build(struct plan *p, struct drift_outputs *out)
{
    const gsv_model *m = p->model;
    choose_form(p);
    if (p->form == GSV_FORM_STRATONOVICH) {
        int status = add_divergence(p, &out->node[1]);
        if (status) return status;
        out->count = 2;
    }
    if (p->potential && m->distance) {
        p->barriers = graph_size(m->spec->graph, m->distance);
        out->node[out->count++] = m->distance;
        out->node[out->count++] = m->steepness;
    }
    return 0;
}

/* The trapezoids of stratonovich have both ends. */
static size_t bridges_columns(const struct plan *p, size_t M)
{
    return M + (p->form == GSV_FORM_STRATONOVICH);
}

/* --- Sampling ----------------------------------------------------------- */

/* z: the reference's forecast of the middle of each step. */
static void middles(const struct scratch *s, const struct piece *q, size_t P)
{
    const struct reference *r = &q->context->reference;
    size_t d = r->d;
    for (size_t m = 0; m < q->steps; m++) {
        size_t step = q->first + m, at = q->at + m * q->K;
        rows_times(d, q->K, r->half_Phi + step * d * d, false, s->Y + at, P,
                   r->half_c + step * d, false, s->Z + at, P);
    }
}

static void sample(struct scratch *s, const struct block *b,
                   const struct piece *q)
{
    const struct context *c = q->context;
    size_t d = c->reference.d, K = q->K, P = b->P;
    double *left = left_ends(s, q), *room = s->weigh;
    if (!q->first) {
        draw_begin(s, b, q);
        for (size_t i = 0; i < d; i++)
            for (size_t k = 0; k < K; k++)
                s->at[i * K + k] = c->y0[i];
    }
    draw_steps(&s->draw, q->first, q->steps, s->xi);
    bridge_walk(&c->reference, c->y1, q->first, q->steps, K, s->xi, s->at, left,
                s->dY + q->at, P, room);
    if (has_middle(q)) middles(s, q, P);
    for (size_t i = 0; q->columns > q->steps && i < d; i++) {
        size_t end = i * P + q->steps * K;
        memcpy(left + end, s->at + i * K, K * sizeof *left);
        memcpy(s->Z + q->at + end, s->at + i * K, K * sizeof *left);
    }
}

/* How far f is evaluated after the beginning of a step, in steps. */
static double shift_of(const struct piece *q)
{
    return has_middle(q) ? 0.5 : 0.0;
}

/* The part of the gap that f at time t stands for: the step of its left end or
 * of its middle; of the trapezoid a half on either side. */
static struct instant instant_of(const struct piece *q, size_t step, double t)
{
    const struct context *c = q->context;
    bool left = c->form != GSV_FORM_STRATONOVICH && !has_middle(q);
    double before = left ? 0.0 : 0.5 * c->dt, end = c->gap->end;
    return (struct instant){.track = c->gap->track,
                            .time = t,
                            .low = fmax(t - before, c->gap->start),
                            .high = fmin(t - before + c->dt, end),
                            .end = step == c->M};
}

/* Time and inputs where f is evaluated, the same for all paths. */
static void fill_times(const struct plan *p, const struct scratch *s,
                       const struct piece *q, size_t P)
{
    const struct context *c = q->context;
    for (size_t m = 0; m < q->columns; m++) {
        size_t step = q->first + m;
        double after = fmin((double)step + shift_of(q), (double)c->M);
        double t = c->gap->start + c->dt * after;
        struct instant now = instant_of(q, step, t);
        fill_time(p, s, &now, q->at + m * q->K, q->K, P);
    }
}

/* --- A block ------------------------------------------------------------ */

static struct slice slice_of(const struct plan *p, const struct scratch *s,
                             const struct block *b, const struct piece *q)
{
    const double *f = program_output(p->unit, &s->unit, b->P, 0);
    bool divergence = q->context->form == GSV_FORM_STRATONOVICH;
    const double *wall[2] = {NULL, NULL};
    for (size_t i = 0; p->barriers && i < 2; i++)
        wall[i] = program_output(p->unit, &s->unit, b->P, 2 + i) + q->at;
    return (struct slice){
        .form = q->context->form,
        .potential = p->potential && divergence,
        .alone = !plan_has_pairs(p),
        .reference = &q->context->reference,
        .first = q->first,
        .steps = q->steps,
        .K = q->K,
        .ld = b->P,
        .Y = left_ends(s, q),
        .Z = s->Z + q->at,
        .dY = s->dY + q->at,
        .f = f + q->at,
        .div = divergence ? program_output(p->unit, &s->unit, b->P, 1) + q->at
                          : NULL,
        .barriers = p->barriers,
        .distance = wall[0],
        .steepness = wall[1],
        .scratch = s->weigh};
}

/* A path that leaves the range of T has weight zero. Its points there move to
 * the chord, where the drift is finite. */
static void stay_inside(const struct plan *p, const struct values *v,
                        struct scratch *s, const struct block *b,
                        const struct points *in)
{
    find_outside(p, v, s, in);
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        for (size_t n = 0; n < q->columns * q->K; n++) {
            if (!s->outside[q->at + n]) continue;
            size_t step = q->first + n / q->K;
            double share = ((double)step + shift_of(q)) / (double)q->context->M;
            chord_point(q->context, share, s->Z + q->at + n, b->P);
        }
    }
}

static void weigh_nothing(const struct scratch *s, const struct piece *q,
                          double *S, double *S2)
{
    for (size_t n = 0; n < q->columns * q->K; n++)
        if (s->outside[q->at + n])
            S[q->slot + n % q->K] = S2[q->slot + n % q->K] = -INFINITY;
}

static void bridges_forward(const struct plan *p, const struct values *v,
                            struct scratch *s, const struct block *b, double *S,
                            double *S2)
{
    bool times = p->inputs || program_uses(p->unit, OP_TIME) ||
                 (p->range && program_uses(p->range, OP_TIME));
    for (size_t i = 0; i < b->pieces; i++) {
        sample(s, b, &b->piece[i]);
        if (times) fill_times(p, s, &b->piece[i], b->P);
    }
    struct points in = block_points(s, b->P);
    if (p->range) stay_inside(p, v, s, b, &in);
    program_forward(p->unit, &v->unit, &s->unit, &in);
    for (size_t i = 0; S && i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        struct slice slice = slice_of(p, s, b, q);
        weigh(&slice, S + q->slot, S2 + q->slot);
        if (p->range) weigh_nothing(s, q, S, S2);
    }
}

/* Trapezoids have a column more, and a divergence in all of them: of a midpoint
 * beside them the gradients of both are zero. A plan with boundaries has no
 * midpoints. */
static void clear_unused(const struct scratch *s, const struct piece *q,
                         size_t d, size_t P)
{
    size_t K = q->K, end = q->at + q->steps * K;
    if (!has_middle(q) || q->columns == q->steps) return;
    for (size_t i = 0; i < d; i++) {
        memset(s->f_bar + i * P + end, 0, K * sizeof *s->f_bar);
        memset(s->Y_bar + i * P + end, 0, K * sizeof *s->Y_bar);
        memset(s->Z_bar + i * P + end, 0, K * sizeof *s->Z_bar);
    }
    memset(s->div_bar + q->at, 0, q->columns * K * sizeof *s->div_bar);
}

/* From the gradient by the places of f, Z_bar, to that by the left ends, and to
 * the sums over the paths. */
static void ends_backward(struct scratch *s, const struct block *b,
                          const struct piece *q)
{
    const struct reference *r = &q->context->reference;
    size_t d = r->d, K = q->K;
    double *left_bar = (has_middle(q) ? s->Y_bar : s->Z_bar) + q->at;
    for (size_t m = 0; has_middle(q) && m < q->steps; m++) {
        size_t step = q->first + m;
        const double *Z_bar = s->Z_bar + q->at + m * K;
        rows_times(d, K, r->half_Phi + step * d * d, true, Z_bar, b->P, NULL,
                   true, left_bar + m * K, b->P);
        rows_sum(d, K, 1.0, Z_bar, b->P,
                 q->context->reference_bar.half_c + step * d);
    }
    bridge_gather(d, q->first, q->steps, K, left_bar, s->dY_bar + q->at, b->P,
                  q->context->lambda);
    if (q->columns > q->steps)
        rows_sum(d, K, 1.0, left_bar + q->steps * K, b->P,
                 q->context->lambda + (q->first + q->steps) * d);
}

static void bridges_backward(const struct plan *p, const struct values *v,
                             struct scratch *s, const struct block *b)
{
    struct points in = block_points(s, b->P);
    bool ends = p->model->learned_noise;
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        struct slice slice = slice_of(p, s, b, q);
        struct slice_bar bar = {
            .S_bar = s->S_bar + q->slot,
            .S2_bar = p->options->richardson ? s->S2_bar + q->slot : NULL,
            .ends = ends,
            .reference = &q->context->reference_bar,
            .f_bar = s->f_bar + q->at,
            .div_bar = s->div_bar + q->at,
            .distance_bar = s->distance_bar + q->at,
            .steepness_bar = s->steepness_bar + q->at,
            .dY_bar = s->dY_bar + q->at,
            .Y_bar = s->Y_bar + q->at,
            .Z_bar = s->Z_bar + q->at};
        weigh_vjp(&slice, &bar);
        if (p->form == GSV_FORM_STRATONOVICH) clear_unused(s, q, p->d, b->P);
    }
    program_vjp(p->unit, &v->unit, &s->unit, &in,
                (const double *const[4]){s->f_bar, s->div_bar, s->distance_bar,
                                         s->steepness_bar},
                ends ? s->Z_bar : NULL, s->unit_bar);
    for (size_t i = 0; ends && i < b->pieces; i++)
        ends_backward(s, b, &b->piece[i]);
}

const struct weigher BRIDGES = {.check = bridges_check,
                                .build = bridges_build,
                                .columns = bridges_columns,
                                .forward = bridges_forward,
                                .backward = bridges_backward,
                                .gaussian = true,
                                .sliced = true};
