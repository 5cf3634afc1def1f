/* SPDX-License-Identifier: MIT */
/* The line itself, block by block: bridges between the ends, the drift on all
 * of their points at once, weights; and back again from right to left. */
#include <math.h>
#include <string.h>

#include "sde/bound.h"
#include "sde/bridge.h"
#include "sde/modified.h"
#include "sde/rows.h"

/* The paths of a block fill whole vectors where there are enough. */
enum { VECTOR = 8, FEW = 16 };

size_t walk_columns(const struct estimate *e, size_t M)
{
    if (e->model->bridged) return modified_columns(e, M);
    if (e->bound) return bound_columns(e);
    return M + (e->form == GSV_FORM_STRATONOVICH);
}

/* --- Sampling ----------------------------------------------------------- */

/* Whether f is evaluated elsewhere than at the left ends. */
static bool has_middle(const struct piece *p)
{
    return p->context->form == FORM_MIDPOINT &&
           p->context->reference.kind != REFERENCE_BROWNIAN;
}

/* Where the left ends of a piece stand. */
static double *left_of(const struct scratch *s, const struct piece *p)
{
    return (has_middle(p) ? s->Y : s->Z) + p->at;
}

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

void draw_begin(const struct estimate *e, struct scratch *s,
                const struct piece *p, enum random_purpose purpose)
{
    s->draw.key =
        (struct random_key){.seed = e->options->seed,
                            .purpose = purpose,
                            .iteration = e->iteration + p->context->gap->turn,
                            .item = p->context->gap->number};
    draw_start(&s->draw, p->context->M, p->k0, p->K, s->weigh);
}

