/* SPDX-License-Identifier: MIT */
/* gp NAME(args) -> n : grid ... : its parameters, and itself as a node. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

const char *const polynomial_name[GP_DEGREE + 1] = {"none", "linear",
                                                    "quadratic", "cubic"};

/* In all; and along one argument, where dense matrices are made of them. */
static const double MOST_NODES = 1e6;
enum { MOST_ALONG = 1024 };

/* The place of a name in a list of them, or a message with what is known. */
static int find_name(struct builder *b, const char *what, const char *name,
                     struct place place, size_t n, const char *const *known,
                     size_t *found)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, known[i])) {
            *found = i;
            return 0;
        }
    const char *near = gsv_suggestion(name, n, known);
    return complain(b->source, place,
                    "unknown %s '%s'; %s%s%sthe %ss are %s, %s and %s", what,
                    name, near ? "did you mean '" : "", near ? near : "",
                    near ? "'? " : "", what, known[0], known[1], known[2]);
}

/* --- The grid ------------------------------------------------------------ */

static int count_nodes(struct builder *b, const struct statement *s,
                       struct gp *h)
{
    double all = 1.0;
    if (h->axes > GRID_AXES)
        return complain(b->source, s->declared.place,
                        "a gp has up to %d arguments, but '%s' has %zu; use a "
                        "'net'",
                        GRID_AXES, s->declared.name, h->axes);
    if (s->widths != 1 && s->widths != h->axes)
        return complain(b->source, s->grid_place,
                        "'%s' has %zu %s, but the grid has %zu numbers of "
                        "nodes; give one for each, or one for all",
                        s->declared.name, h->axes,
                        h->axes == 1 ? "argument" : "arguments", s->widths);
    for (size_t k = 0; k < h->axes; k++) {
        h->nodes[k] = s->width[s->widths == 1 ? 0 : k];
        all *= (double)h->nodes[k];
        if (h->nodes[k] < GRID_LEAST)
            return complain(b->source, s->grid_place,
                            "a grid has at least %d nodes along each argument",
                            GRID_LEAST);
        if (h->nodes[k] > MOST_ALONG)
            return complain(b->source, s->grid_place,
                            "a grid has at most %d nodes along each argument",
                            MOST_ALONG);
    }
    if (all * (double)h->outputs > MOST_NODES)
        return complain(b->source, s->grid_place,
                        "the grid of '%s' would have %.0f values; a gp has at "
                        "most %.0f",
                        s->declared.name, all * (double)h->outputs, MOST_NODES);
    return 0;
}

/* Without a place in the text it is [-1, 1] until there are data. */
static int read_box(struct builder *b, const struct statement *s, size_t axes,
                    double *low, double *high)
{
    size_t given = s->ends / 2;
    if (given > 1 && given != axes)
        return complain(b->source, expr_span(s->box[0]),
                        "'%s' has %zu %s, but %zu intervals; give one for "
                        "each, or one for all",
                        s->declared.name, axes,
                        axes == 1 ? "argument" : "arguments", given);
    for (size_t k = 0; k < axes; k++) {
        size_t at = given == 1 ? 0 : 2 * k;
        low[k] = -1.0;
        high[k] = 1.0;
        if (!given) continue;
        int status = evaluate_number(b, s->box[at], &low[k]);
        if (!status) status = evaluate_number(b, s->box[at + 1], &high[k]);
        if (status) return status;
        if (!(low[k] < high[k]))
            return complain(b->source, expr_span(s->box[at]),
                            "this interval is empty: %g is not below %g",
                            low[k], high[k]);
    }
    return 0;
}

/* --- Parameters ---------------------------------------------------------- */

/* NAME.end, all of one number; its offset goes to `offset`. */
static struct param_spec *add(struct builder *b, const struct statement *s,
                              const char *end, size_t rows, size_t columns,
                              double start, size_t *offset)
{
    char name[300];
    snprintf(name, sizeof name, "%.250s.%s", s->declared.name, end);
    struct param_spec *p = new_param(b, s->declared.place, name, rows, columns);
    if (!p) return NULL;
    p->rank = columns > 1 ? 2 : 1;
    p->gp = true;
    *offset = p->offset;
    for (size_t i = 0; i < rows * columns; i++)
        p->start[i] = start;
    return p;
}

static struct param_spec *add_positive(struct builder *b,
                                       const struct statement *s,
                                       const char *end, size_t rows,
                                       size_t *offset)
{
    struct param_spec *p = add(b, s, end, rows, 1, 1.0, offset);
    if (!p) return NULL;
    p->bound = BOUND_ABOVE;
    p->low = 0.0;
    return p;
}

