/* SPDX-License-Identifier: MIT */
/* Expressions as a graph of operations. A node is a number; its inputs have
 * smaller numbers, so the order of nodes is an order of evaluation. Equal
 * nodes are one node, and constants are folded while the graph is built.
 *
 * A node that depends on nothing but constants and parameters is uniform: it
 * has one value for a whole block. The others have one at every point. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/gp.h"
#include "graph/net.h"
#include "graph/op_list.h"

typedef size_t node;

/* The most nodes of a graph, some 500 MB; and of those that a text alone may
 * make, before maps and derivatives are added to them. */
enum { GRAPH_NODES = 1 << 22, TEXT_NODES = 1 << 18 };

/* Elements of the nodes that a text makes, all together: at a point each is a
 * number. */
static const double TEXT_ELEMENTS = 1 << 24;

/* OP_CONSTANT and so on: leaves first. */
enum op {
#define OP_MEMBER(ID, ...) OP_##ID,
    LEAF_OPS(OP_MEMBER) UNARY_OPS(OP_MEMBER) BINARY_OPS(OP_MEMBER)
        OTHER_OPS(OP_MEMBER)
#undef OP_MEMBER
            OPS
};

/* How many leaves there are, and so the first of the others. */
enum op_leaf {
#define OP_LEAF(ID, ...) OP_LEAF_##ID,
    LEAF_OPS(OP_LEAF)
#undef OP_LEAF
        OP_LEAF_COUNT
};
#define OP_LEAVES ((enum op)OP_LEAF_COUNT)

static inline bool op_is_leaf(enum op op)
{
    return op < OP_LEAVES;
}

/* A function that the caller gives; NULL until then. Both are borrowed. */
struct call_spec {
    const char *name;
    const struct gsv_callback *function;
};

struct node_info {
    enum op op;
    bool uniform;
    unsigned leaves; /* which leaves it depends on, a bit for each */
    size_t rows, columns;
    size_t input, inputs; /* graph->link[input .. input + inputs) */
    size_t offset;        /* of param, input, slice, pad; net, gp, call: */
                          /* which                                     */
    const double *data;   /* (rows, columns) of a constant             */
    size_t next;          /* in its hash bucket                        */
};

struct graph {
    struct node_info *info;
    size_t nodes, node_capacity;
    node *link;
    size_t links, link_capacity;
    double elements; /* of all nodes but leaves */
    size_t *bucket;
    size_t buckets;
    double **block; /* the constants' memory, owned from own_blocks on */
    size_t blocks, block_capacity, own_blocks;
    struct net *net;    /* their widths are owned from own_nets on */
    size_t *net_offset; /* of their parameters    */
    size_t nets, net_capacity, net_offset_capacity, own_nets;
    struct gp *gp;
    size_t gps, gp_capacity;
    struct call_spec *call;
    size_t calls, call_capacity;
    bool failed; /* out of memory: checked once, at the end */
};

struct graph *graph_new(void);
void graph_free(struct graph *g);

/* mem_new() for work on a graph, which fails where there is no memory. */
void *graph_memory(struct graph *g, size_t count, size_t size);
#define GRAPH_NEW(g, type, count)                                              \
    ((type *)graph_memory((g), (count), sizeof(type)))

/* A graph with the same nodes that can grow on its own; it borrows the
 * constants and networks of the first one. */
struct graph *graph_copy(const struct graph *g);

/* Leaves. */
node graph_number(struct graph *g, double value);
node graph_constant(struct graph *g, size_t rows, size_t columns,
                    const double *data);
node graph_identity(struct graph *g, size_t n);
/* A lower triangular (n, n) constant with these numbers. */
node graph_diagonal(struct graph *g, size_t n, double below, double on);
node graph_leaf(struct graph *g, enum op op, size_t offset, size_t rows,
                size_t columns);

/* Everything else; shapes must fit (asserted: lang checks and explains). */
node graph_unary(struct graph *g, enum op op, node a);
node graph_binary(struct graph *g, enum op op, node a, node b);
node graph_sum(struct graph *g, node a);
node graph_softmax(struct graph *g, node a);
node graph_logdet(struct graph *g, node a);
node graph_cholesky(struct graph *g, node a);
node graph_fill(struct graph *g, node a, size_t rows, size_t columns);
node graph_slice(struct graph *g, node a, size_t offset, size_t rows,
                 size_t columns);
node graph_pad(struct graph *g, node a, size_t offset, size_t rows,
               size_t columns);
node graph_stack(struct graph *g, size_t n, const node *a, size_t rows,
                 size_t columns);
