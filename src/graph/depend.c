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

/* What element e of n is made of: join_... as the rows of op_list.h say. */
#define JOIN(NAME) static void join_##NAME(struct uses *u, node n, size_t e)
#define INPUT(i) graph_input(u->g, n, i)
#define INFO (*graph_info(u->g, n))

/* Of one element of the first input. */
#define JOIN_AT(NAME, AT)                                                      \
    JOIN(NAME)                                                                 \
    {                                                                          \
        join(u, n, e, INPUT(0), AT);                                           \
    }

JOIN_AT(first, 0)
JOIN_AT(slice, INFO.offset + e)
JOIN_AT(transpose, e % INFO.columns * INFO.rows + e / INFO.columns)
JOIN_AT(gather, (size_t)graph_info(u->g, INPUT(1))->data[e])

JOIN(pad)
{
    size_t first = INFO.offset;
    if (e >= first && e < first + graph_size(u->g, INPUT(0)))
        join(u, n, e, INPUT(0), e - first);
}

JOIN(stack)
{
    size_t i = 0, at = e;
    while (at >= graph_size(u->g, INPUT(i)))
        at -= graph_size(u->g, INPUT(i++));
    join(u, n, e, INPUT(i), at);
}

JOIN(scatter)
{
    const double *to = graph_info(u->g, INPUT(1))->data;
    for (size_t k = 0; k < graph_size(u->g, INPUT(0)); k++)
        if ((size_t)to[k] == e) join(u, n, e, INPUT(0), k);
}

JOIN(product)
{
    size_t inner = graph_info(u->g, INPUT(0))->columns;
    size_t columns = INFO.columns;
    for (size_t k = 0; k < inner; k++) {
        join(u, n, e, INPUT(0), e / columns * inner + k);
        join(u, n, e, INPUT(1), k * columns + e % columns);
    }
}

JOIN(all)
{
    for (size_t i = 0; i < INFO.inputs; i++)
        for (size_t k = 0; k < graph_size(u->g, INPUT(i)); k++)
            join(u, n, e, INPUT(i), k);
}

JOIN(elements)
{
    for (size_t i = 0; i < INFO.inputs; i++)
        join(u, n, e, INPUT(i), graph_size(u->g, INPUT(i)) == 1 ? 0 : e);
}

static void (*const MADE_OF[OPS])(struct uses *u, node n, size_t e) = {
#define JOIN_OF(ID, NAME, SCRATCH, TEXT, USES) [OP_##ID] = join_##USES,
    OTHER_OPS(JOIN_OF)};

static void find_element(struct uses *u, node n, size_t e)
{
    enum op op = graph_info(u->g, n)->op;
    if (op == OP_STATE && e < u->dim && !u->backward)
        u->of[n][e * u->dim + e] = true;
    if (op_is_leaf(op)) return;
    if (OP_TABLE[op].arity) join_elements(u, n, e);
    else MADE_OF[op](u, n, e);
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
