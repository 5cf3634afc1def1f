/* SPDX-License-Identifier: MIT */
/* All equations together: the drift vector, the diffusion matrix, and how its
 * noise becomes that of unit diffusion. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/build.h"
#include "lang/equation.h"
#include "lang/lamperti.h"
#include "lang/reaction.h"
#include "lang/singular.h"

struct system {
    struct equation *equation;
    size_t equations;
    size_t *shared; /* the numbers k of the dWk, in order of appearance */
    size_t shares, capacity;
    struct deficit deficit; /* rows whose noise is missing or dependent */
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
                        "'%s' has two equations; combine them in one",
                        s->declared.name);
    state->equation = true;
    y->equation[y->equations++] =
        (struct equation){.statement = s,
                          .place = s->declared.place,
                          .offset = state->offset,
                          .rows = graph_size(b->spec->graph, state->value)};
    return 0;
}

/* The equation of a state that only reactions change, without their part. */
static struct equation reactions_only(struct builder *b, const struct symbol *s)
{
    struct graph *g = b->spec->graph;
    size_t rows = graph_size(g, s->value);
    node still = graph_fill(g, graph_number(g, 0.0), rows, 1);
    return (struct equation){.place = s->place,
                             .offset = s->offset,
                             .rows = rows,
                             .form.drift = still};
}

