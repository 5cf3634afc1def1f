/* SPDX-License-Identifier: MIT */
/* From nodes to formulas, element by element. A graph may be small and its
 * formula without end, for nodes are shared: after some thousand nodes the rest
 * is "...". */
#include "graph/print.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "graph/formula.h"
#include "graph/ops.h"

enum { LONGEST = 200, MOST_NODES = 4000 };

struct printer {
    const struct graph *g;
    const struct graph_names *names;
    struct pen pen;
    size_t nodes; /* that were looked at */
};

static struct sum formula(struct printer *p, node a, size_t e);

/* --- Leaves ------------------------------------------------------------- */

static struct sum name(struct printer *p, const char *text)
{
    return sum_name(&p->pen, pen_text(&p->pen, "%s", text), LEVEL_ATOM);
}

static struct sum parameter(struct printer *p, size_t offset)
{
    char text[GRAPH_NAME_SIZE];
    double value = 0.0;
    if (!p->names->param) {
        snprintf(text, sizeof text, "p[%zu]", offset + 1);
        return name(p, text);
    }
    if (p->names->param(p->names->owner, offset, text, &value)) {
        const char *kept = pen_text(&p->pen, "%s", text);
        return p->names->positive && p->names->positive(p->names->owner, offset)
                   ? sum_positive(&p->pen, kept)
                   : sum_name(&p->pen, kept, LEVEL_ATOM);
    }
    return sum_number(&p->pen, value);
}

static struct sum listed(struct printer *p, const char *const *list, size_t i,
                         const char *letter)
{
    if (list) return name(p, list[i]);
    const char *text = pen_text(&p->pen, "%s[%zu]", letter, i + 1);
    return sum_name(&p->pen, text, LEVEL_ATOM);
}

static struct sum state_element(struct printer *p, size_t e)
{
    struct sum made = listed(p, p->names->state, e, "x");
    bool positive = p->names->positive_state && p->names->positive_state[e];
    if (made.products) made.product[0].factor[0].positive = positive;
    return made;
}

static struct sum leaf(struct printer *p, const struct node_info *i, size_t e)
{
    switch ((int)i->op) {
    case OP_CONSTANT: return sum_number(&p->pen, i->data[e]);
    case OP_PARAM: return parameter(p, i->offset + e);
    case OP_STATE: return state_element(p, e);
    case OP_TIME: return name(p, "t");
    case OP_INPUT: return listed(p, p->names->input, i->offset, "u");
    default: /* the slope of an input */
        return sum_function(&p->pen, "slope",
                            listed(p, p->names->input, i->offset, "u"));
    }
}

/* --- Functions of several numbers --------------------------------------- */

/* All elements of a node, with commas. */
static const char *elements(struct printer *p, node a)
{
    const char *text = "";
    for (size_t e = 0; e < graph_size(p->g, a) && !p->pen.failed; e++) {
        if (strlen(text) > LONGEST) return pen_text(&p->pen, "%s, ...", text);
        text = pen_text(&p->pen, "%s%s%s", text, e ? ", " : "",
                        sum_text(&p->pen, formula(p, a, e)));
    }
    return text;
}

/* A matrix by its name, or written out. */
static const char *matrix_text(struct printer *p, node a)
{
    const struct node_info *i = graph_info(p->g, a);
    char text[GRAPH_NAME_SIZE];
    double value;
    if (p->names->matrix_name && a == p->names->matrix)
        return p->names->matrix_name;
    if (i->op == OP_PARAM && p->names->param &&
        p->names->param(p->names->owner, i->offset, text, &value))
        return pen_text(&p->pen, "%.*s", (int)strcspn(text, "["), text);
    return pen_text(&p->pen, "[%s]", elements(p, a));
}

static struct sum element_of(struct printer *p, const char *function,
                             const char *inside, node a, size_t e)
{
    struct node_info i = *graph_info(p->g, a);
    struct pen *pen = &p->pen;
    const char *text = pen_text(pen, "%s(%s)", function, inside);
    if (i.columns > 1)
        text = pen_text(pen, "%s[%zu,%zu]", text, e / i.columns + 1,
                        e % i.columns + 1);
    else if (i.rows > 1) text = pen_text(pen, "%s[%zu]", text, e + 1);
    return sum_name(pen, text, LEVEL_ATOM);
}

static struct sum network(struct printer *p, node a, size_t e)
{
    char text[GRAPH_NAME_SIZE] = "net";
    const struct node_info *i = graph_info(p->g, a);
    if (p->names->net) p->names->net(p->names->owner, i->offset, text);
    return element_of(p, text, elements(p, graph_input(p->g, a, 0)), a, e);
}

/* h(x, y); its derivative by the first argument h_1(x, y), by both h_12(x, y).
 */
