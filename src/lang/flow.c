/* SPDX-License-Identifier: MIT */
/* flow(x : 4 layers 32), a learned map that can be undone: x is centred and
 * scaled, goes through layers, and is scaled again,
 *
 *     u = (x - mean) / scale_x,  u = layer(... layer(u)),  z = scale_z u.
 *
 * A layer moves each of its elements by the sinh-arcsinh map
 *
 *     w = asinh((u - m) / s),  a = delta w + eps,
 *     out = m + b + s c sinh(a) / delta,
 *     log slope = log cosh(a) - log cosh(w) + log c,
 *
 * which is smooth, monotone, onto, and undone in closed form. In one dimension
 * the numbers m, s, delta, eps of a layer are parameters, b = 0 and c = 1; in
 * more, the first layer is like that, and each of the others moves one half of
 * the elements with all six numbers from a network of the other half. Where
 * the flow depends on t, so do the networks. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/words.h"
#include "lang/scope.h"

enum { LAYERS = 4, WIDTH = 32, MOST_LAYERS = 100, PLAIN = 4, NUMBERS = 6 };

/* What a network's outputs are multiplied by: a flow starts near x. */
static const double SMALL = 0.1;

static node leaf(struct graph *g, size_t offset, size_t size)
{
    return graph_leaf(g, OP_PARAM, offset, size, 1);
}

/* --- How it is made up -------------------------------------------------- */

static size_t plain_layers(const struct flow *w)
{
    return w->size > 1 ? 1 : w->timed ? 0 : w->layers;
}

static size_t net_layers(const struct flow *w)
{
    return w->size > 1 || w->timed ? w->layers : 0;
}

/* The elements that the network layer k moves, and those that it looks at. */
struct halves {
    size_t from, count, other, others;
};

static struct halves halves_of(const struct flow *w, size_t k)
{
    size_t half = w->size / 2, rest = w->size - half;
    if (w->size == 1) return (struct halves){0, 1, 0, 0};
    return k % 2 ? (struct halves){0, half, half, rest}
                 : (struct halves){half, rest, 0, half};
}

/* Centres from -1 to 1: layers that are alike would stay alike. */
static double centre_of(const struct flow *w, size_t layer)
{
    if (w->size > 1 || w->layers < 2) return 0.0;
    return 2.0 * (double)layer / (double)(w->layers - 1) - 1.0;
}

/* --- Parameters --------------------------------------------------------- */

enum sort { FREE, POSITIVE, OF_DATA };

/* STATE.end, or STATE.layer.end. */
static int add_numbers(struct builder *b, const struct declared *z,
                       const char *end, int rank, double start, enum sort sort)
{
    char name[300];
    snprintf(name, sizeof name, "%.250s.%s", z->name, end);
    struct param_spec *p =
        new_param(b, z->place, name, rank || !z->rank ? z->rows : 1, 1);
    if (!p) return GSV_NO_MEMORY;
    p->rank = rank;
    p->scale = sort == OF_DATA;
    if (sort == POSITIVE) p->bound = BOUND_ABOVE;
    if (sort == POSITIVE || (sort == OF_DATA && start > 0.0)) p->low = 0.0;
    for (size_t i = 0; i < p->rows; i++)
        p->start[i] = start;
    return 0;
}

static int add_plain(struct builder *b, const struct declared *z,
                     const struct flow *w, size_t layer)
{
    static const struct {
        const char *end;
        double start;
        enum sort sort;
    } ROW[PLAIN] = {{"center", 0.0, FREE},
                    {"width", 1.0, POSITIVE},
                    {"tail", 1.0, POSITIVE},
                    {"skew", 0.0, FREE}};
    int status = 0;
    for (size_t i = 0; !status && i < PLAIN; i++) {
        char end[40];
        snprintf(end, sizeof end, "%zu.%s", layer, ROW[i].end);
        double start = i ? ROW[i].start : centre_of(w, layer);
        status = add_numbers(b, z, end, z->rank, start, ROW[i].sort);
    }
    return status;
}

