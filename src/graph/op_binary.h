/* SPDX-License-Identifier: MIT */
/* Elementwise operations of two inputs, one line each: the operation, its
 * value at x and y, and its derivatives by x and by y; z is the value. */
#ifndef GRAPH_OP_BINARY_H
#define GRAPH_OP_BINARY_H

#include <math.h>

/* At a tie, min and max follow their first input. */
#define BINARY_OPS(X)                                                          \
    X(ADD, add, x + y, 1.0, 1.0)                                               \
    X(SUB, sub, x - y, 1.0, -1.0)                                              \
    X(MUL, mul, x *y, y, x)                                                    \
    X(DIV, div, x / y, 1.0 / y, -z / y)                                        \
    X(POW, pow, pow(x, y), y *pow(x, y - 1.0), x == 0.0 ? 0.0 : z * log(x))    \
    X(MIN, min, (y < x || y != y) ? y : x, (double)(x <= y), (double)(y < x))  \
    X(MAX, max, (y > x || y != y) ? y : x, (double)(x >= y), (double)(y > x))

#endif
