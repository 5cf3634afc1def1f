/* SPDX-License-Identifier: MIT */
/* Elementwise operations of two inputs, one line each: the operation, its
 * value at x and y, and its derivatives by x and by y; z is the value. */
#ifndef GRAPH_OP_BINARY_H
#define GRAPH_OP_BINARY_H

#include <math.h>

/* At a tie, min and max follow their first input. */
#define PLAIN_OPS(X)                                                           \
    X(ADD, add, x + y, 1.0, 1.0)                                               \
    X(SUB, sub, x - y, 1.0, -1.0)                                              \
    X(MUL, mul, x *y, y, x)                                                    \
    X(DIV, div, x / y, 1.0 / y, -z / y)                                        \
    X(POW, pow, pow(x, y), y *pow(x, y - 1.0), x == 0.0 ? 0.0 : z * log(x))    \
    X(MIN, min, (y < x || y != y) ? y : x, (double)(x <= y), (double)(y < x))  \
    X(MAX, max, (y > x || y != y) ? y : x, (double)(x >= y), (double)(y > x))

/* Powers that become logarithms: (u^q - 1) / q with x = log u, y = q, and its
 * inverse. Then hyperbolic functions that become circular ones: of k x over k,
 * where k^2 = y has any sign. */
#define RATIO_OPS(X)                                                           \
    X(EXPM1_RATIO, expm1_ratio, expm1_ratio_of(x, y), exp(x *y),               \
      x *x *expm1_ratio_slope(x *y))                                           \
    X(LOG1P_RATIO, log1p_ratio, log1p_ratio_of(x, y), 1.0 / (1.0 + x * y),     \
      x * x * log1p_ratio_slope(x * y))                                        \
    X(SINH_RATIO, sinh_ratio, x *sinh_ratio_of(x *x *y), cosh_of(x *x *y),     \
      x *x *x *sinh_ratio_slope(x *x *y))                                      \
    X(ATANH_RATIO, atanh_ratio, x *atanh_ratio_of(x *x *y),                    \
      1.0 / (1.0 - x * x * y), x * x * x * atanh_ratio_slope(x * x * y))

#define BINARY_OPS(X) PLAIN_OPS(X) RATIO_OPS(X)

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
