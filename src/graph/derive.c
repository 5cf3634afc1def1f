/* SPDX-License-Identifier: MIT */
/* Symbolic derivatives: new expressions over the same operations. In time and
 * along a direction by the forward mode, with respect to a leaf by the reverse
 * mode. */
#include <assert.h>
#include <math.h>

#include "base/gamma.h"
#include "base/memory.h"
#include "graph/build.h"
#include "graph/op_rows.h"
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

static node erf_slope(struct graph *g, node x)
{
    node bell = f(g, OP_EXP, f(g, OP_NEG, mul(g, x, x)));
    return mul(g, num(g, 2.0 / sqrt(acos(-1.0))), bell);
}

static node atan2_slope(struct graph *g, node x, node y, size_t i)
{
    node square = add(g, mul(g, x, x), mul(g, y, y));
    return over(g, i ? f(g, OP_NEG, x) : y, square);
}

/* What is left of 1 by the first input, where the second one takes `less`. */
static node share(struct graph *g, node less, size_t i)
{
    return i ? less : sub(g, num(g, 1.0), less);
}

/* By y these are right away from y = 0; there, the operations' own derivatives
 * are. */
static node expm1_ratio_derivative(struct graph *g, node x, node y, node z,
                                   size_t i)
{
    node grown = f(g, OP_EXP, mul(g, x, y));
    return i ? over(g, sub(g, mul(g, x, grown), z), y) : grown;
}

static node log1p_ratio_derivative(struct graph *g, node x, node y, node z,
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

/* 1 - y x^2. */
static node square_rest(struct graph *g, node x, node y)
{
    return sub(g, num(g, 1.0), mul(g, y, mul(g, x, x)));
}

/* From the slope by x. */
static node square_ratio_derivative(struct graph *g, node slope, node x, node y,
                                    node z, size_t i)
{
    if (!i) return slope;
    return over(g, sub(g, mul(g, x, slope), z), mul(g, num(g, 2.0), y));
}

#define UNARY_PARTIAL(ID, NAME, WORD, WHERE, IMAGE, TEXT, VALUE, SLOPE, ...)   \
    node NAME##_partial(struct graph *g, node n, size_t i)                     \
    {                                                                          \
        node x = graph_input(g, n, 0), y = n, one = num(g, 1.0);               \
        (void)x, (void)y, (void)one, (void)i;                                  \
        return __VA_ARGS__;                                                    \
    }
#define BINARY_PARTIAL(ID, NAME, WORD, WHERE, IMAGE, TEXT, VALUE, BY_X, BY_Y,  \
                       ...)                                                    \
    node NAME##_partial(struct graph *g, node n, size_t i)                     \
    {                                                                          \
        node x = graph_input(g, n, 0), y = graph_input(g, n, 1);               \
        node z = n, one = num(g, 1.0);                                         \
        (void)x, (void)y, (void)z, (void)one, (void)i;                         \
        return __VA_ARGS__;                                                    \
    }
UNARY_OPS(UNARY_PARTIAL)
BINARY_OPS(BINARY_PARTIAL)

static node elementwise_partial(struct graph *g, node n, size_t i)
{
    return OP_TABLE[graph_info(g, n)->op].partial(g, n, i);
}

/* --- Networks are opened before they are differentiated ----------------- */

static node open_net(struct graph *g, node n, const node *image, node unused)
{
    (void)unused;
    if (g->info[n].op != OP_NET) return remake(g, n, image);
    return graph_net_open(g, g->info[n].offset, image[graph_input(g, n, 0)]);
}

node graph_open_nets(struct graph *g, node a)
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

/* dot of input i of n; 0 for what does not move. */
static node moved(struct graph *g, node n, size_t i, const node *dot)
{
    return dot[graph_input(g, n, i)];
}

/* How n moves when its first input moves by x_dot; i: about n. */
#define DOT(NAME, ...)                                                         \
    static node NAME##_dot(struct graph *g, node n, const node *dot)           \
    {                                                                          \
        node x_dot = moved(g, n, 0, dot);                                      \
        struct node_info i = *graph_info(g, n);                                \
        (void)i;                                                               \
        return __VA_ARGS__;                                                    \
    }

DOT(fill, shaped(g, x_dot, n))
DOT(sum, graph_sum(g, x_dot))
DOT(softmax, weighted_rest(g, n, x_dot))
DOT(slice, graph_slice(g, x_dot, i.offset, i.rows, i.columns))
DOT(pad, graph_pad(g, x_dot, i.offset, i.rows, i.columns))
DOT(transpose, graph_transpose(g, x_dot))
DOT(gather, graph_gather(g, x_dot, graph_input(g, n, 1), i.rows, i.columns))
DOT(scatter, graph_scatter(g, x_dot, graph_input(g, n, 1), i.rows, i.columns))

