/* SPDX-License-Identifier: MIT */
/* The builders of operations. Constants are folded, and what algebra says is
 * not there (times 1, plus 0, a double minus) is never built. */
#include <assert.h>
#include <math.h>

#include "base/memory.h"
#include "graph/build.h"
#include "graph/ops.h"

static bool is(const struct graph *g, node a, double wanted)
{
    double value;
    return graph_is_number(g, a, &value) && value == wanted;
}

static bool is_number(const struct graph *g, node a)
{
    double value;
    return graph_is_number(g, a, &value);
}

static node plain(struct graph *g, enum op op, size_t inputs, const node *input,
                  size_t rows, size_t columns)
{
    return make_node(
        g,
        (struct node_info){
            .op = op, .rows = rows, .columns = columns, .inputs = inputs},
        input);
}

/* --- Elementwise -------------------------------------------------------- */

node graph_unary(struct graph *g, enum op op, node a)
{
    if (g->failed) return 0;
    double value;
    if (graph_is_number(g, a, &value))
        return graph_number(g, op_fold(op, value, 0.0));
    const struct node_info *info = graph_info(g, a);
    if (op == OP_NEG && info->op == OP_NEG) return graph_input(g, a, 0);
    return plain(g, op, 1, &a, info->rows, info->columns);
}

/* A whole power by repeated squaring: exact signs for negative bases. */
static node whole_power(struct graph *g, node a, unsigned n)
{
    node square = graph_binary(g, OP_MUL, a, a);
    if (n == 1) return a;
    if (n == 2) return square;
    node half = whole_power(g, square, n / 2);
    return n % 2 ? graph_binary(g, OP_MUL, half, a) : half;
}

static bool simple_power(struct graph *g, node a, node b, node *result)
{
    double n;
    if (!graph_is_number(g, b, &n)) return false;
    if (n == 0.0) {
        *result = graph_number(g, 1.0); /* with the slope 0, at 0 too */
    } else if (n == 0.5) {
        *result = graph_unary(g, OP_SQRT, a);
    } else if (n == floor(n) && fabs(n) >= 1.0 && fabs(n) <= 16.0) {
        *result = whole_power(g, a, (unsigned)fabs(n));
        if (n < 0.0)
            *result = graph_binary(g, OP_DIV, graph_number(g, 1.0), *result);
    } else {
        return false;
    }
    return true;
}

static node like(struct graph *g, node a, node shape)
{
    const struct node_info *i = graph_info(g, shape);
    return graph_fill(g, a, i->rows, i->columns);
}

/* What a op b is without an operation, shapes apart. */
static bool neutral(struct graph *g, enum op op, node a, node b, node *result)
{
    if (op == OP_ADD && is(g, a, 0.0)) *result = b;
    else if ((op == OP_ADD || op == OP_SUB) && is(g, b, 0.0)) *result = a;
    else if (op == OP_SUB && is(g, a, 0.0)) *result = graph_unary(g, OP_NEG, b);
    else if (op == OP_MUL && is(g, a, 1.0)) *result = b;
    else if ((op == OP_MUL || op == OP_DIV) && is(g, b, 1.0)) *result = a;
    else if (op == OP_MUL && is(g, a, -1.0))
        *result = graph_unary(g, OP_NEG, b);
    else if (op == OP_MUL && (is(g, a, 0.0) || is(g, b, 0.0)))
        *result = graph_number(g, 0.0);
    else if (op == OP_DIV && is(g, a, 0.0)) *result = a;
    else if (op == OP_PICK && is(g, b, 0.0)) *result = b;
    else if (op == OP_PICK && is(g, b, 1.0) &&
             op_negation(g->info[a].op) != OPS)
        *result = a;
    else if (op == OP_GUARD && is_number(g, b)) *result = b;
    else return op == OP_POW && simple_power(g, a, b, result);
    return true;
}

static bool is_inverse(const struct graph *g, node a, node b)
{
    return g->info[a].op == OP_DIV && is(g, graph_input(g, a, 0), 1.0) &&
           graph_input(g, a, 1) == b;
}

/* u * (v * y) = (u v) * y and y / u = (1/u) * y: what is uniform is multiplied
 * once, not at every point. */