static int add_box(struct builder *b, const struct statement *s, size_t axes,
                   const double *low, const double *high, struct gp_spec *h)
{
    const double *end[2] = {low, high};
    for (size_t i = 0; i < 2; i++) {
        size_t at;
        struct param_spec *p =
            add(b, s, i ? "grid_high" : "grid_low", axes, 1, 0.0, &at);
        if (!p) return GSV_NO_MEMORY;
        p->scale = true;
        if (!i) h->box = at;
        memcpy(p->start, end[i], axes * sizeof *low);
    }
    return 0;
}

static int add_parameters(struct builder *b, const struct statement *s,
                          const struct gp *gp, const double *low,
                          const double *high, struct gp_spec *h)
{
    size_t n = gp->outputs, features = gp_features(gp);
    if (!add(b, s, "value", n, gp_nodes(gp), 0.0, &h->value))
        return GSV_NO_MEMORY;
    if (features && !add(b, s, "weight", n, features, 0.0, &h->weight))
        return GSV_NO_MEMORY;
    struct param_spec *length =
        add_positive(b, s, "length", gp->axes, &h->length);
    if (!length) return GSV_NO_MEMORY;
    for (size_t k = 0; k < gp->axes; k++)
        length->start[k] = 0.25 * (high[k] - low[k]);
    if (!add_positive(b, s, "amplitude", n, &h->amplitude))
        return GSV_NO_MEMORY;
    if (features &&
        !add_positive(b, s, "poly_amplitude", n, &h->polynomial_amplitude))
        return GSV_NO_MEMORY;
    return add_box(b, s, gp->axes, low, high, h);
}

/* --- The function -------------------------------------------------------- */

node gp_at(const struct spec *spec, size_t gp, node argument)
{
    struct graph *g = spec->graph;
    const struct gp_spec *h = &spec->gp[gp];
    if (g->failed) return 0;
    size_t n = g->gp[gp].outputs, axes = g->gp[gp].axes;
    size_t features = gp_features(&g->gp[gp]);
    node value = graph_leaf(g, OP_PARAM, h->value, n, gp_nodes(&g->gp[gp]));
    node box = graph_leaf(g, OP_PARAM, h->box, 2 * axes, 1);
    node weight =
        features ? graph_leaf(g, OP_PARAM, h->weight, n, features) : 0;
    return graph_gp(g, gp, argument, value, box, weight);
}

static int read_kind(struct builder *b, const struct statement *s,
                     struct gp *gp, struct gp_spec *h)
{
    size_t kernel = 0, degree = 0;
    const char *known[KERNELS];
    for (size_t i = 0; i < KERNELS; i++)
        known[i] = kernel_name((enum kernel)i);
    int status = find_name(b, "kernel", s->activation, s->activation_place,
                           KERNELS, known, &kernel);
    if (!status && s->polynomial) {
        status = find_name(b, "polynomial", s->polynomial, s->polynomial_place,
                           GP_DEGREE, polynomial_name + 1, &degree);
        gp->degree = degree + 1;
    }
    h->kernel = (enum kernel)kernel;
    h->map = s->map;
    h->placed = s->ends > 0;
    return status;
}

int declare_gp(struct builder *b, const struct statement *s)
{
    struct spec *spec = b->spec;
    struct gp gp = {.outputs = s->outputs};
    struct gp_spec h = {0};
    double low[GRID_AXES], high[GRID_AXES];
    int status = read_arguments(b, s, &h.argument);
    if (status) return status;
    gp.axes = graph_size(spec->graph, h.argument);
    status = read_kind(b, s, &gp, &h);
    if (!status) status = count_nodes(b, s, &gp);
    if (!status) status = read_box(b, s, gp.axes, low, high);
    if (!status) status = add_parameters(b, s, &gp, low, high, &h);
    if (status) return status;
    if (MEM_ROOM(spec->gp, spec->gps, spec->gp_capacity)) return GSV_NO_MEMORY;
    size_t number = graph_gp_add(spec->graph, &gp);
    spec->gp[spec->gps++] = h;
    node value = gp_at(spec, number, h.argument);
    return scope_add(b, (struct symbol){.name = s->declared.name,
                                        .kind = SYMBOL_GP,
                                        .place = s->declared.place,
                                        .value = value,
                                        .net = number,
                                        .rank = 1});
}
