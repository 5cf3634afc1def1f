/* SPDX-License-Identifier: MIT */
/* The statements that declare a name: input, param, const, let, net; states are
 * in state.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

/* --- input --------------------------------------------------------------- */

static int declare_input(struct builder *b, const struct statement *s)
{
    struct spec *spec = b->spec;
    if (s->declared.rank)
        return complain(b->source, s->declared.place,
                        "an input is one column; declare each by its own name");
    int status = scope_check(b, s->declared.name, s->declared.place);
    size_t category = spec_category(spec, s->declared.name);
    if (!status && category < spec->categories) {
        size_t at = spec->category[category].input;
        return scope_declare(b, &s->declared, SYMBOL_INPUT,
                             graph_leaf(spec->graph, OP_INPUT, at, 1, 1));
    }
    if (!status) status = columns_are_free(b, &s->declared);
    if (status) return status;
    if (MEM_ROOM(spec->input, spec->inputs, spec->input_capacity))
        return GSV_NO_MEMORY;
    char *name = mem_string(s->declared.name);
    if (!name) return GSV_NO_MEMORY;
    spec->input[spec->inputs] =
        (struct input_spec){name, s->declared.place, s->hold, false};
    node value = graph_leaf(spec->graph, OP_INPUT, spec->inputs++, 1, 1);
    return scope_declare(b, &s->declared, SYMBOL_INPUT, value);
}

/* --- Values: a number for all elements, or a list row by row ------------ */

static int list_values(struct builder *b, const struct statement *s,
                       const struct expr *list, size_t *n, double *value)
{
    size_t wanted = s->declared.rows * s->declared.columns;
    for (size_t i = 0; i < list->kids; i++) {
        const struct expr *e = list->kid[i];
        int status = 0;
        if (e->kind == EXPR_LIST) status = list_values(b, s, e, n, value);
        else if (*n < wanted) status = evaluate_number(b, e, &value[(*n)++]);
        else ++*n;
        if (status) return status;
    }
    return 0;
}

static int read_values(struct builder *b, const struct statement *s,
                       double *value)
{
    const struct declared *d = &s->declared;
    size_t wanted = d->rows * d->columns, given = 0;
    if (s->value->kind != EXPR_LIST) {
        int status = evaluate_number(b, s->value, &value[0]);
        for (size_t i = 1; !status && i < wanted; i++)
            value[i] = s->lower && i % (d->columns + 1) ? 0.0 : value[0];
        return status;
    }
    if (!d->rank)
        return complain(
            b->source, expr_span(s->value),
            "'%s' is one number, but its value is a list; write '%s[%zu]' "
            "for a vector",
            d->name, d->name, s->value->kids);
    int status = list_values(b, s, s->value, &given, value);
    if (status || given == wanted) return status;
    return complain(b->source, expr_span(s->value),
                    "'%s' has %zu elements, but the list has %zu", d->name,
                    wanted, given);
}

/* --- param -------------------------------------------------------------- */

static int read_bounds(struct builder *b, const struct statement *s,
                       struct param_spec *p)
{
    p->low = -INFINITY;
    p->high = INFINITY;
    int status = s->low ? evaluate_number(b, s->low, &p->low) : 0;
    if (!status && s->high) status = evaluate_number(b, s->high, &p->high);
    if (!status && !(p->low < p->high))
        status = complain(b->source, s->bound_place,
                          "the bounds of '%s' are empty: %g is not less than "
                          "%g",
                          s->declared.name, p->low, p->high);
    return status;
}

/* A start where the text gives none: the simplest value inside the bounds. */
static double default_start(const struct param_spec *p)
{
    if (p->bound == BOUND_ABOVE) return p->low + 1.0;
    if (p->bound == BOUND_BELOW) return p->high - 1.0;
    if (p->bound == BOUND_BETWEEN) return 0.5 * (p->low + p->high);
    return 0.0;
}

static int check_start(struct builder *b, const struct statement *s,
                       const struct param_spec *p)
{
    for (size_t i = 0; i < p->rows * p->columns; i++) {
        double v = p->start[i];
        if (p->lower) break;
        if (!(v > p->low && v < p->high))
            return complain(b->source, expr_span(s->value),
                            "the start value %g of '%s' is outside of its "
                            "bounds (%g, %g)",
                            v, p->name, p->low, p->high);
    }
    for (size_t r = 0; p->lower && r < p->rows; r++)
        for (size_t c = r; c < p->columns; c++) {
            double v = p->start[r * p->columns + c];
            if (c == r ? v > 0.0 : v == 0.0) continue;
            return complain(b->source, expr_span(s->value),
                            "a lower matrix has a positive diagonal and zeros "
                            "above it, but '%s[%zu,%zu]' starts at %g",
                            p->name, r + 1, c + 1, v);
        }
    return 0;
}

