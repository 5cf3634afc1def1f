/* SPDX-License-Identifier: MIT */
/* Operations with an inside of their own: a network, and a C callback. */
#include <string.h>

#include "graph/op_rows.h"

/* --- net ---------------------------------------------------------------- */

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

/* --- callback: inputs state, time, parameters --------------------------- */

/* Room for a moved state and the function there. */
size_t call_scratch(const struct apply *a)
{
    return 2 * a->out.size * a->P * sizeof(double);
}

void call_forward(const struct apply *a)
{
    a->call->f(a->call->user, a->P, a->in[1].value, a->in[0].value,
               a->in[2].value, a->out.value);
}

void call_vjp(const struct apply *a)
{
    a->call->vjp(a->call->user, a->P, a->in[1].value, a->in[0].value,
                 a->in[2].value, a->out.bar, a->in[0].bar, a->in[2].bar);
}

/* Central differences along x_dot, with a step that balances rounding against
 * curvature. */
static void call_differences(const struct apply *a)
{
    size_t n = a->out.size * a->P;
    double *x = a->scratch, *f = x + n;
    const double step = 6e-6;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (size_t i = 0; i < n; i++)
            x[i] = a->in[0].value[i] + sign * step * a->in[0].dot[i];
        a->call->f(a->call->user, a->P, a->in[1].value, x, a->in[2].value, f);
        for (size_t i = 0; i < n; i++)
            a->out.dot[i] = sign > 0 ? f[i] / (2.0 * step)
                                     : a->out.dot[i] - f[i] / (2.0 * step);
    }
}

void call_jvp(const struct apply *a)
{
    if (a->call->jvp)
        a->call->jvp(a->call->user, a->P, a->in[1].value, a->in[0].value,
                     a->in[2].value, a->in[0].dot, a->out.dot);
    else call_differences(a);
}
