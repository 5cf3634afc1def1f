/* SPDX-License-Identifier: MIT */
/* Elementwise operations of one input over blocks: y = phi(x), and x_bar +=
 * phi'(x) y_bar, y_dot = phi'(x) x_dot. The input is never uniform when the
 * output is not, so both are one run of size * P numbers. */
#include "graph/op_unary.h"

#include "base/fast.h"
#include "graph/op_rows.h"

#define DEFINE(ID, NAME, WORD, WHERE, IMAGE, TEXT, VALUE, SLOPE, ...)          \
    FAST void NAME##_forward(const struct apply *a)                            \
    {                                                                          \
        size_t n = a->out.size * a->P;                                         \
        const double *restrict in = a->in[0].value;                            \
        double *restrict out = a->out.value;                                   \
        for (size_t i = 0; i < n; i++) {                                       \
            double x = in[i];                                                  \
            out[i] = VALUE;                                                    \
        }                                                                      \
    }                                                                          \
    FAST void NAME##_vjp(const struct apply *a)                                \
    {                                                                          \
        size_t n = a->out.size * a->P;                                         \
        const double *restrict in = a->in[0].value;                            \
        const double *restrict out = a->out.value, *restrict bar = a->out.bar; \
        double *restrict x_bar = a->in[0].bar;                                 \
        for (size_t i = 0; x_bar && i < n; i++) {                              \
            double x = in[i], y = out[i];                                      \
            (void)x, (void)y;                                                  \
            x_bar[i] += bar[i] * (SLOPE);                                      \
        }                                                                      \
    }                                                                          \
    FAST void NAME##_jvp(const struct apply *a)                                \
    {                                                                          \
        size_t n = a->out.size * a->P;                                         \
        const double *restrict in = a->in[0].value;                            \
        const double *restrict out = a->out.value;                             \
        const double *restrict dot = a->in[0].dot;                             \
        for (size_t i = 0; i < n; i++) {                                       \
            double x = in[i], y = out[i];                                      \
            (void)x, (void)y;                                                  \
            a->out.dot[i] = dot[i] * (SLOPE);                                  \
        }                                                                      \
    }

UNARY_OPS(DEFINE)
