/* SPDX-License-Identifier: MIT */
/* Which elements of the state each element of a node is made of. Operations
 * that mix their inputs in ways not looked into count as made of all. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"
#include "graph/ops.h"

/* For every node that matters, (size, dim) flags; or, the other way round,
 * whether each of its elements is used, (size). */
struct uses {
    const struct graph *g;
    size_t dim;
    bool **of; /* (nodes) */
    bool backward;
};

/* Element e of n is made of what element i of its input is made of. */
static void join(struct uses *u, node n, size_t e, node in, size_t i)
{
    if (u->backward) {
        u->of[in][i] = u->of[in][i] || u->of[n][e];
        return;
    }
    bool *to = u->of[n] + e * u->dim, *from = u->of[in] + i * u->dim;
    for (size_t k = 0; k < u->dim; k++)
        to[k] = to[k] || from[k];
}

static void join_all(struct uses *u, node n, size_t e)
{
    for (size_t i = 0; i < graph_info(u->g, n)->inputs; i++) {
        node in = graph_input(u->g, n, i);
        for (size_t k = 0; k < graph_size(u->g, in); k++)
            join(u, n, e, in, k);
    }
}

static void join_product(struct uses *u, node n, size_t e)
{
    node a = graph_input(u->g, n, 0), b = graph_input(u->g, n, 1);
    size_t inner = graph_info(u->g, a)->columns;
    size_t columns = graph_info(u->g, n)->columns;
    for (size_t k = 0; k < inner; k++) {
        join(u, n, e, a, e / columns * inner + k);
        join(u, n, e, b, k * columns + e % columns);
    }
}

static void join_stack(struct uses *u, node n, size_t e)
{
    size_t i = 0, at = e;
    while (at >= graph_size(u->g, graph_input(u->g, n, i)))
        at -= graph_size(u->g, graph_input(u->g, n, i++));
    join(u, n, e, graph_input(u->g, n, i), at);
}

static void find_element(struct uses *u, node n, size_t e)
{
    struct node_info info = *graph_info(u->g, n);
    node in = info.inputs ? graph_input(u->g, n, 0) : 0;
    if (info.op == OP_STATE && e < u->dim && !u->backward)
        u->of[n][e * u->dim + e] = true;
    if (!info.inputs) return;
    if (OP_TABLE[info.op].partial) {
        for (size_t i = 0; i < info.inputs; i++) {
            in = graph_input(u->g, n, i);
            join(u, n, e, in, graph_size(u->g, in) == 1 ? 0 : e);
        }
        return;
    }
    switch ((int)info.op) {
    case OP_FILL: join(u, n, e, in, 0); break;
    case OP_SLICE: join(u, n, e, in, info.offset + e); break;
    case OP_PAD:
        if (e >= info.offset && e < info.offset + graph_size(u->g, in))
            join(u, n, e, in, e - info.offset);
        break;
    case OP_STACK: join_stack(u, n, e); break;
    case OP_TRANSPOSE:
        join(u, n, e, in, e % info.columns * info.rows + e / info.columns);
        break;
    case OP_MATMUL: join_product(u, n, e); break;
    default: join_all(u, n, e);
    }
}

static void find_node(struct uses *u, node n)
{
    for (size_t e = 0; u->of[n] && e < graph_size(u->g, n); e++)
        find_element(u, n, e);
}

static void uses_free(struct uses *u, node a)
{
    for (node n = 0; u->of && n <= a; n++)
        mem_free(u->of[n]);
    mem_free(u->of);
}

/* Flags of a and of what it is made of, `width` for each element. */
static int uses_init(struct uses *u, node a, size_t width)
{
    const struct graph *g = u->g;
    u->of = NEW(bool *, a + 1);
    if (!u->of) return GSV_NO_MEMORY;
    u->of[a] = NEW(bool, graph_size(g, a) * width);
    int status = u->of[a] ? 0 : GSV_NO_MEMORY;
    for (node n = a + 1; !status && n-- > 0;)
        for (size_t i = 0; u->of[n] && i < g->info[n].inputs; i++) {
            node in = graph_input(g, n, i);
            if (u->of[in]) continue;
            u->of[in] = NEW(bool, graph_size(g, in) * width);
            if (!u->of[in]) status = GSV_NO_MEMORY;
        }
    return status;
}

int graph_state_elements(const struct graph *g, node a, size_t dim, bool *uses)
{
    struct uses u = {.g = g, .dim = dim};
    int status = uses_init(&u, a, dim);
    for (node n = 0; !status && n <= a; n++)
        find_node(&u, n);
    if (!status) memcpy(uses, u.of[a], graph_size(g, a) * dim * sizeof *uses);
    uses_free(&u, a);
    return status;
}

int graph_state_used(const struct graph *g, node a, size_t dim, bool *used)
{
    struct uses u = {.g = g, .dim = dim, .backward = true};
    int status = uses_init(&u, a, 1);
    for (size_t e = 0; !status && e < graph_size(g, a); e++)
        u.of[a][e] = true;
    for (node n = a + 1; !status && n-- > 0;) {
        find_node(&u, n);
        bool state = u.of[n] && g->info[n].op == OP_STATE;
        for (size_t e = 0; state && e < dim && e < graph_size(g, n); e++)
            used[e] = used[e] || u.of[n][e];
    }
    uses_free(&u, a);
    return status;
}
