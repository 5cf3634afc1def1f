/* SPDX-License-Identifier: MIT */
/* The inside of building a graph, shared by graph.c and simplify.c. */
#ifndef GRAPH_BUILD_H
#define GRAPH_BUILD_H

#include "graph/graph.h"

/* The node that is equal to n with these inputs: found, or appended. */
node make_node(struct graph *g, struct node_info n, const node *input);

/* Node n again with its inputs replaced by their images. */
node remake(struct graph *g, node n, const node *image);

/* wanted (a + 1): whether a is made of a node, or is it. */
void graph_parts(const struct graph *g, node a, bool *wanted);

/* Node a again, from its leaves on: every node that it is made of is what
 * made() says, given the images of those before it. */
node remake_all(struct graph *g, node a,
                node (*made)(struct graph *g, node n, const node *image,
                             node with),
                node with);

#endif
