/* SPDX-License-Identifier: MIT */
/* The line itself, block by block: bridges between the ends, the drift on all
 * of their points at once, weights; and back again from right to left. */
#include <math.h>
#include <string.h>

#include "bridge/estimate.h"

/* The paths of a block fill whole vectors where there are enough. */
enum { VECTOR = 8, FEW = 16 };

/* --- A block ------------------------------------------------------------ */

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

void block_forward(const struct estimate *e, struct scratch *s,
                   const struct uniforms *u, const struct block *b, double *S,
                   double *S2)
{
    e->weigher->forward(e, s, u, b, S, S2);
    if (s->looker.look)
        s->looker.look(s->looker.user, s, b, left_ends(s, b->piece));
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
    size_t extra = e->weigher->columns(e, 0),
           columns = e->weigher->columns(e, M);
    size_t paths = e->capacity / columns, steps = M;
    if (paths < FEW && e->weigher->sliced) {
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
    p.columns = e->weigher->columns(e, p.steps);
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
            e->weigher->backward(e, s, &b);
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
        size_t more = e->weigher->columns(e, M) * paths;
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
                            .columns = e->weigher->columns(e, c->M),
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
            e->weigher->backward(e, s, &b);
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
