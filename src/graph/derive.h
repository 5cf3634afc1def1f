/* SPDX-License-Identifier: MIT */
#ifndef GRAPH_DERIVE_H
#define GRAPH_DERIVE_H

#include "graph/graph.h"

/* The derivative of an elementwise node by its input i, as an expression. */
node elementwise_partial(struct graph *g, node n, size_t i);

#endif
