/* SPDX-License-Identifier: MIT */
/* The inverse of a map z = Z(x, t), found by peeling operations off from the
 * outside: with Z = h(g(x)), z = h(v) is solved for v, then v = g(x) for x.
 * Every operation leaves the logarithm of its slope, whose sum is
 * log |det dZ/dx|, and the conditions under which it is defined. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "graph/ops.h"
#include "graph/words.h"
#include "lang/scope.h"

static node log_abs(struct graph *g, node a)
{
    return f(g, OP_LOG, f(g, OP_ABS, a));
}

/* Adds the logarithms of n slopes, or of one that all elements share. */
static void add_slopes(struct graph *g, struct state_map *m, node slope)
{
    size_t n = graph_size(g, m->inverse);
    node sum = graph_size(g, slope) == 1
                   ? op(g, OP_MUL, num(g, (double)n), slope)
                   : graph_sum(g, slope);
    m->log_slope = op(g, OP_ADD, m->log_slope, sum);
}

static int add_condition(struct state_map *m, node margin)
{
    if (MEM_ROOM(m->condition, m->conditions, m->capacity))
        return GSV_NO_MEMORY;
    m->condition[m->conditions++] = margin;
    return 0;
}

/* --- Functions ---------------------------------------------------------- */

static node square(struct graph *g, node y)
{
    return op(g, OP_MUL, y, y);
}

/* log((1 + y) / (1 - y)) / 2 */
static node atanh_of(struct graph *g, node y)
{
    node above = f(g, OP_LOG1P, y), below = f(g, OP_LOG1P, f(g, OP_NEG, y));
    return op(g, OP_MUL, num(g, 0.5), op(g, OP_SUB, above, below));
}

/* log(exp(y) - 1) = y + log(1 - exp(-y)) */
static node softplus_back(struct graph *g, node y)
{
    node rest = f(g, OP_NEG, f(g, OP_EXPM1, f(g, OP_NEG, y)));
    return op(g, OP_ADD, y, f(g, OP_LOG, rest));
}

static const double HALF_PI = 1.57079632679489661923;

/* A function, the one that undoes it, and where it is defined. */
struct inverse {
    enum op op, back;
    double low, high;
    node (*undo)(struct graph *g, node y); /* instead of back */
};

static const struct inverse INVERSE[] = {
    {OP_EXP, OP_LOG, -INFINITY, INFINITY, NULL},
    {OP_LOG, OP_EXP, 0.0, INFINITY, NULL},
    {OP_LOG1P, OP_EXPM1, -1.0, INFINITY, NULL},
    {OP_EXPM1, OP_LOG1P, -INFINITY, INFINITY, NULL},
    {OP_SQRT, OP_SQRT, 0.0, INFINITY, square},
    {OP_LOGIT, OP_SIGMOID, 0.0, 1.0, NULL},
    {OP_SIGMOID, OP_LOGIT, -INFINITY, INFINITY, NULL},
    {OP_SOFTPLUS, OP_LOG, -INFINITY, INFINITY, softplus_back},
    {OP_ASINH, OP_SINH, -INFINITY, INFINITY, NULL},
    {OP_SINH, OP_ASINH, -INFINITY, INFINITY, NULL},
    {OP_TANH, OP_LOG, -INFINITY, INFINITY, atanh_of},
    {OP_TAN, OP_ATAN, -HALF_PI, HALF_PI, NULL},
    {OP_ATAN, OP_TAN, -INFINITY, INFINITY, NULL},
    {OP_ASIN, OP_SIN, -1.0, 1.0, NULL},
    {OP_ACOS, OP_COS, -1.0, 1.0, NULL},
};
enum { INVERSES = sizeof INVERSE / sizeof *INVERSE };

static int no_inverse(struct builder *b, const struct expr *e)
{
    char known[200] = "";
    for (size_t i = 0; i < INVERSES; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s ",
                 OP_TABLE[INVERSE[i].op].name);
    return complain(b->source, expr_span(e),
                    "no inverse is known for this; a map can contain + - * / ^ "
                    "@ and %sflow",
                    known);
}

