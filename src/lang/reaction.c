/* SPDX-License-Identifier: MIT */
/* reaction S + I -> 2 I : rate. Of a population in whole numbers it happens
 * with this rate and adds its net change. As an SDE, the chemical Langevin
 * equation, with a noise of its own for each reaction j:
 *
 *     dz = sum over j of change_j (rate_j dt + sqrt(rate_j) dW_j). */
#include "lang/reaction.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/words.h"

/* --- One line ------------------------------------------------------------- */

static int find_state(struct builder *b, const struct reactant *part,
                      struct symbol **state)
{
    char hint[160];
    *state = (struct symbol *)(size_t)scope_find(b, part->name);
    if (!*state)
        return complain(b->source, part->place, "there is no state '%s'%s",
                        part->name,
                        scope_hint(b, part->name, hint, sizeof hint));
    if ((*state)->kind != SYMBOL_STATE)
        return complain(b->source, part->place,
                        "'%s' is not a state, and reactions only change states",
                        part->name);
    if ((*state)->column)
        return complain(b->source, part->place,
                        "'%s' is a function of data; reactions change numbers "
                        "that are states themselves: write 'state %s'",
                        part->name, part->name);
    return 0;
}

static int find_row(struct builder *b, const struct reactant *part, size_t *row)
{
    struct symbol *state;
    int status = find_state(b, part, &state);
    if (status) return status;
    size_t rows = graph_size(b->spec->graph, state->value);
    if (!part->element && state->rank)
        return complain(b->source, part->place,
                        "'%s' has %zu elements, and a reaction changes single "
                        "ones; write '%s[1]'",
                        part->name, rows, part->name);
    if (part->element && !state->rank)
        return complain(b->source, part->place,
                        "'%s' is one number; write it without an index",
                        part->name);
    if (part->element > rows)
        return complain(b->source, part->place,
                        "'%s' has %zu %s, so there is no '%s[%zu]'", part->name,
                        rows, rows == 1 ? "element" : "elements", part->name,
                        part->element);
    state->reacts = true;
    *row = state->offset + (part->element ? part->element - 1 : 0);
    return 0;
}

static int find_change(struct builder *b, const struct statement *s,
                       double *change)
{
    bool any = false;
    for (size_t k = 0; k < s->reactants; k++) {
        size_t row = 0;
        int status = find_row(b, &s->reactant[k], &row);
        if (status) return status;
        double count = (double)s->reactant[k].count;
        change[row] += s->reactant[k].made ? count : -count;
    }
    for (size_t i = 0; i < b->spec->dim; i++)
        any = any || change[i] != 0.0;
    if (any) return 0;
    return complain(b->source, s->declared.place,
                    "this reaction changes nothing: as much is made of each "
                    "state as is used up");
}

static int find_rate(struct builder *b, const struct statement *s, node *rate)
{
    struct graph *g = b->spec->graph;
    char text[48];
    double value;
    struct place place = expr_span(s->value);
    int status = evaluate(b, s->value, rate);
    if (!status)
        status = refuse_slope(b, place, *rate, "the rate of a reaction");
    if (status) return status;
    if (graph_size(g, *rate) != 1)
        return complain(b->source, place,
                        "the rate of a reaction is one number, but this is %s",
                        shape_text(g, *rate, text));
    if (graph_is_number(g, *rate, &value) && !(value > 0.0))
        return complain(b->source, place,
                        "the rate of a reaction must be positive, but is %g",
                        value);
    return 0;
}

static int build_reaction(struct builder *b, const struct statement *s)
{
    struct spec *spec = b->spec;
    if (MEM_ROOM(spec->reaction, spec->reactions, spec->reaction_capacity))
        return GSV_NO_MEMORY;
    struct reaction_spec *r = &spec->reaction[spec->reactions++];
    r->change = NEW(double, spec->dim);
    r->text = mem_string(s->text);
    r->place = s->declared.place;
    if (!r->change || !r->text) return GSV_NO_MEMORY;
    int status = find_change(b, s, r->change);
    return status ? status : find_rate(b, s, &r->rate);
}

int build_reactions(struct builder *b)
{
    int status = 0;
    for (size_t i = 0; !status && i < b->ast->statements; i++)
        if (b->ast->statement[i].kind == REACTION)
            status = build_reaction(b, &b->ast->statement[i]);
    return status;
}

/* --- What they add -------------------------------------------------------- */

static node times(struct graph *g, double change, node a)
{
    if (change == 1.0) return a;
    if (change == -1.0) return f(g, OP_NEG, a);
    return mul(g, num(g, change), a);
}

static int stack_rates(struct spec *spec)
{
    node *rate = NEW(node, spec->reactions);
    if (!rate) return GSV_NO_MEMORY;
    for (size_t j = 0; j < spec->reactions; j++)
        rate[j] = spec->reaction[j].rate;
    spec->rates =
        graph_stack(spec->graph, spec->reactions, rate, spec->reactions, 1);
    mem_free(rate);
    return 0;
}

int add_rates(struct spec *spec, node *drift)
{
    struct graph *g = spec->graph;
    if (!spec->reactions) return 0;
    node *row = NEW(node, spec->dim);
    if (!row) return GSV_NO_MEMORY;
    for (size_t i = 0; i < spec->dim; i++) {
        row[i] = graph_slice(g, *drift, i, 1, 1);
        for (size_t j = 0; j < spec->reactions; j++) {
            const struct reaction_spec *r = &spec->reaction[j];
            if (r->change[i] != 0.0)
                row[i] = add(g, row[i], times(g, r->change[i], r->rate));
        }
    }
    *drift = graph_stack(g, spec->dim, row, spec->dim, 1);
    mem_free(row);
    return stack_rates(spec);
}

/* Made by where(), so that its derivative at 0 is 0, and not infinite. */
node reaction_noise(const struct spec *spec, size_t j, size_t i)
{
    struct graph *g = spec->graph;
    const struct reaction_spec *r = &spec->reaction[j];
    node zero = num(g, 0.0);
    if (r->change[i] == 0.0) return zero;
    node is_positive = graph_binary(g, OP_GREATER, r->rate, zero);
    node root = graph_where(g, is_positive, f(g, OP_SQRT, r->rate), zero);
    return times(g, r->change[i], root);
}