/* Not by the number itself. */
static node choose_dot(struct graph *g, node n, const node *dot)
{
    node x = graph_input(g, n, 0), x_dot = moved(g, n, 0, dot);
    return x_dot ? graph_choose(g, shaped(g, x_dot, x), graph_input(g, n, 1))
                 : 0;
}

static node stack_dot(struct graph *g, node n, const node *dot)
{
    struct node_info info = *graph_info(g, n);
    node *part = GRAPH_NEW(g, node, info.inputs);
    if (!part) return 0;
    for (size_t i = 0; i < info.inputs; i++) {
        node in = graph_input(g, n, i);
        part[i] = shaped(g, dot[in], in);
    }
    node made = graph_stack(g, info.inputs, part, info.rows, info.columns);
    mem_free(part);
    return made;
}

/* A_dot B + A B_dot. */
static node matmul_dot(struct graph *g, node n, const node *dot)
{
    node a_dot = moved(g, n, 0, dot), b_dot = moved(g, n, 1, dot);
    node left = a_dot ? graph_matmul(g, a_dot, graph_input(g, n, 1)) : 0;
    node right = b_dot ? graph_matmul(g, graph_input(g, n, 0), b_dot) : 0;
    return left && right ? add(g, left, right) : left ? left : right;
}

static node solve_dot(struct graph *g, node n, const node *dot)
{
    node a = graph_input(g, n, 0);
    node a_dot = moved(g, n, 0, dot), b_dot = moved(g, n, 1, dot);
    node part = a_dot ? f(g, OP_NEG, graph_matmul(g, a_dot, n)) : 0;
    node right = part && b_dot ? add(g, b_dot, part) : part ? part : b_dot;
    return graph_solve(g, a, right);
}

static node logdet_dot(struct graph *g, node n, const node *dot)
{
    node back = graph_transpose(g, inverse(g, graph_input(g, n, 0)));
    return graph_sum(g, mul(g, back, moved(g, n, 0, dot)));
}

/* L half(L^-1 A_dot L'^-1), see op_solve.c. */
static node cholesky_dot(struct graph *g, node L, const node *dot)
{
    size_t n = graph_info(g, L)->rows;
    node inv = inverse(g, L), inner = graph_matmul(g, inv, moved(g, L, 0, dot));
    inner = graph_matmul(g, inner, graph_transpose(g, inv));
    return graph_matmul(g, L, mul(g, graph_diagonal(g, n, 1.0, 0.5), inner));
}

/* By its argument, all that moves of a function on a grid. */
static node gp_dot(struct graph *g, node n, const node *dot)
{
    node sum = num(g, 0.0), x_dot = moved(g, n, 0, dot);
    for (size_t k = 0; x_dot && k < graph_size(g, x_dot); k++) {
        node part = graph_slice(g, x_dot, k, 1, 1);
        sum = add(g, sum, mul(g, graph_gp_slope(g, n, k), part));
    }
    return shaped(g, sum, n);
}

/* By its argument, as for a gp. */
static node call_dot(struct graph *g, node n, const node *dot)
{
    node x_dot = moved(g, n, 0, dot);
    return x_dot ? graph_call_slope(g, n, x_dot) : num(g, 0.0);
}

/* Functions of the caller have first derivatives. Those of a slope are
 * differences of slopes, along the way that the argument moves; how far is a
 * compromise: they may be differentiated, and so differenced, again. */
static const double CALL_STEP = 3e-5;

static node call_slope_at(struct graph *g, node n, node x, node u)
{
    struct node_info info = g->info[n];
    node p = info.inputs > 2 ? graph_input(g, n, 2) : 0;
    return graph_call_slope(g, graph_call(g, info.offset, x, p, info.rows), u);
}

static node slope_of_slope(struct graph *g, node n, node x_dot)
{
    node x = graph_input(g, n, 0), u = graph_input(g, n, 1);
    node h = mul(g, num(g, CALL_STEP), x_dot);
    node far = call_slope_at(g, n, add(g, x, h), u);
    node back = call_slope_at(g, n, sub(g, x, h), u);
    return mul(g, num(g, 0.5 / CALL_STEP), sub(g, far, back));
}

static node call_slope_dot(struct graph *g, node n, const node *dot)
{
    node x = graph_input(g, n, 0);
    node x_dot = moved(g, n, 0, dot), u_dot = moved(g, n, 1, dot);
    node left = x_dot ? slope_of_slope(g, n, x_dot) : 0;
    node right = u_dot ? call_slope_at(g, n, x, u_dot) : 0;
    return left && right ? add(g, left, right) : left ? left : right;
}

