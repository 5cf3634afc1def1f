/* SPDX-License-Identifier: MIT */
/* State lines. A state is read from the column of its own name, or it is an
 * invertible function of other columns, z = Z(x, t): then the names in Z that
 * nothing declares are the data's columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

/* --- Columns ------------------------------------------------------------ */

bool is_column_of(const struct declared *d, const char *column)
{
    size_t n = strlen(d->name);
    if (!d->rank) return !strcmp(d->name, column);
    if (strncmp(d->name, column, n) || column[n] < '1' || column[n] > '9' ||
        strspn(column + n, "0123456789") != strlen(column + n))
        return false;
    return strlen(column + n) < 9 && strtoul(column + n, NULL, 10) <= d->rows;
}

int column_is_ordinary(struct builder *b, const struct declared *d)
{
    static const char *const OWN[] = {"time", "series", "id"};
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (is_column_of(d, OWN[i]))
            return complain(b->source, d->place,
                            "'%s' is the name of a special column of data "
                            "files; choose another name",
                            d->name);
    return 0;
}

int columns_are_free(struct builder *b, const struct declared *d)
{
    const struct spec *spec = b->spec;
    for (size_t i = 0; i < spec->dim + spec->inputs; i++) {
        const char *other =
            i < spec->dim ? spec->column[i] : spec->input[i - spec->dim].name;
        if (is_column_of(d, other))
            return complain(b->source, d->place,
                            "two states or inputs would be read from the "
                            "column '%s'; rename one of them",
                            other);
    }
    return column_is_ordinary(b, d);
}

char *column_name(const struct declared *d, size_t i)
{
    size_t n = strlen(d->name) + 24;
    char *name = NEW(char, n);
    if (name && d->rank) snprintf(name, n, "%s%zu", d->name, i + 1);
    else if (name) snprintf(name, n, "%s", d->name);
    return name;
}

static int add_column(struct spec *spec, const struct declared *d, size_t i)
{
    if (MEM_ROOM(spec->column, spec->dim, spec->column_capacity))
        return GSV_NO_MEMORY;
    char *name = column_name(d, i);
    if (!name) return GSV_NO_MEMORY;
    spec->column[spec->dim++] = name;
    return 0;
}

/* --- The column in a map ------------------------------------------------ */

const struct statement *find_declaration(const struct builder *b,
                                         const char *name)
{
    for (size_t i = 0; i < b->ast->statements; i++) {
        const struct statement *s = &b->ast->statement[i];
        if (declares_name(s->kind) && !strcmp(s->declared.name, name)) return s;
    }
    return NULL;
}

bool is_free(const struct builder *b, const char *name)
{
    size_t noise;
    return !find_declaration(b, name) && !is_function(name) &&
           strcmp(name, "t") && strcmp(name, "pi") && strcmp(name, "dt") &&
           !noise_of(name, &noise);
}

/* What a name that is no column's may have been meant for. */
static const char *near_name(const struct builder *b, const char *name)
{
    size_t n = 0;
    const char **known = NEW(const char *, b->ast->statements);
    if (!known) return NULL;
    for (size_t i = 0; i < b->ast->statements; i++) {
        const struct statement *s = &b->ast->statement[i];
        if (s->kind == PARAM || s->kind == CONSTANT || s->kind == LET)
            known[n++] = s->declared.name;
    }
    const char *near = gsv_suggestion(name, n, known);
    mem_free(known);
    return near;
}

static int two_columns(struct builder *b, const struct statement *s,
                       const struct expr *e, const struct declared *first)
{
    const char *near = near_name(b, e->name), *wrong = e->name;
    if (!near) near = near_name(b, wrong = first->name);
    if (near)
        return complain(b->source, wrong == e->name ? e->place : first->place,
                        "unknown name '%s'; did you mean '%s'?", wrong, near);
    return complain(b->source, e->place,
                    "the map of '%s' has two columns, '%s' and '%s'; a state "
                    "is a function of one column, or of a vector of them such "
                    "as 'x[2]'",
                    s->declared.name, first->name, e->name);
}

