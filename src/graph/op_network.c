/* SPDX-License-Identifier: MIT */
/* The operation that is a network. */
#include "graph/op_rows.h"

size_t network_scratch(const struct apply *a)
{
    return net_kernel(a->net)->scratch_size(a->net, a->P);
}

void network_forward(const struct apply *a)
{
    net_kernel(a->net)->forward(a->net, a->packed, a->P, a->in[0].value,
                                a->out.value, a->scratch);
}

void network_vjp(const struct apply *a)
{
    net_kernel(a->net)->vjp(a->net, a->packed, a->P, a->out.bar, a->in[0].bar,
                            a->in[1].bar, a->scratch);
}

void network_jvp(const struct apply *a)
{
    net_kernel(a->net)->jvp(a->net, a->packed, a->P, a->in[0].dot, a->out.dot,
                            a->scratch);
}
