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

/* sinh(k) / k, cosh(k) and atanh(k) / k with k^2 = a of any sign. Below 1 the
 * series of sinh is the quicker one. */
#define NEXT(k, rest)                                                          \
    (1.0 + a * (1.0 / ((2.0 * (k)) * (2.0 * (k) + 1.0))) * (rest))
static inline double sinh_ratio_of(double a)
{
    if (fabs(a) < 1.0) {
        double low = NEXT(5, NEXT(6, NEXT(7, NEXT(8, NEXT(9, 1.0)))));
        return NEXT(1, NEXT(2, NEXT(3, NEXT(4, low))));
    }
    double k = sqrt(fabs(a));
    return a < 0.0 ? sin(k) / k : sinh(k) / k;
}
#undef NEXT

static inline double cosh_of(double a)
{
    return a < 0.0 ? cos(sqrt(-a)) : cosh(sqrt(a));
}

static inline double atanh_ratio_of(double a)
{
    double k = sqrt(fabs(a));
    return a > 0.0 ? atanh(k) / k : a < 0.0 ? atan(k) / k : 1.0 + a;
}

/* d/da of sinh(k) / k = (cosh(k) - sinh(k) / k) / (2 a) = sum over k > 0 of
 * k a^(k-1) / (2 k + 1)!: the term k + 1 is the one before times
 * a (k + 1) / (k (2 k + 2) (2 k + 3)). */
#define NEXT(k, rest)                                                          \
    (1.0 + a * (((k) + 1.0) / ((k) * (2.0 * (k) + 2.0) * (2.0 * (k) + 3.0))) * \
               (rest))
static inline double sinh_ratio_slope(double a)
{
    double low = NEXT(5, NEXT(6, NEXT(7, NEXT(8, NEXT(9, 1.0)))));
    low = NEXT(1, NEXT(2, NEXT(3, NEXT(4, low)))) / 6.0;
    double high = (cosh_of(a) - sinh_ratio_of(a)) / (2.0 * a);
    return fabs(a) < 1.0 ? low : high;
}
#undef NEXT

/* d/da of atanh(k) / k = (1 / (1 - a) - atanh(k) / k) / (2 a) = sum over k of
 * a^k (k + 1) / (2 k + 3). */
#define NEXT(k, rest) (((k) + 1.0) / (2.0 * (k) + 3.0) + a * (rest))
static inline double atanh_ratio_slope(double a)
{
    double low = NEXT(12, NEXT(13, NEXT(14, NEXT(15, 0.5))));
    low = NEXT(6, NEXT(7, NEXT(8, NEXT(9, NEXT(10, NEXT(11, low))))));
    low = NEXT(0, NEXT(1, NEXT(2, NEXT(3, NEXT(4, NEXT(5, low))))));
    double high = (1.0 / (1.0 - a) - atanh_ratio_of(a)) / (2.0 * a);
    return fabs(a) < 0.1 ? low : high;
}
#undef NEXT

#endif
