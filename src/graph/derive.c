/* SPDX-License-Identifier: MIT */
/* Symbolic derivatives: new expressions over the same operations. In time and
 * along a direction by the forward mode, with respect to a leaf by the reverse
 * mode. */
#include "graph/derive.h"

#include <assert.h>

#include "base/gamma.h"
#include "base/memory.h"
#include "graph/build.h"
#include "graph/ops.h"
#include "graph/words.h"

/* --- Elementwise operations --------------------------------------------- */

/* sqrt(1 + sign x^2): the root in the derivatives of the inverse functions. */
static node root(struct graph *g, double sign, node x)
{
    node square = mul(g, num(g, sign), mul(g, x, x));
    return f(g, OP_SQRT, add(g, num(g, 1.0), square));
}

static node silu_slope(struct graph *g, node x)
{
    node s = f(g, OP_SIGMOID, x);
    node rest = mul(g, x, sub(g, num(g, 1.0), s));
    return mul(g, s, add(g, num(g, 1.0), rest));
}

/* trigamma, the slope of digamma, has no operation of its own: it is the
 * recurrence and series of base/gamma.h as an expression, which holds for
 * x > -1 and has derivatives without end. */
static node trigamma_of(struct graph *g, node x)
{
    node one = num(g, 1.0), sum = 0, series = num(g, 0.0);
    for (int k = 0; k < GAMMA_SHIFT; k++) {
        node z = add(g, x, num(g, k));
        node part = over(g, one, mul(g, z, z));
        sum = k ? add(g, sum, part) : part;
    }
    node z = add(g, x, num(g, GAMMA_SHIFT)), w = over(g, one, mul(g, z, z));
    for (int k = GAMMA_TERMS; k > 0; k--)
        series = mul(g, w, add(g, num(g, BERNOULLI[k - 1]), series));
    series = add(g, series, over(g, num(g, 0.5), z));
    return add(g, sum, over(g, add(g, one, series), z));
}

static node unary_partial(struct graph *g, enum op op, node x, node y)
{
    node one = num(g, 1.0);
    switch ((int)op) {
    case OP_NEG: return num(g, -1.0);
    case OP_EXP: return y;
    case OP_LOG: return over(g, one, x);
    case OP_LOG1P: return over(g, one, add(g, one, x));
    case OP_EXPM1: return add(g, y, one);
    case OP_SQRT: return over(g, num(g, 0.5), y);
    case OP_SIN: return f(g, OP_COS, x);
    case OP_COS: return f(g, OP_NEG, f(g, OP_SIN, x));
    case OP_TAN: return add(g, one, mul(g, y, y));
    case OP_ASIN: return over(g, one, root(g, -1.0, x));
    case OP_ACOS: return over(g, num(g, -1.0), root(g, -1.0, x));
    case OP_ATAN: return over(g, one, add(g, one, mul(g, x, x)));
    case OP_SINH: return f(g, OP_COSH, x);
    case OP_COSH: return f(g, OP_SINH, x);
    case OP_TANH: return sub(g, one, mul(g, y, y));
    case OP_ASINH: return over(g, one, root(g, 1.0, x));
    case OP_ABS: return f(g, OP_SIGN, x);
    case OP_SIGMOID: return mul(g, y, sub(g, one, y));
    case OP_LOGIT: return over(g, one, mul(g, x, sub(g, one, x)));
    case OP_SOFTPLUS: return f(g, OP_SIGMOID, x);
    case OP_RELU: return f(g, OP_STEP, x);
    case OP_SILU: return silu_slope(g, x);
    case OP_LGAMMA: return f(g, OP_DIGAMMA, x);
    case OP_DIGAMMA: return trigamma_of(g, x);
    default: return num(g, 0.0); /* sign, step, stop are flat */
    }
}

/* By y these are right away from y = 0; there, the operations' own derivatives
 * are. */
static node expm1_ratio_partial(struct graph *g, node x, node y, node z,
                                size_t i)
{
    node grown = f(g, OP_EXP, mul(g, x, y));
    return i ? over(g, sub(g, mul(g, x, grown), z), y) : grown;
}

static node log1p_ratio_partial(struct graph *g, node x, node y, node z,
                                size_t i)
{
    node slope = over(g, num(g, 1.0), add(g, num(g, 1.0), mul(g, x, y)));
    return i ? over(g, sub(g, mul(g, x, slope), z), y) : slope;
}

/* cosh(k x) = 1 + 2 sinh(k x / 2)^2 has no hole at k = 0, whatever is
 * differentiated next. */
static node cosh_ratio(struct graph *g, node x, node y)
{
    node half = graph_binary(g, OP_SINH_RATIO, mul(g, num(g, 0.5), x), y);
    node square = mul(g, y, mul(g, half, half));
    return add(g, num(g, 1.0), mul(g, num(g, 2.0), square));
}