/* Networks are opened before: no caller gets here. */
static node network_dot(struct graph *g, node n, const node *dot)
{
    (void)n, (void)dot;
    assert(false);
    return num(g, NAN);
}

static node elementwise_dot(struct graph *g, node n, const node *dot)
{
    node sum = 0;
    for (size_t i = 0; i < graph_info(g, n)->inputs; i++) {
        node in_dot = moved(g, n, i, dot);
        if (!in_dot) continue;
        node part = mul(g, elementwise_partial(g, n, i), in_dot);
        sum = sum ? add(g, sum, part) : part;
    }
    return sum ? shaped(g, sum, n) : 0;
}

static node (*const DOT[OPS])(struct graph *g, node n, const node *dot) = {
#define DOT_OF(ID, NAME, ...) [OP_##ID] = NAME##_dot,
    OTHER_OPS(DOT_OF)};

/* How n moves when its inputs move by dot; 0 for not at all. */
static node node_dot(struct graph *g, node n, const node *dot)
{
    enum op op = graph_info(g, n)->op;
    return OP_TABLE[op].arity ? elementwise_dot(g, n, dot) : DOT[op](g, n, dot);
}

/* dot has what the leaves move by, and room for all nodes up to a. */
static node forward_mode(struct graph *g, node a, node *dot)
{
    bool *wanted = GRAPH_NEW(g, bool, a + 1);
    if (!wanted) return 0;
    graph_parts(g, a, wanted);
    for (node n = 0; n <= a && !g->failed; n++) {
        struct node_info info = *graph_info(g, n);
        bool moves = false;
        for (size_t i = 0; wanted[n] && i < info.inputs; i++)
            moves = moves || dot[graph_input(g, n, i)];
        if (moves) dot[n] = node_dot(g, n, dot);
    }
    mem_free(wanted);
    return g->failed ? 0 : shaped(g, dot[a], a);
}

node graph_time_derivative(struct graph *g, node a)
{
    a = graph_open_nets(g, a);
    node *dot = g->failed ? NULL : GRAPH_NEW(g, node, a + 1);
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
    a = graph_open_nets(g, a);
    node *dot = g->failed ? NULL : GRAPH_NEW(g, node, a + 1);
    if (!dot) return 0;
    if (leaf <= a) dot[leaf] = shaped(g, along, leaf);
    node result = forward_mode(g, a, dot);
    mem_free(dot);
    return result;
}

/* --- Reverse: the gradient with respect to a leaf ----------------------- */

/* What input i of n gets of n's bar. offset: where it begins in a stack. */
#define BAR(NAME)                                                              \
    static node NAME##_bar(struct graph *g, node n, size_t i, size_t offset,   \
                           node bar)

/* from: about the input. */
#define BAR_IS(NAME, ...)                                                      \
    BAR(NAME)                                                                  \
    {                                                                          \
        struct node_info from = *graph_info(g, graph_input(g, n, i));          \
        (void)from, (void)offset;                                              \
        return __VA_ARGS__;                                                    \
    }

BAR_IS(fill, graph_sum(g, bar))
BAR_IS(sum, graph_fill(g, bar, from.rows, from.columns))
BAR_IS(softmax, weighted_rest(g, n, bar))
BAR_IS(slice,
       graph_pad(g, bar, graph_info(g, n)->offset, from.rows, from.columns))
BAR_IS(pad,
       graph_slice(g, bar, graph_info(g, n)->offset, from.rows, from.columns))
BAR_IS(stack, graph_slice(g, bar, offset, from.rows, from.columns))
BAR_IS(transpose, graph_transpose(g, bar))
BAR_IS(gather,
       graph_scatter(g, bar, graph_input(g, n, 1), from.rows, from.columns))
BAR_IS(scatter,
       graph_gather(g, bar, graph_input(g, n, 1), from.rows, from.columns))

/* bar in the element that was picked, and zeros. */
BAR(choose)
{
    (void)offset;
    struct node_info from = *graph_info(g, graph_input(g, n, 0));
    size_t size = from.rows * from.columns;
    if (i || g->failed) return num(g, 0.0);
    double *number = GRAPH_NEW(g, double, size);
    if (!number) return 0;
    for (size_t k = 0; k < size; k++)
        number[k] = (double)(k + 1);
    node all = graph_constant(g, from.rows, from.columns, number);
    node index = graph_fill(g, f(g, OP_FLOOR, graph_input(g, n, 1)), from.rows,
                            from.columns);
    mem_free(number);
    node other = add(g, graph_binary(g, OP_LESS, index, all),
                     graph_binary(g, OP_LESS, all, index));
    return mul(g, graph_fill(g, bar, from.rows, from.columns),
               sub(g, num(g, 1.0), other));
}

