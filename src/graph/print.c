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

/* Element e of a as text_... of op_list.h has it. */
#define TEXT(NAME)                                                             \
    static struct sum text_##NAME(struct printer *p, node a, size_t e)
#define TEXT_IS(NAME, ...)                                                     \
    TEXT(NAME)                                                                 \
    {                                                                          \
        (void)a, (void)e;                                                      \
        return __VA_ARGS__;                                                    \
    }
#define INFO (*graph_info(p->g, a))
#define FIRST graph_input(p->g, a, 0)

TEXT_IS(constant, sum_number(&p->pen, INFO.data[e]))
TEXT_IS(param, parameter(p, INFO.offset + e))
TEXT_IS(state, state_element(p, e))
TEXT_IS(time, name(p, "t"))
TEXT_IS(input, listed(p, p->names->input, INFO.offset, "u"))
TEXT_IS(slope, sum_function(&p->pen, "slope", text_input(p, a, e)))

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

TEXT(network)
{
    char text[GRAPH_NAME_SIZE] = "net";
    const struct node_info *i = graph_info(p->g, a);
    if (p->names->net) p->names->net(p->names->owner, i->offset, text);
    return element_of(p, text, elements(p, graph_input(p->g, a, 0)), a, e);
}

TEXT(external)
{
    const struct node_info *i = graph_info(p->g, a);
    return element_of(p, p->g->call[i->offset].name,
                      elements(p, graph_input(p->g, a, 0)), a, e);
}

/* h(x, y); its derivative by the first argument h_1(x, y), by both h_12(x, y).
 */
TEXT(grid)
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
TEXT(other)
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

/* Whether more terms of a sum would not be seen: those that are there are as
 * long as what is shown, or all that follow would be "...". */
static bool is_full(const struct printer *p, struct sum s)
{
    return s.products > LONGEST || p->nodes > MOST_NODES;
}

/* Sum over k of left[r, k] right[k, c]; left is a matrix or the inverse of one.
 */
