/* SPDX-License-Identifier: MIT */
/* event lines: STATE += jump. The jump is made of one name that nothing
 * declares, which is a column of the data: the event acts where this column has
 * a value. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

/* --- The column ----------------------------------------------------------- */

static int two_columns(struct builder *b, const struct expr *e,
                       const struct declared *column)
{
    char hint[160];
    scope_hint(b, e->name, hint, sizeof hint);
    return complain(b->source, e->place,
                    "'%s' is not declared, and '%s' is the column of this "
                    "event already; an event has one column%s",
                    e->name, column->name,
                    *hint ? hint : ": write two events, or declare a name");
}

/* The indices of the sums around an expression. */
struct running {
    const char *name;
    const struct running *outer;
};

static bool runs(const struct running *r, const char *name)
{
    while (r && strcmp(r->name, name))
        r = r->outer;
    return r != NULL;
}

/* The name that nothing declares and that is no index. */
static int find_column(struct builder *b, const struct expr *e,
                       const struct running *index, struct declared *column)
{
    struct running own = {e->name, index};
    if (e->kind == EXPR_EACH) index = &own;
    bool name =
        e->kind == EXPR_NAME && is_free(b, e->name) && !runs(index, e->name);
    if (name && column->name && strcmp(column->name, e->name))
        return two_columns(b, e, column);
    if (name)
        *column = (struct declared){
            .name = e->name, .place = e->place, .rows = 1, .columns = 1};
    int status = 0;
    for (size_t i = 0; !status && i < e->kids; i++)
        status = find_column(b, e->kid[i], index, column);
    return status;
}

static int check_column(struct builder *b, const struct statement *s,
                        const struct declared *column)
{
    const struct spec *spec = b->spec;
    if (!column->name)
        return complain(b->source, expr_span(s->value),
                        "an event acts at the rows where a column of the data "
                        "has a value, but no column is named here; write, for "
                        "instance, 'event %s += dose', where nothing else "
                        "declares 'dose'",
                        s->declared.name);
    for (size_t i = 0; i < spec->obs_values; i++)
        if (!strcmp(spec->value_column[i], column->name))
            return complain(b->source, column->place,
                            "the column '%s' is observed; an event has a "
                            "column of its own, with another name",
                            column->name);
    return check_others(b, column, "event has");
}

/* The number of the column's value; events share one. */
static int find_value(struct spec *spec, const struct declared *column,
                      size_t *value)
{
    *value = spec->obs_values;
    while (*value < spec->values &&
           strcmp(spec->value_column[*value], column->name))
        ++*value;
    return *value < spec->values ? 0 : add_value(spec, column, 0);
}

/* --- The state ------------------------------------------------------------ */

/* Which elements of z an event adds to: those of NAME, or NAME[k] alone. */
struct target {
    size_t first, count;
};

static int find_target(struct builder *b, const struct declared *d,
                       struct target *target)
{
    char hint[160];
    const struct symbol *state = scope_find(b, d->name);
    if (!state)
        return complain(b->source, d->place, "there is no state '%s'%s",
                        d->name, scope_hint(b, d->name, hint, sizeof hint));
    if (state->kind != SYMBOL_STATE)
        return complain(b->source, d->place,
                        "'%s' is not a state, and only states jump", d->name);
    size_t n = graph_size(b->spec->graph, state->value);
    *target = (struct target){state->offset, n};
    if (!d->rank) return 0;
    if (d->rank != 1 || state->rank != 1 || d->rows > n)
        return complain(b->source, d->place,
                        "'%s' has %zu %s; write 'event %s += ...'%s", d->name,
                        n, n == 1 ? "element" : "elements", d->name,
                        state->rank ? ", or one number from 1 on in brackets "
                                      "for a single element"
                                    : "");
    *target = (struct target){state->offset + d->rows - 1, 1};
    return 0;
}

/* --- The jump ------------------------------------------------------------- */

/* The column is a name of this line alone. */
static int evaluate_jump(struct builder *b, const struct statement *s,
                         const struct declared *column, size_t value,
                         node *jump)
{
    node leaf = value_leaf(b->spec, value);
    int status = scope_declare(b, column, SYMBOL_INPUT, leaf);
    if (status) return status;
    status = evaluate(b, s->value, jump);
    b->symbols--;
    if (!status && b->spec->graph->failed) status = GSV_NO_MEMORY;
    return status ? status
                  : refuse_slope(b, expr_span(s->value), *jump, "this event");
}

static int check_shape(struct builder *b, const struct statement *s,
                       const struct target *target, node jump)
{
    const struct graph *g = b->spec->graph;
    char text[48];
    if (graph_size(g, jump) == target->count &&
        graph_info(g, jump)->columns == 1)
        return 0;
    shape_text(g, jump, text);
    if (target->count > 1 && graph_size(g, jump) == 1)
        return complain(b->source, expr_span(s->value),
                        "'%s' has %zu elements, but the jump is one number; "
                        "write 'event %s[1] += ...' for one of them",
                        s->declared.name, target->count, s->declared.name);
    return complain(b->source, expr_span(s->value),
                    "the jump must have %zu %s, but is %s", target->count,
                    target->count == 1 ? "element" : "elements", text);
}

/* The elements of the jump where they belong, 0 elsewhere. */
static int place_jump(const struct spec *spec, const struct target *target,
                      node jump, node *all)
{
    struct graph *g = spec->graph;
    node *element = NEW(node, spec->dim);
    if (!element) return GSV_NO_MEMORY;
    for (size_t i = 0; i < spec->dim; i++) {
        bool inside = i >= target->first && i < target->first + target->count;
        element[i] = inside ? graph_slice(g, jump, i - target->first, 1, 1)
                            : graph_number(g, 0.0);
    }
    *all = graph_stack(g, spec->dim, element, spec->dim, 1);
    mem_free(element);
    return 0;
}

static int add_event(struct builder *b, const struct statement *s)
{
    struct spec *spec = b->spec;
    struct declared column = {0};
    struct target target = {0};
    struct event_spec event = {.place = s->declared.place};
    int status = find_target(b, &s->declared, &target);
    if (!status) status = find_column(b, s->value, NULL, &column);
    if (!status) status = check_column(b, s, &column);
    if (!status) status = find_value(spec, &column, &event.value);
    node jump = 0;
    if (!status) status = evaluate_jump(b, s, &column, event.value, &jump);
    if (!status) status = check_shape(b, s, &target, jump);
    if (status) return status;
    if (place_jump(spec, &target, jump, &event.jump) ||
        MEM_ROOM(spec->event, spec->events, spec->event_capacity))
        return GSV_NO_MEMORY;
    spec->event[spec->events++] = event;
    return 0;
}

int build_events(struct builder *b)
{
    int status = 0;
    b->spec->obs_values = b->spec->values;
    for (size_t i = 0; !status && i < b->ast->statements; i++)
        if (b->ast->statement[i].kind == EVENT)
            status = add_event(b, &b->ast->statement[i]);
    return status;
}
