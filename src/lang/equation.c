/* SPDX-License-Identifier: MIT */
/* dx = A*dt + B*dW: equations are sums of terms that are linear in dt and the
 * noises. */
#include "lang/equation.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static void form_free(struct form *f)
{
    mem_free(f->term);
    *f = (struct form){0};
}

/* A vector as a matrix with equal columns. */
static node widened(struct graph *g, node a, size_t columns)
{
    node ones = graph_fill(g, graph_number(g, 1.0), 1, columns);
    return graph_matmul(g, a, ones);
}

node term_whole(struct graph *g, const struct term *t)
{
    if (!t->row_factor) return t->coefficient;
    size_t columns = graph_info(g, t->coefficient)->columns;
    return graph_binary(g, OP_MUL, widened(g, t->row_factor, columns),
                        t->coefficient);
}

/* e is where to point when the factors of a noise do not fit together. */
static int form_add_term(struct builder *b, const struct expr *e,
                         struct form *f, struct term t)
{
    struct graph *g = b->spec->graph;
    for (size_t i = 0; i < f->terms; i++) {
        struct term *old = &f->term[i];
        if (old->noise != t.noise) continue;
        if (old->matrix != t.matrix ||
            (t.matrix && graph_info(g, old->coefficient)->columns !=
                             graph_info(g, t.coefficient)->columns))
            return complain(
                b->source, t.place,
                "this noise appears with a matrix and without one, or with "
                "matrices of different widths; combine them in one matrix");
        old->coefficient = term_whole(g, old);
        old->row_factor = 0;
        return combine(b, e, '+', old->coefficient, term_whole(g, &t),
                       &old->coefficient);
    }
    if (MEM_ROOM(f->term, f->terms, f->capacity)) return GSV_NO_MEMORY;
    f->term[f->terms++] = t;
    return 0;
}

/* Whether an expression speaks of dt or a noise anywhere. */
static bool has_differential(const struct expr *e)
{
    size_t k;
    if (e->kind == EXPR_NAME)
        return !strcmp(e->name, "dt") || noise_of(e->name, &k);
    for (size_t i = 0; i < e->kids; i++)
        if (has_differential(e->kid[i])) return true;
    return false;
}

static int form_of(struct builder *b, const struct expr *e, struct form *f);

static int form_of_name(struct builder *b, const struct expr *e, struct form *f)
{
    struct graph *g = b->spec->graph;
    size_t k;
    if (!strcmp(e->name, "dt")) {
        f->drift = graph_number(g, 1.0);
        return 0;
    }
    noise_of(e->name, &k);
    return form_add_term(b, e, f,
                         (struct term){.noise = k,
                                       .coefficient = graph_number(g, 1.0),
                                       .bare = true,
                                       .place = e->place});
}

static int form_negate(struct builder *b, struct form *f)
{
    struct graph *g = b->spec->graph;
    if (f->has_plain) f->plain = graph_unary(g, OP_NEG, f->plain);
    if (f->drift) f->drift = graph_unary(g, OP_NEG, f->drift);
    for (size_t i = 0; i < f->terms; i++) {
        f->term[i].coefficient = graph_unary(g, OP_NEG, f->term[i].coefficient);
        f->term[i].bare = false;
    }
    return 0;
}

static int sum_nodes(struct builder *b, const struct expr *e, node x, node y,
                     node *result)
{
    if (!x || !y) {
        *result = x ? x : y;
        return 0;
    }
    return combine(b, e, '+', x, y, result);
}

/* f += h; h is emptied. */
static int form_sum(struct builder *b, const struct expr *e, struct form *f,
                    struct form *h)
{
    int status = sum_nodes(b, e, f->drift, h->drift, &f->drift);
    if (h->has_plain && !f->has_plain) {
        f->has_plain = true;
        f->plain = h->plain;
        f->plain_place = h->plain_place;
    } else if (!status && h->has_plain) {
        status = combine(b, e, '+', f->plain, h->plain, &f->plain);
    }
    for (size_t i = 0; !status && i < h->terms; i++) {
        h->term[i].bare = false;
        status = form_add_term(b, e, f, h->term[i]);
    }
    for (size_t i = 0; i < f->terms; i++)
        f->term[i].bare = false;
    return status;
}

