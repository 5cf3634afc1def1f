/* SPDX-License-Identifier: MIT */
/* T and f~ of models with chains of integrals. States are solved for one
 * distance after the other, the furthest from the noise first: the coordinates
 * that bring them in are affine in them, with a matrix M of states that are
 * known by then, and log |det dT/dz| is the sum of all log |det M|. */
#include "model/chain.h"

#include "base/error.h"
#include "base/memory.h"
#include "graph/words.h"

/* What is made of the chains. */
struct map {
    struct chains *c;
    node *level;  /* (d) y by their first place, for every length and level */
    node forward; /* T over z                                     */
    node drift;   /* f~ of the tops over z, the others y          */
    node *state;  /* (d) over y, 0 while they are not known       */
    node log_det; /* log |det dT/dz| over z                       */
    node domain, range;
};

/* The sum of log |a|; of products and ratios of numbers as a sum of theirs,
 * which is what can be read. */
static node log_abs_sum(struct graph *g, node a)
{
    const struct node_info info = *graph_info(g, a);
    bool divides = info.op == OP_DIV;
    if (graph_size(g, a) == 1 && (info.op == OP_MUL || divides))
        return op(g, divides ? OP_SUB : OP_ADD,
                  log_abs_sum(g, graph_input(g, a, 0)),
                  log_abs_sum(g, graph_input(g, a, 1)));
    if (info.op == OP_NEG) return log_abs_sum(g, graph_input(g, a, 0));
    return graph_sum(g, graph_unary(g, OP_LOG, graph_unary(g, OP_ABS, a)));
}

/* --- From z to y ---------------------------------------------------------- */

/* The first n chains' corner of a triangle. */
static node corner(const struct chains *c, size_t n)
{
    size_t *number = GRAPH_NEW(c->g, size_t, n * n);
    if (!number) return 0;
    for (size_t i = 0; i < n * n; i++)
        number[i] = i / n * c->count + i % n;
    node index = chains_index(c->g, n * n, number);
    mem_free(number);
    return graph_gather(c->g, c->scale, index, n, n);
}

/* The scaled bottoms of the chains of a length. Noises that chains share are
 * told apart by a combination with those that are at least as long, whose tops
 * stand beside these: level k with their level k + what they are longer. */
static node first_level(const struct chains *c, size_t length)
{
    struct graph *g = c->g;
    size_t first = chains_from(c, length + 1), all = chains_from(c, length);
    if (!c->shared)
        return op(g, OP_DIV, chains_bottoms(c, length),
                  graph_slice(g, c->scale, first, all - first, 1));
    node *part = GRAPH_NEW(g, node, c->levels);
    size_t parts = 0;
    if (!part) return 0;
    for (size_t k = c->levels; k >= length; k--) {
        if (chains_from(c, k) == chains_from(c, k + 1)) continue;
        node a = chains_bottoms(c, k);
        for (size_t i = length; i < k; i++)
            a = chains_lie(c, a);
        part[parts++] = a;
    }
    node both = graph_solve(g, corner(c, all), graph_below(g, parts, part));
    mem_free(part);
    return graph_slice(g, both, first, all - first, 1);
}

/* y and f~, lengths after each other. */
static void go_up(struct map *m)
{
    struct chains *c = m->c;
    size_t n = 0;
    node *part = GRAPH_NEW(c->g, node, 2 * c->d);
    if (!part) return;
    node *drift = part + c->d;
    for (size_t k = c->levels; k > 0; k--) {
        if (chains_from(c, k) == chains_from(c, k + 1)) continue;
        node a = first_level(c, k);
        for (size_t i = 1; i <= k; i++) {
            part[n] = m->level[chains_level(c, k, i)] = a;
            a = drift[n++] = chains_lie(c, a);
        }
    }
    m->forward = graph_below(c->g, n, part);
    m->drift = graph_below(c->g, n, drift);
    mem_free(part);
}

/* --- From y to z ---------------------------------------------------------- */