static struct sum grid_function(struct printer *p, node a, size_t e)
{
    char text[GRAPH_NAME_SIZE] = "gp";
    const struct node_info *i = graph_info(p->g, a);
    size_t number = gp_number(i->offset);
    if (p->names->gp) p->names->gp(p->names->owner, number, text);
    const char *function = text;
    for (size_t k = 0, order = 0; k < p->g->gp[number].axes; k++)
        for (size_t o = gp_order(i->offset, k); o-- > 0; order++)
            function =
                pen_text(&p->pen, "%s%s%zu", function, order ? "" : "_", k + 1);
    return element_of(p, function, elements(p, graph_input(p->g, a, 0)), a, e);
}

/* Any other function: of the elements of its first inputs. */
static struct sum other(struct printer *p, node a, size_t e)
{
    const struct node_info *i = graph_info(p->g, a);
    const char *inside = "";
    for (size_t k = 0; k < i->inputs; k++) {
        node in = graph_input(p->g, a, k);
        inside = pen_text(&p->pen, "%s%s%s", inside, k ? ", " : "",
                          graph_info(p->g, in)->columns > 1 ? matrix_text(p, in)
                                                            : elements(p, in));
    }
    return element_of(p, OP_TABLE[i->op].name, inside, a, e);
}

/* --- Matrices ----------------------------------------------------------- */

/* Sum over k of left[r, k] right[k, c]; left is a matrix or the inverse of one.
 */
static struct sum dot_product(struct printer *p, node a, size_t e, bool inverse)
{
    node left = graph_input(p->g, a, 0), right = graph_input(p->g, a, 1);
    size_t columns = graph_info(p->g, a)->columns;
    size_t inner = graph_info(p->g, left)->columns;
    struct sum total = {0};
    for (size_t k = 0; k < inner && !p->pen.failed; k++) {
        struct sum y = formula(p, right, k * columns + e % columns);
        if (!y.products) continue;
        size_t at = e / columns * inner + k;
        struct sum x =
            inverse ? element_of(p, "inv", matrix_text(p, left), left, at)
                    : formula(p, left, at);
        total = sum_add(&p->pen, total, 1.0, sum_multiply(&p->pen, x, y));
    }
    return total;
}

static struct sum total(struct printer *p, node a)
{
    struct sum sum = {0};
    node in = graph_input(p->g, a, 0);
    for (size_t e = 0; e < graph_size(p->g, in) && !p->pen.failed; e++)
        sum = sum_add(&p->pen, sum, 1.0, formula(p, in, e));
    return sum;
}

static struct sum stacked(struct printer *p, node a, size_t e)
{
    size_t i = 0;
    while (e >= graph_size(p->g, graph_input(p->g, a, i)))
        e -= graph_size(p->g, graph_input(p->g, a, i++));
    return formula(p, graph_input(p->g, a, i), e);
}

static struct sum padded(struct printer *p, node a, size_t e)
{
    node in = graph_input(p->g, a, 0);
    size_t first = graph_info(p->g, a)->offset;
    if (e < first || e >= first + graph_size(p->g, in)) return (struct sum){0};
    return formula(p, in, e - first);
}

static struct sum shaped(struct printer *p, node a, size_t e)
{
    struct node_info i = *graph_info(p->g, a);
    node in = graph_input(p->g, a, 0);
    switch ((int)i.op) {
    case OP_FILL: return formula(p, in, 0);
    case OP_SUM: return total(p, a);
    case OP_SLICE: return formula(p, in, i.offset + e);
    case OP_PAD: return padded(p, a, e);
    case OP_STACK: return stacked(p, a, e);
    case OP_TRANSPOSE:
        return formula(p, in, e % i.columns * i.rows + e / i.columns);
    case OP_MATMUL: return dot_product(p, a, e, false);
    case OP_SOLVE: return dot_product(p, a, e, true);
    case OP_NET: return network(p, a, e);
    case OP_GP: return grid_function(p, a, e);
    default: return other(p, a, e);
    }
}

/* --- Elementwise operations --------------------------------------------- */

static struct sum input(struct printer *p, node a, size_t i, size_t e)
{
    node in = graph_input(p->g, a, i);
    return formula(p, in, graph_size(p->g, in) == 1 ? 0 : e);
}

static struct sum unary(struct printer *p, node a, size_t e)
{
    enum op op = graph_info(p->g, a)->op;
    struct sum x = input(p, a, 0, e);
    if (op == OP_NEG)
        return sum_multiply(&p->pen, sum_number(&p->pen, -1.0), x);
    if (op == OP_SQRT) return sum_power(&p->pen, x, 0.5);
    if (op == OP_STOP) return x;
    return sum_function(&p->pen, OP_TABLE[op].name, x);
}

