/* SPDX-License-Identifier: MIT */
/* The network of net.h: names, sizes, and the choice between the float32 and
 * the double kernels. The work is done in net_pass.h and below it. */
#include "graph/net.h"

#include "graph/net_kernel.h"

const char *const activation_name[ACTIVATIONS] = {
    [ACT_RELU] = "relu",
    [ACT_TANH] = "tanh",
    [ACT_SOFTPLUS] = "softplus",
    [ACT_SILU] = "silu",
};

static const struct net_kernel *kernel(const struct net *net)
{
    return net->wide ? &net_double : &net_float;
}

size_t net_parameters(const struct net *net)
{
    size_t n = 0;
    for (size_t l = 0; l < net->layers; l++)
        n += net->width[l + 1] * (net->width[l] + 1);
    return n;
}

size_t net_packed_size(const struct net *net)
{
    return kernel(net)->packed_size(net);
}

void net_pack(const struct net *net, const double *theta, void *packed)
{
    kernel(net)->pack(net, theta, packed);
}

size_t net_scratch_size(const struct net *net, size_t P)
{
    return kernel(net)->scratch_size(net, P);
}

void net_forward(const struct net *net, const void *packed, size_t P,
                 const double *x, double *y, void *scratch)
{
    kernel(net)->forward(net, packed, P, x, y, scratch);
}

void net_vjp(const struct net *net, const void *packed, size_t P,
             const double *y_bar, double *x_bar, double *theta_bar,
             void *scratch)
{
    kernel(net)->vjp(net, packed, P, y_bar, x_bar, theta_bar, scratch);
}

void net_jvp(const struct net *net, const void *packed, size_t P,
             const double *x_dot, double *y_dot, void *scratch)
{
    kernel(net)->jvp(net, packed, P, x_dot, y_dot, scratch);
}
