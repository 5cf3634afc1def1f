/* SPDX-License-Identifier: MIT */
/* An expression of the text becomes a node of the graph: names are looked up,
 * shapes are checked, and every mistake is pointed at. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/memory.h"
#include "lang/lex.h"
#include "lang/scope.h"

/* --- Where and what ----------------------------------------------------- */

static void widen(const struct expr *e, size_t line, size_t *first,
                  size_t *last)
{
    if (e->place.line == line) {
        if (e->place.column < *first) *first = e->place.column;
        size_t end = e->place.column + e->place.length;
        if (end > *last) *last = end;
    }
    for (size_t i = 0; i < e->kids; i++)
        widen(e->kid[i], line, first, last);
}

struct place expr_span(const struct expr *e)
{
    size_t first = e->place.column, last = first + e->place.length;
    widen(e, e->place.line, &first, &last);
    return (struct place){e->place.line, first, last - first};
}

const char *shape_text(const struct graph *g, node a, char room[48])
{
    const struct node_info *i = graph_info(g, a);
    if (i->rows * i->columns == 1) snprintf(room, 48, "one number");
    else if (i->columns == 1) snprintf(room, 48, "a vector of %zu", i->rows);
    else snprintf(room, 48, "a %zu x %zu matrix", i->rows, i->columns);
    return room;
}

/* --- Operators ---------------------------------------------------------- */

static int multiply_matrix(struct builder *b, const struct expr *e, node x,
                           node y, node *result)
{
    struct graph *g = b->spec->graph;
    char left[48], right[48];
    size_t columns = graph_info(g, x)->columns, rows = graph_info(g, y)->rows;
    if (columns != rows)
        return complain(b->source, expr_span(e),
                        "'@' needs as many columns on its left as rows on its "
                        "right, but these are %s and %s; use '*' for products "
                        "element by element",
                        shape_text(g, x, left), shape_text(g, y, right));
    *result = graph_matmul(g, x, y);
    return 0;
}

static const char *operator_text(char op)
{
    static const char *const TEXT[] = {"+", "-", "*", "/", "^", "@", ">", "<"};
    for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++)
        if (op == *TEXT[i]) return TEXT[i];
    return op == AT_LEAST ? ">=" : "<=";
}

int combine(struct builder *b, const struct expr *e, char op, node x, node y,
            node *result)
{
    static const char sign[] = {'+', '-', '*',      '/',     '^',
                                '>', '<', AT_LEAST, AT_MOST, 0};
    static const enum op code[] = {OP_ADD,  OP_SUB,      OP_MUL,
                                   OP_DIV,  OP_POW,      OP_GREATER,
                                   OP_LESS, OP_AT_LEAST, OP_AT_MOST};
    struct graph *g = b->spec->graph;
    if (op == '@') return multiply_matrix(b, e, x, y, result);
    struct node_info i = *graph_info(g, x), j = *graph_info(g, y);
    bool fits = graph_size(g, x) == 1 || graph_size(g, y) == 1 ||
                (i.rows == j.rows && i.columns == j.columns);
    char left[48], right[48];
    bool call = e->kind == EXPR_CALL;
    if (!fits && i.columns == j.rows && op == '*' && !call)
        return complain(b->source, e->place,
                        "'*' works element by element, but these are %s and "
                        "%s; write '@' for the matrix product",
                        shape_text(g, x, left), shape_text(g, y, right));
    if (!fits)
        return complain(b->source, e->place,
                        "'%.60s' needs equal shapes or one number, but these "
                        "are %s and %s",
                        call ? e->name : operator_text(op),
                        shape_text(g, x, left), shape_text(g, y, right));
    *result = graph_binary(g, code[strchr(sign, op) - sign], x, y);
    return 0;
}

/* --- Names -------------------------------------------------------------- */

static int not_constant(struct builder *b, const struct expr *e)
{
    return complain(
        b->source, expr_span(e),
        "this must be one constant number; use numbers and constants only");
}

/* A column's name outside of the map that it belongs to. */
static int not_a_column(struct builder *b, const struct expr *e)
{
    const char *state = "";
    for (size_t i = 0; i < b->symbols; i++)
        if (b->symbol[i].column && !strcmp(b->symbol[i].column, e->name))
            state = b->symbol[i].name;
    return complain(b->source, e->place,
                    "'%s' is a column of the data; write the state '%s', "
                    "which is a function of it",
                    e->name, state);
}