/* x: the argument, forward. */
static int undo_function(struct builder *b, const struct expr *e, node x,
                         struct state_map *m)
{
    struct graph *g = b->spec->graph;
    const struct inverse *i = INVERSE;
    while (i < INVERSE + INVERSES && strcmp(OP_TABLE[i->op].name, e->name) != 0)
        i++;
    if (i == INVERSE + INVERSES) return no_inverse(b, e);
    add_slopes(g, m, log_abs(g, OP_TABLE[i->op].partial(g, f(g, i->op, x), 0)));
    m->inverse = i->undo ? i->undo(g, m->inverse) : f(g, i->back, m->inverse);
    int status = 0;
    if (isfinite(i->low))
        status = add_condition(m, op(g, OP_SUB, x, num(g, i->low)));
    if (!status && isfinite(i->high))
        status = add_condition(m, op(g, OP_SUB, num(g, i->high), x));
    return status;
}

/* --- Operators ---------------------------------------------------------- */

/* x^p on positive x; p by itself, or the column is in the exponent: p^x. */
static int undo_power(struct builder *b, const struct expr *e, bool exponent,
                      node x, node p, struct state_map *m)
{
    struct graph *g = b->spec->graph;
    double v;
    bool known = graph_is_number(g, p, &v);
    if (exponent) {
        if (known && !(v > 0.0 && v != 1.0))
            return complain(b->source, expr_span(e),
                            "a power of %g has no inverse; the base must be "
                            "positive and not 1",
                            v);
        node rate = f(g, OP_LOG, p);
        add_slopes(g, m, log_abs(g, rate));
        add_slopes(g, m, op(g, OP_MUL, rate, x));
        m->inverse = op(g, OP_DIV, f(g, OP_LOG, m->inverse), rate);
        return 0;
    }
    if (known && v == 0.0)
        return complain(b->source, expr_span(e),
                        "the power 0 is 1 for all data and has no inverse");
    node less = op(g, OP_SUB, p, num(g, 1.0));
    add_slopes(g, m, log_abs(g, p));
    add_slopes(g, m, op(g, OP_MUL, less, f(g, OP_LOG, x)));
    m->inverse = op(g, OP_POW, m->inverse, op(g, OP_DIV, num(g, 1.0), p));
    return add_condition(m, x);
}

/* a * x, x / a and, on positive x, a / x. */
static int undo_factor(struct builder *b, const struct expr *e, bool below,
                       node x, node a, struct state_map *m)
{
    struct graph *g = b->spec->graph;
    double v;
    bool divides = e->op == '/' && !below;
    if (graph_is_number(g, a, &v) && v == 0.0)
        return complain(b->source, expr_span(e),
                        "a map with the factor 0 has no inverse");
    node slope = log_abs(g, a);
    add_slopes(g, m, divides ? f(g, OP_NEG, slope) : slope);
    if (below) {
        add_slopes(g, m, op(g, OP_MUL, num(g, -2.0), f(g, OP_LOG, x)));
        m->inverse = op(g, OP_DIV, a, m->inverse);
        return add_condition(m, x);
    }
    m->inverse = op(g, divides ? OP_MUL : OP_DIV, m->inverse, a);
    return 0;
}

/* Whether a matrix that is known now can be solved with. */
static int check_matrix(struct builder *b, const struct expr *e, node A)
{
    const struct node_info *i = graph_info(b->spec->graph, A);
    if (i->op != OP_CONSTANT) return 0;
    size_t n = i->rows;
    double *LU = NEW(double, n *n);
    int *pivot = NEW(int, n);
    int status = LU && pivot ? 0 : GSV_NO_MEMORY;
    if (!status) memcpy(LU, i->data, n * n * sizeof *LU);
    if (!status && !linalg_lu(n, LU, pivot))
        status = complain(b->source, expr_span(e),
                          "this matrix is singular and has no inverse");
    mem_free(LU);
    mem_free(pivot);
    return status;
}

/* A @ x */
static int undo_matrix(struct builder *b, const struct expr *e, node A,
                       struct state_map *m)
{
    struct graph *g = b->spec->graph;
    char text[48];
    struct node_info i = *graph_info(g, A);
    if (i.rows != i.columns || i.rows != graph_size(g, m->inverse))
        return complain(b->source, expr_span(e),
                        "only a square matrix has an inverse, and this is %s",
                        shape_text(g, A, text));
    int status = check_matrix(b, e->kid[0], A);
    if (status) return status;
    m->log_slope = op(g, OP_ADD, m->log_slope, graph_logdet(g, A));
    m->inverse = graph_solve(g, A, m->inverse);
    return 0;
}

