/* SPDX-License-Identifier: MIT */
/* What values and slopes of op_list.h are made of, for two inputs. */
#ifndef GRAPH_OP_BINARY_H
#define GRAPH_OP_BINARY_H

#include <math.h>

/* expm1(xy) / y: below 1e-8 the series' next term, (xy)^2 / 6, is lost. */
static inline double expm1_ratio_of(double x, double y)
{
    double a = x * y;
    return fabs(a) < 1e-8 ? x * (1.0 + 0.5 * a) : expm1(a) / y;
}

static inline double log1p_ratio_of(double x, double y)
{
    double a = x * y;
    return fabs(a) < 1e-8 ? x * (1.0 - 0.5 * a) : log1p(a) / y;
}

/* (a e^a - expm1(a)) / a^2 = sum over k of a^k / (k! (k + 2)): what stands
 * beside x^2 in the derivative of expm1(xy) / y by y. In Horner's form the
 * term k is the one before times a (k + 1) / (k (k + 2)). */
#define NEXT(k, rest) (1.0 + a * ((k) + 1.0) / ((k) * ((k) + 2.0)) * (rest))
static inline double expm1_ratio_slope(double a)
{
    double low = NEXT(10, NEXT(11, NEXT(12, NEXT(13, 1.0))));
    low = NEXT(4, NEXT(5, NEXT(6, NEXT(7, NEXT(8, NEXT(9, low))))));
    low = 0.5 * NEXT(1, NEXT(2, NEXT(3, low)));
    double high = (a * exp(a) - expm1(a)) / (a * a);
    return fabs(a) < 0.5 ? low : high;
}
#undef NEXT

/* (a / (1 + a) - log1p(a)) / a^2 = - sum over k of (-a)^k (k + 1) / (k + 2). */
#define NEXT(k, rest) (((k) + 1.0) / ((k) + 2.0) - a * (rest))
static inline double log1p_ratio_slope(double a)
{
    double low = NEXT(12, NEXT(13, NEXT(14, NEXT(15, 1.0))));
    low = NEXT(6, NEXT(7, NEXT(8, NEXT(9, NEXT(10, NEXT(11, low))))));
    low = NEXT(0, NEXT(1, NEXT(2, NEXT(3, NEXT(4, NEXT(5, low))))));
    double high = (a / (1.0 + a) - log1p(a)) / (a * a);
    return fabs(a) < 0.1 ? -low : high;
}
#undef NEXT

#endif