/* A name in a map that is something else than a number. */
static int check_name(struct builder *b, const struct statement *s,
                      const struct expr *e)
{
    const struct statement *d = find_declaration(b, e->name);
    if (!d) return 0;
    if (d == s)
        return complain(b->source, e->place,
                        "the state '%s' and its column need two names; give "
                        "the state another one",
                        e->name);
    if (is_function_kind(d->kind))
        return complain(b->source, e->place,
                        "'%s' is a %s, which has no inverse; a learned "
                        "map is written 'flow(x)'",
                        e->name,
                        d->kind == NET  ? "network"
                        : d->kind == GP ? "gp"
                                        : "library of terms");
    if (d->kind == STATE || d->kind == INPUT)
        return complain(b->source, e->place,
                        "'%s' is %s; the map of a state is made of a column of "
                        "the data, numbers, parameters and t",
                        e->name, d->kind == STATE ? "a state" : "an input");
    return 0;
}

int column_size(struct builder *b, const struct expr *e, struct declared *c)
{
    if (e->kind != EXPR_INDEX) return 0;
    double n = e->kid[1]->kind == EXPR_NUMBER ? e->kid[1]->number : 0.0;
    if (e->kids != 2 || !(n >= 1.0 && n <= 1e6) || n != floor(n))
        return complain(b->source, expr_span(e),
                        "'%s' is a column of the data; write '%s', or '%s[3]' "
                        "for the columns '%s1' to '%s3'",
                        c->name, c->name, c->name, c->name, c->name);
    c->rank = 1;
    c->rows = (size_t)n;
    return 0;
}

/* Finds the one column in a map, where c is empty at first. */
static int find_column(struct builder *b, const struct statement *s,
                       const struct expr *e, struct declared *c)
{
    const struct expr *name = e->kind == EXPR_INDEX ? e->kid[0] : e;
    if (name->kind == EXPR_NAME && is_free(b, name->name)) {
        if (c->name && !strcmp(c->name, name->name))
            return complain(b->source, name->place,
                            "'%s' appears twice in this map; an inverse can be "
                            "found only if it appears once, as in '(%s + 1)^2'",
                            c->name, c->name);
        if (c->name) return two_columns(b, s, name, c);
        *c = (struct declared){
            .name = name->name, .place = name->place, .rows = 1, .columns = 1};
        return column_size(b, e, c);
    }
    int status = 0;
    if (e->kind == EXPR_NAME || e->kind == EXPR_CALL)
        status = check_name(b, s, e);
    for (size_t i = 0; !status && i < e->kids; i++)
        status = find_column(b, s, e->kid[i], c);
    return status;
}

static int check_size(struct builder *b, const struct declared *z,
                      const struct declared *c)
{
    if (z->rows == c->rows) return 0;
    if (z->rows > 1)
        return complain(b->source, c->place,
                        "'%s' has %zu elements, but here %s %zu %s; write "
                        "'%s[%zu]'",
                        z->name, z->rows, c->rows == 1 ? "is" : "are", c->rows,
                        c->rows == 1 ? "column" : "columns", c->name, z->rows);
    return complain(b->source, z->place,
                    "'%s' is one number, but the map takes %zu columns; write "
                    "'%s[%zu]'",
                    z->name, c->rows, z->name, c->rows);
}

static int read_column(struct builder *b, const struct statement *s,
                       struct declared *c)
{
    int status = find_column(b, s, s->value, c);
    if (!status && !c->name)
        status = complain(b->source, expr_span(s->value),
                          "the map of '%s' contains no column of the data; "
                          "write, for instance, 'state %s = log(x)'",
                          s->declared.name, s->declared.name);
    return status ? status : check_size(b, &s->declared, c);
}

/* --- The statement ------------------------------------------------------ */

/* The value waits until the number of states is known: see spec.c. */
int declare_state(struct builder *b, const struct statement *s)
{
    const struct declared *d = &s->declared;
    struct declared column = {0};
    size_t offset = b->spec->dim;
    if (d->rank > 1)
        return complain(b->source, d->place,
                        "a state is one number or a vector; write '%s[%zu]'",
                        d->name, d->rows * d->columns);
    int status = scope_check(b, d->name, d->place);
    if (!status && s->value) status = read_column(b, s, &column);
    const struct declared *from = column.name ? &column : d;
    if (!status) status = columns_are_free(b, from);
    for (size_t i = 0; !status && i < from->rows; i++)
        status = add_column(b->spec, from, i);
    if (!status && column.name)
        status = scope_add(b, (struct symbol){.name = column.name,
                                              .kind = SYMBOL_COLUMN,
                                              .place = column.place,
                                              .offset = offset,
                                              .rank = column.rank});
    if (status) return status;
    return scope_add(b, (struct symbol){.name = d->name,
                                        .kind = SYMBOL_STATE,
                                        .place = d->place,
                                        .offset = offset,
                                        .rank = d->rank,
                                        .column = column.name});
}