/* right: the column is in the right operand; x is that operand, a the other. */
static int undo_operator(struct builder *b, const struct expr *e, char sign,
                         bool right, node x, node a, struct state_map *m)
{
    struct graph *g = b->spec->graph;
    switch (sign) {
    case '+': m->inverse = op(g, OP_SUB, m->inverse, a); return 0;
    case '-':
        m->inverse =
            right ? op(g, OP_SUB, a, m->inverse) : op(g, OP_ADD, m->inverse, a);
        return 0;
    case '*': return undo_factor(b, e, false, x, a, m);
    case '/': return undo_factor(b, e, right, x, a, m);
    case '^': return undo_power(b, e, right, x, a, m);
    case '@': return right ? undo_matrix(b, e, a, m) : no_inverse(b, e);
    }
    return no_inverse(b, e);
}

/* --- The whole ---------------------------------------------------------- */

static bool mentions(const struct expr *e, const char *column)
{
    if (e->kind == EXPR_NAME && !strcmp(e->name, column)) return true;
    for (size_t i = 0; i < e->kids; i++)
        if (mentions(e->kid[i], column)) return true;
    return false;
}

/* One number cannot be brought back from several. */
static int check_size(struct builder *b, const struct expr *e, node x,
                      const struct state_map *m)
{
    const struct graph *g = b->spec->graph;
    char from[48], to[48];
    if (graph_size(g, x) == graph_size(g, m->inverse)) return 0;
    node whole;
    int status = evaluate(b, e, &whole);
    if (status) return status;
    return complain(b->source, expr_span(e),
                    "this maps %s to %s and has no inverse",
                    shape_text(g, x, from), shape_text(g, whole, to));
}

/* Two operands, of which one has the column: operators, and pow(x, p). */
static int undo_pair(struct builder *b, const struct expr *e,
                     const char *column, struct state_map *m,
                     const struct expr **inside)
{
    bool right = mentions(e->kid[1], column);
    node x, a;
    *inside = e->kid[right];
    int status = evaluate(b, *inside, &x);
    if (!status) status = evaluate(b, e->kid[!right], &a);
    if (!status && e->op != '@') status = check_size(b, e, x, m);
    if (status) return status;
    return undo_operator(b, e, e->kind == EXPR_CALL ? '^' : e->op, right, x, a,
                         m);
}

/* Undoes the outermost operation of e; what is left is inside. */
static int undo(struct builder *b, const struct expr *e, const char *column,
                struct state_map *m, const struct expr **inside)
{
    struct graph *g = b->spec->graph;
    node x;
    if (!e->kids) return no_inverse(b, e);
    *inside = e->kid[0];
    if (e->kind == EXPR_NEGATE) {
        m->inverse = f(g, OP_NEG, m->inverse);
        return 0;
    }
    bool call = e->kind == EXPR_CALL;
    if (e->kind == EXPR_BINARY || (call && !strcmp(e->name, "pow")))
        return undo_pair(b, e, column, m, inside);
    if (is_flow(b, e)) return undo_flow(b, e, m);
    if (!call || e->kids != 1) return no_inverse(b, e);
    int status = evaluate(b, *inside, &x);
    return status ? status : undo_function(b, e, x, m);
}

static bool is_column(const struct expr *e, const char *column)
{
    const struct expr *name = e->kind == EXPR_INDEX ? e->kid[0] : e;
    return name->kind == EXPR_NAME && !strcmp(name->name, column);
}

int invert(struct builder *b, const struct expr *e, const char *column,
           struct state_map *m)
{
    struct graph *g = b->spec->graph;
    char text[48], wanted[48];
    if (graph_size(g, m->forward) != graph_size(g, m->inverse))
        return complain(
            b->source, expr_span(e), "this is %s, but the state is %s",
            shape_text(g, m->forward, text), shape_text(g, m->inverse, wanted));
    while (!is_column(e, column)) {
        const struct expr *inside = e;
        int status = undo(b, e, column, m, &inside);
        if (status) return status;
        e = inside;
    }
    return 0;
}
