/* SPDX-License-Identifier: MIT */
/* The rows of the table of operations. */
#include "graph/ops.h"

#include <math.h>

#include "graph/op_rows.h"

#define TAME true
#define WILD false
#define WITHIN(low, high)                                                      \
    {                                                                          \
        IMAGE_NONE, low, high                                                  \
    }
#define ANYWHERE WITHIN(-INFINITY, INFINITY)
#define GROWS                                                                  \
    {                                                                          \
        IMAGE_GROWS, -INFINITY, INFINITY                                       \
    }
#define GROWS_FROM_0                                                           \
    {                                                                          \
        IMAGE_GROWS, 0.0, INFINITY                                             \
    }
#define ITSELF GROWS
#define FALLS                                                                  \
    {                                                                          \
        IMAGE_FALLS, -INFINITY, INFINITY                                       \
    }
#define FOLDS                                                                  \
    {                                                                          \
        IMAGE_FOLDS, 0.0, INFINITY                                             \
    }

#define LEAF_ROW(ID, NAME, STEP) [OP_##ID] = {.name = #NAME},
#define ROW_OF(NAME)                                                           \
    .name = #NAME, .forward = NAME##_forward, .vjp = NAME##_vjp,               \
    .jvp = NAME##_jvp
#define UNARY_ROW(ID, NAME, WORD, WHERE, IMAGE, ...)                           \
    [OP_##ID] = {ROW_OF(NAME), .arity = 1, .tame = WHERE, .image = IMAGE,      \
                 .partial = NAME##_partial},
#define BINARY_ROW(ID, NAME, WORD, WHERE, ...)                                 \
    [OP_##ID] = {ROW_OF(NAME), .arity = 2, .tame = WHERE, .image = ANYWHERE,   \
                 .partial = NAME##_partial},
#define VIEW_ROW(ID, NAME, ...) [OP_##ID] = {.name = #NAME},
#define WHOLE_ROW(ID, NAME, SCRATCH, ...)                                      \
    [OP_##ID] = {ROW_OF(NAME), .scratch = SCRATCH},

const struct op_row OP_TABLE[OPS] = {LEAF_OPS(LEAF_ROW) UNARY_OPS(
    UNARY_ROW) BINARY_OPS(BINARY_ROW) VIEW_OPS(VIEW_ROW) WHOLE_OPS(WHOLE_ROW)};

double op_fold(enum op op, double a, double b)
{
    double result = 0.0;
    struct operand in[2] = {{.value = &a, .size = 1, .step = 1},
                            {.value = &b, .size = 1, .step = 1}};
    OP_TABLE[op].forward(
        &(struct apply){.P = 1,
                        .in = in,
                        .out = {.value = &result, .size = 1, .step = 1},
                        .rows = 1,
                        .columns = 1});
    return result;
}

enum op op_negation(enum op op)
{
    static const enum op PAIR[][2] = {{OP_GREATER, OP_AT_MOST},
                                      {OP_LESS, OP_AT_LEAST}};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++)
            if (PAIR[i][k] == op) return PAIR[i][!k];
    return OPS;
}
