/* SPDX-License-Identifier: MIT */
/* The table of operations, made of the rows of op_list.h: how to run one over a
 * block, its vjp and jvp, and its symbolic derivative. */
#ifndef GRAPH_OPS_H
#define GRAPH_OPS_H

#include "graph/graph.h"

/* An operand over a block of P points. A uniform operand has one value for
 * all points: step is 0, and value and bar are (size); else step is 1 and they
 * are (size, P). bar is NULL where no gradient is wanted, dot where nothing
 * moves. Gradients are always added to. */
struct operand {
    double *value, *bar, *dot;
    size_t size, step;
};

struct apply {
    size_t P;
    const struct node_info *info;
    const struct operand *in; /* (info->inputs) */
    struct operand out;
    size_t rows, columns;  /* of the first input                   */
    const struct net *net; /* of OP_NET                            */
    const struct gp *gp;   /* of OP_GP                             */
    const double *own[2];  /* of OP_GP: value and weight of the first point */
    size_t own_stride;     /* and from one point to the next; or NULL */
    const struct gsv_callback *call; /* of OP_CALL and OP_CALL_SLOPE      */
    const void *packed;              /* of OP_NET: weights, made for a theta */
    void *scratch;                   /* see op.scratch                       */
};

/* How the values of a function of one number follow x, and what they lie
 * between where that says nothing. */
struct image {
    enum { IMAGE_NONE, IMAGE_GROWS, IMAGE_FALLS, IMAGE_FOLDS } follows;
    double low, high;
};

struct op_row {
    const char *name;
    void (*forward)(const struct apply *a);
    void (*vjp)(const struct apply *a);
    void (*jvp)(const struct apply *a);
    /* Bytes kept between forward and vjp for P points, or NULL for none. */
    size_t (*scratch)(const struct apply *a);
    /* Of elementwise operations, which have 1 or 2 inputs; 0 and NULL for the
     * others, whose derivatives are a table of derive.c. */
    size_t arity;
    bool tame;
    struct image image;
    /* The derivative of node n with respect to input i as an expression. */
    node (*partial)(struct graph *g, node n, size_t i);
};

extern const struct op_row OP_TABLE[OPS];

/* The value of an elementwise operation on numbers. */
double op_fold(enum op op, double a, double b);

/* The comparison that is 1 where this one is 0; OPS for what is none. */
enum op op_negation(enum op op);

/* Row r of an operand: its P values, or the one for all of them; a scalar
 * stands for every row. */
#define ROW(array, o, r, P)                                                    \
    ((array) + ((o).size == 1 ? 0 : (r)) * ((o).step ? (P) : 1))

/* Functions of the rows, one file for each kind. */
#define OP_FUNCTIONS(name)                                                     \
    void name##_forward(const struct apply *a);                                \
    void name##_vjp(const struct apply *a);                                    \
    void name##_jvp(const struct apply *a)

#endif
