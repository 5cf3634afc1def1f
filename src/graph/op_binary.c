/* SPDX-License-Identifier: MIT */
/* Elementwise operations of two inputs over blocks. Either input may be a
 * scalar that goes with every row, or uniform, one value for all points; the
 * loops below are written for each case so that they vectorise. */
#include "graph/op_binary.h"

#include "base/fast.h"
#include "graph/op_rows.h"

/* Runs BODY for every point of a row, where X and Y are the inputs there. */
#define POINTS(...)                                                            \
    if (a->in[0].step && a->in[1].step) {                                      \
        SIMD for (size_t i = 0; i < P; i++)                                    \
        {                                                                      \
            double x = xs[i], y = ys[i];                                       \
            __VA_ARGS__                                                        \
        }                                                                      \
    } else if (a->in[0].step) {                                                \
        double y = *ys;                                                        \
        SIMD for (size_t i = 0; i < P; i++)                                    \
        {                                                                      \
            double x = xs[i];                                                  \
            __VA_ARGS__                                                        \
        }                                                                      \
    } else {                                                                   \
        double x = *xs;                                                        \
        SIMD for (size_t i = 0; i < P; i++)                                    \
        {                                                                      \
            double y = ys[i];                                                  \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

/* Adds the row of slopes times bar to an input's bar: point by point, or all
 * of it to the one number of a uniform input. */
#define ADD_BAR(WHICH, SLOPE)                                                  \
    if (a->in[WHICH].bar) {                                                    \
        double *into = ROW(a->in[WHICH].bar, a->in[WHICH], r, P);              \
        if (a->in[WHICH].step) {                                               \
            POINTS({                                                           \
                double z = zs[i];                                              \
                (void)x, (void)y, (void)z;                                     \
                into[i] += bar[i] * (SLOPE);                                   \
            })                                                                 \
        } else {                                                               \
            const double *ps =                                                 \
                a->in[1 - (WHICH)].step ? (WHICH) ? xs : ys : zs;              \
            double one = (WHICH) ? *ys : *xs, sum = 0.0;                       \
            SIMD_SUM for (size_t i = 0; i < P; i++)                            \
            {                                                                  \
                double x = (WHICH) ? ps[i] : one, y = (WHICH) ? one : ps[i];   \
                double z = zs[i];                                              \
                (void)x, (void)y, (void)z;                                     \
                sum += bar[i] * (SLOPE);                                       \
            }                                                                  \
            *into += sum;                                                      \
        }                                                                      \
    }

#define ROWS                                                                   \
    size_t P = a->P;                                                           \
    for (size_t r = 0; r < a->out.size; r++)
#define OPERANDS                                                               \
    const double *xs = ROW(a->in[0].value, a->in[0], r, P);                    \
    const double *ys = ROW(a->in[1].value, a->in[1], r, P);                    \
    double *zs = a->out.value + r * P

/* y_dot gets what moves with input 0, then what moves with input 1. */
#define ADD_DOT(WHICH, SLOPE)                                                  \
    if (a->in[WHICH].dot) {                                                    \
        const double *from = ROW(a->in[WHICH].dot, a->in[WHICH], r, P);        \
        POINTS({                                                               \
            double z = zs[i];                                                  \
            (void)x, (void)y, (void)z;                                         \
            dot[i] += from[i] * (SLOPE);                                       \
        })                                                                     \
    }

#define DEFINE(ID, NAME, WORD, WHERE, IMAGE, TEXT, VALUE, BY_X, BY_Y, ...)     \
    FAST void NAME##_forward(const struct apply *a)                            \
    {                                                                          \
        ROWS                                                                   \
        {                                                                      \
            OPERANDS;                                                          \
            POINTS({ zs[i] = VALUE; })                                         \
        }                                                                      \
    }                                                                          \
    FAST void NAME##_vjp(const struct apply *a)                                \
    {                                                                          \
        ROWS                                                                   \
        {                                                                      \
            OPERANDS;                                                          \
            const double *bar = a->out.bar + r * P;                            \
            ADD_BAR(0, BY_X)                                                   \
            ADD_BAR(1, BY_Y)                                                   \
        }                                                                      \
    }                                                                          \
    FAST void NAME##_jvp(const struct apply *a)                                \
    {                                                                          \
        ROWS                                                                   \
        {                                                                      \
            OPERANDS;                                                          \
            double *dot = a->out.dot + r * P;                                  \
            for (size_t i = 0; i < P; i++)                                     \
                dot[i] = 0.0;                                                  \
            ADD_DOT(0, BY_X)                                                   \
            ADD_DOT(1, BY_Y)                                                   \
        }                                                                      \
    }

#define SIMD _Pragma("omp simd")
#define SIMD_SUM _Pragma("omp simd reduction(+ : sum)")
PLAIN_OPS(DEFINE)

/* Not every compiler has expm1 and log1p of vectors. */
#undef SIMD
#undef SIMD_SUM
#define SIMD
#define SIMD_SUM
RATIO_OPS(DEFINE)
