/* SPDX-License-Identifier: MIT */
#include "bridge/walk.h"

/* The paths of a block fill whole vectors where there are enough. */
enum { VECTOR = 8, FEW = 16 };

struct random_key block_key(const struct run *r, enum random_purpose purpose)
{
    return (struct random_key){.seed = r->plan->options->seed,
                               .purpose = purpose,
                               .iteration = r->iteration};
}

void draw_begin(struct scratch *s, const struct block *b, const struct piece *q)
{
    const struct context *c = q->context;
    s->draw.key = b->key;
    s->draw.key.iteration += c->gap->turn;
    s->draw.key.item = c->gap->number;
    draw_start(&s->draw, c->M, q->k0, q->K, s->weigh);
}

void block_forward(const struct plan *p, const struct values *v,
                   struct scratch *s, const struct block *b, double *S,
                   double *S2)
{
    const struct observer *o = &s->observer;
    p->weigher->forward(p, v, s, b, S, S2);
    if (o->observe) o->observe(o->user, s, b, left_ends(s, b->piece));
}

/* How the K paths of M steps of a gap are cut: blocks of paths, slices of
 * steps. A slice has an even number of steps, which keeps pairs of steps
 * together. Modified bridges are never cut into slices: a block has room for
 * some. */
struct cut {
    size_t paths, steps;
};

static struct cut cut_of(const struct plan *p, size_t M, size_t K)
{
    size_t extra = p->weigher->columns(p, 0);
    size_t paths = p->capacity / p->weigher->columns(p, M), steps = M;
    if (paths < FEW && p->weigher->sliced) {
        paths = K < FEW ? K : FEW;
        steps = (p->capacity / paths - extra) / 2 * 2;
        if (steps > M) steps = M;
    }
    if (paths >= K) paths = K;
    else if (paths > VECTOR) paths = paths / VECTOR * VECTOR;
    return (struct cut){paths, steps};
}

/* One block of a context: paths [k, k1) and steps from m on, as many of both as
 * fit. */
static struct piece piece_at(const struct plan *p, struct context *c,
                             struct cut cut, size_t k, size_t k1, size_t m)
{
    size_t K = k1 - k, steps = c->M - m;
    struct piece q = {.context = c,
                      .k0 = k,
                      .K = K < cut.paths ? K : cut.paths,
                      .first = m,
                      .steps = steps < cut.steps ? steps : cut.steps};
    q.columns = p->weigher->columns(p, q.steps);
    return q;
}

void context_walk(const struct run *r, const struct values *v,
                  struct scratch *s, struct context *c, size_t k0, size_t k1,
                  enum random_purpose purpose, double *S, double *S2)
{
    struct cut cut = cut_of(r->plan, c->M, k1 - k0);
    for (size_t k = k0; k < k1; k += cut.paths)
        for (size_t m = 0; m < c->M; m += cut.steps) {
            struct piece q = piece_at(r->plan, c, cut, k, k1, m);
            struct block b = {&q, 1, q.columns * q.K, block_key(r, purpose)};
            q.slot = k - k0;
            block_forward(r->plan, v, s, &b, S, S2);
        }
}

void context_walk_back(const struct run *r, struct scratch *s,
                       struct context *c, size_t k0, size_t k1, size_t slot)
{
    const struct plan *p = r->plan;
    struct cut cut = cut_of(p, c->M, k1 - k0);
    for (size_t k = k0; k < k1; k += cut.paths)
        for (size_t m = 0; m < c->M; m += cut.steps) {
            struct piece q = piece_at(p, c, cut, k, k1, m);
            struct block b = {&q, 1, q.columns * q.K,
                              block_key(r, RANDOM_BRIDGE)};
            q.slot = slot + k - k0;
            block_forward(p, &r->values, s, &b, NULL, NULL);
            p->weigher->backward(p, &r->values, s, &b);
        }
}