static void sample(const struct estimate *e, struct scratch *s,
                   const struct piece *p, size_t P, enum random_purpose purpose)
{
    const struct context *c = p->context;
    size_t d = e->d, K = p->K;
    double *left = left_of(s, p), *room = s->weigh;
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
    bool divergence = p->context->form == FORM_STRATONOVICH;
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
        .Y = left_of(s, p),
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

static void unit_forward(const struct estimate *e, struct scratch *s,
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

void block_forward(const struct estimate *e, struct scratch *s,
                   const struct uniforms *u, const struct block *b, double *S,
                   double *S2)
{
    if (e->model->bridged) modified_forward(e, s, b, S, S2);
    else if (e->bound) bound_forward(e, s, u, b, S, S2);
    else unit_forward(e, s, u, b, S, S2);
    if (s->looker.look)
        s->looker.look(s->looker.user, s, b, left_of(s, b->piece));
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
static void block_backward(const struct estimate *e, struct scratch *s,
                           const struct block *b)
{
    struct points in = block_points(s, b);
    bool ends = e->model->learned_noise;
    if (e->model->bridged || e->bound) {
        if (e->bound) bound_backward(e, s, b);
        else modified_backward(e, s, b);
        return;
    }
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

/* --- A large gap: block after block ------------------------------------- */

/* How a gap's K paths of M steps are cut: blocks of paths, slices of steps. A
 * slice has an even number of steps, so that pairs of steps stay together.
 * Modified bridges are never cut into slices: a block has room for some. */
struct cut {
    size_t paths, steps;
};

static struct cut cut_of(const struct estimate *e, size_t M, size_t K)
{
    size_t extra = walk_columns(e, 0), columns = walk_columns(e, M);
    size_t paths = e->capacity / columns, steps = M;
    if (paths < FEW && !e->model->bridged) {
        paths = K < FEW ? K : FEW;
        steps = (e->capacity / paths - extra) / 2 * 2;
        if (steps > M) steps = M;
    }
    if (paths >= K) paths = K;
    else if (paths > VECTOR) paths = paths / VECTOR * VECTOR;
    return (struct cut){paths, steps};
}

/* One block of a context: paths from k on, steps from m on. */
static struct piece piece_at(const struct estimate *e, struct context *c,
                             struct cut cut, size_t k0, size_t k, size_t k1,
                             size_t m)
{
    size_t K = k1 - k, steps = c->M - m;
    struct piece p = {.context = c,
                      .k0 = k,
                      .K = K < cut.paths ? K : cut.paths,
                      .first = m,
                      .steps = steps < cut.steps ? steps : cut.steps,
                      .slot = k - k0};
    p.columns = walk_columns(e, p.steps);
    return p;
}

void context_walk(const struct estimate *e, struct scratch *s,
                  const struct uniforms *u, struct context *c, size_t k0,
                  size_t k1, enum random_purpose purpose, double *S, double *S2)
{
    struct cut cut = cut_of(e, c->M, k1 - k0);
    for (size_t k = k0; k < k1; k += cut.paths)
        for (size_t m = 0; m < c->M; m += cut.steps) {
            struct piece p = piece_at(e, c, cut, k0, k, k1, m);
            struct block b = {&p, 1, p.columns * p.K, purpose};
            block_forward(e, s, u, &b, S, S2);
        }
}

static void context_walk_back(const struct estimate *e, struct scratch *s,
                              struct context *c, size_t k0, size_t k1,
                              size_t slot)
{
    struct cut cut = cut_of(e, c->M, k1 - k0);
    for (size_t k = k0; k < k1; k += cut.paths)
        for (size_t m = 0; m < c->M; m += cut.steps) {
            struct piece p = piece_at(e, c, cut, k0, k, k1, m);
            struct block b = {&p, 1, p.columns * p.K, RANDOM_BRIDGE};
            block_forward(e, s, &e->unit_uniforms, &b, NULL, NULL);
            p.slot += slot;
            block_backward(e, s, &b);
        }
}

/* --- A batch of gaps: one block where it fits ---------------------------- */

/* The gaps from n on that are made ready together: as many as fit in a block,
 * or one that does not. */
static size_t batch_of(const struct estimate *e, size_t n, size_t end,
                       size_t paths, size_t *points)
{
    size_t count = 0;
    for (*points = 0; n < end && count < e->batch; n++, count++) {
        size_t M = estimate_steps(e, &e->gaps.gap[n]);
        size_t more = walk_columns(e, M) * paths;
        if (count && *points + more > e->capacity) break;
        *points += more;
    }
    return count;
}

/* Where a context's weights begin in an item's. */
static size_t slot_of(const struct item *item, const struct context *c)
{
    return (c->group - item->group0) * (item->k1 - item->k0);
}

/* All contexts as pieces of one block. */
static struct block batch_block(const struct estimate *e, struct scratch *s,
                                const struct item *item)
{
    struct block b = {s->piece, s->contexts, 0, RANDOM_BRIDGE};
    for (size_t i = 0; i < s->contexts; i++) {
        struct context *c = &s->context[i];
        struct piece *p = &s->piece[i];
        *p = (struct piece){.context = c,
                            .k0 = item->k0,
                            .K = item->k1 - item->k0,
                            .steps = c->M,
                            .columns = walk_columns(e, c->M),
                            .at = b.P,
                            .slot = slot_of(item, c)};
        b.P += p->columns * p->K;
    }
    return b;
}

bool item_is_one_block(const struct estimate *e, const struct item *item)
{
    size_t points, first = e->group_first[item->group0];
    size_t end = e->group_first[item->group1];
    size_t count = batch_of(e, first, end, item->k1 - item->k0, &points);
    return first + count == end && points <= e->capacity;
}

void item_walk(const struct estimate *e, struct scratch *s,
               const struct item *item, double *base)
{
    size_t paths = item->k1 - item->k0, end = e->group_first[item->group1];
    size_t total = (item->group1 - item->group0) * paths, count, points;
    memset(s->S, 0, total * sizeof *s->S);
    memset(s->S2, 0, total * sizeof *s->S2);
    for (size_t n = e->group_first[item->group0]; n < end; n += count) {
        count = batch_of(e, n, end, paths, &points);
        contexts_build(e, s, n, count);
        for (size_t i = 0; i < count; i++) {
            struct context *c = &s->context[i];
            base[slot_of(item, c) / paths] += c->base;
        }
        if (points <= e->capacity) {
            struct block b = batch_block(e, s, item);
            block_forward(e, s, &e->unit_uniforms, &b, s->S, s->S2);
        } else {
            size_t slot = slot_of(item, s->context);
            context_walk(e, s, &e->unit_uniforms, s->context, item->k0,
                         item->k1, RANDOM_BRIDGE, s->S + slot, s->S2 + slot);
        }
    }
}

void item_walk_back(const struct estimate *e, struct scratch *s,
                    const struct item *item, double once, bool fresh)
{
    size_t paths = item->k1 - item->k0, end = e->group_first[item->group1];
    size_t count, points;
    for (size_t n = e->group_first[item->group0]; n < end; n += count) {
        count = batch_of(e, n, end, paths, &points);
        if (!fresh) contexts_build(e, s, n, count);
        if (points <= e->capacity) {
            struct block b = batch_block(e, s, item);
            if (!fresh) block_forward(e, s, &e->unit_uniforms, &b, NULL, NULL);
            block_backward(e, s, &b);
        } else {
            context_walk_back(e, s, s->context, item->k0, item->k1,
                              slot_of(item, s->context));
        }
        contexts_vjp(e, s, once);
    }
}

void item_base_back(const struct estimate *e, struct scratch *s,
                    const struct item *item)
{
    size_t end = e->group_first[item->group1], count, points;
    if (!base_is_learned(e)) return;
    for (size_t n = e->group_first[item->group0]; n < end; n += count) {
        count = batch_of(e, n, end, item->k1 - item->k0, &points);
        contexts_build(e, s, n, count);
        contexts_vjp(e, s, 1.0);
    }
}