/* STATE.layer is a network of one hidden layer. */
static int add_net_layer(struct builder *b, const struct declared *z,
                         const struct flow *w, size_t k)
{
    char name[300];
    struct halves h = halves_of(w, k);
    size_t net, in = h.others + w->timed;
    snprintf(name, sizeof name, "%.250s.%zu", z->name, k + plain_layers(w));
    struct declared named = {
        .name = name, .place = z->place, .rows = 1, .columns = 1};
    int status =
        add_layers(b, &named, 2, (size_t[]){in, w->width, NUMBERS * h.count},
                   ACT_TANH, &net);
    return status ? status : note_net(b->spec, (struct net_spec){0, 0, true});
}

static int add_parameters(struct builder *b, const struct declared *z,
                          struct flow *w)
{
    struct spec *spec = b->spec;
    w->scales = spec->parameters;
    int status = add_numbers(b, z, "input_mean", z->rank, 0.0, OF_DATA);
    if (!status)
        status = add_numbers(b, z, "input_scale", z->rank, 1.0, OF_DATA);
    if (!status && w->timed)
        status = add_numbers(b, z, "time_mean", 0, 0.0, OF_DATA);
    if (!status && w->timed)
        status = add_numbers(b, z, "time_scale", 0, 1.0, OF_DATA);
    w->plain = spec->parameters;
    for (size_t i = 0; !status && i < plain_layers(w); i++)
        status = add_plain(b, z, w, i);
    w->net = spec->graph->nets;
    for (size_t k = 0; !status && k < net_layers(w); k++)
        status = add_net_layer(b, z, w, k);
    w->scale = spec->parameters;
    return status ? status : add_numbers(b, z, "scale", z->rank, 1.0, POSITIVE);
}

/* --- The statement ------------------------------------------------------ */

bool is_flow(const struct builder *b, const struct expr *e)
{
    return e->kind == EXPR_CALL && !strcmp(e->name, "flow") &&
           !find_declaration(b, "flow");
}

static int check_flow(struct builder *b, const struct expr *e)
{
    bool timed = e->kids == 2 && e->kid[1]->kind == EXPR_NAME &&
                 !strcmp(e->kid[1]->name, "t");
    if (e->kids > 1 && !timed)
        return complain(b->source, expr_span(e->kid[1]),
                        "a flow is a function of a column and optionally of "
                        "time; write 'flow(x)' or 'flow(x, t)'");
    if (e->layers > MOST_LAYERS)
        return complain(b->source, e->place, "a flow has at most %d layers",
                        MOST_LAYERS);
    return 0;
}

/* Calls of flow below e, in any order: how many, and the last one. */
static size_t find_flows(const struct builder *b, const struct expr *e,
                         const struct expr **found)
{
    size_t n = is_flow(b, e);
    if (n) *found = e;
    for (size_t i = 0; i < e->kids; i++)
        n += find_flows(b, e->kid[i], found);
    return n;
}

int declare_flow(struct builder *b, const struct statement *s)
{
    struct spec *spec = b->spec;
    const struct expr *e = NULL;
    size_t n = find_flows(b, s->value, &e);
    if (!n) return 0;
    if (n > 1)
        return complain(
            b->source, e->place,
            "a map can have only one flow; give that flow more layers");
    int status = check_flow(b, e);
    if (status) return status;
    struct flow w = {.call = e,
                     .number = spec->flows,
                     .size = s->declared.rows,
                     .layers = e->layers ? e->layers : LAYERS,
                     .width = e->width ? e->width : WIDTH,
                     .timed = e->kids == 2};
    if (MEM_ROOM(b->flow, b->flows, b->flow_capacity) ||
        MEM_ROOM(spec->flow, spec->flows, spec->flow_capacity))
        return GSV_NO_MEMORY;
    status = add_parameters(b, &s->declared, &w);
    b->flow[b->flows++] = w;
    spec->flow[spec->flows++] = (struct flow_spec){
        .size = w.size, .offset = w.scales, .timed = w.timed};
    return status;
}

/* --- A layer ------------------------------------------------------------ */

