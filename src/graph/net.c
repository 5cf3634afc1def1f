/* SPDX-License-Identifier: MIT */
#include "graph/net.h"

const char *const activation_name[ACTIVATIONS] = {
    [ACT_RELU] = "relu",
    [ACT_TANH] = "tanh",
    [ACT_SOFTPLUS] = "softplus",
    [ACT_SILU] = "silu",
};

const struct net_kernel *net_kernel(const struct net *net)
{
    return net->in_double ? &net_double : &net_float;
}

size_t net_parameters(const struct net *net)
{
    size_t n = 0;
    for (size_t l = 0; l < net->layers; l++)
        n += net->width[l + 1] * (net->width[l] + 1);
    return n;
}