static int check_lower(struct builder *b, const struct statement *s)
{
    const struct declared *d = &s->declared;
    if (!s->lower) return 0;
    if (d->rank != 2 || d->rows != d->columns)
        return complain(b->source, d->place,
                        "'lower' is for a square matrix, such as '%s[2,2]'",
                        d->name);
    if (s->bound != BOUND_NONE)
        return complain(
            b->source, s->bound_place,
            "a lower matrix takes no bounds: its diagonal is always positive");
    return 0;
}

/* Numbers that a model takes in all, before any of them is allocated: each is
 * there several times while it is learned. */
static const double MOST_NUMBERS = 1 << 27;

int check_numbers(const struct builder *b, struct place place, double more)
{
    double all = (double)b->spec->parameters + (double)b->constants + more;
    if (all <= MOST_NUMBERS) return 0;
    return complain(b->source, place,
                    "with this declaration the model has %.0f numbers in its "
                    "parameters and constants; it can have at most %.0f",
                    all, MOST_NUMBERS);
}

int check_declared(const struct builder *b)
{
    double sum = 0.0;
    int status = 0;
    for (size_t i = 0; !status && i < b->ast->statements; i++) {
        const struct statement *s = &b->ast->statement[i];
        if (s->kind != PARAM && s->kind != CONSTANT) continue;
        sum += (double)s->declared.rows * (double)s->declared.columns;
        status = check_numbers(b, s->declared.place, sum);
    }
    return status;
}

struct param_spec *new_param(struct builder *b, struct place place,
                             const char *name, size_t rows, size_t columns)
{
    struct spec *spec = b->spec;
    if (check_numbers(b, place, (double)rows * (double)columns)) return NULL;
    if (MEM_ROOM(spec->param, spec->params, spec->param_capacity)) return NULL;
    struct param_spec *p = &spec->param[spec->params++];
    *p = (struct param_spec){.name = mem_string(name),
                             .place = place,
                             .rank = columns > 1 ? 2 : rows > 1,
                             .rows = rows,
                             .columns = columns,
                             .offset = spec->parameters,
                             .low = -INFINITY,
                             .high = INFINITY,
                             .start = NEW(double, rows *columns)};
    if (!p->name || !p->start) return NULL;
    spec->parameters += rows * columns;
    return p;
}

/* Numbers of series or levels, as many as are known. */
static int count_levels(struct builder *b, const struct statement *s,
                        size_t *category, size_t *rows)
{
    const struct declared *d = &s->declared;
    *category = 0;
    *rows = d->rows;
    if (!d->category) return 0;
    if (s->value && s->value->kind == EXPR_LIST)
        return complain(b->source, expr_span(s->value),
                        "the numbers of '%s' are known from the data; give one "
                        "start value for all of them",
                        d->name);
    int status = category_of(b, d, category);
    if (status) return status;
    size_t levels = b->spec->category[*category].levels;
    ++*category;
    *rows = levels ? levels : 1;
    return 0;
}

static int declare_param(struct builder *b, const struct statement *s)
{
    struct statement sized = *s;
    size_t category;
    int status = check_lower(b, s);
    if (!status) status = count_levels(b, s, &category, &sized.declared.rows);
    if (status) return status;
    s = &sized;
    const struct declared *d = &sized.declared;
    struct param_spec *p = new_param(b, d->place, d->name, d->rows, d->columns);
    if (!p) return GSV_NO_MEMORY;
    p->category = category;
    p->rank = d->rank;
    p->bound = s->bound;
    p->lower = s->lower;
    status = read_bounds(b, s, p);
    if (status) return status;
    for (size_t i = 0; i < d->rows * d->columns; i++)
        p->start[i] = p->lower ? i % (d->columns + 1) == 0 : default_start(p);
    if (s->value) status = read_values(b, s, p->start);
    if (!status && s->value) status = check_start(b, s, p);
    if (status) return status;
    node value =
        graph_leaf(b->spec->graph, OP_PARAM, p->offset, d->rows, d->columns);
    if (category) value = category_number(b->spec, category - 1, value);
    return scope_add(b, (struct symbol){.name = d->name,
                                        .kind = SYMBOL_PARAM,
                                        .place = d->place,
                                        .value = value,
                                        .rank = category ? 0 : d->rank,
                                        .category = category});
}

