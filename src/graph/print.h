/* SPDX-License-Identifier: MIT */
/* Nodes as text, for people to read. */
#ifndef GRAPH_PRINT_H
#define GRAPH_PRINT_H

#include "graph/graph.h"

enum { GRAPH_NAME_SIZE = 320 };

/* What the leaves are called. */
struct graph_names {
    const char *const *state; /* (dim), one for each element of the leaf */
    const char *const *input; /* (inputs)                                */
    const void *owner;        /* of the parameters: handed to the functions */
    /* Writes what number `offset` of the parameters is called; false where it
     * stands for a number that is not worth a name. */
    bool (*param)(const void *owner, size_t offset, char *name, double *value);
    /* Whether that number is above 0, whatever its value; may be NULL. */
    bool (*positive)(const void *owner, size_t offset);
    const bool *positive_state; /* (dim) the same of the state, or NULL */
    void (*net)(const void *owner, size_t net, char *name);
    void (*gp)(const void *owner, size_t gp, char *name);
    node matrix; /* one that has a name of its own, or 0 */
    const char *matrix_name;
};

/* Element number `element` of a node, row by row, as a formula with few
 * brackets; what is longer than some 200 characters ends in "...". Yours, by
 * mem_free(); NULL when memory runs out. */
char *graph_element_text(const struct graph *g, node a, size_t element,
                         const struct graph_names *names);

/* The condition that an element is above 0: "x > 0", "x < 1". */
char *graph_condition_text(const struct graph *g, node a, size_t element,
                           const struct graph_names *names);

#endif