/* --- Maps --------------------------------------------------------------- */

/* Whether an expression names no state or the like. */
static bool is_fixed(const struct builder *b, const struct expr *e)
{
    bool named = e->kind == EXPR_NAME || e->kind == EXPR_CALL;
    const struct statement *d = named ? find_declaration(b, e->name) : NULL;
    if (d &&
        (d->kind == STATE || d->kind == INPUT || is_function_kind(d->kind)))
        return false;
    for (size_t i = 0; i < e->kids; i++)
        if (!is_fixed(b, e->kid[i])) return false;
    return true;
}

/* The lets above statement number `below` that an expression names. */
static void mark_lets(const struct builder *b, const struct expr *e,
                      size_t below, bool *needed)
{
    const struct statement *d =
        e->kind == EXPR_NAME ? find_declaration(b, e->name) : NULL;
    size_t i = d ? (size_t)(d - b->ast->statement) : below;
    if (i < below && d->kind == LET) needed[i] = true;
    for (size_t k = 0; k < e->kids; k++)
        mark_lets(b, e->kid[k], below, needed);
}

/* Declares the lets that a map needs, which come later otherwise, and those
 * that they need: each stands above the one that names it. */
static int declare_lets(struct builder *b, const struct expr *map)
{
    size_t n = b->ast->statements;
    bool *needed = NEW(bool, n);
    int status = needed ? 0 : GSV_NO_MEMORY;
    if (!status) mark_lets(b, map, n, needed);
    for (size_t i = n; !status && i-- > 0;)
        if (needed[i]) mark_lets(b, b->ast->statement[i].value, i, needed);
    for (size_t i = 0; !status && i < n; i++) {
        const struct statement *s = &b->ast->statement[i];
        if (!needed[i]) continue;
        status = is_fixed(b, s->value)
                     ? declare(b, s)
                     : complain(b->source, s->declared.place,
                                "'%s' is used in the map of a state, so it can "
                                "contain only numbers, parameters and t",
                                s->declared.name);
    }
    mem_free(needed);
    return status;
}

static node state_leaf(const struct spec *s)
{
    return graph_leaf(s->graph, OP_STATE, 0, s->dim, 1);
}

/* Forward by evaluation, with the column's name standing for x; slopes and
 * conditions are added to those of other states. */
static int build_map(struct builder *b, const struct statement *s,
                     struct state_map *m)
{
    struct graph *g = b->spec->graph;
    const struct symbol *state = scope_find(b, s->declared.name);
    node here =
        graph_slice(g, state_leaf(b->spec), state->offset, s->declared.rows, 1);
    m->forward = m->inverse = here;
    if (!state->column) return 0;
    const char *column = state->column;
    int status = declare_lets(b, s->value);
    if (!status) status = declare_flow(b, s);
    struct symbol *c = (struct symbol *)(size_t)scope_find(b, column);
    c->value = here;
    if (!status) status = evaluate(b, s->value, &m->forward);
    if (!status) status = invert(b, s->value, column, m);
    c->value = 0;
    return status;
}

static int build_all(struct builder *b, node *forward, node *inverse)
{
    struct spec *spec = b->spec;
    struct graph *g = spec->graph;
    struct state_map m = {.log_slope = graph_number(g, 0.0)};
    size_t n = 0;
    int status = 0;
    for (size_t i = 0; !status && i < b->ast->statements; i++) {
        const struct statement *s = &b->ast->statement[i];
        if (s->kind != STATE) continue;
        status = build_map(b, s, &m);
        forward[n] = m.forward;
        inverse[n++] = m.inverse;
        spec->mapped = spec->mapped || s->value;
    }
    node leaf = state_leaf(spec);
    if (!status) {
        bool mapped = spec->mapped;
        spec->state_of_data =
            mapped ? graph_stack(g, n, forward, spec->dim, 1) : leaf;
        spec->data_of_state =
            mapped ? graph_stack(g, n, inverse, spec->dim, 1) : leaf;
        spec->map_log_jacobian = m.log_slope;
        spec->map_domain = graph_below(g, m.conditions, m.condition);
    }
    mem_free(m.condition);
    return status;
}

int build_maps(struct builder *b)
{
    size_t most = b->ast->statements;
    node *forward = NEW(node, most), *inverse = NEW(node, most);
    int status =
        forward && inverse ? build_all(b, forward, inverse) : GSV_NO_MEMORY;
    mem_free(forward);
    mem_free(inverse);
    return status;
}
