/* SPDX-License-Identifier: MIT */
/* The operations, a row each: all there is to know of one is in its row, or in
 * functions of the row's name. graph.h makes the enum of it, op_unary.c and
 * op_binary.c the loops over blocks, derive.c the symbolic derivatives, ops.c
 * the table, depend.c and print.c theirs, and lang the words of the language.
 *
 * Columns of elementwise operations:
 *
 *     ID, name    OP_ID; the name in texts, and where it is CALLED the word of
 *                 the language; INNER ones are made by others alone
 *     TAME, WILD  whether value and slopes are finite wherever the arguments
 *                 are; all are so inside of (0.2, 0.8)
 *     image       where the values lie: ANYWHERE, or how they follow x; of two
 *                 inputs of_... in lang/lamperti_sign.c
 *     text        print.c's text_...: how it is written
 *     value       at x (and y)
 *     slopes      from x and the value y; of two inputs from x, y and z, one
 *                 for each
 *     derivative  the slope again, as an expression of nodes; of two inputs
 *                 that by the second one where i
 *
 * Comparisons are written so that NaN comes out as NaN. */
#ifndef GRAPH_OP_LIST_H
#define GRAPH_OP_LIST_H

/* Leaves: ID, name, step from point to point (0: one value for a block). */
#define LEAF_OPS(X)                                                            \
    X(CONSTANT, constant, 0) /* data                                       */  \
    X(PARAM, param, 0) /* a piece of the parameter vector, from offset */      \
    X(STATE, state, 1) /* the whole state vector                     */        \
    X(TIME, time, 1)                                                           \
    X(INPUT, input, 1) /* covariate number offset                    */        \
    X(SLOPE, slope, 1) /* and its derivative in time                 */

/* Elementwise, one input. */
#define UNARY_OPS(X)                                                           \
    X(NEG, neg, INNER, TAME, FALLS, neg, -x, -1.0, num(g, -1.0))               \
    X(EXP, exp, CALLED, WILD, GROWS, call, exp(x), y, y)                       \
    X(LOG, log, CALLED, WILD, GROWS, call, log(x), 1.0 / x, over(g, one, x))   \
    X(LOG1P, log1p, CALLED, WILD, GROWS, call, log1p(x), 1.0 / (1.0 + x),      \
      over(g, one, add(g, one, x)))                                            \
    X(EXPM1, expm1, CALLED, WILD, GROWS, call, expm1(x), y + 1.0,              \
      add(g, y, one))                                                          \
    X(SQRT, sqrt, CALLED, WILD, GROWS_FROM_0, root, sqrt(x), 0.5 / y,          \
      over(g, num(g, 0.5), y))                                                 \
    X(SIN, sin, CALLED, TAME, WITHIN(-1.0, 1.0), call, sin(x), cos(x),         \
      f(g, OP_COS, x))                                                         \
    X(COS, cos, CALLED, TAME, WITHIN(-1.0, 1.0), call, cos(x), -sin(x),        \
      f(g, OP_NEG, f(g, OP_SIN, x)))                                           \
    X(TAN, tan, CALLED, WILD, ANYWHERE, call, tan(x), 1.0 + y * y,             \
      add(g, one, mul(g, y, y)))                                               \
    X(ASIN, asin, CALLED, WILD, ANYWHERE, call, asin(x),                       \
      1.0 / sqrt(1.0 - x * x), over(g, one, root(g, -1.0, x)))                 \
    X(ACOS, acos, CALLED, WILD, ANYWHERE, call, acos(x),                       \
      -1.0 / sqrt(1.0 - x * x), over(g, num(g, -1.0), root(g, -1.0, x)))       \
    X(ATAN, atan, CALLED, TAME, GROWS, call, atan(x), 1.0 / (1.0 + x * x),     \
      over(g, one, add(g, one, mul(g, x, x))))                                 \
    X(SINH, sinh, CALLED, WILD, GROWS, call, sinh(x), cosh(x),                 \
      f(g, OP_COSH, x))                                                        \
    X(COSH, cosh, CALLED, WILD, WITHIN(1.0, INFINITY), call, cosh(x), sinh(x), \
      f(g, OP_SINH, x))                                                        \
    X(TANH, tanh, CALLED, TAME, GROWS, call, tanh(x), 1.0 - y * y,             \
      sub(g, one, mul(g, y, y)))                                               \
    X(ASINH, asinh, CALLED, TAME, GROWS, call, asinh(x),                       \
      1.0 / sqrt(1.0 + x * x), over(g, one, root(g, 1.0, x)))                  \
    X(ERF, erf, CALLED, TAME, GROWS, call, erf(x),                             \
      TWO_OVER_ROOT_PI *exp(-x *x), erf_slope(g, x))                           \
    X(ABS, abs, CALLED, TAME, FOLDS, call, fabs(x),                            \
      (double)((x > 0.0) - (x < 0.0)), f(g, OP_SIGN, x))                       \
    X(SIGN, sign, CALLED, TAME, ANYWHERE, call,                                \
      x != x ? x : (double)((x > 0.0) - (x < 0.0)), 0.0, num(g, 0.0))          \
    X(FLOOR, floor, CALLED, TAME, GROWS, call, floor(x), 0.0, num(g, 0.0))     \
    /* 1 above 0, else 0: the slope of relu. */                                \
    X(STEP, step, INNER, TAME, ANYWHERE, call, x != x ? x : (double)(x > 0.0), \
      0.0, num(g, 0.0))                                                        \
    X(SIGMOID, sigmoid, CALLED, TAME, GROWS, call, sigmoid_of(x),              \
      y *(1.0 - y), mul(g, y, sub(g, one, y)))                                 \
    X(LOGIT, logit, CALLED, WILD, ANYWHERE, call, log(x / (1.0 - x)),          \
      1.0 / (x * (1.0 - x)), over(g, one, mul(g, x, sub(g, one, x))))          \
    X(SOFTPLUS, softplus, CALLED, TAME, GROWS, call, softplus_of(x),           \
      sigmoid_of(x), f(g, OP_SIGMOID, x))                                      \
    X(RELU, relu, CALLED, TAME, ANYWHERE, call, x < 0.0 ? 0.0 : x,             \
      (double)(x > 0.0), f(g, OP_STEP, x))                                     \
    X(SILU, silu, CALLED, TAME, ANYWHERE, call, x *sigmoid_of(x),              \
      sigmoid_of(x) * (1.0 + x * (1.0 - sigmoid_of(x))), silu_slope(g, x))     \
    /* log |Gamma|, and its slope. */                                          \
    X(LGAMMA, lgamma, CALLED, WILD, ANYWHERE, call, log_gamma(x), digamma(x),  \
      f(g, OP_DIGAMMA, x))                                                     \
    X(DIGAMMA, digamma, INNER, WILD, ANYWHERE, call, digamma(x), trigamma(x),  \
      trigamma_of(g, x))                                                       \
    /* The same, taken as a constant by all derivatives. */                    \
    X(STOP, stop, INNER, TAME, ITSELF, same, x, 0.0, num(g, 0.0))

