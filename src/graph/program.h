/* SPDX-License-Identifier: MIT */
/* A program runs some outputs of a graph over blocks of points: forward, and
 * then, over what forward left in the workspace, vjp and jvp.
 *
 *     uniforms   what is the same at all points: parameters, everything made
 *                of them alone, packed weights. Made once for a theta, then
 *                read by all threads.
 *     workspace  what differs from point to point. One for each thread.
 *
 * The gradient of the uniforms is one vector, uniform_bar, parameters first:
 * blocks add to it, program_finish() then brings it all to the parameters. */
#ifndef GRAPH_PROGRAM_H
#define GRAPH_PROGRAM_H

#include "graph/graph.h"

struct program;

struct uniforms {
    double *value; /* (program_uniforms): parameters, then the nodes */
    void *packed;
    char *scratch;
    struct operand *operand;
};

struct workspace {
    size_t capacity; /* points */
    double *value, *bar, *dot;
    char *scratch;
    struct operand *operand;
    /* The operations of the last forward run, for another one with points and
     * values in the same places. */
    struct bound *bound;
};

/* The points of a block: what the leaves stand for. time, input and slope may
 * be NULL where program_uses() says that they are not looked at. */
struct points {
    size_t P;
    const double *state; /* (d, P)                  */
    const double *time;  /* (P)                     */
    const double *input; /* (number of inputs, P)   */
    const double *slope; /* (number of inputs, P)   */

    /* Where gps have numbers of their own at every point, these, from the
     * parameter own_first on; else NULL. Forward and jvp read them. */
    const double *own; /* (P, own_stride) */
    size_t own_first, own_stride;
};

/* The graph is borrowed. in_double: its networks are. */
struct program *program_new(const struct graph *g, size_t outputs,
                            const node *output, size_t parameters,
                            bool in_double);
void program_free(struct program *p);

bool program_uses(const struct program *p, enum op leaf);
size_t program_uniforms(const struct program *p);

/* Bytes of a workspace for every point, roughly: for choosing its capacity. */
size_t program_bytes(const struct program *p, bool gradient);

int uniforms_init(struct uniforms *u, const struct program *p);
void uniforms_free(struct uniforms *u);
int workspace_init(struct workspace *w, const struct program *p, size_t P,
                   bool gradient, bool tangent);
void workspace_free(struct workspace *w);

void program_prepare(const struct program *p, const double *parameters,
                     struct uniforms *u);
void program_forward(const struct program *p, const struct uniforms *u,
                     struct workspace *w, const struct points *in);

/* Output i at all points, (size, P), after forward. */
const double *program_output(const struct program *p, const struct workspace *w,
                             size_t P, size_t i);

/* state_bar (d, P) may be NULL; both are added to. */
void program_vjp(const struct program *p, const struct uniforms *u,
                 struct workspace *w, const struct points *in,
                 const double *const *output_bar, double *state_bar,
                 double *uniform_bar);

/* Output i moved by state_dot (d, P): valid until the next jvp. */
void program_jvp(const struct program *p, const struct uniforms *u,
                 struct workspace *w, const struct points *in,
                 const double *state_dot);
const double *program_output_dot(const struct program *p,
                                 const struct workspace *w, size_t P, size_t i);

/* The bars of uniform nodes go down to the first entries, the parameters'. */
void program_finish(const struct program *p, const struct uniforms *u,
                    double *uniform_bar);

#endif