static int evaluate_name(struct builder *b, const struct expr *e, node *result)
{
    struct graph *g = b->spec->graph;
    size_t k;
    if (evaluate_running(b, e->name, result)) return 0;
    const struct symbol *s = scope_find(b, e->name);
    /* Parameters and constants get their values before states are nodes. */
    if (s && s->kind == SYMBOL_STATE && !s->value) return not_constant(b, e);
    if (s && s->kind == SYMBOL_COLUMN && !s->value) return not_a_column(b, e);
    if ((!s || s->kind == SYMBOL_INPUT) && refuse_category(b, e))
        return GSV_BAD_INPUT;
    if (s) {
        *result = s->value;
        return 0;
    }
    if (!strcmp(e->name, "t")) {
        *result = graph_leaf(g, OP_TIME, 0, 1, 1);
        return 0;
    }
    if (!strcmp(e->name, "pi")) {
        *result = graph_number(g, PI);
        return 0;
    }
    if (!strcmp(e->name, "dt") || noise_of(e->name, &k))
        return complain(b->source, e->place,
                        "'%s' cannot be used here: an equation is a sum of "
                        "terms that are each multiplied by one dt or dW",
                        e->name);
    if (is_function(e->name))
        return complain(b->source, e->place,
                        "'%s' is a function; write %s(...)", e->name, e->name);
    return scope_unknown(b, e, "name",
                         "; declare it with state, input, param, const or let");
}

/* --- Functions ---------------------------------------------------------- */

static int call_unary(struct builder *b, const struct expr *e, enum op op,
                      const node *a, node *result)
{
    (void)e;
    *result = graph_unary(b->spec->graph, op, a[0]);
    return 0;
}

static int call_binary(struct builder *b, const struct expr *e, enum op op,
                       const node *a, node *result)
{
    /* '+' only lends its check of shapes. */
    node checked;
    if (combine(b, e, '+', a[0], a[1], &checked)) return GSV_BAD_INPUT;
    *result = graph_binary(b->spec->graph, op, a[0], a[1]);
    return 0;
}

static int call_sum(struct builder *b, const struct expr *e, enum op op,
                    const node *a, node *result)
{
    (void)e;
    *result = op == OP_SUM ? graph_sum(b->spec->graph, a[0])
                           : graph_softmax(b->spec->graph, a[0]);
    return 0;
}

static int call_dot(struct builder *b, const struct expr *e, enum op op,
                    const node *a, node *result)
{
    (void)op;
    node product;
    if (combine(b, e, '*', a[0], a[1], &product)) return GSV_BAD_INPUT;
    *result = graph_sum(b->spec->graph, product);
    return 0;
}

/* The leaf that `by` is or is a slice of, and where the slice begins. */
static int gradient_leaf(struct builder *b, const struct expr *e, node by,
                         node *leaf, size_t *offset)
{
    const struct graph *g = b->spec->graph;
    *leaf = by;
    *offset = 0;
    if (graph_info(g, by)->op == OP_SLICE) {
        *offset = graph_info(g, by)->offset;
        *leaf = graph_input(g, by, 0);
    }
    enum op op = graph_info(g, *leaf)->op;
    if (op == OP_STATE || op == OP_TIME || op == OP_INPUT) return 0;
    return complain(b->source, expr_span(e),
                    "grad(H, p) needs a state, an input or t as p, and this is "
                    "none of them");
}

/* The derivative of element i of a by the leaf. That by t is the derivative in
 * time while the states stand still: inputs move by their slopes. */
static node gradient_of(struct graph *g, node a, size_t i, node leaf)
{
    node element = graph_slice(g, a, i, 1, 1);
    bool inputs_move = graph_info(g, leaf)->op == OP_TIME &&
                       graph_depends(g, element, OP_INPUT);
    return inputs_move ? graph_time_derivative(g, element)
                       : graph_gradient(g, element, leaf);
}

/* By a vector the gradient of one number, or by one number the derivative of
 * every element. */
static int call_grad(struct builder *b, const struct expr *e, enum op op,
                     const node *a, node *result)
{
    (void)op;
    struct graph *g = b->spec->graph;
    node leaf;
    size_t offset, n = graph_size(g, a[0]);
    if (gradient_leaf(b, e->kid[1], a[1], &leaf, &offset)) return GSV_BAD_INPUT;
    struct node_info by = *graph_info(g, a[1]), of = *graph_info(g, a[0]);
    if (n > 1 && by.rows > 1)
        return complain(b->source, expr_span(e),
                        "grad(H, p) of %zu elements with respect to %zu would "
                        "be a matrix; use one element of H or of p",
                        n, by.rows);
    node *part = NEW(node, n);
    if (!part) return GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        node whole = gradient_of(g, a[0], i, leaf);
        part[i] = graph_slice(g, whole, offset, by.rows, by.columns);
    }
    *result = n == 1 ? part[0] : graph_stack(g, n, part, of.rows, of.columns);
    mem_free(part);
    return 0;
}

/* a where the condition is not 0, else b; all of one shape, or numbers. */
static int call_where(struct builder *b, const struct expr *e, enum op op,
                      const node *a, node *result)
{
    (void)op;
    node checked;
    int status = combine(b, e, '+', a[1], a[2], &checked);
    if (!status) status = combine(b, e, '+', a[0], checked, &checked);
    if (status) return status;
    *result = graph_where(b->spec->graph, a[0], a[1], a[2]);
    return 0;
}