/* --- const and let ------------------------------------------------------ */

static int declare_constant(struct builder *b, const struct statement *s)
{
    const struct declared *d = &s->declared;
    size_t n = d->rows * d->columns;
    if (check_numbers(b, d->place, (double)n)) return GSV_BAD_INPUT;
    b->constants += n;
    double *value = NEW(double, n);
    if (!value) return GSV_NO_MEMORY;
    int status = read_values(b, s, value);
    node made = 0;
    if (!status)
        made = graph_constant(b->spec->graph, d->rows, d->columns, value);
    mem_free(value);
    if (status) return status;
    return scope_declare(b, d, SYMBOL_CONSTANT, made);
}

static int declare_let(struct builder *b, const struct statement *s)
{
    const struct declared *d = &s->declared;
    struct graph *g = b->spec->graph;
    node value;
    char text[48];
    const struct symbol *old = scope_find(b, d->name);
    /* Done before, for the map of a state. */
    if (old && old->place.line == d->place.line &&
        old->place.column == d->place.column)
        return 0;
    int status = evaluate(b, s->value, &value);
    if (status) return status;
    if (d->rank && graph_size(g, value) == 1)
        value = graph_fill(g, value, d->rows, d->columns);
    if (d->rank && graph_size(g, value) != d->rows * d->columns)
        return complain(b->source, expr_span(s->value),
                        "'%s' has %zu elements, but this is %s", d->name,
                        d->rows * d->columns, shape_text(g, value, text));
    if (d->rank) value = graph_slice(g, value, 0, d->rows, d->columns);
    return scope_declare(b, d, SYMBOL_LET, value);
}

/* --- net ---------------------------------------------------------------- */

static int find_activation(struct builder *b, const struct statement *s,
                           enum activation *act)
{
    if (!*s->activation) {
        *act = ACT_SILU;
        return 0;
    }
    for (int i = 0; i < ACTIVATIONS; i++)
        if (!strcmp(s->activation, activation_name[i])) {
            *act = (enum activation)i;
            return 0;
        }
    const char *near =
        gsv_suggestion(s->activation, ACTIVATIONS, activation_name);
    return complain(b->source, s->activation_place,
                    "unknown activation '%s'; %s%s%sthe activations are relu, "
                    "tanh, softplus and silu",
                    s->activation, near ? "did you mean '" : "",
                    near ? near : "", near ? "'? " : "");
}

/* All layers, before the first of them is there. */
static int check_layers(const struct builder *b, const struct declared *net,
                        size_t layers, const size_t *width)
{
    double sum = 0.0;
    for (size_t l = 0; l < layers; l++) {
        double weights = (double)width[l] * (double)width[l + 1];
        if (weights > 1e8)
            return complain(b->source, net->place,
                            "layer %zu of '%s' would have %zu times %zu "
                            "weights; a layer has at most 100000000",
                            l + 1, net->name, width[l + 1], width[l]);
        sum += weights + (double)width[l + 1];
    }
    return check_numbers(b, net->place, sum);
}

static int add_layer(struct builder *b, const struct declared *net,
                     size_t layer, size_t in, size_t out)
{
    char name[300];
    for (int bias = 0; bias < 2; bias++) {
        snprintf(name, sizeof name, "%.250s.%zu.%s", net->name, layer,
                 bias ? "bias" : "weight");
        struct param_spec *p =
            new_param(b, net->place, name, out, bias ? 1 : in);
        if (!p) return GSV_NO_MEMORY;
        p->rank = bias ? 1 : 2;
        p->fan_in = in;
    }
    return 0;
}

/* What the data's scales are kept in: 0 and 1 until there are data. */
static int add_scales(struct builder *b, const struct declared *net,
                      size_t inputs, size_t outputs)
{
    static const char *const end[] = {"input_mean", "input_scale",
                                      "output_mean", "output_scale"};
    for (size_t i = 0; i < 4; i++) {
        char name[300];
        snprintf(name, sizeof name, "%.250s.%s", net->name, end[i]);
        struct param_spec *p =
            new_param(b, net->place, name, i < 2 ? inputs : outputs, 1);
        if (!p) return GSV_NO_MEMORY;
        p->rank = 1;
        p->scale = true;
        if (i % 2) p->low = 0.0;
        for (size_t j = 0; j < p->rows; j++)
            p->start[j] = (double)(i % 2);
    }
    return 0;
}

