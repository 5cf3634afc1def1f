/* SPDX-License-Identifier: MIT */
/* What a model's text says, with names looked up and shapes checked: tables of
 * its states, inputs and parameters, and its drift and diffusion as nodes of
 * one graph. */
#ifndef LANG_SPEC_H
#define LANG_SPEC_H

#include "graph/graph.h"
#include "lang/ast.h"

#include "girsanov.h"

struct param_spec {
    char *name;
    int rank;
    size_t rows, columns;
    size_t offset; /* in the vector of all parameters, row by row      */
    double *start; /* (rows, columns)                                  */
    enum bound_kind bound;
    double low, high;
    bool lower;    /* triangular with a positive diagonal              */
    size_t fan_in; /* of a network's weight: its start is drawn; else 0 */
    bool scale;    /* of a network's inputs and outputs: not learned   */
};

struct input_spec {
    char *name;
    bool hold;
};

/* A network where it was declared: the graph's, by the same number. */
struct net_spec {
    node argument, value;
};

struct spec {
    struct graph *graph;
    char **column; /* (dim): the data's columns of the states */
    size_t dim, column_capacity;
    struct param_spec *param;
    size_t params, param_capacity;
    size_t parameters; /* numbers in all of them */
    struct input_spec *input;
    size_t inputs, input_capacity;
    struct net_spec *net; /* (graph->nets) */
    size_t nets, net_capacity;

    node drift; /* (dim, 1) */
    bool diagonal;
    size_t noises;
    node diffusion; /* (dim, 1) where diagonal, else (dim, noises)       */
    node sigma;     /* a square root of the covariance: the diffusion, or */
                    /* (dim, dim) when there are more noises than states  */
};

/* Where the numbers stand that scale a network's inputs and outputs,
 *
 *     f(x) = output_mean + output_scale net((x - input_mean) / input_scale):
 *
 * in this order, right behind its weights. */
size_t net_scales(const struct graph *g, size_t net);

/* The parameter that a number of the vector of all parameters belongs to. */
size_t spec_param_at(const struct spec *s, size_t number);

/* Parses and builds, or fails with a message. */
struct spec *spec_new(const struct source *source);
void spec_free(struct spec *spec);

/* The spec of a drift in C with diagonal noise, without any text. */
struct spec *spec_callback(const struct gsv_callback *callback);

#endif