static int call_integral(struct builder *b, const struct expr *e, enum op op,
                         const node *a, node *result)
{
    (void)op;
    return evaluate_integral(b, e, a[0], result);
}

int refuse_slope(const struct builder *b, struct place place, node a,
                 const char *what)
{
    if (!graph_depends(b->spec->graph, a, OP_SLOPE)) return 0;
    return complain(b->source, place,
                    "%s depends on grad(..., t) of an input, which jumps at "
                    "the rows of the data; only a drift can contain it: write "
                    "the slope to a column of the data, and declare that as "
                    "an input",
                    what);
}

struct function {
    const char *name;
    size_t arguments;
    enum op op;
    int (*call)(struct builder *b, const struct expr *e, enum op op,
                const node *a, node *result);
};

static const struct function FUNCTION[] = {
/* The rows of op_list.h that are CALLED. */
#define CALLED_ROW(...) {__VA_ARGS__},
#define INNER_ROW(...)
#define UNARY_FUNCTION(ID, NAME, WORD, ...)                                    \
    WORD##_ROW(#NAME, 1, OP_##ID, call_unary)
#define BINARY_FUNCTION(ID, NAME, WORD, ...)                                   \
    WORD##_ROW(#NAME, 2, OP_##ID, call_binary)
    UNARY_OPS(UNARY_FUNCTION)
        BINARY_OPS(BINARY_FUNCTION){"where", 3, OP_PICK, call_where},
    {"sum", 1, OP_SUM, call_sum},
    {"softmax", 1, OP_SOFTMAX, call_sum},
    {"dot", 2, OP_SUM, call_dot},
    {"grad", 2, OP_SUM, call_grad},
    {"integral", 1, OP_SUM, call_integral},
};
enum { FUNCTIONS = sizeof FUNCTION / sizeof *FUNCTION };

static const struct function *find_function(const char *name)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (!strcmp(FUNCTION[i].name, name)) return &FUNCTION[i];
    return NULL;
}

bool is_function(const char *name)
{
    return find_function(name);
}

static int unknown_function(struct builder *b, const struct expr *e)
{
    const char *name[FUNCTIONS];
    char known[400] = "; the functions are";
    for (size_t i = 0; i < FUNCTIONS; i++) {
        name[i] = FUNCTION[i].name;
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s",
                 name[i]);
    }
    if (scope_find(b, e->name))
        return complain(b->source, e->place,
                        "'%s' is not a function; for a product write '%s*(' "
                        "and for an element '%s['",
                        e->name, e->name, e->name);
    const char *near = gsv_suggestion(e->name, FUNCTIONS, name);
    if (!near) return scope_unknown(b, e, "function", known);
    return complain(b->source, e->place,
                    "unknown function '%s'; did you mean '%s'?", e->name, near);
}

/* A network or gp applied to other arguments than its own. */
static int call_net(struct builder *b, const struct expr *e,
                    const struct symbol *s, const node *a, node *result)
{
    struct graph *g = b->spec->graph;
    const struct spec *spec = b->spec;
    bool gp = s->kind == SYMBOL_GP, terms = s->kind == SYMBOL_TERMS;
    bool external = s->kind == SYMBOL_EXTERNAL;
    size_t given = 0;
    size_t wanted = terms      ? graph_size(g, spec->terms[s->net].argument)
                    : external ? spec->external[s->net].inputs
                    : gp       ? g->gp[s->net].axes
                               : g->net[s->net].width[0];
    for (size_t i = 0; i < e->kids; i++)
        given += graph_size(g, a[i]);
    if (given != wanted)
        return complain(b->source, expr_span(e),
                        "'%s' takes %zu %s, but is given %zu", e->name, wanted,
                        wanted == 1 ? "number" : "numbers", given);
    node argument = graph_stack(g, e->kids, a, given, 1);
    if (terms) return terms_at(b, e, s->net, argument, result);
    *result = external ? external_at(spec, s->net, argument)
              : gp     ? gp_at(spec, s->net, argument)
                       : scaled_net(g, s->net, argument);
    return 0;
}

static bool is_learned(const struct symbol *s)
{
    return s && (s->kind == SYMBOL_NET || s->kind == SYMBOL_GP ||
                 s->kind == SYMBOL_TERMS || s->kind == SYMBOL_EXTERNAL);
}

