/* SPDX-License-Identifier: MIT */
/* Every operation's three functions, as ops.c puts them into the table. */
#ifndef GRAPH_OP_ROWS_H
#define GRAPH_OP_ROWS_H

#include "graph/ops.h"

/* op_unary.c, op_binary.c, and derive.c the last one. */
#define DECLARE_ELEMENTWISE(ID, NAME, ...)                                     \
    OP_FUNCTIONS(NAME);                                                        \
    node NAME##_partial(struct graph *g, node n, size_t i);
UNARY_OPS(DECLARE_ELEMENTWISE)
BINARY_OPS(DECLARE_ELEMENTWISE)

#define DECLARE_WHOLE(ID, NAME, ...) OP_FUNCTIONS(NAME);
WHOLE_OPS(DECLARE_WHOLE)
size_t solve_scratch(const struct apply *a);
size_t logdet_scratch(const struct apply *a);
size_t cholesky_scratch(const struct apply *a);
size_t network_scratch(const struct apply *a);
size_t call_scratch(const struct apply *a);

#endif