BAR(matmul)
{
    (void)offset;
    node a = graph_input(g, n, 0), b = graph_input(g, n, 1);
    return i ? graph_matmul(g, graph_transpose(g, a), bar)
             : graph_matmul(g, bar, graph_transpose(g, b));
}

BAR(solve)
{
    (void)offset;
    node a = graph_transpose(g, graph_input(g, n, 0));
    node lambda = graph_solve(g, a, bar);
    if (i) return lambda;
    return f(g, OP_NEG, graph_matmul(g, lambda, graph_transpose(g, n)));
}

BAR_IS(logdet,
       mul(g, bar, graph_transpose(g, inverse(g, graph_input(g, n, i)))))

/* L'^-1 half(L' L_bar) L^-1, symmetrised. */
BAR(cholesky)
{
    (void)i, (void)offset;
    node inv = inverse(g, n);
    node inner = graph_matmul(g, graph_transpose(g, n), bar);
    inner = mul(g, graph_diagonal(g, graph_info(g, n)->rows, 1.0, 0.5), inner);
    inner = graph_matmul(g, graph_transpose(g, inv), inner);
    inner = graph_matmul(g, inner, inv);
    return mul(g, num(g, 0.5), add(g, inner, graph_transpose(g, inner)));
}

BAR(gp)
{
    (void)offset;
    node part[GRID_AXES], x = graph_input(g, n, 0);
    size_t axes = graph_size(g, x);
    if (i) return num(g, 0.0); /* its numbers are parameters */
    for (size_t k = 0; k < axes; k++)
        part[k] = graph_sum(g, mul(g, bar, graph_gp_slope(g, n, k)));
    return graph_stack(g, axes, part, axes, 1);
}

/* Unit vector k of the first input of n. */
static node unit_of(struct graph *g, node n, size_t k)
{
    struct node_info from = *graph_info(g, graph_input(g, n, 0));
    return graph_pad(g, num(g, 1.0), k, from.rows, from.columns);
}

/* Along each unit vector: they are shared by all rows of a Jacobian. */
BAR(call)
{
    struct node_info from = *graph_info(g, graph_input(g, n, 0));
    size_t size = from.rows * from.columns;
    node *part = i ? NULL : GRAPH_NEW(g, node, size);
    (void)offset;
    if (!part) return num(g, 0.0); /* its parameters are no states */
    for (size_t k = 0; k < size; k++)
        part[k] =
            graph_sum(g, mul(g, bar, graph_call_slope(g, n, unit_of(g, n, k))));
    node made = graph_stack(g, size, part, from.rows, from.columns);
    mem_free(part);
    return made;
}

BAR(call_slope)
{
    struct node_info from = *graph_info(g, graph_input(g, n, 0));
    size_t size = from.rows * from.columns;
    node *part = i > 1 ? NULL : GRAPH_NEW(g, node, size);
    (void)offset;
    if (!part) return num(g, 0.0);
    for (size_t k = 0; k < size; k++) {
        node unit = unit_of(g, n, k);
        node slope = i ? call_slope_at(g, n, graph_input(g, n, 0), unit)
                       : slope_of_slope(g, n, unit);
        part[k] = graph_sum(g, mul(g, bar, slope));
    }
    node made = graph_stack(g, size, part, from.rows, from.columns);
    mem_free(part);
    return made;
}

BAR(network)
{
    (void)i, (void)offset, (void)bar;
    return network_dot(g, n, NULL);
}

static node (*const INPUT_BAR[OPS])(struct graph *g, node n, size_t i,
                                    size_t offset, node bar) = {
#define BAR_OF(ID, NAME, ...) [OP_##ID] = NAME##_bar,
    OTHER_OPS(BAR_OF)};

static node elementwise_bar(struct graph *g, node n, size_t i, node bar)
{
    node part = mul(g, bar, elementwise_partial(g, n, i));
    part = shaped(g, part, n);
    return graph_size(g, graph_input(g, n, i)) == 1 ? graph_sum(g, part) : part;
}

static node input_bar(struct graph *g, node n, size_t i, size_t offset,
                      node bar)
{
    enum op op = graph_info(g, n)->op;
    return OP_TABLE[op].arity ? elementwise_bar(g, n, i, bar)
                              : INPUT_BAR[op](g, n, i, offset, bar);
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
    a = graph_open_nets(g, a);
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