/* An expression over z with the states that are known, the others 0. */
static node at_known(const struct map *m, node a)
{
    const struct chains *c = m->c;
    return graph_substitute(c->g, a,
                            graph_stack(c->g, c->d, m->state, c->d, 1));
}

/* The coordinates of a distance, with the states that they bring in: of chains
 * that begin before it, and where noises are shared of those that begin here,
 * too. */
struct stage {
    size_t n;
    size_t *state; /* (n)                                */
    node y, value; /* (n, 1) over z, and over the leaf y */
};

static int stage_init(struct stage *t, const struct map *m, size_t distance)
{
    const struct chains *c = m->c;
    size_t last = c->shared ? distance : distance + 1, parts = 0;
    node *part = NEW(node, 2 * c->levels), *value = part + c->levels;
    t->n = chains_from(c, last);
    t->state = NEW(size_t, t->n);
    if (!part || !t->state) {
        mem_free(part);
        return GSV_NO_MEMORY;
    }
    for (size_t k = c->levels; k >= last; k--) {
        size_t first = chains_from(c, k + 1), n = chains_from(c, k) - first;
        if (!n) continue;
        size_t at = chains_level(c, k, k - distance + 1);
        part[parts] = m->level[at];
        value[parts++] = graph_slice(c->g, c->z, at, n, 1);
    }
    t->y = graph_below(c->g, parts, part);
    t->value = graph_below(c->g, parts, value);
    for (size_t i = 0; i < t->n; i++) {
        t->state[i] = c->bottom[i].state;
        for (size_t k = c->bottom[i].length; k > distance; k--)
            t->state[i] = c->next[t->state[i]];
    }
    mem_free(part);
    return 0;
}

/* Whether each coordinate has one of the new states only, and each another
 * one: these in their order. */
static int is_separate(const struct chains *c, struct stage *t, bool *separate)
{
    size_t n = t->n, d = c->d;
    bool *uses = NEW(bool, n *d), *taken = NEW(bool, d);
    size_t *only = NEW(size_t, n);
    int status = uses && taken && only ? 0 : GSV_NO_MEMORY;
    if (!status) status = graph_state_elements(c->g, t->y, d, uses);
    *separate = true;
    for (size_t i = 0; !status && i < n; i++) {
        size_t count = 0;
        for (size_t j = 0; j < n; j++)
            if (uses[i * d + t->state[j]]) count++, only[i] = t->state[j];
        *separate = *separate && count == 1 && !taken[only[i]];
        if (*separate) taken[only[i]] = true;
    }
    for (size_t i = 0; !status && *separate && i < n; i++)
        t->state[i] = only[i];
    MEM_FREE(uses, taken, only);
    return status;
}

/* dy/dstate: a vector where they are separate, else (n, n). */
static node slopes(const struct chains *c, const struct stage *t, bool separate)
{
    if (separate) return chains_along(c, t->y, t->n, t->state);
    node *column = GRAPH_NEW(c->g, node, t->n);
    if (!column) return 0;
    for (size_t j = 0; j < t->n; j++)
        column[j] = chains_along(c, t->y, 1, &t->state[j]);
    node rows = graph_stack(c->g, t->n, column, t->n, t->n);
    mem_free(column);
    return graph_transpose(c->g, rows);
}

/* Whether the slopes are made of states that are known by now. */
static int check_affine(struct map *m, const struct stage *t, node M)
{
    struct chains *c = m->c;
    bool *used = NEW(bool, c->d);
    if (!used) return GSV_NO_MEMORY;
    int status = graph_state_used(c->g, M, c->d, used);
    for (size_t i = 0; !status && i < c->d; i++)
        if (used[i] && !m->state[i])
            chains_explain(c, NO_CHAIN_CURVED, c->bottom[0].state);
    (void)t;
    mem_free(used);
    return status;
}