static node square_ratio_partial(struct graph *g, enum op op, node x, node y,
                                 node z, size_t i)
{
    node rest = sub(g, num(g, 1.0), mul(g, y, mul(g, x, x)));
    node slope =
        op == OP_SINH_RATIO ? cosh_ratio(g, x, y) : over(g, num(g, 1.0), rest);
    if (!i) return slope;
    return over(g, sub(g, mul(g, x, slope), z), mul(g, num(g, 2.0), y));
}

static node binary_partial(struct graph *g, enum op op, node x, node y, node z,
                           size_t i)
{
    node one = num(g, 1.0), less;
    switch ((int)op) {
    case OP_ADD: return one;
    case OP_SUB: return num(g, i ? -1.0 : 1.0);
    case OP_MUL: return i ? x : y;
    case OP_DIV: return i ? f(g, OP_NEG, over(g, z, y)) : over(g, one, y);
    case OP_POW:
        return i ? mul(g, z, f(g, OP_LOG, x))
                 : mul(g, y, graph_binary(g, OP_POW, x, sub(g, y, one)));
    case OP_EXPM1_RATIO: return expm1_ratio_partial(g, x, y, z, i);
    case OP_LOG1P_RATIO: return log1p_ratio_partial(g, x, y, z, i);
    case OP_SINH_RATIO:
    case OP_ATANH_RATIO: return square_ratio_partial(g, op, x, y, z, i);
    case OP_MIN: less = f(g, OP_STEP, sub(g, x, y)); break; /* y is less */
    default: less = f(g, OP_STEP, sub(g, y, x)); break;     /* max        */
    }
    return i ? less : sub(g, one, less);
}

node elementwise_partial(struct graph *g, node n, size_t i)
{
    enum op op = graph_info(g, n)->op;
    node x = graph_input(g, n, 0);
    if (op <= OP_STOP) return unary_partial(g, op, x, n);
    return binary_partial(g, op, x, graph_input(g, n, 1), n, i);
}

/* --- Networks are opened before they are differentiated ----------------- */

static node open_net(struct graph *g, node n, const node *image, node unused)
{
    (void)unused;
    if (g->info[n].op != OP_NET) return remake(g, n, image);
    return graph_net_open(g, g->info[n].offset, image[graph_input(g, n, 0)]);
}

static node opened(struct graph *g, node a)
{
    return remake_all(g, a, open_net, 0);
}

/* --- Forward: in time, and along a direction ------------------------------ */

static node shaped(struct graph *g, node value, node like)
{
    return graph_fill(g, value, graph_info(g, like)->rows,
                      graph_info(g, like)->columns);
}

static node weighted_rest(struct graph *g, node y, node v)
{
    node mean = graph_sum(g, mul(g, y, v));
    return mul(g, y, sub(g, v, mean));
}

static node inverse(struct graph *g, node a)
{
    return graph_solve(g, a, graph_identity(g, graph_info(g, a)->rows));
}

/* L half(L^-1 A_dot L'^-1), see op_solve.c. */
static node cholesky_dot(struct graph *g, node L, node A_dot)
{
    size_t n = graph_info(g, L)->rows;
    node inv = inverse(g, L), inner = graph_matmul(g, inv, A_dot);
    inner = graph_matmul(g, inner, graph_transpose(g, inv));
    return graph_matmul(g, L, mul(g, graph_diagonal(g, n, 1.0, 0.5), inner));
}

/* A_dot B + A B_dot, where 0 is what does not move. */
static node product_dot(struct graph *g, node a, node b, node a_dot, node b_dot)
{
    node left = a_dot ? graph_matmul(g, a_dot, b) : 0;
    node right = b_dot ? graph_matmul(g, a, b_dot) : 0;
    return left && right ? add(g, left, right) : left ? left : right;
}

static node stack_dot(struct graph *g, node n, const node *dot)
{
    struct node_info info = *graph_info(g, n);
    node *part = NEW(node, info.inputs);
    if (!part) {
        g->failed = true;
        return 0;
    }
    for (size_t i = 0; i < info.inputs; i++) {
        node in = graph_input(g, n, i);
        part[i] = shaped(g, dot[in], in);
    }
    node made = graph_stack(g, info.inputs, part, info.rows, info.columns);
    mem_free(part);
    return made;
}

static node elementwise_dot(struct graph *g, node n, const node *dot)
{
    node sum = 0;
    for (size_t i = 0; i < graph_info(g, n)->inputs; i++) {
        node moved = dot[graph_input(g, n, i)];
        if (!moved) continue;
        node part = mul(g, elementwise_partial(g, n, i), moved);
        sum = sum ? add(g, sum, part) : part;
    }
    return sum ? shaped(g, sum, n) : 0;
}