/* m, s, delta, eps, b, log c. */
struct numbers {
    node centre, width, tail, skew, shift, log_stretch;
};

static struct numbers plain_numbers(struct graph *g, const struct flow *w,
                                    size_t layer)
{
    size_t n = w->size, at = w->plain + PLAIN * n * layer;
    return (struct numbers){.centre = leaf(g, at, n),
                            .width = leaf(g, at + n, n),
                            .tail = leaf(g, at + 2 * n, n),
                            .skew = leaf(g, at + 3 * n, n),
                            .shift = num(g, 0.0),
                            .log_stretch = num(g, 0.0)};
}

/* Time as networks see it. */
static node scaled_time(struct graph *g, const struct flow *w)
{
    size_t at = w->scales + 2 * w->size;
    node t = op(g, OP_SUB, graph_leaf(g, OP_TIME, 0, 1, 1), leaf(g, at, 1));
    return op(g, OP_DIV, t, leaf(g, at + 1, 1));
}

/* From the network of layer k, at the elements of u that it looks at. */
static struct numbers net_numbers(struct graph *g, const struct flow *w,
                                  size_t k, node u)
{
    struct halves h = halves_of(w, k);
    node in[2], out[NUMBERS];
    size_t n = 0;
    if (h.others) in[n++] = graph_slice(g, u, h.other, h.others, 1);
    if (w->timed) in[n++] = scaled_time(g, w);
    node all =
        graph_net(g, w->net + k, graph_stack(g, n, in, h.others + w->timed, 1));
    all = op(g, OP_MUL, num(g, SMALL), all);
    for (size_t i = 0; i < NUMBERS; i++)
        out[i] = graph_slice(g, all, i * h.count, h.count, 1);
    return (struct numbers){.centre =
                                op(g, OP_ADD, out[0], num(g, centre_of(w, k))),
                            .width = f(g, OP_EXP, out[1]),
                            .tail = f(g, OP_EXP, out[2]),
                            .skew = out[3],
                            .shift = out[4],
                            .log_stretch = out[5]};
}

/* log cosh a + log 2 = a + log(1 + exp(-2 a)), for a of any size and sign. */
static node log_cosh(struct graph *g, node a)
{
    node twice = op(g, OP_MUL, num(g, -2.0), a);
    return op(g, OP_ADD, a, f(g, OP_SOFTPLUS, twice));
}

static node stretch_of(struct graph *g, const struct numbers *n)
{
    return op(g, OP_MUL, n->width, f(g, OP_EXP, n->log_stretch));
}

static node bend(struct graph *g, const struct numbers *n, node u,
                 node *log_slope)
{
    node from = op(g, OP_DIV, op(g, OP_SUB, u, n->centre), n->width);
    node w = f(g, OP_ASINH, from);
    node a = op(g, OP_ADD, op(g, OP_MUL, n->tail, w), n->skew);
    node v = op(g, OP_DIV, f(g, OP_SINH, a), n->tail);
    node slope = op(g, OP_SUB, log_cosh(g, a), log_cosh(g, w));
    slope = graph_sum(g, op(g, OP_ADD, slope, n->log_stretch));
    *log_slope = op(g, OP_ADD, *log_slope, slope);
    node middle = op(g, OP_ADD, n->centre, n->shift);
    return op(g, OP_ADD, middle, op(g, OP_MUL, stretch_of(g, n), v));
}

static node unbend(struct graph *g, const struct numbers *n, node out)
{
    node middle = op(g, OP_ADD, n->centre, n->shift);
    node v = op(g, OP_DIV, op(g, OP_SUB, out, middle), stretch_of(g, n));
    node a = f(g, OP_ASINH, op(g, OP_MUL, n->tail, v));
    node w = op(g, OP_DIV, op(g, OP_SUB, a, n->skew), n->tail);
    return op(g, OP_ADD, n->centre, op(g, OP_MUL, n->width, f(g, OP_SINH, w)));
}

