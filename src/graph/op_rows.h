/* SPDX-License-Identifier: MIT */
/* Every operation's three functions, as ops.c puts them into the table. */
#ifndef GRAPH_OP_ROWS_H
#define GRAPH_OP_ROWS_H

#include "graph/op_binary.h"
#include "graph/op_unary.h"
#include "graph/ops.h"

#define DECLARE_UNARY(ID, NAME, VALUE, SLOPE) OP_FUNCTIONS(NAME);
#define DECLARE_BINARY(ID, NAME, VALUE, BY_X, BY_Y) OP_FUNCTIONS(NAME);
UNARY_OPS(DECLARE_UNARY)
BINARY_OPS(DECLARE_BINARY)

/* op_shape.c */
OP_FUNCTIONS(fill);
OP_FUNCTIONS(sum);
OP_FUNCTIONS(softmax);
OP_FUNCTIONS(pad);
OP_FUNCTIONS(stack);
OP_FUNCTIONS(transpose);

/* op_matrix.c */
OP_FUNCTIONS(matmul);
OP_FUNCTIONS(solve);
OP_FUNCTIONS(logdet);
OP_FUNCTIONS(cholesky);
size_t solve_scratch(const struct apply *a);
size_t logdet_scratch(const struct apply *a);
size_t cholesky_scratch(const struct apply *a);

/* op_function.c */
OP_FUNCTIONS(network);
OP_FUNCTIONS(call);
size_t network_scratch(const struct apply *a);
size_t call_scratch(const struct apply *a);

/* op_gp.c */
OP_FUNCTIONS(gp);

#endif