static int apply_function(struct builder *b, const struct expr *e,
                          const node *a, node *result)
{
    const struct symbol *s = scope_find(b, e->name);
    if (is_learned(s)) return call_net(b, e, s, a, result);
    const struct function *f = find_function(e->name);
    if (!f) return unknown_function(b, e);
    if (e->kids != f->arguments)
        return complain(b->source, expr_span(e),
                        "'%s' takes %zu %s, but is given %zu", e->name,
                        f->arguments,
                        f->arguments == 1 ? "argument" : "arguments", e->kids);
    return f->call(b, e, f->op, a, result);
}

bool is_elementwise(const char *name)
{
    const struct function *f = find_function(name);
    return f && (f->call == call_unary || f->call == call_binary);
}

/* where(c, a, b) with a condition that is known now: the other branch is not
 * looked at. */
static int choose_branch(struct builder *b, const struct expr *e, bool *chosen,
                         node *result)
{
    node c;
    double value;
    *chosen = false;
    if (is_over_points(b) || strcmp(e->name, "where") || e->kids != 3) return 0;
    int status = evaluate(b, e->kid[0], &c);
    if (status || !graph_is_number(b->spec->graph, c, &value)) return status;
    *chosen = true;
    return evaluate(b, e->kid[value == 0.0 ? 2 : 1], result);
}

int evaluate_call(struct builder *b, const struct expr *e, node *result)
{
    bool chosen;
    int done = choose_branch(b, e, &chosen, result);
    if (done || chosen) return done;
    const struct symbol *s = scope_find(b, e->name);
    if (is_flow(b, e)) return evaluate_flow(b, e, result);
    if (!is_learned(s) && !find_function(e->name))
        return unknown_function(b, e);
    node *a = NEW(node, e->kids);
    int status = a ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < e->kids; i++)
        status = evaluate(b, e->kid[i], &a[i]);
    if (!status) status = apply_function(b, e, a, result);
    mem_free(a);
    return status;
}

/* --- The whole ---------------------------------------------------------- */

static int evaluate_list(struct builder *b, const struct expr *e, node *result)
{
    node *a = NEW(node, e->kids);
    int status = a ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < e->kids; i++)
        status = evaluate(b, e->kid[i], &a[i]);
    if (!status && !e->kids)
        status = complain(b->source, e->place, "the list is empty");
    if (!status) *result = graph_below(b->spec->graph, e->kids, a);
    mem_free(a);
    return status;
}

static int evaluate_binary(struct builder *b, const struct expr *e,
                           node *result)
{
    node x, y;
    int status = evaluate(b, e->kid[0], &x);
    if (!status) status = evaluate(b, e->kid[1], &y);
    return status ? status : combine(b, e, e->op, x, y, result);
}

/* Derivatives of derivatives grow by a factor each, so that a short text can
 * make a graph without end. */
static int check_size(const struct builder *b, const struct expr *e)
{
    const struct graph *g = b->spec->graph;
    if (g->failed && g->nodes < TEXT_NODES) return GSV_NO_MEMORY;
    if (g->elements > TEXT_ELEMENTS)
        return complain(b->source, expr_span(e),
                        "up to here the values of all formulas have %.0f "
                        "elements; they can have at most %.0f: use smaller "
                        "vectors and matrices",
                        g->elements, TEXT_ELEMENTS);
    if (g->nodes <= TEXT_NODES) return 0;
    return complain(b->source, expr_span(e),
                    "up to here the formulas have more than %d operations; "
                    "write shorter ones, or nest grad() less deeply",
                    TEXT_NODES);
}

int evaluate(struct builder *b, const struct expr *e, node *result)
{
    return is_over_points(b) ? evaluate_over(b, e, result)
                             : evaluate_plainly(b, e, result);
}

int evaluate_plainly(struct builder *b, const struct expr *e, node *result)
{
    node x;
    int status = 0;
    switch (e->kind) {
    case EXPR_NUMBER: *result = graph_number(b->spec->graph, e->number); break;
    case EXPR_NAME: status = evaluate_name(b, e, result); break;
    case EXPR_INDEX: status = evaluate_index(b, e, result); break;
    case EXPR_CALL: status = evaluate_call(b, e, result); break;
    case EXPR_LIST: status = evaluate_list(b, e, result); break;
    case EXPR_BINARY: status = evaluate_binary(b, e, result); break;
    case EXPR_EACH: status = evaluate_each(b, e, result); break;
    case EXPR_RANGE: /* the parser has it inside of an index alone */
    case EXPR_NEGATE:
        status = evaluate(b, e->kid[0], &x);
        if (!status) *result = graph_unary(b->spec->graph, OP_NEG, x);
        break;
    }
    return status ? status : check_size(b, e);
}

int evaluate_number(struct builder *b, const struct expr *e, double *result)
{
    node a;
    int status = evaluate(b, e, &a);
    if (status) return status;
    if (!graph_is_number(b->spec->graph, a, result)) return not_constant(b, e);
    if (!isfinite(*result))
        return complain(b->source, expr_span(e), "this is not a finite number");
    return 0;
}