static bool uniform_factor(struct graph *g, enum op op, node a, node b,
                           node *result)
{
    if (op == OP_MUL && g->info[b].uniform && !g->info[a].uniform)
        return uniform_factor(g, op, b, a, result);
    if (op == OP_DIV && g->info[b].uniform && !g->info[a].uniform) {
        node inverse = graph_binary(g, OP_DIV, graph_number(g, 1.0), b);
        *result = graph_binary(g, OP_MUL, inverse, a);
        return true;
    }
    if (op != OP_MUL || !g->info[a].uniform || g->info[b].uniform) return false;
    struct node_info y = g->info[b];
    if (y.op == OP_NEG) {
        *result = graph_binary(g, OP_MUL, graph_unary(g, OP_NEG, a),
                               graph_input(g, b, 0));
        return true;
    }
    node v = y.op == OP_MUL ? graph_input(g, b, 0) : b;
    if (y.op != OP_MUL || !g->info[v].uniform) return false;
    /* (1/s) s is 1: what sigma^-1 (sigma y) and its like come down to. */
    if (is_inverse(g, a, v)) *result = graph_input(g, b, 1);
    else
        *result = graph_binary(g, OP_MUL, graph_binary(g, OP_MUL, a, v),
                               graph_input(g, b, 1));
    return true;
}

node graph_binary(struct graph *g, enum op op, node a, node b)
{
    if (g->failed) return 0;
    double x, y;
    if (graph_is_number(g, a, &x) && graph_is_number(g, b, &y))
        return graph_number(g, op_fold(op, x, y));
    node shape = graph_size(g, a) == 1 ? b : a;
    assert(graph_size(g, a) == 1 || graph_size(g, b) == 1 ||
           (graph_info(g, a)->rows == graph_info(g, b)->rows &&
            graph_info(g, a)->columns == graph_info(g, b)->columns));
    node result;
    if (neutral(g, op, a, b, &result) || uniform_factor(g, op, a, b, &result))
        return like(g, result, shape);
    /* A product has its uniform factor first. */
    if (op == OP_MUL && g->info[b].uniform && !g->info[a].uniform) {
        node first = b;
        b = a;
        a = first;
    }
    const struct node_info *i = graph_info(g, shape);
    return plain(g, op, 2, (node[2]){a, b}, i->rows, i->columns);
}

/* --- Shapes ------------------------------------------------------------- */

node graph_fill(struct graph *g, node a, size_t rows, size_t columns)
{
    if (g->failed) return 0;
    if (graph_size(g, a) == rows * columns) return a;
    assert(graph_size(g, a) == 1);
    return plain(g, OP_FILL, 1, &a, rows, columns);
}

node graph_sum(struct graph *g, node a)
{
    if (g->failed || graph_size(g, a) == 1) return g->failed ? 0 : a;
    return plain(g, OP_SUM, 1, &a, 1, 1);
}

node graph_softmax(struct graph *g, node a)
{
    if (g->failed) return 0;
    return plain(g, OP_SOFTMAX, 1, &a, graph_info(g, a)->rows,
                 graph_info(g, a)->columns);
}

/* Whether n elements from offset on are of what was padded. */
static bool within_pad(const struct graph *g, node a, size_t offset, size_t n)
{
    size_t first = g->info[a].offset,
           size = graph_size(g, graph_input(g, a, 0));
    return offset >= first && offset + n <= first + size;
}

/* Of one part of a stack, or of some whole ones; false where it cuts parts. */
static bool slice_of_stack(struct graph *g, node a, size_t offset, size_t rows,
                           size_t columns, node *made)
{
    size_t n = rows * columns, first = 0, size, parts = 0;
    while (offset >= (size = graph_size(g, graph_input(g, a, first))))
        offset -= size, first++;
    if (offset + n <= size) {
        *made = graph_slice(g, graph_input(g, a, first), offset, rows, columns);
        return true;
    }
    for (size = 0; size < n; parts++)
        size += graph_size(g, graph_input(g, a, first + parts));
    if (offset || size > n) return false;
    node *part = GRAPH_NEW(g, node, parts);
    if (!part) return false;
    for (size_t i = 0; i < parts; i++)
        part[i] = graph_input(g, a, first + i);
    *made = graph_stack(g, parts, part, rows, columns);
    mem_free(part);
    return true;
}

node graph_slice(struct graph *g, node a, size_t offset, size_t rows,
                 size_t columns)
{
    if (g->failed) return 0;
    const struct node_info *i = graph_info(g, a);
    assert(offset + rows * columns <= graph_size(g, a));
    if (i->rows == rows && i->columns == columns) return a;
    if (i->op == OP_CONSTANT)
        return graph_constant(g, rows, columns, i->data + offset);
    if (i->op == OP_PARAM)
        return graph_leaf(g, OP_PARAM, i->offset + offset, rows, columns);
    if (i->op == OP_SLICE)
        return graph_slice(g, graph_input(g, a, 0), i->offset + offset, rows,
                           columns);
    if (i->op == OP_FILL && rows * columns == 1) return graph_input(g, a, 0);
    if (i->op == OP_PAD && within_pad(g, a, offset, rows * columns))
        return graph_slice(g, graph_input(g, a, 0), offset - i->offset, rows,
                           columns);
    if (i->op == OP_STACK && rows * columns == 1 &&
        i->inputs == graph_size(g, a))
        return graph_input(g, a, offset);
    node part;
    if (i->op == OP_STACK && slice_of_stack(g, a, offset, rows, columns, &part))
        return part;
    return make_node(g,
                     (struct node_info){.op = OP_SLICE,
                                        .rows = rows,
                                        .columns = columns,
                                        .inputs = 1,
                                        .offset = offset},
                     &a);
}