static node solve_dot(struct graph *g, node n, node a_dot, node b_dot)
{
    node a = graph_input(g, n, 0);
    node part = a_dot ? f(g, OP_NEG, graph_matmul(g, a_dot, n)) : 0;
    node right = part && b_dot ? add(g, b_dot, part) : part ? part : b_dot;
    return graph_solve(g, a, right);
}

/* By its argument, all that moves of a function on a grid. */
static node gp_dot(struct graph *g, node n, node x_dot)
{
    node sum = num(g, 0.0);
    for (size_t k = 0; x_dot && k < graph_size(g, x_dot); k++) {
        node part = graph_slice(g, x_dot, k, 1, 1);
        sum = add(g, sum, mul(g, graph_gp_slope(g, n, k), part));
    }
    return shaped(g, sum, n);
}

/* How n moves when its inputs move by dot; 0 for not at all. */
static node node_dot(struct graph *g, node n, const node *dot)
{
    struct node_info info = *graph_info(g, n);
    node d0 = info.inputs ? dot[graph_input(g, n, 0)] : 0;
    node d1 = info.inputs > 1 ? dot[graph_input(g, n, 1)] : 0;
    if (OP_TABLE[info.op].partial) return elementwise_dot(g, n, dot);
    switch ((int)info.op) {
    case OP_FILL: return graph_fill(g, d0, info.rows, info.columns);
    case OP_SUM: return graph_sum(g, d0);
    case OP_SOFTMAX: return weighted_rest(g, n, d0);
    case OP_SLICE:
        return graph_slice(g, d0, info.offset, info.rows, info.columns);
    case OP_PAD: return graph_pad(g, d0, info.offset, info.rows, info.columns);
    case OP_STACK: return stack_dot(g, n, dot);
    case OP_TRANSPOSE: return graph_transpose(g, d0);
    case OP_MATMUL:
        return product_dot(g, graph_input(g, n, 0), graph_input(g, n, 1), d0,
                           d1);
    case OP_SOLVE: return solve_dot(g, n, d0, d1);
    case OP_LOGDET:
        return graph_sum(
            g,
            mul(g, graph_transpose(g, inverse(g, graph_input(g, n, 0))), d0));
    case OP_CHOLESKY: return cholesky_dot(g, n, d0);
    case OP_GP: return gp_dot(g, n, d0);
    default: return 0;
    }
}

/* dot has what the leaves move by, and room for all nodes up to a. */
static node forward_mode(struct graph *g, node a, node *dot)
{
    for (node n = 0; n <= a && !g->failed; n++) {
        struct node_info info = *graph_info(g, n);
        bool moves = false;
        for (size_t i = 0; i < info.inputs; i++)
            moves = moves || dot[graph_input(g, n, i)];
        if (moves) dot[n] = node_dot(g, n, dot);
    }
    return g->failed ? 0 : shaped(g, dot[a], a);
}

static node *new_dots(struct graph *g, node a)
{
    node *dot = g->failed ? NULL : NEW(node, a + 1);
    if (!dot) g->failed = true;
    return dot;
}

node graph_time_derivative(struct graph *g, node a)
{
    a = opened(g, a);
    node *dot = new_dots(g, a);
    if (!dot) return 0;
    for (node n = 0; n <= a; n++) {
        struct node_info info = *graph_info(g, n);
        if (info.op == OP_TIME) dot[n] = num(g, 1.0);
        else if (info.op == OP_INPUT)
            dot[n] = graph_leaf(g, OP_SLOPE, info.offset, 1, 1);
    }
    node result = forward_mode(g, a, dot);
    mem_free(dot);
    return result;
}

node graph_directional(struct graph *g, node a, node leaf, node along)
{
    a = opened(g, a);
    node *dot = new_dots(g, a);
    if (!dot) return 0;
    if (leaf <= a) dot[leaf] = shaped(g, along, leaf);
    node result = forward_mode(g, a, dot);
    mem_free(dot);
    return result;
}

/* --- Reverse: the gradient with respect to a leaf ----------------------- */

/* L'^-1 half(L' L_bar) L^-1, symmetrised. */
static node cholesky_bar(struct graph *g, node L, node bar)
{
    size_t n = graph_info(g, L)->rows;
    node inv = inverse(g, L);
    node inner = graph_matmul(g, graph_transpose(g, L), bar);
    inner = mul(g, graph_diagonal(g, n, 1.0, 0.5), inner);
    inner = graph_matmul(g, graph_transpose(g, inv), inner);
    inner = graph_matmul(g, inner, inv);
    return mul(g, num(g, 0.5), add(g, inner, graph_transpose(g, inner)));
}

