/* SPDX-License-Identifier: MIT */
/* Which elements of the state each element of a node is made of. Operations
 * that mix their inputs in ways not looked into count as made of all. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"
#include "graph/ops.h"

/* For every node that matters, (size, dim) flags. */
struct uses {
    const struct graph *g;
    size_t dim;
    bool **of; /* (nodes) */
};

/* Element e of n is made of what element i of its input is made of. */
static void join(struct uses *u, node n, size_t e, node in, size_t i)
{
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
    if (info.op == OP_STATE && e < u->dim) u->of[n][e * u->dim + e] = true;
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

static int find_node(struct uses *u, node n)
{
    size_t size = graph_size(u->g, n);
    u->of[n] = NEW(bool, size * u->dim);
    if (!u->of[n]) return GSV_NO_MEMORY;
    for (size_t e = 0; e < size; e++)
        find_element(u, n, e);
    return 0;
}

int graph_state_elements(const struct graph *g, node a, size_t dim, bool *uses)
{
    struct uses u = {g, dim, NEW(bool *, a + 1)};
    bool *wanted = NEW(bool, a + 1);
    int status = u.of && wanted ? 0 : GSV_NO_MEMORY;
    if (!status) wanted[a] = true;
    for (node n = a + 1; !status && n-- > 0;)
        for (size_t i = 0; wanted[n] && i < g->info[n].inputs; i++)
            wanted[graph_input(g, n, i)] = true;
    for (node n = 0; !status && n <= a; n++)
        if (wanted[n]) status = find_node(&u, n);
    if (!status) memcpy(uses, u.of[a], graph_size(g, a) * dim * sizeof *uses);
    for (node n = 0; u.of && n <= a; n++)
        mem_free(u.of[n]);
    mem_free(u.of);
    mem_free(wanted);
    return status;
}
