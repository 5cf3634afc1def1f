/* SPDX-License-Identifier: MIT */
/* Short words for formulas that are built of nodes. */
#ifndef GRAPH_WORDS_H
#define GRAPH_WORDS_H

#include "graph/graph.h"

static inline node num(struct graph *g, double v)
{
    return graph_number(g, v);
}

static inline node op(struct graph *g, enum op code, node a, node b)
{
    return graph_binary(g, code, a, b);
}

static inline node add(struct graph *g, node a, node b)
{
    return graph_binary(g, OP_ADD, a, b);
}

static inline node sub(struct graph *g, node a, node b)
{
    return graph_binary(g, OP_SUB, a, b);
}

static inline node mul(struct graph *g, node a, node b)
{
    return graph_binary(g, OP_MUL, a, b);
}

static inline node over(struct graph *g, node a, node b)
{
    return graph_binary(g, OP_DIV, a, b);
}

static inline node f(struct graph *g, enum op code, node a)
{
    return graph_unary(g, code, a);
}

#endif
