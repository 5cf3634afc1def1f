/* SPDX-License-Identifier: MIT */
/* What is known of an expression without the state: its sign. */
#include "lang/lamperti_parts.h"

enum { DEPTH = 14 };

static int sign_of_numbers(const struct graph *g, node n)
{
    const double *x = graph_info(g, n)->data;
    int sign = x[0] > 0.0 ? 1 : x[0] < 0.0 ? -1 : 0;
    for (size_t i = 1; i < graph_size(g, n); i++)
        if (!(x[i] * sign > 0.0)) return 0;
    return sign;
}

/* Bounds are never met, so that 0 as a bound is a sign. */
static int sign_of_param(const struct spec *spec, const struct graph *g, node n)
{
    if (!spec) return 0;
    const struct param_spec *p =
        &spec->param[spec_param_at(spec, graph_info(g, n)->offset)];
    bool low = p->bound == BOUND_ABOVE || p->bound == BOUND_BETWEEN;
    bool high = p->bound == BOUND_BELOW || p->bound == BOUND_BETWEEN;
    return low && p->low >= 0.0 ? 1 : high && p->high <= 0.0 ? -1 : 0;
}

static int both(int a, int b)
{
    return a == b ? a : 0;
}

static int sign_within(const struct spec *spec, const struct graph *g, node n,
                       int depth)
{
    const struct node_info *i = graph_info(g, n);
    if (i->op == OP_CONSTANT) return sign_of_numbers(g, n);
    if (i->op == OP_PARAM) return sign_of_param(spec, g, n);
    if (!depth || !i->inputs) return 0;
    node x = graph_input(g, n, 0), y = i->inputs > 1 ? graph_input(g, n, 1) : x;
    int a = sign_within(spec, g, x, depth - 1);
    int b = y == x ? a : sign_within(spec, g, y, depth - 1);
    switch ((int)i->op) {
    case OP_NEG: return -a;
    case OP_EXP:
    case OP_SQRT:
    case OP_COSH:
    case OP_ABS:
    case OP_SIGMOID:
    case OP_SOFTPLUS: return 1;
    case OP_LOG1P: /* these keep the sign */
    case OP_EXPM1:
    case OP_ATAN:
    case OP_SINH:
    case OP_TANH:
    case OP_ASINH:
    case OP_STOP:
    case OP_FILL:
    case OP_SLICE:
    case OP_SUM: return a;
    case OP_MIN:
    case OP_MAX:
    case OP_ADD: return both(a, b);
    case OP_SUB: return x == y ? 0 : both(a, -b);
    case OP_MUL: return x == y ? 1 : a * b;
    case OP_DIV: return a * b;
    case OP_POW: return a > 0 ? 1 : 0;
    default: return 0;
    }
}

int sign_of(const struct spec *spec, const struct graph *g, node n)
{
    return sign_within(spec, g, n, DEPTH);
}
