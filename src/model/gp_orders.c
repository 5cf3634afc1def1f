/* SPDX-License-Identifier: MIT */
#include "model/gp_orders.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* --- Which there are ------------------------------------------------------ */

static bool is_of(const struct graph *g, node n, size_t gp)
{
    return g->info[n].op == OP_GP && gp_number(g->info[n].offset) == gp;
}

/* wanted (a + 1): what a is made of; yours. */
static bool *parts_of(const struct graph *g, node a)
{
    bool *wanted = NEW(bool, a + 1);
    if (!wanted) return NULL;
    wanted[a] = true;
    for (node n = a + 1; n-- > 0;)
        for (size_t i = 0; wanted[n] && i < g->info[n].inputs; i++)
            wanted[graph_input(g, n, i)] = true;
    return wanted;
}

static size_t find(const struct gp_orders *d, size_t order)
{
    size_t i = 0;
    while (i < d->count && d->order[i] != order)
        i++;
    return i;
}

/* Those of the function in a; more than there is room for are left out. */
static int find_orders(struct gp_orders *d, const struct graph *g, node a)
{
    bool *wanted = parts_of(g, a);
    if (!wanted) return GSV_NO_MEMORY;
    for (node n = 0; n <= a; n++) {
        if (!wanted[n] || !is_of(g, n, d->gp)) continue;
        size_t order = g->info[n].offset % GP_ORDERS;
        if (find(d, order) == d->count && d->count < MOST_ORDERS)
            d->order[d->count++] = order;
    }
    mem_free(wanted);
    return 0;
}

/* Whether the drift has a derivative of the function, as its text says: that
 * of unit diffusion may have one of a function in the noise. */
static int is_derived(const gsv_model *m, size_t gp, bool *is)
{
    struct gp_orders d = {.gp = gp};
    int status = find_orders(&d, m->spec->graph, m->spec->drift);
    *is = d.count > 1 || (d.count && d.order[0]);
    return status;
}

/* --- How f moves with them ------------------------------------------------ */

static node unit_vector(struct graph *g, size_t n, size_t i)
{
    return graph_pad(g, graph_number(g, 1.0), i, n, 1);
}

/* The derivatives of f by the nodes of this order, added up. */
static node slope_by(struct graph *g, node f, const bool *wanted, size_t gp,
                     size_t order, size_t output)
{
    node sum = 0;
    for (node n = 0; n <= f && !g->failed; n++) {
        if (!wanted[n] || !is_of(g, n, gp)) continue;
        if (g->info[n].offset % GP_ORDERS != order) continue;
        node along = unit_vector(g, g->info[n].rows, output);
        node part = graph_directional(g, f, n, along);
        sum = sum ? graph_binary(g, OP_ADD, sum, part) : part;
    }
    return sum;
}

static int make_slopes(struct gp_orders *d, node f)
{
    struct graph *g = d->graph;
    size_t outputs = g->gp[d->gp].outputs;
    bool *wanted = parts_of(g, f);
    d->slope = NEW(node, outputs * d->count);
    int status = wanted && d->slope ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < outputs * d->count; i++)
        d->slope[i] =
            slope_by(g, f, wanted, d->gp, d->order[i % d->count], i / d->count);
    mem_free(wanted);
    return g->failed ? GSV_NO_MEMORY : status;
}

int gp_orders_init(struct gp_orders *d, const gsv_model *m, node f, size_t gp)
{
    bool derived;
    *d = (struct gp_orders){
        .gp = gp, .count = 1, .size = graph_size(m->spec->graph, f)};
    int status = is_derived(m, gp, &derived);
    d->plain = !derived;
    if (status || d->plain) return status;
    d->graph = graph_copy(m->spec->graph);
    if (!d->graph) return GSV_NO_MEMORY;
    f = graph_open_nets(d->graph, f);
    if (d->graph->failed) return GSV_NO_MEMORY;
    d->count = 0;
    status = find_orders(d, d->graph, f);
    return status ? status : make_slopes(d, f);
}

void gp_orders_free(struct gp_orders *d)
{
    graph_free(d->graph);
    mem_free(d->slope);
    *d = (struct gp_orders){0};
}

int gp_orders_slopes(const struct gp_orders *d, const gsv_model *m,
                     const struct points *in, size_t output, double *slope)
{
    int status = 0;
    for (size_t o = 0; o < d->count && !status; o++)
        status = model_evaluate_in(m, d->graph, d->slope[output * d->count + o],
                                   in, true, slope + o * d->size * in->P);
    return status;
}

double gp_order_variance(const gsv_model *m, size_t gp, size_t order)
{
    const struct gp_spec *s = &m->spec->gp[gp];
    double variance = 1.0, one = kernel_slope_variance(s->kernel);
    for (size_t k = 0; k < m->spec->graph->gp[gp].axes; k++) {
        double length = m->value[s->length + k];
        for (size_t i = 0; i < gp_order(order, k); i++)
            variance *= one / (length * length);
    }
    return variance;
}