static int solve_stage(struct map *m, struct stage *t)
{
    struct chains *c = m->c;
    struct graph *g = c->g;
    bool separate;
    int status = is_separate(c, t, &separate);
    if (status) return status;
    node M = slopes(c, t, separate);
    status = check_affine(m, t, M);
    if (status) return status;
    node rest = op(g, OP_SUB, t->value, at_known(m, t->y));
    node solved = separate ? op(g, OP_DIV, rest, at_known(m, M))
                           : graph_solve(g, at_known(m, M), rest);
    node log_det = separate ? log_abs_sum(g, M) : graph_logdet(g, M);
    m->log_det = op(g, OP_ADD, m->log_det, log_det);
    for (size_t i = 0; i < t->n; i++)
        m->state[t->state[i]] = graph_slice(g, solved, i, 1, 1);
    return 0;
}

static node joined(struct graph *g, node a, node b)
{
    if (!a || !b) return a ? a : b;
    return graph_below(g, 2, (node[2]){a, b});
}

/* Bottoms that are scaled by themselves. */
static void solve_bottom(struct map *m, size_t i)
{
    const struct chains *c = m->c;
    struct graph *g = c->g;
    const struct bottom *b = &c->bottom[i];
    size_t first = chains_from(c, b->length + 1);
    size_t at = chains_level(c, b->length, 1) + i - first;
    node scale = graph_slice(g, c->scale, i, 1, 1);
    node u = op(g, OP_MUL, scale, graph_slice(g, c->z, at, 1, 1));
    m->log_det = op(g, OP_SUB, m->log_det, log_abs_sum(g, scale));
    m->state[b->state] = u;
    if (!b->shape) return;
    node leaf = graph_pad(g, u, b->state, c->d, 1);
    m->state[b->state] = graph_substitute(g, b->map.unstretch, leaf);
    m->log_det = op(g, OP_SUB, m->log_det, log_abs_sum(g, b->shape));
    m->domain = joined(g, m->domain, b->map.domain);
    if (b->map.range)
        m->range = joined(g, m->range, graph_substitute(g, b->map.range, leaf));
}

static int go_down(struct map *m)
{
    struct chains *c = m->c;
    int status = 0;
    m->log_det = num(c->g, 0.0);
    for (size_t k = c->levels; !status && !c->model->chain.why && k > 0; k--) {
        for (size_t i = chains_from(c, k + 1);
             !c->shared && i < chains_from(c, k); i++)
            solve_bottom(m, i);
        struct stage t = {0};
        status = stage_init(&t, m, k);
        if (!status && t.n) status = solve_stage(m, &t);
        mem_free(t.state);
    }
    return status;
}

/* --- The model's ---------------------------------------------------------- */

/* Rows below the tops are y itself; drift has those of the tops. */
static node over_y(const struct map *m, node drift)
{
    const struct chains *c = m->c;
    node *part = GRAPH_NEW(c->g, node, 2 * c->levels);
    size_t parts = 0;
    if (!part) return 0;
    for (size_t k = c->levels; k > 0; k--) {
        size_t n = chains_from(c, k) - chains_from(c, k + 1);
        size_t first = chains_level(c, k, 1), top = chains_level(c, k, k);
        if (!n) continue;
        if (k > 1)
            part[parts++] = graph_slice(c->g, c->z, first + n, n * (k - 1), 1);
        part[parts++] = graph_slice(c->g, drift, top, n, 1);
    }
    node all = graph_below(c->g, parts, part);
    mem_free(part);
    return all;
}