static struct sum dot_product(struct printer *p, node a, size_t e, bool inverse)
{
    node left = graph_input(p->g, a, 0), right = graph_input(p->g, a, 1);
    size_t columns = graph_info(p->g, a)->columns;
    size_t inner = graph_info(p->g, left)->columns;
    struct sum total = {0};
    for (size_t k = 0; k < inner && !p->pen.failed; k++) {
        if (is_full(p, total))
            return sum_add(&p->pen, total, 1.0, name(p, "..."));
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

TEXT_IS(product, dot_product(p, a, e, false))
TEXT_IS(solution, dot_product(p, a, e, true))

TEXT(total)
{
    struct sum sum = {0};
    node in = graph_input(p->g, a, 0);
    (void)e;
    for (size_t k = 0; k < graph_size(p->g, in) && !p->pen.failed; k++) {
        if (is_full(p, sum)) return sum_add(&p->pen, sum, 1.0, name(p, "..."));
        sum = sum_add(&p->pen, sum, 1.0, formula(p, in, k));
    }
    return sum;
}

TEXT_IS(first, formula(p, FIRST, 0))
TEXT_IS(slice, formula(p, FIRST, INFO.offset + e))
TEXT_IS(transpose,
        formula(p, FIRST, e % INFO.columns * INFO.rows + e / INFO.columns))

TEXT(pad)
{
    node in = graph_input(p->g, a, 0);
    size_t first = INFO.offset;
    if (e < first || e >= first + graph_size(p->g, in)) return (struct sum){0};
    return formula(p, in, e - first);
}

TEXT(stack)
{
    size_t i = 0;
    while (e >= graph_size(p->g, graph_input(p->g, a, i)))
        e -= graph_size(p->g, graph_input(p->g, a, i++));
    return formula(p, graph_input(p->g, a, i), e);
}

TEXT(gather)
{
    const double *from = graph_info(p->g, graph_input(p->g, a, 1))->data;
    return formula(p, graph_input(p->g, a, 0), (size_t)from[e]);
}

/* k[series]; of what is no parameter choose(..., series). */
TEXT(choose)
{
    node in = graph_input(p->g, a, 0), index = graph_input(p->g, a, 1);
    const char *of = sum_text(&p->pen, formula(p, index, 0));
    const struct node_info *i = graph_info(p->g, in);
    char text[GRAPH_NAME_SIZE];
    double value;
    (void)e;
    if (i->op != OP_PARAM || !p->names->param ||
        !p->names->param(p->names->owner, i->offset, text, &value))
        return text_other(p, a, 0);
    const char *made =
        pen_text(&p->pen, "%.*s[%s]", (int)strcspn(text, "["), text, of);
    return p->names->positive && p->names->positive(p->names->owner, i->offset)
               ? sum_positive(&p->pen, made)
               : sum_name(&p->pen, made, LEVEL_ATOM);
}

TEXT(scatter)
{
    node in = graph_input(p->g, a, 0);
    const double *to = graph_info(p->g, graph_input(p->g, a, 1))->data;
    struct sum sum = {0};
    for (size_t k = 0; k < graph_size(p->g, in) && !p->pen.failed; k++)
        if ((size_t)to[k] == e)
            sum = sum_add(&p->pen, sum, 1.0, formula(p, in, k));
    return sum;
}

/* --- Elementwise operations --------------------------------------------- */

static struct sum input(struct printer *p, node a, size_t i, size_t e)
{
    node in = graph_input(p->g, a, i);
    return formula(p, in, graph_size(p->g, in) == 1 ? 0 : e);
}

TEXT(call)
{
    const char *word = OP_TABLE[INFO.op].name;
    struct sum x = input(p, a, 0, e);
    if (INFO.inputs == 1) return sum_function(&p->pen, word, x);
    const char *y = sum_text(&p->pen, input(p, a, 1, e));
    return sum_name(
        &p->pen, pen_text(&p->pen, "%s(%s, %s)", word, sum_text(&p->pen, x), y),
        LEVEL_ATOM);
}

TEXT(neg)
{
    struct sum x = input(p, a, 0, e);
    return sum_multiply(&p->pen, sum_number(&p->pen, -1.0), x);
}

TEXT_IS(root, sum_power(&p->pen, input(p, a, 0, e), 0.5))
TEXT_IS(same, input(p, a, 0, e))
TEXT_IS(guard, input(p, a, 1, e))
TEXT_IS(difference,
        sum_add(&p->pen, input(p, a, 0, e), -1.0, input(p, a, 1, e)))
TEXT_IS(times, sum_multiply(&p->pen, input(p, a, 0, e), input(p, a, 1, e)))

static const char *const SIGN[OPS] = {[OP_GREATER] = ">",
                                      [OP_AT_MOST] = "<=",
                                      [OP_LESS] = "<",
                                      [OP_AT_LEAST] = ">="};

/* Without brackets. */
static const char *condition_text(struct printer *p, node a, size_t e)
{
    const char *sign = SIGN[INFO.op];
    if (!sign) return sum_text(&p->pen, formula(p, a, e));
    const char *x = sum_text(&p->pen, input(p, a, 0, e));
    const char *y = sum_text(&p->pen, input(p, a, 1, e));
    return pen_text(&p->pen, "%s %s %s", x, sign, y);
}

TEXT(compare)
{
    const char *text = pen_text(&p->pen, "(%s)", condition_text(p, a, e));
    return sum_name(&p->pen, text, LEVEL_ATOM);
}

static struct sum where(struct printer *p, node condition, node b, node c,
                        size_t e)
{
#define AT(a) (graph_size(p->g, a) == 1 ? 0 : e)
    const char *x = sum_text(&p->pen, formula(p, b, AT(b)));
    const char *y = c ? sum_text(&p->pen, formula(p, c, AT(c))) : "0";
    const char *when = condition_text(p, condition, AT(condition));
    return sum_name(&p->pen, pen_text(&p->pen, "where(%s, %s, %s)", when, x, y),
                    LEVEL_ATOM);
}

TEXT_IS(pick, where(p, FIRST, graph_input(p->g, a, 1), 0, e))

/* Whether a and b are picked where a condition holds and where it does not. */
static bool is_choice(const struct graph *g, node a, node b)
{
    if (graph_info(g, a)->op != OP_PICK || graph_info(g, b)->op != OP_PICK)
        return false;
    node c = graph_input(g, a, 0), d = graph_input(g, b, 0);
    return op_negation(graph_info(g, c)->op) == graph_info(g, d)->op &&
           graph_input(g, c, 0) == graph_input(g, d, 0) &&
           graph_input(g, c, 1) == graph_input(g, d, 1);
}

TEXT(sum)
{
    node x = graph_input(p->g, a, 0), y = graph_input(p->g, a, 1);
    if (is_choice(p->g, x, y))
        return where(p, graph_input(p->g, x, 0), graph_input(p->g, x, 1),
                     graph_input(p->g, y, 1), e);
    return sum_add(&p->pen, input(p, a, 0, e), 1.0, input(p, a, 1, e));
}

TEXT(quotient)
{
    struct sum y = input(p, a, 1, e);
    return sum_multiply(&p->pen, input(p, a, 0, e),
                        sum_power(&p->pen, y, -1.0));
}

static struct sum power(struct printer *p, struct sum x, struct sum y)
{
    double exponent;
    if (sum_is_number(y, &exponent)) return sum_power(&p->pen, x, exponent);
    const char *text = pen_text(&p->pen, "%s^%s", sum_tight(&p->pen, x),
                                sum_tight(&p->pen, y));
    return sum_name(&p->pen, text, LEVEL_POWER);
}

TEXT_IS(power, power(p, input(p, a, 0, e), input(p, a, 1, e)))

/* expm1(q log u)/q as (u^q - 1)/q. */
TEXT(ratio)
{
    struct pen *pen = &p->pen;
    struct sum x = input(p, a, 0, e), q = input(p, a, 1, e);
    struct sum raised = power(p, sum_function(pen, "exp", x), q);
    struct sum less = sum_add(pen, raised, -1.0, sum_number(pen, 1.0));
    return sum_multiply(pen, less, sum_power(pen, q, -1.0));
}

/* log1p(q w)/q as log((1 + q w)^(1/q)), which an exp around it then undoes. */
TEXT(log_ratio)
{
    struct pen *pen = &p->pen;
    struct sum x = input(p, a, 0, e), q = input(p, a, 1, e);
    struct sum base =
        sum_add(pen, sum_number(pen, 1.0), 1.0, sum_multiply(pen, q, x));
    return sum_function(pen, "log", power(p, base, sum_power(pen, q, -1.0)));
}

/* name(sqrt(q)*x)/sqrt(q). */
static struct sum square_ratio(struct printer *p, const char *name, node a,
                               size_t e)
{
    struct pen *pen = &p->pen;
    struct sum x = input(p, a, 0, e),
               k = sum_power(pen, input(p, a, 1, e), 0.5);
    struct sum whole = sum_function(pen, name, sum_multiply(pen, k, x));
    return sum_multiply(pen, whole, sum_power(pen, k, -1.0));
}

TEXT_IS(sinh_ratio, square_ratio(p, "sinh", a, e))
TEXT_IS(atanh_ratio, square_ratio(p, "atanh", a, e))

static struct sum (*const WRITTEN[OPS])(struct printer *p, node a, size_t e) = {
#define LEAF_TEXT(ID, NAME, ...) [OP_##ID] = text_##NAME,
#define ELEMENT_TEXT(ID, NAME, WORD, WHERE, IMAGE, HOW, ...)                   \
    [OP_##ID] = text_##HOW,
#define OTHER_TEXT(ID, NAME, SCRATCH, HOW, ...) [OP_##ID] = text_##HOW,
    LEAF_OPS(LEAF_TEXT) UNARY_OPS(ELEMENT_TEXT) BINARY_OPS(ELEMENT_TEXT)
        OTHER_OPS(OTHER_TEXT)};

static struct sum formula(struct printer *p, node a, size_t e)
{
    if (p->pen.failed) return (struct sum){0};
    if (++p->nodes > MOST_NODES) return name(p, "...");
    return WRITTEN[INFO.op](p, a, e);
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

char *graph_condition_text(const struct graph *g, node a, size_t element,
                           const struct graph_names *names)
{
    struct printer p = printer_of(g, names);
    struct sum s = formula(&p, a, element);
    return cut(&p, sum_condition(&p.pen, s));
}