/* Elementwise, two inputs; a scalar goes with any shape. At a tie, min and max
 * follow their first input. A condition x holds where it is not 0. */
#define PLAIN_OPS(X)                                                           \
    X(ADD, add, INNER, TAME, sum, sum, x + y, 1.0, 1.0, one)                   \
    X(SUB, sub, INNER, TAME, difference, difference, x - y, 1.0, -1.0,         \
      num(g, i ? -1.0 : 1.0))                                                  \
    X(MUL, mul, INNER, TAME, times, times, x *y, y, x, i ? x : y)              \
    X(DIV, div, INNER, WILD, quotient, quotient, x / y, 1.0 / y, -z / y,       \
      i ? f(g, OP_NEG, over(g, z, y)) : over(g, one, y))                       \
    X(MIN, min, CALLED, TAME, min, call, (y < x || y != y) ? y : x,            \
      (double)(x <= y), (double)(y < x),                                       \
      share(g, f(g, OP_STEP, sub(g, x, y)), i))                                \
    X(MAX, max, CALLED, TAME, max, call, (y > x || y != y) ? y : x,            \
      (double)(x >= y), (double)(y > x),                                       \
      share(g, f(g, OP_STEP, sub(g, y, x)), i))                                \
    X(POW, pow, CALLED, WILD, positive, power, pow(x, y), y *pow(x, y - 1.0),  \
      x == 0.0 ? 0.0 : z * log(x),                                             \
      i ? mul(g, z, f(g, OP_LOG, x))                                           \
        : mul(g, y, graph_binary(g, OP_POW, x, sub(g, y, one))))               \
    X(ATAN2, atan2, CALLED, WILD, any, call, atan2(x, y), y / (x * x + y * y), \
      -x / (x * x + y * y), atan2_slope(g, x, y, i))                           \
    X(MOD, mod, CALLED, WILD, any, call, x - y * floor(x / y), 1.0,            \
      -floor(x / y), i ? f(g, OP_NEG, f(g, OP_FLOOR, over(g, x, y))) : one)    \
    X(GREATER, greater, INNER, TAME, share, compare,                           \
      (x != x || y != y) ? x + y : (double)(x > y), 0.0, 0.0, num(g, 0.0))     \
    X(LESS, less, INNER, TAME, share, compare,                                 \
      (x != x || y != y) ? x + y : (double)(x < y), 0.0, 0.0, num(g, 0.0))     \
    X(AT_LEAST, at_least, INNER, TAME, share, compare,                         \
      (x != x || y != y) ? x + y : (double)(x >= y), 0.0, 0.0, num(g, 0.0))    \
    X(AT_MOST, at_most, INNER, TAME, share, compare,                           \
      (x != x || y != y) ? x + y : (double)(x <= y), 0.0, 0.0, num(g, 0.0))    \
    /* y where x, else 0; NaN in y is gone there. */                           \
    X(PICK, pick, INNER, TAME, any, pick,                                      \
      x != x     ? x                                                           \
      : x == 0.0 ? 0.0                                                         \
                 : y,                                                          \
      0.0, x == 0.0 ? 0.0 : 1.0,                                               \
      i ? graph_binary(g, OP_PICK, x, one) : num(g, 0.0))                      \
    /* y where x, else a number at which everything is finite. */              \
    X(GUARD, guard, INNER, TAME, any, guard,                                   \
      x != x     ? x                                                           \
      : x == 0.0 ? 0.5                                                         \
                 : y,                                                          \
      0.0, x == 0.0 ? 0.0 : 1.0,                                               \
      i ? graph_binary(g, OP_PICK, x, one) : num(g, 0.0))

