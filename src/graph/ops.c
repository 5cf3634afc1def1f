/* SPDX-License-Identifier: MIT */
/* The rows of the table of operations. */
#include "graph/ops.h"

#include "graph/derive.h"
#include "graph/op_rows.h"

#define ROW_OF(NAME)                                                           \
    .name = #NAME, .forward = NAME##_forward, .vjp = NAME##_vjp,               \
    .jvp = NAME##_jvp
#define UNARY_ROW(ID, NAME, VALUE, SLOPE)                                      \
    [OP_##ID] = {ROW_OF(NAME), .partial = elementwise_partial},
#define BINARY_ROW(ID, NAME, VALUE, BY_X, BY_Y)                                \
    [OP_##ID] = {ROW_OF(NAME), .partial = elementwise_partial},

const struct op_row OP_TABLE[OPS] = {
    [OP_CONSTANT] = {.name = "constant"},
    [OP_PARAM] = {.name = "param"},
    [OP_STATE] = {.name = "state"},
    [OP_TIME] = {.name = "t"},
    [OP_INPUT] = {.name = "input"},
    [OP_SLOPE] = {.name = "slope"},
    UNARY_OPS(UNARY_ROW) BINARY_OPS(BINARY_ROW)[OP_FILL] = {ROW_OF(fill)},
    [OP_SUM] = {ROW_OF(sum)},
    [OP_SOFTMAX] = {ROW_OF(softmax)},
    [OP_SLICE] = {.name = "slice"}, /* a view: nothing to do */
    [OP_PAD] = {ROW_OF(pad)},
    [OP_STACK] = {ROW_OF(stack)},
    [OP_TRANSPOSE] = {ROW_OF(transpose)},
    [OP_MATMUL] = {ROW_OF(matmul)},
    [OP_SOLVE] = {ROW_OF(solve), .scratch = solve_scratch},
    [OP_LOGDET] = {ROW_OF(logdet), .scratch = logdet_scratch},
    [OP_CHOLESKY] = {ROW_OF(cholesky), .scratch = cholesky_scratch},
    [OP_NET] = {ROW_OF(network), .scratch = network_scratch},
    [OP_GP] = {ROW_OF(gp)},
    [OP_CALL] = {ROW_OF(call), .scratch = call_scratch},
};

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