/* u with the elements of a layer replaced. */
static node replaced(struct graph *g, const struct flow *w, struct halves h,
                     node u, node part)
{
    if (!h.others) return part;
    node other = graph_slice(g, u, h.other, h.others, 1);
    node both[2] = {h.from ? other : part, h.from ? part : other};
    return graph_stack(g, 2, both, w->size, 1);
}

/* --- All layers --------------------------------------------------------- */

static node log_sum(struct graph *g, node a)
{
    return graph_sum(g, f(g, OP_LOG, a));
}

static node forward(struct graph *g, const struct flow *w, node x,
                    node *log_slope)
{
    size_t n = w->size;
    node mean = leaf(g, w->scales, n), scale = leaf(g, w->scales + n, n);
    node last = leaf(g, w->scale, n);
    node u = op(g, OP_DIV, op(g, OP_SUB, x, mean), scale);
    *log_slope = op(g, OP_SUB, log_sum(g, last), log_sum(g, scale));
    for (size_t i = 0; i < plain_layers(w); i++) {
        struct numbers all = plain_numbers(g, w, i);
        u = bend(g, &all, u, log_slope);
    }
    for (size_t k = 0; k < net_layers(w); k++) {
        struct halves h = halves_of(w, k);
        struct numbers all = net_numbers(g, w, k, u);
        node part = graph_slice(g, u, h.from, h.count, 1);
        u = replaced(g, w, h, u, bend(g, &all, part, log_slope));
    }
    return op(g, OP_MUL, last, u);
}

static node backward(struct graph *g, const struct flow *w, node z)
{
    size_t n = w->size;
    node mean = leaf(g, w->scales, n), scale = leaf(g, w->scales + n, n);
    node u = op(g, OP_DIV, z, leaf(g, w->scale, n));
    for (size_t k = net_layers(w); k-- > 0;) {
        struct halves h = halves_of(w, k);
        struct numbers all = net_numbers(g, w, k, u);
        node part = graph_slice(g, u, h.from, h.count, 1);
        u = replaced(g, w, h, u, unbend(g, &all, part));
    }
    for (size_t i = plain_layers(w); i-- > 0;) {
        struct numbers all = plain_numbers(g, w, i);
        u = unbend(g, &all, u);
    }
    return op(g, OP_ADD, mean, op(g, OP_MUL, scale, u));
}

/* --- In expressions ----------------------------------------------------- */

static int find_flow(struct builder *b, const struct expr *e,
                     const struct flow **found, node *x)
{
    char text[48];
    const struct graph *g = b->spec->graph;
    *found = NULL;
    for (size_t i = 0; i < b->flows; i++)
        if (b->flow[i].call == e) *found = &b->flow[i];
    if (!*found)
        return complain(
            b->source, e->place,
            "a flow can be used only in the map of a state, as in 'state z = "
            "flow(x)'");
    int status = evaluate(b, e->kid[0], x);
    if (status) return status;
    if (!graph_depends(g, *x, OP_STATE))
        return complain(
            b->source, expr_span(e),
            "this flow does not contain the column; write 'flow(x)'");
    if (graph_size(g, *x) != (*found)->size)
        return complain(b->source, expr_span(e),
                        "the state has %zu elements, but the flow is given %s",
                        (*found)->size, shape_text(g, *x, text));
    return 0;
}

int evaluate_flow(struct builder *b, const struct expr *e, node *result)
{
    const struct flow *w;
    node x, log_slope;
    int status = find_flow(b, e, &w, &x);
    if (status) return status;
    *result = forward(b->spec->graph, w, x, &log_slope);
    b->spec->flow[w->number].argument = x;
    return b->spec->graph->failed ? GSV_NO_MEMORY : 0;
}

int undo_flow(struct builder *b, const struct expr *e, struct state_map *m)
{
    struct graph *g = b->spec->graph;
    const struct flow *w;
    node x, log_slope;
    int status = find_flow(b, e, &w, &x);
    if (status) return status;
    (void)forward(g, w, x, &log_slope);
    m->log_slope = op(g, OP_ADD, m->log_slope, log_slope);
    m->inverse = backward(g, w, m->inverse);
    return g->failed ? GSV_NO_MEMORY : 0;
}