node graph_pad(struct graph *g, node a, size_t offset, size_t rows,
               size_t columns)
{
    if (g->failed) return 0;
    assert(offset + graph_size(g, a) <= rows * columns);
    if (graph_size(g, a) == rows * columns)
        return graph_slice(g, a, 0, rows, columns);
    return make_node(g,
                     (struct node_info){.op = OP_PAD,
                                        .rows = rows,
                                        .columns = columns,
                                        .inputs = 1,
                                        .offset = offset},
                     &a);
}

node graph_stack(struct graph *g, size_t n, const node *a, size_t rows,
                 size_t columns)
{
    if (g->failed) return 0;
    if (n == 1) return graph_slice(g, a[0], 0, rows, columns);
    return plain(g, OP_STACK, n, a, rows, columns);
}

node graph_below(struct graph *g, size_t n, const node *a)
{
    size_t rows = 0;
    for (size_t i = 0; !g->failed && i < n; i++)
        rows += graph_size(g, a[i]);
    return n ? graph_stack(g, n, a, rows, 1) : 0;
}

node graph_transpose(struct graph *g, node a)
{
    if (g->failed) return 0;
    const struct node_info *i = graph_info(g, a);
    if (i->rows == 1 || i->columns == 1)
        return graph_slice(g, a, 0, i->columns, i->rows);
    if (i->op == OP_TRANSPOSE) return graph_input(g, a, 0);
    return plain(g, OP_TRANSPOSE, 1, &a, i->columns, i->rows);
}

/* Numbers that follow each other are a slice. */
static bool is_run(const double *index, size_t n)
{
    for (size_t k = 1; k < n; k++)
        if (index[k] != index[0] + (double)k) return false;
    return true;
}

static node gathered(struct graph *g, node a, const double *index, size_t n)
{
    double *data = GRAPH_NEW(g, double, n);
    if (!data) return 0;
    for (size_t k = 0; k < n; k++)
        data[k] = g->info[a].data[(size_t)index[k]];
    node made = graph_constant(g, n, 1, data);
    mem_free(data);
    return made;
}

node graph_gather(struct graph *g, node a, node index, size_t rows,
                  size_t columns)
{
    if (g->failed) return 0;
    size_t n = rows * columns;
    const double *from = graph_info(g, index)->data;
    assert(from && graph_size(g, index) == n);
    if (is_run(from, n))
        return graph_slice(g, a, (size_t)from[0], rows, columns);
    if (graph_info(g, a)->op == OP_CONSTANT)
        return graph_slice(g, gathered(g, a, from, n), 0, rows, columns);
    return plain(g, OP_GATHER, 2, (node[2]){a, index}, rows, columns);
}

node graph_scatter(struct graph *g, node a, node index, size_t rows,
                   size_t columns)
{
    if (g->failed) return 0;
    const double *to = graph_info(g, index)->data;
    size_t n = graph_size(g, index);
    if (graph_size(g, a) == 1) a = graph_fill(g, a, n, 1);
    assert(to && graph_size(g, a) == n);
    if (is_run(to, n)) return graph_pad(g, a, (size_t)to[0], rows, columns);
    return plain(g, OP_SCATTER, 2, (node[2]){a, index}, rows, columns);
}

node graph_choose(struct graph *g, node a, node index)
{
    if (g->failed) return 0;
    assert(graph_size(g, index) == 1);
    return plain(g, OP_CHOOSE, 2, (node[2]){a, index}, 1, 1);
}

/* --- where ---------------------------------------------------------------- */

/* Node n again, so that it is finite where the condition does not hold: 0 times
 * an infinite slope is no 0. A condition with several elements goes with
 * elements alone. What is the same at all points is left as it is, for it would
 * be computed at all of them. */
static node guarded(struct graph *g, node n, const node *image, node condition)
{
    const struct op_row *row = &OP_TABLE[g->info[n].op];
    bool uniform = g->info[n].uniform && !g->info[condition].uniform;
    if (uniform || (!row->arity && graph_size(g, condition) > 1)) return n;
    if (!row->arity || row->tame) return remake(g, n, image);
    node in[2] = {0};
    for (size_t i = 0; i < row->arity; i++) {
        in[i] = image[graph_input(g, n, i)];
        if (!g->info[in[i]].uniform || g->info[condition].uniform)
            in[i] = graph_binary(g, OP_GUARD, condition, in[i]);
    }
    return row->arity == 1 ? graph_unary(g, g->info[n].op, in[0])
                           : graph_binary(g, g->info[n].op, in[0], in[1]);
}