/* All elements of n nodes below each other; 0 for none. */
node graph_below(struct graph *g, size_t n, const node *a);
node graph_transpose(struct graph *g, node a);
/* The elements of a whose numbers are in `index`, a constant; and the reverse,
 * zeros to which element k of a is added at index[k]. */
node graph_gather(struct graph *g, node a, node index, size_t rows,
                  size_t columns);
node graph_scatter(struct graph *g, node a, node index, size_t rows,
                   size_t columns);
/* The element of the vector a that index numbers, from 1 on: a number that may
 * be another one at each point. */
node graph_choose(struct graph *g, node a, node index);
/* a where the condition is not 0, else b. What is not taken adds nothing to
 * values and derivatives, NaN or not. */
node graph_where(struct graph *g, node condition, node a, node b);
node graph_matmul(struct graph *g, node a, node b);
node graph_solve(struct graph *g, node a, node b);

/* A network of this shape on parameters from offset on: add once, apply to
 * any arguments. graph_net_open() is the same written in single operations,
 * so that it can be differentiated symbolically. */
size_t graph_net_add(struct graph *g, size_t layers, const size_t *width,
                     enum activation act, size_t offset);
node graph_net(struct graph *g, size_t net, node argument);
node graph_net_open(struct graph *g, size_t net, node argument);

/* A function on a grid: add once, apply to any argument (axes, 1) with value
 * (outputs, nodes), box (2 axes, 1) and, where it has a polynomial, weight
 * (outputs, features). graph_gp_slope() is the derivative of such a node by
 * an element of its argument. */
size_t graph_gp_add(struct graph *g, const struct gp *gp);
node graph_gp(struct graph *g, size_t gp, node argument, node value, node box,
              node weight);
node graph_gp_slope(struct graph *g, node a, size_t axis);

/* A function of the caller: add once, apply to any argument (inputs, 1), with
 * its parameters (n, 1), or 0 for none. graph_call_slope() is the derivative of
 * such a node along `dot`, by which its argument moves. */
size_t graph_call_add(struct graph *g, const char *name);
node graph_call(struct graph *g, size_t call, node argument, node parameters,
                size_t outputs);
node graph_call_slope(struct graph *g, node a, node dot);

/* Fails where a function was not given yet. */
int graph_refuse_call(const struct graph *g, size_t call);

/* The same expression with every state leaf replaced. */
node graph_substitute(struct graph *g, node a, node state);

/* The same expression with node `what` replaced by another of its shape. */
node graph_replace(struct graph *g, node a, node what, node with);

/* The same expression with roots, and powers that are not whole, of negative
 * numbers taken as those of 0: noise at states a little outside of where they
 * should be. */
node graph_guard_roots(struct graph *g, node a);

/* The same expression of a longer state, the leaf `all`: parameters first, in
 * the order of their vector, the state below them. a must have no networks,
 * gps and callbacks, whose parameters are the same at all points. */
node graph_lift(struct graph *g, node a, node all);

/* The same expression with its networks written in single operations. */
node graph_open_nets(struct graph *g, node a);

/* Symbolic derivatives (derive.c): the derivative of a in time, where inputs
 * move by their slopes and the state stands still; that along dot, by which a
 * leaf (or any node) moves; and the gradient of the scalar a with respect to a
 * leaf, in the leaf's shape. */
node graph_time_derivative(struct graph *g, node a);
node graph_directional(struct graph *g, node a, node leaf, node dot);
node graph_gradient(struct graph *g, node a, node leaf);

/* sum over i of d a_i / d leaf_i: the divergence of a vector field. */
node graph_divergence(struct graph *g, node a, node leaf);

/* What a node depends on, directly or not. */
bool graph_depends(const struct graph *g, node a, enum op leaf);

/* Whether it is made of a network, a gp or an external function. */
bool graph_has_functions(struct graph *g, node a);

/* Whether it changes in time while the state stands still: it is made of t, or
 * of an input or its slope. */
bool graph_moves(const struct graph *g, node a);

/* uses (size of a, dim): which elements of the state an element of a is made
 * of, as far as that is seen (depend.c). */
int graph_state_elements(const struct graph *g, node a, size_t dim, bool *uses);

/* The same of all elements of a together: used (dim) is added to. */
int graph_state_used(const struct graph *g, node a, size_t dim, bool *used);

const struct node_info *graph_info(const struct graph *g, node a);
node graph_input(const struct graph *g, node a, size_t i);
size_t graph_size(const struct graph *g, node a); /* rows * columns */

/* The value of a scalar constant. */
bool graph_is_number(const struct graph *g, node a, double *value);

#endif
