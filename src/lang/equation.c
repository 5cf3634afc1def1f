/* SPDX-License-Identifier: MIT */
/* dx = A*dt + B*dW: equations are sums of terms that are linear in dt and the
 * noises. Their coefficients become the drift and the diffusion matrix. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

/* One noise in one equation. A matrix coefficient is that of `L @ dW`. */
struct term {
    size_t noise; /* 0 for the equation's own, k for dWk */
    node coefficient;
    bool matrix;
    bool bare; /* still waits for the matrix in L @ dW */
    struct place place;
};

/* What an expression is as a differential: a number, and what stands before
 * dt and before each noise. Node 0 is nothing. */
struct form {
    node plain, drift;
    bool has_plain;
    struct place plain_place;
    struct term *term;
    size_t terms, capacity;
};

static void form_free(struct form *f)
{
    mem_free(f->term);
    *f = (struct form){0};
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
            return complain(b->source, t.place,
                            "this noise stands here with a matrix and without, "
                            "or with matrices of different widths; join them "
                            "in one matrix");
        return combine(b, e, '+', old->coefficient, t.coefficient,
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
        graph_size(g, by) == c.rows) {
        node ones = graph_fill(g, graph_number(g, 1.0), 1, c.columns);
        by = graph_matmul(g, by, ones);
    }
    if (op == '/') return combine(b, e, '/', *coefficient, by, coefficient);
    return combine(b, e, '*', by, *coefficient, coefficient);
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
            return complain(b->source, t->place,
                            "a matrix goes before a noise with '@': write "
                            "'L @ dW'");
        status = scale(b, e, op, by, &t->coefficient);
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
                        "'@' goes before a noise, as in 'L @ dW'; write the "
                        "drift as '(A @ x)*dt'");
    if (f->terms != 1 || !f->term[0].bare || f->term[0].noise)
        return complain(b->source, expr_span(e),
                        "'@' takes a matrix and dW alone, as in 's*(L @ dW)'");
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
        return complain(b->source, expr_span(e),
                        "dt and dW cannot be divided by; write 'A*dt + B*dW'");
    if (left && e->op == '@')
        return complain(b->source, expr_span(e),
                        "the matrix stands before the noise: 'L @ dW'");
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
                        "dt and dW stand as factors, never in a power");
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
    case EXPR_LIST: break;
    }
    return complain(b->source, expr_span(e),
                    "dt and dW stand as factors of a term, never inside of "
                    "a function, an index or a list");
}

/* --- One equation ------------------------------------------------------- */

struct equation {
    const struct statement *statement;
    size_t offset, rows;
    struct form form;
};

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
    if (graph_depends(g, t->coefficient, OP_STATE))
        return complain(b->source, t->place,
                        "the factor of this noise depends on the state, which "
                        "is not supported yet; a factor may depend on "
                        "parameters, inputs and t");
    if (!t->coefficient)
        return complain(b->source, t->place,
                        "the factor of this noise is zero; without noise the "
                        "data have no density to learn from");
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

static int build_equation(struct builder *b, struct equation *q)
{
    struct graph *g = b->spec->graph;
    struct form *f = &q->form;
    const struct statement *s = q->statement;
    int status = form_of(b, s->value, f);
    if (status) return status;
    if (f->has_plain)
        return complain(b->source, f->plain_place,
                        "this term has no dt or dW; write '(...)*dt' for the "
                        "drift and '(...)*dW' for the noise");
    if (!f->terms)
        return complain(b->source, s->declared.place,
                        "the equation of '%s' has no noise; without it the "
                        "data have no density to learn from: add a term such "
                        "as 's*dW'",
                        s->declared.name);
    if (!f->drift) f->drift = graph_number(g, 0.0);
    status = check_shape(b, q, f->drift, "drift");
    if (status) return status;
    f->drift = graph_fill(g, f->drift, q->rows, 1);
    for (size_t i = 0; !status && i < f->terms; i++)
        status = check_term(b, q, &f->term[i]);
    return status;
}

/* --- All of them: the drift vector and the diffusion matrix ------------- */

struct system {
    struct equation *equation;
    size_t equations;
    size_t *shared; /* the numbers k of the dWk, in order of appearance */
    size_t shares, capacity;
};

static int find_equation(struct builder *b, const struct statement *s,
                         struct system *y)
{
    char hint[160];
    struct symbol *state =
        (struct symbol *)(size_t)scope_find(b, s->declared.name);
    if (state && state->kind != SYMBOL_STATE)
        return complain(b->source, s->declared.place,
                        "'%s' is not a state, and only states have equations",
                        s->declared.name);
    if (!state)
        return complain(b->source, s->declared.place,
                        "there is no state '%s'%s", s->declared.name,
                        scope_hint(b, s->declared.name, hint, sizeof hint));
    if (state->equation)
        return complain(b->source, s->declared.place,
                        "'%s' has two equations; join them in one",
                        s->declared.name);
    state->equation = true;
    y->equation[y->equations++] =
        (struct equation){.statement = s,
                          .offset = state->offset,
                          .rows = graph_size(b->spec->graph, state->value)};
    return 0;
}

static int find_equations(struct builder *b, const struct ast *ast,
                          struct system *y)
{
    y->equation = NEW(struct equation, ast->statements);
    if (!y->equation) return GSV_NO_MEMORY;
    for (size_t i = 0; i < ast->statements; i++) {
        if (ast->statement[i].kind != EQUATION) continue;
        int status = find_equation(b, &ast->statement[i], y);
        if (!status) status = build_equation(b, &y->equation[y->equations - 1]);
        if (status) return status;
    }
    for (size_t i = 0; i < b->symbols; i++) {
        const struct symbol *s = &b->symbol[i];
        if (s->kind == SYMBOL_STATE && !s->equation)
            return complain(b->source, s->place,
                            "the state '%s' has no equation; add a line "
                            "'d%s = ...*dt + ...*dW'",
                            s->name, s->name);
    }
    return 0;
}