size_t net_scales(const struct graph *g, size_t net)
{
    return g->net_offset[net] + net_parameters(&g->net[net]);
}

node scaled_net(struct graph *g, size_t net, node argument)
{
    if (g->failed) return 0;
    const struct net *n = &g->net[net];
    size_t in = n->width[0], out = n->width[n->layers];
    size_t at = net_scales(g, net);
    node mean = graph_leaf(g, OP_PARAM, at, in, 1);
    node scale = graph_leaf(g, OP_PARAM, at + in, in, 1);
    node shift = graph_leaf(g, OP_PARAM, at + 2 * in, out, 1);
    node stretch = graph_leaf(g, OP_PARAM, at + 2 * in + out, out, 1);
    node inverse = graph_binary(g, OP_DIV, graph_number(g, 1.0), scale);
    node x = graph_binary(g, OP_SUB, argument, mean);
    node y = graph_net(g, net, graph_binary(g, OP_MUL, x, inverse));
    return graph_binary(g, OP_ADD, graph_binary(g, OP_MUL, y, stretch), shift);
}

int add_layers(struct builder *b, const struct declared *name, size_t layers,
               const size_t *width, enum activation act, size_t *net)
{
    struct spec *spec = b->spec;
    size_t offset = spec->parameters;
    int status = check_layers(b, name, layers, width);
    for (size_t l = 0; !status && l < layers; l++)
        status = add_layer(b, name, l, width[l], width[l + 1]);
    if (!status) *net = graph_net_add(spec->graph, layers, width, act, offset);
    return status ? status : spec->graph->failed ? GSV_NO_MEMORY : 0;
}

static int add_net(struct builder *b, const struct statement *s, size_t inputs,
                   enum activation act, size_t *net)
{
    size_t layers = s->widths + 1;
    size_t *width = NEW(size_t, layers + 1);
    int status = width ? 0 : GSV_NO_MEMORY;
    if (width) {
        width[0] = inputs;
        if (s->widths) memcpy(width + 1, s->width, s->widths * sizeof *width);
        width[layers] = s->outputs;
    }
    if (!status) status = add_layers(b, &s->declared, layers, width, act, net);
    if (!status) status = add_scales(b, &s->declared, inputs, s->outputs);
    mem_free(width);
    return status;
}

int note_net(struct spec *spec, struct net_spec net)
{
    if (MEM_ROOM(spec->net, spec->nets, spec->net_capacity))
        return GSV_NO_MEMORY;
    spec->net[spec->nets++] = net;
    return 0;
}

int read_arguments(struct builder *b, const struct statement *s, node *stacked)
{
    struct graph *g = b->spec->graph;
    int status = 0;
    node *a = NEW(node, s->arguments);
    if (!a) return GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < s->arguments; i++)
        status = evaluate(b, s->argument[i], &a[i]);
    if (!status) *stacked = graph_below(g, s->arguments, a);
    mem_free(a);
    return status ? status : g->failed ? GSV_NO_MEMORY : 0;
}

static int declare_net(struct builder *b, const struct statement *s)
{
    struct graph *g = b->spec->graph;
    enum activation act = ACT_SILU;
    size_t net = 0;
    node value = 0, argument = 0;
    int status = find_activation(b, s, &act);
    if (!status) status = read_arguments(b, s, &argument);
    if (!status) status = add_net(b, s, graph_size(g, argument), act, &net);
    if (!status) {
        value = scaled_net(g, net, argument);
        status = note_net(b->spec, (struct net_spec){argument, value, false});
    }
    if (status) return status;
    return scope_add(b, (struct symbol){.name = s->declared.name,
                                        .kind = SYMBOL_NET,
                                        .place = s->declared.place,
                                        .value = value,
                                        .net = net,
                                        .rank = 1});
}

int declare(struct builder *b, const struct statement *s)
{
    switch (s->kind) {
    case STATE: return declare_state(b, s);
    case INPUT: return declare_input(b, s);
    case PARAM: return declare_param(b, s);
    case CONSTANT: return declare_constant(b, s);
    case LET: return declare_let(b, s);
    case NET: return declare_net(b, s);
    case GP: return declare_gp(b, s);
    case TERMS_LINE: return declare_terms(b, s);
    case EXTERNAL: return declare_external(b, s);
    case RANDOM: return declare_effect(b, s);
    case OBS:
    case INIT:
    case EVENT:
    case REACTION:
    case PRIOR_LINE:
    case EQUATION: break;
    }
    return 0;
}