static node matmul_bar(struct graph *g, node n, size_t i, node bar)
{
    node a = graph_input(g, n, 0), b = graph_input(g, n, 1);
    return i ? graph_matmul(g, graph_transpose(g, a), bar)
             : graph_matmul(g, bar, graph_transpose(g, b));
}

static node solve_bar(struct graph *g, node n, size_t i, node bar)
{
    node a = graph_transpose(g, graph_input(g, n, 0));
    node lambda = graph_solve(g, a, bar);
    if (i) return lambda;
    return f(g, OP_NEG, graph_matmul(g, lambda, graph_transpose(g, n)));
}

static node gp_bar(struct graph *g, node n, node bar)
{
    node part[GRID_AXES], x = graph_input(g, n, 0);
    size_t axes = graph_size(g, x);
    for (size_t k = 0; k < axes; k++)
        part[k] = graph_sum(g, mul(g, bar, graph_gp_slope(g, n, k)));
    return graph_stack(g, axes, part, axes, 1);
}

static node elementwise_bar(struct graph *g, node n, size_t i, node bar)
{
    node part = mul(g, bar, elementwise_partial(g, n, i));
    part = shaped(g, part, n);
    return graph_size(g, graph_input(g, n, i)) == 1 ? graph_sum(g, part) : part;
}

/* What input i of n gets of n's bar. offset: where it begins in a stack. */
static node input_bar(struct graph *g, node n, size_t i, size_t offset,
                      node bar)
{
    node in = graph_input(g, n, i);
    struct node_info info = *graph_info(g, n), from = *graph_info(g, in);
    if (OP_TABLE[info.op].partial) return elementwise_bar(g, n, i, bar);
    switch ((int)info.op) {
    case OP_FILL: return graph_sum(g, bar);
    case OP_SUM: return graph_fill(g, bar, from.rows, from.columns);
    case OP_SOFTMAX: return weighted_rest(g, n, bar);
    case OP_SLICE:
        return graph_pad(g, bar, info.offset, from.rows, from.columns);
    case OP_PAD:
        return graph_slice(g, bar, info.offset, from.rows, from.columns);
    case OP_STACK: return graph_slice(g, bar, offset, from.rows, from.columns);
    case OP_TRANSPOSE: return graph_transpose(g, bar);
    case OP_MATMUL: return matmul_bar(g, n, i, bar);
    case OP_SOLVE: return solve_bar(g, n, i, bar);
    case OP_LOGDET: return mul(g, bar, graph_transpose(g, inverse(g, in)));
    case OP_CHOLESKY: return cholesky_bar(g, n, bar);
    case OP_GP: return i ? 0 : gp_bar(g, n, bar);
    default: return 0;
    }
}

/* moves[n]: n depends on the leaf, in a way that derivatives see. */
static void mark(const struct graph *g, node a, node leaf, bool *moves)
{
    for (node n = 0; n <= a; n++) {
        moves[n] = n == leaf;
        if (g->info[n].op == OP_STOP) continue;
        for (size_t i = 0; i < g->info[n].inputs; i++)
            moves[n] = moves[n] || moves[graph_input(g, n, i)];
    }
}

node graph_gradient(struct graph *g, node a, node leaf)
{
    a = opened(g, a);
    assert(graph_size(g, a) == 1);
    if (leaf > a) return shaped(g, num(g, 0.0), leaf);
    node *bar = NEW(node, a + 1);
    bool *moves = NEW(bool, a + 1);
    g->failed = g->failed || !bar || !moves;
    if (!g->failed) {
        mark(g, a, leaf, moves);
        bar[a] = num(g, 1.0);
    }
    for (node n = a + 1; !g->failed && n-- > leaf + 1;) {
        size_t offset = 0;
        for (size_t i = 0; bar[n] && i < graph_info(g, n)->inputs; i++) {
            node in = graph_input(g, n, i);
            if (moves[in]) {
                node part = input_bar(g, n, i, offset, bar[n]);
                bar[in] = bar[in] ? add(g, bar[in], part) : part;
            }
            offset += graph_size(g, in);
        }
    }
    node result = g->failed ? 0 : shaped(g, bar[leaf], leaf);
    mem_free(bar);
    mem_free(moves);
    return result;
}

node graph_divergence(struct graph *g, node a, node leaf)
{
    node sum = 0;
    for (size_t i = 0; !g->failed && i < graph_size(g, a); i++) {
        node row = graph_gradient(g, graph_slice(g, a, i, 1, 1), leaf);
        row = graph_slice(g, row, i, 1, 1);
        sum = sum ? add(g, sum, row) : row;
    }
    return sum;
}