static int find_equations(struct builder *b, const struct ast *ast,
                          struct system *y)
{
    y->equation = NEW(struct equation, ast->statements + b->symbols);
    if (!y->equation) return GSV_NO_MEMORY;
    for (size_t i = 0; i < ast->statements; i++) {
        if (ast->statement[i].kind != EQUATION) continue;
        int status = find_equation(b, &ast->statement[i], y);
        if (!status) status = equation_build(b, &y->equation[y->equations - 1]);
        if (status) return status;
    }
    for (size_t i = 0; i < b->symbols; i++) {
        const struct symbol *s = &b->symbol[i];
        if (s->kind != SYMBOL_STATE || s->equation) continue;
        if (!s->reacts)
            return complain(b->source, s->place,
                            "the state '%s' has no equation; add a line "
                            "'d%s = ...*dt + ...*dW'",
                            s->name, s->name);
        y->equation[y->equations++] = reactions_only(b, s);
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
    node whole = term_whole(g, t);
    size_t columns = graph_info(g, whole)->columns;
    for (size_t r = 0; r < q->rows; r++) {
        node *row = element + (q->offset + r) * m + column;
        for (size_t c = 0; t->matrix && c < columns; c++)
            row[c] = graph_slice(g, whole, r * columns + c, 1, 1);
        if (!t->matrix) row[t->noise ? 0 : r] = graph_slice(g, whole, r, 1, 1);
    }
}

static int full_matrix(struct builder *b, struct system *y, size_t m,
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
    for (size_t i = 0; i < spec->dim; i++)
        for (size_t j = 0; j < spec->reactions; j++)
            element[i * m + own + j] = reaction_noise(spec, j, i);
    *result = graph_stack(g, spec->dim * m, element, spec->dim, m);
    int status = find_deficit(g, spec->dim, m, element, &y->deficit);
    mem_free(element);
    return status;
}

/* Parts in the order of the states' rows, a vector for each equation. */
static int gather(struct builder *b, const struct system *y,
                  node (*part_of)(const struct equation *q), node *result)
{
    node *part = NEW(node, y->equations);
    if (!part) return GSV_NO_MEMORY;
    size_t n = 0;
    for (size_t row = 0; row < b->spec->dim;) {
        size_t i = 0;
        while (y->equation[i].offset != row)
            i++;
        const struct equation *q = &y->equation[i];
        part[n++] = part_of(q);
        row += q->rows;
    }
    *result = graph_stack(b->spec->graph, n, part, b->spec->dim, 1);
    mem_free(part);
    return 0;
}

/* One vector of an equation, for gather(). */
#define PART(NAME, NODE)                                                       \
    static node NAME##_of(const struct equation *q)                            \
    {                                                                          \
        return NODE;                                                           \
    }
PART(drift, q->form.drift)
PART(noise_factor, q->form.term[0].coefficient)
PART(shape, q->shape)
PART(stretch, q->map.stretch)
PART(unstretch, q->map.unstretch)

/* --- The factors of noises ---------------------------------------------- */

/* (dim, 1) where every equation has a noise of its own and no other, else
 * (dim, noises). */
static int factors(struct builder *b, struct system *y, node *result)
{
    const struct spec *spec = b->spec;
    return spec->diagonal ? gather(b, y, noise_factor_of, result)
                          : full_matrix(b, y, spec->noises, result);
}

/* A square root of the covariance. */
static node square_root(const struct spec *spec, node factor)
{
    struct graph *g = spec->graph;
    if (spec->diagonal || spec->noises == spec->dim) return factor;
    return graph_cholesky(g,
                          graph_matmul(g, factor, graph_transpose(g, factor)));
}

/* --- Why there is no map -------------------------------------------------- */

/* Whether row r of a factor depends on another state than number `own` + r. */
static int find_others(const struct spec *spec, node factor, size_t own,
                       bool *others)
{
    size_t n = graph_size(spec->graph, factor);
    bool *uses = NEW(bool, n * spec->dim);
    if (!uses) return GSV_NO_MEMORY;
    int status = graph_state_elements(spec->graph, factor, spec->dim, uses);
    *others = false;
    for (size_t i = 0; !status && i < n * spec->dim; i++)
        if (uses[i] && i % spec->dim != own + i / spec->dim) *others = true;
    mem_free(uses);
    return status;
}

/* Whether it is made of a network or gp of the state. */
static int find_function(const struct graph *g, node a, bool *has)
{
    bool *part = NEW(bool, a + 1);
    if (!part) return GSV_NO_MEMORY;
    graph_parts(g, a, part);
    *has = false;
    for (node n = 0; n <= a; n++) {
        enum op op = graph_info(g, n)->op;
        if (part[n] && graph_depends(g, n, OP_STATE))
            *has = *has || op == OP_NET || op == OP_GP || op == OP_CALL;
    }
    mem_free(part);
    return 0;
}

static int explain(struct builder *b, const struct equation *q,
                   const struct term *t, node factor)
{
    struct spec *spec = b->spec;
    bool others = false, function = false;
    int status = find_others(spec, factor, q->offset, &others);
    if (!status) status = find_function(spec->graph, factor, &function);
    spec->no_map_place = t->place;
    spec->no_map = others     ? NO_MAP_OTHERS
                   : function ? NO_MAP_FUNCTION
                              : NO_MAP_SHAPE;
    return status;
}

static void explain_as(struct spec *spec, enum no_map why, struct place place)
{
    spec->no_map = why;
    spec->no_map_place = place;
}

static void explain_jump(struct spec *spec, const struct system *y)
{
    for (size_t i = 0; i < y->equations; i++)
        for (size_t k = 0; k < y->equation[i].form.terms; k++) {
            const struct term *t = &y->equation[i].form.term[k];
            if (!noise_jumps(spec->graph, term_whole(spec->graph, t))) continue;
            explain_as(spec, NO_MAP_JUMPS, t->place);
            return;
        }
    assert(spec->reactions);
    explain_as(spec, NO_MAP_REACTION, spec->reaction[0].place);
}

/* Takes the shape that all noises of an equation share out of its terms; false
 * where they share none, with the reason in the spec. */
static bool take_shape(struct builder *b, struct equation *q)
{
    struct graph *g = b->spec->graph;
    node leaf = graph_leaf(g, OP_STATE, 0, b->spec->dim, 1);
    node state = graph_slice(g, leaf, q->offset, q->rows, 1);
    node one = graph_number(g, 1.0);
    for (size_t i = 0; i < q->form.terms; i++) {
        struct term *t = &q->form.term[i];
        node shape, rest;
        if (t->matrix && graph_depends(g, t->coefficient, OP_STATE)) {
            explain_as(b->spec, NO_MAP_MATRIX, t->place);
            return false;
        }
        node factor = !t->matrix      ? t->coefficient
                      : t->row_factor ? t->row_factor
                                      : one;
        factor = graph_fill(g, factor, q->rows, 1);
        if (!lamperti_split(g, factor, state, &rest, &shape)) {
            if (explain(b, q, t, factor)) g->failed = true;
            return false;
        }
        rest = graph_fill(g, rest, q->rows, 1);
        shape = graph_fill(g, shape, q->rows, 1);
        if (i && shape != q->shape) {
            explain_as(b->spec, NO_MAP_NOISES, t->place);
            return false;
        }
        q->shape = shape;
        if (t->matrix) t->row_factor = rest;
        else t->coefficient = rest;
    }
    if (!graph_depends(g, q->shape, OP_STATE)) {
        q->map = (struct lamperti){.stretch = state, .unstretch = state};
        return true;
    }
    if (lamperti_find(b->spec, q->shape, state, &q->map)) return true;
    if (explain(b, q, &q->form.term[0], q->shape)) g->failed = true;
    return false;
}

/* All domains or ranges below each other. */
static int join_conditions(struct builder *b, const struct system *y,
                           bool range, node *result)
{
    node *part = NEW(node, y->equations);
    size_t n = 0;
    if (!part) return GSV_NO_MEMORY;
    for (size_t i = 0; i < y->equations; i++) {
        const struct lamperti *map = &y->equation[i].map;
        node condition = range ? map->range : map->domain;
        if (condition) part[n++] = condition;
    }
    *result = graph_below(b->spec->graph, n, part);
    mem_free(part);
    return 0;
}

static int build_stretch(struct builder *b, struct system *y)
{
    struct spec *spec = b->spec;
    int status = gather(b, y, shape_of, &spec->shape);
    if (!status) status = gather(b, y, stretch_of, &spec->stretch);
    if (!status) status = gather(b, y, unstretch_of, &spec->unstretch);
    if (!status) status = join_conditions(b, y, false, &spec->stretch_domain);
    if (!status) status = join_conditions(b, y, true, &spec->stretch_range);
    for (size_t i = 0; i < y->equations; i++) {
        spec->numerical = spec->numerical || y->equation[i].map.numerical;
        spec->curved = spec->curved || y->equation[i].map.curved;
    }
    spec->noise = NOISE_STRETCHED;
    return status;
}

/* From the diffusion on: how it becomes that of unit diffusion. */
static int build_kind(struct builder *b, struct system *y)
{
    struct spec *spec = b->spec;
    bool found = true;
    spec->sigma = square_root(spec, spec->diffusion);
    if (noise_jumps(spec->graph, spec->diffusion)) {
        spec->noise = NOISE_BRIDGED;
        explain_jump(spec, y);
        return 0;
    }
    spec->noise = NOISE_ADDITIVE;
    if (!graph_depends(spec->graph, spec->diffusion, OP_STATE)) return 0;
    for (size_t i = 0; found && i < y->equations; i++)
        found = take_shape(b, &y->equation[i]);
    spec->noise = NOISE_BRIDGED;
    if (!found) return 0;
    node factor;
    int status = factors(b, y, &factor);
    if (status) return status;
    spec->sigma = square_root(spec, factor);
    return build_stretch(b, y);
}

/* Whether all elements of an equation have a noise of their own: none of its
 * factors is 0. */
static bool is_own(const struct graph *g, const struct equation *q)
{
    if (!q->form.terms || q->form.term[0].matrix) return false;
    for (size_t r = 0; r < q->rows; r++)
        if (element_is_zero(g, q->form.term[0].coefficient, r)) return false;
    return true;
}

static const struct equation *equation_of(const struct system *y, size_t row)
{
    size_t i = 0;
    while (row - y->equation[i].offset >= y->equation[i].rows)
        i++;
    return &y->equation[i];
}

static void build_singular(struct spec *spec, const struct system *y)
{
    const struct deficit *d = &y->deficit;
    spec->noise = NOISE_SINGULAR;
    explain_as(spec, d->missing ? NO_MAP_MISSING : NO_MAP_DEPENDENT,
               equation_of(y, d->row)->place);
}

static int build_noise(struct builder *b, struct system *y)
{
    struct spec *spec = b->spec;
    const struct graph *g = spec->graph;
    own_noises(y);
    int status = list_shared(y);
    if (status) return status;
    spec->diagonal = y->shares == 0 && !spec->reactions;
    spec->noises = y->shares + spec->reactions;
    for (size_t i = 0; i < y->equations; i++) {
        spec->noises += own_columns(g, &y->equation[i]);
        spec->diagonal = spec->diagonal && is_own(g, &y->equation[i]);
    }
    if (!spec->noises) spec->noises = 1;
    status = factors(b, y, &spec->diffusion);
    if (!status && y->deficit.found) build_singular(spec, y);
    else if (!status) status = build_kind(b, y);
    return status;
}

/* Whether an equation has no part of its own. */
static bool stands_still(const struct graph *g, const struct equation *q)
{
    for (size_t r = 0; r < q->rows; r++)
        if (!element_is_zero(g, q->form.drift, r)) return false;
    return !q->form.terms;
}

static void find_moving(struct spec *spec, const struct system *y)
{
    spec->reacts_only = spec->reactions;
    for (size_t i = 0; spec->reacts_only && i < y->equations; i++) {
        if (stands_still(spec->graph, &y->equation[i])) continue;
        spec->reacts_only = false;
        spec->moving_place = y->equation[i].place;
    }
}

static int keep_places(struct spec *spec, const struct system *y)
{
    spec->equation_place = NEW(struct place, spec->dim);
    for (size_t i = 0; spec->equation_place && i < spec->dim; i++)
        spec->equation_place[i] = equation_of(y, i)->place;
    return spec->equation_place ? 0 : GSV_NO_MEMORY;
}

int build_equations(struct builder *b, const struct ast *ast)
{
    struct system y = {0};
    int status = build_reactions(b);
    if (!status) status = find_equations(b, ast, &y);
    if (!status) status = gather(b, &y, drift_of, &b->spec->drift);
    if (!status) status = keep_places(b->spec, &y);
    if (!status) find_moving(b->spec, &y);
    if (!status) status = add_rates(b->spec, &b->spec->drift);
    if (!status) status = build_noise(b, &y);
    for (size_t i = 0; i < y.equations; i++)
        equation_free(&y.equation[i]);
    mem_free(y.equation);
    mem_free(y.shared);
    return status;
}
