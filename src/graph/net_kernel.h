/* SPDX-License-Identifier: MIT */
/* The network's operations for one kind of number. net.c picks a table;
 * net_float.c and net_double.c fill one each from the same source, net_pass.h.
 * The functions are those of net.h without the prefix. */
#ifndef GRAPH_NET_KERNEL_H
#define GRAPH_NET_KERNEL_H

#include "graph/net.h"

struct net_kernel {
    size_t (*packed_size)(const struct net *net);
    void (*pack)(const struct net *net, const double *theta, void *packed);
    size_t (*scratch_size)(const struct net *net, size_t P);
    void (*forward)(const struct net *net, const void *packed, size_t P,
                    const double *x, double *y, void *scratch);
    void (*vjp)(const struct net *net, const void *packed, size_t P,
                const double *y_bar, double *x_bar, double *theta_bar,
                void *scratch);
    void (*jvp)(const struct net *net, const void *packed, size_t P,
                const double *x_dot, double *y_dot, void *scratch);
};

extern const struct net_kernel net_float, net_double;

#endif