/* A dWk that stands in one equation of one row only, which has no dW, is that
 * equation's own noise. */
static void own_noises(struct system *y)
{
    for (size_t i = 0; i < y->equations; i++) {
        struct equation *q = &y->equation[i];
        if (q->form.terms != 1 || q->rows != 1) continue;
        bool alone = true;
        for (size_t j = 0; j < y->equations; j++)
            for (size_t k = 0; j != i && k < y->equation[j].form.terms; k++)
                alone = alone && y->equation[j].form.term[k].noise !=
                                     q->form.term[0].noise;
        if (alone) q->form.term[0].noise = 0;
    }
}

static int list_shared(struct system *y)
{
    for (size_t i = 0; i < y->equations; i++)
        for (size_t k = 0; k < y->equation[i].form.terms; k++) {
            size_t noise = y->equation[i].form.term[k].noise, j = 0;
            while (j < y->shares && y->shared[j] != noise)
                j++;
            if (!noise || j < y->shares) continue;
            if (MEM_ROOM(y->shared, y->shares, y->capacity))
                return GSV_NO_MEMORY;
            y->shared[y->shares++] = noise;
        }
    return 0;
}

static size_t own_columns(const struct graph *g, const struct equation *q)
{
    for (size_t k = 0; k < q->form.terms; k++) {
        const struct term *t = &q->form.term[k];
        if (!t->noise)
            return t->matrix ? graph_info(g, t->coefficient)->columns : q->rows;
    }
    return 0;
}

/* Writes a term's coefficients into the elements of the matrix (dim, m). */
static void place_term(struct graph *g, const struct equation *q,
                       const struct term *t, size_t column, size_t m,
                       node *element)
{
    size_t columns = graph_info(g, t->coefficient)->columns;
    for (size_t r = 0; r < q->rows; r++) {
        node *row = element + (q->offset + r) * m + column;
        for (size_t c = 0; t->matrix && c < columns; c++)
            row[c] = graph_slice(g, t->coefficient, r * columns + c, 1, 1);
        if (!t->matrix)
            row[t->noise ? 0 : r] = graph_slice(g, t->coefficient, r, 1, 1);
    }
}

static int full_matrix(struct builder *b, const struct system *y, size_t m,
                       node *result)
{
    struct spec *spec = b->spec;
    struct graph *g = spec->graph;
    /* Node 0 is the number 0: what is not written is zero. */
    node *element = NEW(node, spec->dim * m);
    if (!element) return GSV_NO_MEMORY;
    size_t own = y->shares;
    for (size_t i = 0; i < y->equations; i++) {
        const struct equation *q = &y->equation[i];
        for (size_t k = 0; k < q->form.terms; k++) {
            size_t column = 0;
            const struct term *t = &q->form.term[k];
            while (t->noise && y->shared[column] != t->noise)
                column++;
            place_term(g, q, t, t->noise ? column : own, m, element);
        }
        own += own_columns(g, q);
    }
    *result = graph_stack(g, spec->dim * m, element, spec->dim, m);
    mem_free(element);
    return 0;
}

/* Parts in the order of the states' rows. */
static int gather(struct builder *b, const struct system *y, bool drift,
                  node *result)
{
    node *part = NEW(node, y->equations);
    if (!part) return GSV_NO_MEMORY;
    size_t n = 0;
    for (size_t row = 0; row < b->spec->dim;) {
        size_t i = 0;
        while (y->equation[i].offset != row)
            i++;
        const struct equation *q = &y->equation[i];
        part[n++] = drift ? q->form.drift : q->form.term[0].coefficient;
        row += q->rows;
    }
    *result = graph_stack(b->spec->graph, n, part, b->spec->dim, 1);
    mem_free(part);
    return 0;
}

static int build_noise(struct builder *b, struct system *y)
{
    struct spec *spec = b->spec;
    struct graph *g = spec->graph;
    own_noises(y);
    int status = list_shared(y);
    if (status) return status;
    spec->diagonal = y->shares == 0;
    spec->noises = y->shares;
    for (size_t i = 0; i < y->equations; i++) {
        spec->noises += own_columns(g, &y->equation[i]);
        spec->diagonal = spec->diagonal && !y->equation[i].form.term[0].matrix;
    }
    if (spec->noises < spec->dim)
        return complain(b->source, y->equation[0].statement->declared.place,
                        "%zu states are driven by only %zu %s, so the data "
                        "have no density; give every equation a noise of its "
                        "own ('dW')",
                        spec->dim, spec->noises,
                        spec->noises == 1 ? "noise" : "noises");
    if (spec->diagonal) {
        status = gather(b, y, false, &spec->diffusion);
        spec->sigma = spec->diffusion;
        return status;
    }
    status = full_matrix(b, y, spec->noises, &spec->diffusion);
    spec->sigma = spec->diffusion;
    if (!status && spec->noises > spec->dim) {
        node covariance = graph_matmul(g, spec->diffusion,
                                       graph_transpose(g, spec->diffusion));
        spec->sigma = graph_cholesky(g, covariance);
    }
    return status;
}

int build_equations(struct builder *b, const struct ast *ast)
{
    struct system y = {0};
    int status = find_equations(b, ast, &y);
    if (!status) status = gather(b, &y, true, &b->spec->drift);
    if (!status) status = build_noise(b, &y);
    for (size_t i = 0; i < y.equations; i++)
        form_free(&y.equation[i].form);
    mem_free(y.equation);
    mem_free(y.shared);
    return status;
}