/* Powers that become logarithms: (u^q - 1) / q with x = log u, y = q, and its
 * inverse: expm1(y x) / y, which is x at y = 0, and log1p(y x) / y. Then
 * hyperbolic functions that become circular ones: sinh(k x) / k and
 * atanh(k x) / k, where k^2 = y has any sign. */
#define RATIO_OPS(X)                                                           \
    X(EXPM1_RATIO, expm1_ratio, INNER, WILD, any, ratio, expm1_ratio_of(x, y), \
      exp(x *y), x *x *expm1_ratio_slope(x *y),                                \
      expm1_ratio_derivative(g, x, y, z, i))                                   \
    X(LOG1P_RATIO, log1p_ratio, INNER, WILD, any, log_ratio,                   \
      log1p_ratio_of(x, y), 1.0 / (1.0 + x * y),                               \
      x * x * log1p_ratio_slope(x * y), log1p_ratio_derivative(g, x, y, z, i)) \
    X(SINH_RATIO, sinh_ratio, INNER, WILD, any, sinh_ratio,                    \
      x *sinh_ratio_of(x *x *y), cosh_of(x *x *y),                             \
      x *x *x *sinh_ratio_slope(x *x *y),                                      \
      square_ratio_derivative(g, cosh_ratio(g, x, y), x, y, z, i))             \
    X(ATANH_RATIO, atanh_ratio, INNER, WILD, any, atanh_ratio,                 \
      x *atanh_ratio_of(x *x *y), 1.0 / (1.0 - x * x * y),                     \
      x * x * x * atanh_ratio_slope(x * x * y),                                \
      square_ratio_derivative(g, over(g, one, square_rest(g, x, y)), x, y, z,  \
                              i))

#define BINARY_OPS(X) PLAIN_OPS(X) RATIO_OPS(X)

/* The others: ID, name, scratch (ops.h) or NULL, print.c's text_..., and
 * depend.c's join_...: what an element is made of. A view is never a copy, and
 * has no functions over blocks. */
#define VIEW_OPS(X)                                                            \
    X(SLICE, slice, NULL, slice, slice) /* elements from offset on */
#define WHOLE_OPS(X)                                                           \
    X(FILL, fill, NULL, first, first) /* a scalar in every element    */       \
    X(SUM, sum, NULL, total, all)     /* of all elements              */       \
    X(SOFTMAX, softmax, NULL, other, all)                                      \
    X(PAD, pad, NULL, pad, pad)         /* slice's reverse: zeros around */    \
    X(STACK, stack, NULL, stack, stack) /* inputs below each other    */       \
    X(TRANSPOSE, transpose, NULL, transpose, transpose)                        \
    X(GATHER, gather, NULL, gather, gather) /* those that input 1 numbers */   \
    X(SCATTER, scatter, NULL, scatter, scatter) /* its reverse: zeros, and */  \
                                                /* what is added to them   */  \
    X(CHOOSE, choose, NULL, choose,                                            \
      all) /* the element that input 1 numbers at */                           \
           /* each point, from 1 on; NaN: none    */                           \
    X(MATMUL, matmul, NULL, product, product)                                  \
    X(SOLVE, solve, solve_scratch, solution, all)       /* A^-1 b        */    \
    X(LOGDET, logdet, logdet_scratch, other, all)       /* log |det A|   */    \
    X(CHOLESKY, cholesky, cholesky_scratch, other, all) /* lower factor */     \
    X(NET, network, network_scratch, network, all)                             \
    X(GP, gp, NULL, grid, all) /* values on a grid, and a polynomial: gp.h */  \
    X(CALL, call, call_scratch, external, all) /* a function of the caller */  \
    X(CALL_SLOPE, call_slope, call_scratch, other,                             \
      all) /* its derivative along input 1 */
#define OTHER_OPS(X) VIEW_OPS(X) WHOLE_OPS(X)

#endif