/* A vector times a matrix coefficient scales its rows. */
static int scale(struct builder *b, const struct expr *e, char op, node by,
                 node *coefficient)
{
    struct graph *g = b->spec->graph;
    struct node_info c = *graph_info(g, *coefficient);
    if (c.columns > 1 && graph_info(g, by)->columns == 1 &&
        graph_size(g, by) == c.rows)
        by = widened(g, by, c.columns);
    if (op == '/') return combine(b, e, '/', *coefficient, by, coefficient);
    return combine(b, e, '*', by, *coefficient, coefficient);
}

/* What depends on the state stays apart from the matrix whose rows it scales:
 * system.c looks at it alone. */
static int scale_term(struct builder *b, const struct expr *e, char op, node by,
                      struct term *t)
{
    struct graph *g = b->spec->graph;
    size_t rows = graph_info(g, t->coefficient)->rows, n = graph_size(g, by);
    if (!t->matrix || (n != 1 && n != rows) || !graph_depends(g, by, OP_STATE))
        return scale(b, e, op, by, &t->coefficient);
    node before = t->row_factor ? t->row_factor : graph_number(g, 1.0);
    t->row_factor = graph_binary(g, op == '/' ? OP_DIV : OP_MUL,
                                 graph_fill(g, before, rows, 1),
                                 graph_fill(g, by, rows, 1));
    return 0;
}

static int form_scale(struct builder *b, const struct expr *e, char op, node by,
                      struct form *f)
{
    struct graph *g = b->spec->graph;
    int status = 0;
    if (f->drift) status = scale(b, e, op, by, &f->drift);
    for (size_t i = 0; !status && i < f->terms; i++) {
        struct term *t = &f->term[i];
        if (graph_info(g, by)->columns > 1)
            return complain(
                b->source, t->place,
                "write a matrix before a noise with '@', as in 'L @ dW'");
        status = scale_term(b, e, op, by, t);
        t->bare = false;
    }
    return status;
}

/* L @ dW. */
static int form_matrix(struct builder *b, const struct expr *e, node by,
                       struct form *f)
{
    if (f->drift)
        return complain(b->source, expr_span(e),
                        "here '@' multiplies a matrix and a noise, as in 'L @ "
                        "dW'; write the drift as '(A @ x)*dt'");
    if (f->terms != 1 || !f->term[0].bare || f->term[0].noise)
        return complain(b->source, expr_span(e),
                        "'@' needs a matrix before it and dW alone after it, "
                        "as in 's*(L @ dW)'");
    f->term[0].coefficient = by;
    f->term[0].matrix = true;
    f->term[0].bare = false;
    return 0;
}

static int form_of_product(struct builder *b, const struct expr *e,
                           struct form *f)
{
    bool left = has_differential(e->kid[0]);
    const struct expr *with = e->kid[!left], *without = e->kid[left];
    node by;
    if (left && has_differential(e->kid[1]))
        return complain(b->source, expr_span(e),
                        "a term has one dt or one dW as a factor, not a "
                        "product of two");
    if (!left && e->op == '/')
        return complain(
            b->source, expr_span(e),
            "an expression cannot be divided by dt or dW; write 'A*dt + B*dW'");
    if (left && e->op == '@')
        return complain(b->source, expr_span(e),
                        "write the matrix before the noise, as in 'L @ dW'");
    int status = evaluate(b, without, &by);
    if (!status) status = form_of(b, with, f);
    if (status) return status;
    if (f->has_plain)
        return complain(b->source, f->plain_place,
                        "this term has no dt or dW; multiply every term in "
                        "the brackets by one");
    return e->op == '@' ? form_matrix(b, e, by, f)
                        : form_scale(b, e, e->op, by, f);
}

static int form_of_binary(struct builder *b, const struct expr *e,
                          struct form *f)
{
    if (e->op == '^')
        return complain(b->source, expr_span(e),
                        "dt and dW can only be factors, not parts of a power");
    if (e->op != '+' && e->op != '-') return form_of_product(b, e, f);
    struct form right = {0};
    int status = form_of(b, e->kid[0], f);
    if (!status) status = form_of(b, e->kid[1], &right);
    if (!status && e->op == '-') status = form_negate(b, &right);
    if (!status) status = form_sum(b, e, f, &right);
    form_free(&right);
    return status;
}

