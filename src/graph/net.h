/* SPDX-License-Identifier: MIT */
/* A fully connected network on a block of points: forward, vjp and jvp, fused
 * with bias and activation, in float32 inside or in double. Points are the
 * fastest index of every array outside: x is (inputs, P), y is (outputs, P).
 *
 * theta holds, for every layer in turn, weight (out, in) row by row and then
 * bias (out): PyTorch's order. The last layer is linear. */
#ifndef GRAPH_NET_H
#define GRAPH_NET_H

#include <stdbool.h>
#include <stddef.h>

enum activation { ACT_RELU, ACT_TANH, ACT_SOFTPLUS, ACT_SILU, ACTIVATIONS };

/* The names as the language spells them, in the order of the enum. */
extern const char *const activation_name[ACTIVATIONS];

struct net {
    size_t layers;       /* products: widths.. + 1                        */
    const size_t *width; /* (layers + 1): inputs, hidden ..., outputs     */
    enum activation act;
    bool in_double;
};

size_t net_parameters(const struct net *net);

/* The operations for one type of number: net_float.c and net_double.c fill a
 * table each from the same source, net_pass.h. The caller gives 64-byte aligned
 * memory; nothing is allocated here. */
struct net_kernel {
    /* Bytes of the weights in the order of the kernels; made once per theta. */
    size_t (*packed_size)(const struct net *net);
    void (*pack)(const struct net *net, const double *theta, void *packed);

    /* Bytes that forward keeps of P points for vjp and jvp. */
    size_t (*scratch_size)(const struct net *net, size_t P);

    void (*forward)(const struct net *net, const void *packed, size_t P,
                    const double *x, /* (inputs, P)  */
                    double *y,       /* (outputs, P) */
                    void *scratch);

    /* After forward with the same scratch. x_bar or theta_bar may be NULL. */
    void (*vjp)(const struct net *net, const void *packed, size_t P,
                const double *y_bar, /* (outputs, P)        */
                double *x_bar,       /* (inputs, P), +=     */
                double *theta_bar,   /* (net_parameters) += */
                void *scratch);

    /* After forward with the same scratch: y_dot = (dy/dx) x_dot. Several calls
     * may follow one forward; the scratch stays valid for vjp. */
    void (*jvp)(const struct net *net, const void *packed, size_t P,
                const double *x_dot, /* (inputs, P)  */
                double *y_dot,       /* (outputs, P) */
                void *scratch);
};

extern const struct net_kernel net_float, net_double;
const struct net_kernel *net_kernel(const struct net *net);

#endif
