/* SPDX-License-Identifier: MIT */
/* What values and slopes of op_list.h are made of, for one input. */
#ifndef GRAPH_OP_UNARY_H
#define GRAPH_OP_UNARY_H

#include "base/gamma.h"
#include "base/vector_math.h"

static const double TWO_OVER_ROOT_PI = 1.12837916709551257390;

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