static int form_of(struct builder *b, const struct expr *e, struct form *f)
{
    if (!has_differential(e)) {
        f->has_plain = true;
        f->plain_place = expr_span(e);
        return evaluate(b, e, &f->plain);
    }
    int status = 0;
    switch (e->kind) {
    case EXPR_NAME: return form_of_name(b, e, f);
    case EXPR_BINARY: return form_of_binary(b, e, f);
    case EXPR_NEGATE:
        status = form_of(b, e->kid[0], f);
        return status ? status : form_negate(b, f);
    case EXPR_NUMBER:
    case EXPR_CALL:
    case EXPR_INDEX:
    case EXPR_RANGE:
    case EXPR_EACH:
    case EXPR_LIST: break;
    }
    return complain(b->source, expr_span(e),
                    "dt and dW can only be factors of a term, not parts of a "
                    "function, an index or a list");
}

/* --- One equation ------------------------------------------------------- */

static int check_shape(struct builder *b, const struct equation *q, node a,
                       const char *what)
{
    struct graph *g = b->spec->graph;
    char text[48];
    struct node_info i = *graph_info(g, a);
    if (graph_size(g, a) == 1 || (i.rows == q->rows && i.columns == 1))
        return 0;
    return complain(
        b->source, expr_span(q->statement->value),
        "'%s' has %zu %s, but the %s of its equation is %s%s",
        q->statement->declared.name, q->rows,
        q->rows == 1 ? "element" : "elements", what, shape_text(g, a, text),
        q->rows == 1 && i.columns == 1 ? "; take one of them, such as [1]"
                                       : "");
}

static int check_term(struct builder *b, struct equation *q, struct term *t)
{
    struct graph *g = b->spec->graph;
    struct node_info i = *graph_info(g, t->coefficient);
    char text[48];
    int refused = refuse_slope(b, t->place, term_whole(g, t), "this noise");
    if (refused) return refused;
    if (g->failed) return GSV_NO_MEMORY;
    if (!t->coefficient)
        return complain(b->source, t->place,
                        "the factor of this noise is zero; leave this term "
                        "out, as an equation may have no noise");
    if (!t->matrix) {
        int status = check_shape(b, q, t->coefficient, "noise");
        if (!status) t->coefficient = graph_fill(g, t->coefficient, q->rows, 1);
        return status;
    }
    if (i.rows != q->rows)
        return complain(b->source, t->place,
                        "the matrix before dW must have %zu rows, one for "
                        "each element of '%s', but is %s",
                        q->rows, q->statement->declared.name,
                        shape_text(g, t->coefficient, text));
    return 0;
}

static int form_with_index(struct builder *b, void *with)
{
    struct equation *q = with;
    return form_of(b, q->statement->value, &q->form);
}

/* dx[i] = ... is the equation of a vector, with i as [1, 2, ...]. */
static int find_form(struct builder *b, struct equation *q)
{
    const struct statement *s = q->statement;
    if (!s->index) return form_of(b, s->value, &q->form);
    if (q->rows == 1)
        return complain(b->source, s->index_place,
                        "'%s' has one element, and no index; write 'd%s = "
                        "...*dt + ...*dW'",
                        s->declared.name, s->declared.name);
    return with_index(b, s->index, s->index_place, q->rows, form_with_index, q);
}

int equation_build(struct builder *b, struct equation *q)
{
    struct graph *g = b->spec->graph;
    struct form *f = &q->form;
    int status = find_form(b, q);
    if (status) return status;
    if (f->has_plain)
        return complain(b->source, f->plain_place,
                        "this term has no dt or dW; write '(...)*dt' for the "
                        "drift and '(...)*dW' for the noise");
    if (!f->drift) f->drift = graph_number(g, 0.0);
    status = check_shape(b, q, f->drift, "drift");
    if (status) return status;
    f->drift = graph_fill(g, f->drift, q->rows, 1);
    for (size_t i = 0; !status && i < f->terms; i++)
        status = check_term(b, q, &f->term[i]);
    return status;
}

void equation_free(struct equation *q)
{
    form_free(&q->form);
}