static node picked(struct graph *g, node condition, node a)
{
    return graph_binary(g, OP_PICK, condition,
                        remake_all(g, a, guarded, condition));
}

node graph_where(struct graph *g, node condition, node a, node b)
{
    if (g->failed) return 0;
    if (op_negation(graph_info(g, condition)->op) == OPS) {
        node size = graph_unary(g, OP_ABS, condition);
        condition = graph_binary(g, OP_GREATER, size, graph_number(g, 0.0));
    }
    double known;
    if (graph_is_number(g, condition, &known)) return known != 0.0 ? a : b;
    node otherwise = graph_binary(g, op_negation(graph_info(g, condition)->op),
                                  graph_input(g, condition, 0),
                                  graph_input(g, condition, 1));
    return graph_binary(g, OP_ADD, picked(g, condition, a),
                        picked(g, otherwise, b));
}

/* --- Matrices ----------------------------------------------------------- */

node graph_matmul(struct graph *g, node a, node b)
{
    if (g->failed) return 0;
    size_t rows = graph_info(g, a)->rows, inner = graph_info(g, a)->columns;
    size_t columns = graph_info(g, b)->columns;
    assert(inner == graph_info(g, b)->rows);
    if (inner == 1 && (rows == 1 || columns == 1))
        return graph_slice(g, graph_binary(g, OP_MUL, a, b), 0, rows, columns);
    return plain(g, OP_MATMUL, 2, (node[2]){a, b}, rows, columns);
}

node graph_solve(struct graph *g, node a, node b)
{
    if (g->failed) return 0;
    struct node_info i = *graph_info(g, a), j = *graph_info(g, b);
    assert(i.rows == i.columns && i.columns == j.rows);
    if (i.rows == 1) return graph_binary(g, OP_DIV, b, a);
    /* One inverse for all points instead of a solution at each. */
    if (i.uniform && !j.uniform)
        return graph_matmul(g, graph_solve(g, a, graph_identity(g, i.rows)), b);
    return plain(g, OP_SOLVE, 2, (node[2]){a, b}, j.rows, j.columns);
}

node graph_logdet(struct graph *g, node a)
{
    if (g->failed) return 0;
    assert(graph_info(g, a)->rows == graph_info(g, a)->columns);
    if (graph_size(g, a) == 1)
        return graph_unary(g, OP_LOG, graph_unary(g, OP_ABS, a));
    return plain(g, OP_LOGDET, 1, &a, 1, 1);
}

node graph_cholesky(struct graph *g, node a)
{
    if (g->failed) return 0;
    size_t n = graph_info(g, a)->rows;
    assert(n == graph_info(g, a)->columns);
    if (n == 1) return graph_unary(g, OP_SQRT, a);
    return plain(g, OP_CHOLESKY, 1, &a, n, n);
}

node graph_diagonal(struct graph *g, size_t n, double below, double on)
{
    if (g->failed) return 0;
    double *data = GRAPH_NEW(g, double, n *n);
    if (!data) return 0;
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c <= r; c++)
            data[r * n + c] = c == r ? on : below;
    node made = graph_constant(g, n, n, data);
    mem_free(data);
    return made;
}

node graph_identity(struct graph *g, size_t n)
{
    return graph_diagonal(g, n, 0.0, 1.0);
}

/* --- The same node over other inputs ------------------------------------ */

static node rebuild(struct graph *g, node n, const node *image)
{
    struct node_info info = g->info[n];
    node *input = GRAPH_NEW(g, node, info.inputs);
    if (!input) return 0;
    for (size_t i = 0; i < info.inputs; i++)
        input[i] = image[graph_input(g, n, i)];
    node made = make_node(g, info, input);
    mem_free(input);
    return made;
}

node remake(struct graph *g, node n, const node *image)
{
    if (g->failed) return 0;
    struct node_info info = g->info[n];
    if (!info.inputs) return n;
    node first = image[graph_input(g, n, 0)];
    if (OP_TABLE[info.op].arity == 1) return graph_unary(g, info.op, first);
    if (OP_TABLE[info.op].arity == 2)
        return graph_binary(g, info.op, first, image[graph_input(g, n, 1)]);
    if (info.op == OP_SLICE)
        return graph_slice(g, first, info.offset, info.rows, info.columns);
    if (info.op == OP_MATMUL)
        return graph_matmul(g, first, image[graph_input(g, n, 1)]);
    if (info.op == OP_SOLVE)
        return graph_solve(g, first, image[graph_input(g, n, 1)]);
    return rebuild(g, n, image);
}