static struct sum power(struct printer *p, struct sum x, struct sum y)
{
    double exponent;
    if (sum_is_number(y, &exponent)) return sum_power(&p->pen, x, exponent);
    const char *text = pen_text(&p->pen, "%s^%s", sum_tight(&p->pen, x),
                                sum_tight(&p->pen, y));
    return sum_name(&p->pen, text, LEVEL_POWER);
}

/* expm1(q log u)/q as (u^q - 1)/q, and log1p(q w)/q as log((1 + q w)^(1/q)),
 * which an exp around it then undoes. */
static struct sum ratio(struct printer *p, enum op op, struct sum x,
                        struct sum q)
{
    struct pen *pen = &p->pen;
    struct sum one = sum_number(pen, 1.0), inverse = sum_power(pen, q, -1.0);
    if (op == OP_LOG1P_RATIO) {
        struct sum base = sum_add(pen, one, 1.0, sum_multiply(pen, q, x));
        return sum_function(pen, "log", power(p, base, inverse));
    }
    struct sum raised = power(p, sum_function(pen, "exp", x), q);
    return sum_multiply(pen, sum_add(pen, raised, -1.0, one), inverse);
}

/* sinh(sqrt(q)*x)/sqrt(q), and atanh(sqrt(q)*x)/sqrt(q). */
static struct sum square_ratio(struct printer *p, enum op op, struct sum x,
                               struct sum q)
{
    struct pen *pen = &p->pen;
    const char *name = op == OP_SINH_RATIO ? "sinh" : "atanh";
    struct sum k = sum_power(pen, q, 0.5);
    struct sum whole = sum_function(pen, name, sum_multiply(pen, k, x));
    return sum_multiply(pen, whole, sum_power(pen, k, -1.0));
}

static struct sum binary(struct printer *p, node a, size_t e)
{
    enum op op = graph_info(p->g, a)->op;
    struct pen *pen = &p->pen;
    struct sum x = input(p, a, 0, e), y = input(p, a, 1, e);
    switch ((int)op) {
    case OP_ADD: return sum_add(pen, x, 1.0, y);
    case OP_SUB: return sum_add(pen, x, -1.0, y);
    case OP_MUL: return sum_multiply(pen, x, y);
    case OP_DIV: return sum_multiply(pen, x, sum_power(pen, y, -1.0));
    case OP_POW: return power(p, x, y);
    case OP_EXPM1_RATIO:
    case OP_LOG1P_RATIO: return ratio(p, op, x, y);
    case OP_SINH_RATIO:
    case OP_ATANH_RATIO: return square_ratio(p, op, x, y);
    default:
        return sum_name(pen,
                        pen_text(pen, "%s(%s, %s)", OP_TABLE[op].name,
                                 sum_text(pen, x), sum_text(pen, y)),
                        LEVEL_ATOM);
    }
}

static struct sum formula(struct printer *p, node a, size_t e)
{
    const struct node_info *i = graph_info(p->g, a);
    if (p->pen.failed) return (struct sum){0};
    if (++p->nodes > MOST_NODES) return name(p, "...");
    if (i->op <= OP_SLOPE) return leaf(p, i, e);
    if (i->op >= OP_ADD && i->op <= OP_ATANH_RATIO) return binary(p, a, e);
    if (OP_TABLE[i->op].partial) return unary(p, a, e);
    return shaped(p, a, e);
}

/* --- Whole texts -------------------------------------------------------- */

static char *cut(struct printer *p, const char *text)
{
    size_t n = strlen(text), kept = n > LONGEST ? LONGEST : n;
    if (kept < n) text = pen_text(&p->pen, "%.*s...", (int)kept - 3, text);
    char *copy = p->pen.failed ? NULL : mem_string(text);
    pen_free(&p->pen);
    return copy;
}

static struct printer printer_of(const struct graph *g,
                                 const struct graph_names *names)
{
    /* What is inside of brackets may be longer than what is shown. */
    return (struct printer){
        .g = g, .names = names, .pen = {.longest = 2 * LONGEST}};
}

char *graph_element_text(const struct graph *g, node a, size_t element,
                         const struct graph_names *names)
{
    struct printer p = printer_of(g, names);
    struct sum s = formula(&p, a, element);
    return cut(&p, sum_text(&p.pen, s));
}

char *graph_text(const struct graph *g, node a, const struct graph_names *names)
{
    return graph_element_text(g, a, 0, names);
}

char *graph_condition_text(const struct graph *g, node a, size_t element,
                           const struct graph_names *names)
{
    struct printer p = printer_of(g, names);
    struct sum s = formula(&p, a, element);
    return cut(&p, sum_condition(&p.pen, s));
}