static int keep_form(const struct chains *c)
{
    struct chain_form *form = &c->model->chain;
    form->next = NEW(size_t, c->d);
    form->noise = NEW(double, c->d);
    form->bottom = NEW(size_t, c->d);
    if (!form->next || !form->noise || !form->bottom) return GSV_NO_MEMORY;
    for (size_t i = 0; i < c->count; i++) {
        size_t k = c->bottom[i].length, first = chains_from(c, k + 1);
        size_t n = chains_from(c, k) - first;
        size_t at = chains_level(c, k, 1) + i - first;
        for (size_t level = 1; level <= k; level++, at += n) {
            form->bottom[at] = c->bottom[i].state;
            form->next[at] = level < k ? at + n : c->d;
            form->noise[at] = level < k ? 0.0 : 1.0;
        }
        form->stretched = form->stretched || c->bottom[i].shape;
        form->numerical = form->numerical || c->bottom[i].map.numerical;
    }
    form->sigma = c->shared ? c->scale : 0;
    form->longest = c->levels;
    return 0;
}

/* The states at the bottoms and their derivatives in time, as they are. */
static node plain_rates(const struct chains *c)
{
    size_t parts = 0, *state = GRAPH_NEW(c->g, size_t, c->d);
    node *part = GRAPH_NEW(c->g, node, c->d);
    for (size_t k = c->levels; state && part && k > 0; k--) {
        size_t first = chains_from(c, k + 1), n = chains_from(c, k) - first;
        for (size_t i = 0; i < n; i++)
            state[i] = c->bottom[first + i].state;
        node a =
            n ? graph_gather(c->g, c->z, chains_index(c->g, n, state), n, 1)
              : 0;
        for (size_t i = 0; n && i < k; i++) {
            part[parts++] = a;
            if (i + 1 < k) a = chains_lie(c, a);
        }
    }
    node made = graph_below(c->g, parts, part);
    MEM_FREE(state, part);
    return made;
}

/* What the noise of every coordinate is: all of a chain have that of its top.
 */
static node all_scales(const struct chains *c)
{
    node *part = GRAPH_NEW(c->g, node, c->d);
    if (!part) return 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct bottom *b = &c->bottom[i];
        size_t first = chains_from(c, b->length + 1);
        size_t n = chains_from(c, b->length) - first;
        size_t at = chains_level(c, b->length, 1) + i - first;
        node scale = graph_slice(c->g, c->scale, i, 1, 1);
        if (b->shape) scale = op(c->g, OP_MUL, scale, b->shape);
        for (size_t k = 0; k < b->length; k++)
            part[at + k * n] = scale;
    }
    node made = graph_stack(c->g, c->d, part, c->d, 1);
    mem_free(part);
    return made;
}

static int keep_map(struct gsv_model *m, const struct map *map)
{
    const struct chains *c = map->c;
    const struct spec *s = m->spec;
    struct graph *g = c->g;
    node states = graph_stack(g, c->d, map->state, c->d, 1);
    node x = s->state_of_data;
    m->unit_drift = over_y(map, graph_substitute(g, map->drift, states));
    m->chain.rate = plain_rates(c);
    m->chain.scales = c->shared ? 0 : all_scales(c);
    m->chain.still = over_y(map, graph_fill(g, num(g, 0.0), c->d, 1));
    m->state_drift = map->drift;
    m->unit_state = graph_substitute(g, map->forward, x);
    m->data_state = graph_substitute(g, s->data_of_state, states);
    m->log_jacobian = op(g, OP_ADD, s->map_log_jacobian,
                         graph_substitute(g, map->log_det, x));
    m->domain = joined(g, s->map_domain,
                       map->domain ? graph_substitute(g, map->domain, x) : 0);
    m->range = map->range;
    return keep_form(c);
}

int to_chains(struct gsv_model *m)
{
    struct chains c;
    struct map map = {.c = &c};
    bool found;
    int status = chains_find(&c, m, &found);
    if (!status && found) {
        map.level = NEW(node, c.d);
        map.state = NEW(node, c.d);
        status = map.level && map.state ? 0 : GSV_NO_MEMORY;
        if (!status) go_up(&map);
        if (!status) status = go_down(&map);
        if (!status && !m->chain.why) status = keep_map(m, &map);
    }
    MEM_FREE(map.level, map.state);
    chains_free(&c);
    return status ? status : m->spec->graph->failed ? GSV_NO_MEMORY : 0;
}
