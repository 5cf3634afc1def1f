/* SPDX-License-Identifier: MIT */
/* Elementwise operations of one input, one line each: the operation, its
 * value at x, and its derivative from x and the value y. */
#ifndef GRAPH_OP_UNARY_H
#define GRAPH_OP_UNARY_H

#include "base/gamma.h"
#include "base/vector_math.h"

/* Comparisons are written so that NaN comes out as NaN. */
#define UNARY_OPS(X)                                                           \
    X(NEG, neg, -x, -1.0)                                                      \
    X(EXP, exp, exp(x), y)                                                     \
    X(LOG, log, log(x), 1.0 / x)                                               \
    X(LOG1P, log1p, log1p(x), 1.0 / (1.0 + x))                                 \
    X(EXPM1, expm1, expm1(x), y + 1.0)                                         \
    X(SQRT, sqrt, sqrt(x), 0.5 / y)                                            \
    X(SIN, sin, sin(x), cos(x))                                                \
    X(COS, cos, cos(x), -sin(x))                                               \
    X(TAN, tan, tan(x), 1.0 + y * y)                                           \
    X(ASIN, asin, asin(x), 1.0 / sqrt(1.0 - x * x))                            \
    X(ACOS, acos, acos(x), -1.0 / sqrt(1.0 - x * x))                           \
    X(ATAN, atan, atan(x), 1.0 / (1.0 + x * x))                                \
    X(SINH, sinh, sinh(x), cosh(x))                                            \
    X(COSH, cosh, cosh(x), sinh(x))                                            \
    X(TANH, tanh, tanh(x), 1.0 - y * y)                                        \
    X(ASINH, asinh, asinh(x), 1.0 / sqrt(1.0 + x * x))                         \
    X(ABS, abs, fabs(x), (double)((x > 0.0) - (x < 0.0)))                      \
    X(SIGN, sign, x != x ? x : (double)((x > 0.0) - (x < 0.0)), 0.0)           \
    X(STEP, step, x != x ? x : (double)(x > 0.0), 0.0)                         \
    X(SIGMOID, sigmoid, sigmoid_of(x), y *(1.0 - y))                           \
    X(LOGIT, logit, log(x / (1.0 - x)), 1.0 / (x * (1.0 - x)))                 \
    X(SOFTPLUS, softplus, softplus_of(x), sigmoid_of(x))                       \
    X(RELU, relu, x < 0.0 ? 0.0 : x, (double)(x > 0.0))                        \
    X(SILU, silu, x *sigmoid_of(x),                                            \
      sigmoid_of(x) * (1.0 + x * (1.0 - sigmoid_of(x))))                       \
    X(LGAMMA, lgamma, log_gamma(x), digamma(x))                                \
    X(DIGAMMA, digamma, digamma(x), trigamma(x))                               \
    X(STOP, stop, x, 0.0)

/* Neither overflows: exp only ever sees what is below 0. */
static inline double sigmoid_of(double x)
{
    double e = exp(-fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

static inline double softplus_of(double x)
{
    return (x < 0.0 ? 0.0 : x) + log1p(exp(-fabs(x)));
}

#endif
