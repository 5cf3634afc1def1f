/* SPDX-License-Identifier: MIT */
/* init lines: STATE ~ law(arguments) [at TIME], the law of a first state that
 * the data do not show. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/law.h"
#include "lang/scope.h"

/* Where the first state is when nothing is said about it. */
static const double WIDE_MEAN = 0.0, WIDE_DEVIATION = 10.0;

static int find_state(struct builder *b, const struct statement *s,
                      const struct symbol **state)
{
    const struct declared *d = &s->declared;
    char hint[160];
    *state = scope_find(b, d->name);
    if (!*state)
        return complain(b->source, d->place, "there is no state '%s'%s",
                        d->name, scope_hint(b, d->name, hint, sizeof hint));
    if ((*state)->kind != SYMBOL_STATE)
        return complain(b->source, d->place,
                        "'%s' is not a state, and only states have a first "
                        "value",
                        d->name);
    size_t n = graph_size(b->spec->graph, (*state)->value);
    if (d->rank && d->rows * d->columns != n)
        return complain(b->source, d->place,
                        "an init is for the whole state; write 'init %s'",
                        d->name);
    return 0;
}

/* The laws that a first state can have, to a message. */
static void list_laws(char *text, size_t size)
{
    *text = '\0';
    for (size_t i = 0; i < LAW_COUNT; i++)
        if (LAW_TABLE[i].moments)
            snprintf(text + strlen(text), size - strlen(text), "%s%s",
                     *text ? " " : "", LAW_TABLE[i].name);
}

static int find_law(struct builder *b, const struct expr *call, enum law *law)
{
    size_t found = law_find(call->name);
    char laws[200];
    *law = (enum law)found;
    if (found < LAW_COUNT && LAW_TABLE[found].moments)
        return check_law_arguments(b, call, found);
    list_laws(laws, sizeof laws);
    if (found < LAW_COUNT)
        return complain(b->source, call->place,
                        "the values of '%s' are counts, but a first state has "
                        "a continuous law; the laws for that are %s",
                        call->name, laws);
    return complain(b->source, call->place,
                    "unknown law '%s'; the laws of a first state are %s",
                    call->name, laws);
}

/* The law may be another one in every series, by its inputs in the first row.
 */
static bool is_known_first(struct graph *g, node a)
{
    const struct node_info *info = graph_info(g, a);
    unsigned known = 1u << OP_PARAM | 1u << OP_INPUT | 1u << OP_CONSTANT;
    if (info->uniform) return true;
    return !(info->leaves & ~known) && !graph_has_functions(g, a);
}

static int read_argument(struct builder *b, const struct expr *e,
                         const struct symbol *state, enum law law, size_t i)
{
    struct graph *g = b->spec->graph;
    size_t n = graph_size(g, state->value);
    char text[48];
    node a;
    int status = evaluate(b, e, &a);
    if (status) return status;
    if (!is_known_first(g, a))
        return complain(b->source, expr_span(e),
                        "the law of a first state is made of numbers, "
                        "parameters and inputs, not of states, t or networks "
                        "of inputs");
    if (graph_size(g, a) != 1 &&
        (graph_size(g, a) != n || graph_info(g, a)->columns != 1))
        return complain(
            b->source, expr_span(e), "'%s' has %zu %s, but the %s is %s",
            state->name, n, n == 1 ? "element" : "elements",
            LAW_TABLE[law].argument[i].name, shape_text(g, a, text));
    for (size_t k = 0; k < n; k++)
        b->spec->first[state->offset + k].argument[i] =
            graph_size(g, a) == 1 ? a : graph_slice(g, a, k, 1, 1);
    return check_law_numbers(b, e, law, i, a);
}

/* The time of all first states. */
static int read_time(struct builder *b, const struct expr *e)
{
    struct spec *spec = b->spec;
    double time;
    int status = evaluate_number(b, e, &time);
    if (status) return status;
    if (!isfinite(time))
        return complain(b->source, expr_span(e),
                        "the time of a first state must be finite, but is %g",
                        time);
    if (spec->init_timed && time != spec->init_time)
        return complain(b->source, expr_span(e),
                        "all states begin at one time, but an init above "
                        "begins at %.10g and this one at %.10g",
                        spec->init_time, time);
    spec->init_timed = true;
    spec->init_time = time;
    return 0;
}

static int read_init(struct builder *b, const struct statement *s, bool *given)
{
    const struct symbol *state;
    enum law law = LAW_NORMAL;
    int status = find_state(b, s, &state);
    if (!status && given[state->offset])
        status = complain(b->source, s->declared.place,
                          "'%s' has two inits; remove one of them",
                          s->declared.name);
    if (!status) status = find_law(b, s->value, &law);
    for (size_t i = 0; !status && i < s->value->kids; i++)
        status = read_argument(b, s->value->kid[i], state, law, i);
    if (!status && s->low) status = read_time(b, s->low);
    size_t n = status ? 0 : graph_size(b->spec->graph, state->value);
    for (size_t k = 0; !status && k < n; k++) {
        b->spec->first[state->offset + k].law = law;
        b->spec->first[state->offset + k].place = s->value->place;
        given[state->offset + k] = true;
        status = make_latent(b, state->offset + k, s->declared.place);
    }
    return status;
}

static int add_moments(struct spec *spec)
{
    struct graph *g = spec->graph;
    size_t d = spec->dim;
    node *mean = NEW(node, d), *sd = NEW(node, d);
    for (size_t i = 0; mean && sd && i < d; i++) {
        const struct first_spec *f = &spec->first[i];
        LAW_TABLE[f->law].moments(g, f->argument, &mean[i], &sd[i]);
    }
    bool made = mean && sd;
    if (made) {
        spec->init_mean = graph_stack(g, d, mean, d, 1);
        spec->init_deviation = graph_stack(g, d, sd, d, 1);
    }
    MEM_FREE(mean, sd);
    return made ? 0 : GSV_NO_MEMORY;
}

/* Where all laws are normal, those who need the density make it of moments. */
static void add_density(struct spec *spec)
{
    struct graph *g = spec->graph;
    node sum = graph_number(g, 0.0);
    bool normal = true;
    for (size_t i = 0; i < spec->dim; i++)
        normal = normal && spec->first[i].law == LAW_NORMAL;
    if (normal) return;
    node state = graph_leaf(g, OP_STATE, 0, spec->dim, 1);
    for (size_t i = 0; i < spec->dim; i++) {
        const struct first_spec *f = &spec->first[i];
        node z = graph_slice(g, state, i, 1, 1);
        if (spec->latent[i])
            sum = graph_binary(g, OP_ADD, sum,
                               law_density_at(g, f->law, f->argument, z));
    }
    spec->init_log_density = sum;
}

int build_init(struct builder *b)
{
    struct spec *spec = b->spec;
    spec->first = NEW(struct first_spec, spec->dim);
    bool *given = NEW(bool, spec->dim);
    int status = spec->first && given ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < spec->dim; i++)
        spec->first[i] = (struct first_spec){
            .law = LAW_NORMAL,
            .argument = {graph_number(spec->graph, WIDE_MEAN),
                         graph_number(spec->graph, WIDE_DEVIATION)}};
    for (size_t i = 0; !status && i < b->ast->statements; i++)
        if (b->ast->statement[i].kind == INIT)
            status = read_init(b, &b->ast->statement[i], given);
    mem_free(given);
    if (!status) status = add_moments(spec);
    if (!status) add_density(spec);
    return !status && spec->graph->failed ? GSV_NO_MEMORY : status;
}
