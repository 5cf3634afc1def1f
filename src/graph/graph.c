/* SPDX-License-Identifier: MIT */
/* Building a graph: nodes that are equal are one node. Folding of constants is
 * in simplify.c, which stands between the callers and make_node(). */
#include "graph/graph.h"

#include <math.h>

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/build.h"

enum { BUCKETS = 4096 };

struct graph *graph_new(void)
{
    struct graph *g = NEW(struct graph, 1);
    if (!g) return NULL;
    g->buckets = BUCKETS;
    g->bucket = NEW(size_t, BUCKETS);
    if (!g->bucket) {
        graph_free(g);
        return NULL;
    }
    graph_number(g, 0.0); /* node 0: what a failed builder returns */
    if (g->failed) {
        graph_free(g);
        return NULL;
    }
    return g;
}

void graph_free(struct graph *g)
{
    if (!g) return;
    for (size_t i = g->own_blocks; i < g->blocks; i++)
        mem_free(g->block[i]);
    for (size_t i = g->own_nets; i < g->nets; i++)
        mem_free((void *)(size_t)g->net[i].width);
    mem_free(g->block);
    mem_free(g->net);
    mem_free(g->net_offset);
    mem_free(g->gp);
    mem_free(g->call);
    mem_free(g->info);
    mem_free(g->link);
    mem_free(g->bucket);
    mem_free(g);
}

void *graph_memory(struct graph *g, size_t count, size_t size)
{
    void *block = mem_new(count, size);
    if (!block) g->failed = true;
    return block;
}

/* A copy of n elements with room for capacity of them. */
static void *copied(const void *from, size_t n, size_t capacity, size_t size)
{
    char *copy = mem_new(capacity, size);
    if (copy && n) memcpy(copy, from, n * size);
    return copy;
}

struct graph *graph_copy(const struct graph *g)
{
    struct graph *c = NEW(struct graph, 1);
    if (!c) return NULL;
    *c = *g;
    c->own_blocks = g->blocks;
    c->own_nets = g->nets;
    c->info = copied(g->info, g->nodes, g->node_capacity, sizeof *c->info);
    c->link = copied(g->link, g->links, g->link_capacity, sizeof *c->link);
    c->bucket = copied(g->bucket, g->buckets, g->buckets, sizeof *c->bucket);
    c->block = copied(g->block, g->blocks, g->block_capacity, sizeof *c->block);
    c->net = copied(g->net, g->nets, g->net_capacity, sizeof *c->net);
    c->net_offset = copied(g->net_offset, g->nets, g->net_offset_capacity,
                           sizeof *c->net_offset);
    c->gp = copied(g->gp, g->gps, g->gp_capacity, sizeof *c->gp);
    c->call = copied(g->call, g->calls, g->call_capacity, sizeof *c->call);
    if (c->info && c->link && c->bucket && c->block && c->net &&
        c->net_offset && c->gp && c->call)
        return c;
    graph_free(c);
    return NULL;
}

const struct node_info *graph_info(const struct graph *g, node a)
{
    assert(a < g->nodes);
    return &g->info[a];
}

node graph_input(const struct graph *g, node a, size_t i)
{
    assert(i < g->info[a].inputs);
    return g->link[g->info[a].input + i];
}

size_t graph_size(const struct graph *g, node a)
{
    return g->info[a].rows * g->info[a].columns;
}

bool graph_is_number(const struct graph *g, node a, double *value)
{
    const struct node_info *i = graph_info(g, a);
    if (i->op != OP_CONSTANT || graph_size(g, a) != 1) return false;
    *value = i->data[0];
    return true;
}

/* --- Equal nodes are one node ------------------------------------------- */

static size_t mix(size_t h, size_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static size_t hash(const struct node_info *n, const node *input)
{
    size_t h = mix(n->op, n->rows);
    h = mix(mix(h, n->columns), n->offset);
    for (size_t i = 0; i < n->inputs; i++)
        h = mix(h, input[i]);
    for (size_t i = 0; n->data && i < n->rows * n->columns; i++) {
        size_t bits;
        memcpy(&bits, &n->data[i], sizeof bits);
        h = mix(h, bits);
    }
    return mix(h, 0); /* small whole numbers differ in high bits only */
}

static bool same(const struct graph *g, const struct node_info *a,
                 const struct node_info *b, const node *b_input)
{
    if (a->op != b->op || a->rows != b->rows || a->columns != b->columns ||
        a->offset != b->offset || a->inputs != b->inputs)
        return false;
    assert(b_input || !b->inputs);
    assert(!a->data == !b->data);
    for (size_t i = 0; b_input && i < a->inputs; i++)
        if (g->link[a->input + i] != b_input[i]) return false;
    if (!a->data || !b->data) return true;
    /* Bits, not values: 0 and -0 are different constants. */
    return !memcmp(a->data, b->data, a->rows * a->columns * sizeof *a->data);
}

static int keep_data(struct graph *g, struct node_info *n)
{
    size_t count = n->rows * n->columns;
    if (MEM_ROOM(g->block, g->blocks, g->block_capacity)) return GSV_NO_MEMORY;
    double *copy = NEW(double, count);
    if (!copy) return GSV_NO_MEMORY;
    memcpy(copy, n->data, count * sizeof *copy);
    g->block[g->blocks++] = copy;
    n->data = copy;
    return 0;
}

/* Twice as many buckets as nodes: what is searched stays short. */
static int widen(struct graph *g)
{
    if (g->nodes < g->buckets) return 0;
    size_t *bucket = NEW(size_t, 2 * g->buckets);
    if (!bucket) return GSV_NO_MEMORY;
    mem_free(g->bucket);
    g->bucket = bucket;
    g->buckets *= 2;
    for (node i = 0; i < g->nodes; i++) {
        struct node_info *n = &g->info[i];
        size_t place = hash(n, g->link + n->input) % g->buckets;
        n->next = bucket[place];
        bucket[place] = i + 1;
    }
    return 0;
}

/* Where the text is at fault lang/evaluate.c says so with its place; an
 * estimator's own derivatives of it may get here, too. */
static int check_size(const struct graph *g, const struct node_info *n)
{
    if (g->nodes < GRAPH_NODES &&
        g->links + n->inputs < 4 * (size_t)GRAPH_NODES)
        return 0;
    return fail(GSV_NO_MEMORY,
                "the model's formulas and their derivatives have more than %d "
                "operations; write shorter ones, or nest grad() less deeply",
                GRAPH_NODES);
}

static int append(struct graph *g, struct node_info n, const node *input)
{
    if (check_size(g, &n) || widen(g)) return GSV_NO_MEMORY;
    size_t place = hash(&n, input) % g->buckets;
    if (MEM_ROOM(g->info, g->nodes, g->node_capacity)) return GSV_NO_MEMORY;
    while (g->links + n.inputs > g->link_capacity) {
        size_t full = g->link_capacity;
        if (mem_room((void **)&g->link, full, &g->link_capacity,
                     sizeof *g->link))
            return GSV_NO_MEMORY;
    }
    if (n.data && keep_data(g, &n)) return GSV_NO_MEMORY;
    n.input = g->links;
    for (size_t i = 0; i < n.inputs; i++)
        g->link[g->links++] = input[i];
    n.next = g->bucket[place];
    if (n.inputs) g->elements += (double)n.rows * (double)n.columns;
    g->info[g->nodes] = n;
    g->bucket[place] = ++g->nodes; /* one more than the node: 0 is empty */
    return 0;
}

static const bool LEAF_STEP[OP_LEAVES] = {
#define STEP_OF(ID, NAME, STEP) [OP_##ID] = (STEP),
    LEAF_OPS(STEP_OF)};

node make_node(struct graph *g, struct node_info n, const node *input)
{
    if (g->failed) return 0;
    n.uniform = !op_is_leaf(n.op) || !LEAF_STEP[n.op];
    n.leaves = op_is_leaf(n.op) ? 1u << n.op : 0;
    for (size_t i = 0; i < n.inputs; i++) {
        n.uniform = n.uniform && g->info[input[i]].uniform;
        n.leaves |= g->info[input[i]].leaves;
    }
    size_t place = hash(&n, input) % g->buckets;
    for (size_t i = g->bucket[place]; i; i = g->info[i - 1].next)
        if (same(g, &g->info[i - 1], &n, input)) return i - 1;
    if (append(g, n, input)) {
        g->failed = true;
        return 0;
    }
    return g->nodes - 1;
}

/* --- Leaves and functions ----------------------------------------------- */

node graph_constant(struct graph *g, size_t rows, size_t columns,
                    const double *data)
{
    return make_node(
        g,
        (struct node_info){
            .op = OP_CONSTANT, .rows = rows, .columns = columns, .data = data},
        NULL);
}

node graph_number(struct graph *g, double value)
{
    return graph_constant(g, 1, 1, &value);
}

node graph_leaf(struct graph *g, enum op op, size_t offset, size_t rows,
                size_t columns)
{
    assert(op != OP_CONSTANT && op_is_leaf(op));
    return make_node(
        g,
        (struct node_info){
            .op = op, .rows = rows, .columns = columns, .offset = offset},
        NULL);
}

size_t graph_net_add(struct graph *g, size_t layers, const size_t *width,
                     enum activation act, size_t offset)
{
    if (g->failed) return 0;
    size_t *copy = NEW(size_t, layers + 1);
    g->failed = !copy || MEM_ROOM(g->net, g->nets, g->net_capacity) ||
                MEM_ROOM(g->net_offset, g->nets, g->net_offset_capacity);
    if (g->failed) {
        mem_free(copy);
        return 0;
    }
    memcpy(copy, width, (layers + 1) * sizeof *copy);
    g->net[g->nets] = (struct net){.layers = layers, .width = copy, .act = act};
    g->net_offset[g->nets] = offset;
    return g->nets++;
}

node graph_net(struct graph *g, size_t net, node argument)
{
    if (g->failed) return 0;
    const struct net *n = &g->net[net];
    assert(graph_size(g, argument) == n->width[0]);
    node input[2] = {argument, graph_leaf(g, OP_PARAM, g->net_offset[net],
                                          net_parameters(n), 1)};
    return make_node(g,
                     (struct node_info){.op = OP_NET,
                                        .rows = n->width[n->layers],
                                        .columns = 1,
                                        .inputs = 2,
                                        .offset = net},
                     input);
}

node graph_net_open(struct graph *g, size_t net, node argument)
{
    static const enum op activation[ACTIVATIONS] = {[ACT_RELU] = OP_RELU,
                                                    [ACT_TANH] = OP_TANH,
                                                    [ACT_SOFTPLUS] =
                                                        OP_SOFTPLUS,
                                                    [ACT_SILU] = OP_SILU};
    if (g->failed) return 0;
    size_t layers = g->net[net].layers, offset = g->net_offset[net];
    node x = argument;
    for (size_t l = 0; l < layers; l++) {
        size_t in = g->net[net].width[l], out = g->net[net].width[l + 1];
        node weight = graph_leaf(g, OP_PARAM, offset, out, in);
        node bias = graph_leaf(g, OP_PARAM, offset + out * in, out, 1);
        x = graph_binary(g, OP_ADD, graph_matmul(g, weight, x), bias);
        if (l + 1 < layers) x = graph_unary(g, activation[g->net[net].act], x);
        offset += out * in + out;
    }
    return x;
}

size_t graph_gp_add(struct graph *g, const struct gp *gp)
{
    g->failed = g->failed || MEM_ROOM(g->gp, g->gps, g->gp_capacity);
    if (g->failed) return 0;
    g->gp[g->gps] = *gp;
    return g->gps++;
}

node graph_gp(struct graph *g, size_t gp, node argument, node value, node box,
              node weight)
{
    if (g->failed) return 0;
    const struct gp *h = &g->gp[gp];
    node input[4] = {argument, value, box, weight};
    assert(graph_size(g, argument) == h->axes);
    assert(graph_size(g, value) == h->outputs * gp_nodes(h));
    assert(graph_size(g, box) == 2 * h->axes);
    assert(!h->degree || graph_size(g, weight) == h->outputs * gp_features(h));
    return make_node(g,
                     (struct node_info){.op = OP_GP,
                                        .rows = h->outputs,
                                        .columns = 1,
                                        .inputs = h->degree ? 4 : 3,
                                        .offset = gp * GP_ORDERS},
                     input);
}

node graph_gp_slope(struct graph *g, node a, size_t axis)
{
    if (g->failed) return 0;
    struct node_info info = g->info[a];
    node input[4] = {0};
    /* Within a cell all are cubics. */
    if (gp_order(info.offset, axis) == 3) return graph_number(g, 0.0);
    for (size_t i = 0; i < info.inputs; i++)
        input[i] = graph_input(g, a, i);
    info.offset += (size_t)1 << (2 * axis);
    return make_node(g, info, input);
}

size_t graph_call_add(struct graph *g, const char *name)
{
    g->failed = g->failed || MEM_ROOM(g->call, g->calls, g->call_capacity);
    if (g->failed) return 0;
    g->call[g->calls] = (struct call_spec){.name = name};
    return g->calls++;
}

int graph_refuse_call(const struct graph *g, size_t call)
{
    if (g->call[call].function) return 0;
    return fail(GSV_BAD_INPUT,
                "the function '%.100s' is external and was not given: give it "
                "by gsv_model_external() in a program; the command cannot",
                g->call[call].name);
}

node graph_call(struct graph *g, size_t call, node argument, node parameters,
                size_t outputs)
{
    return make_node(g,
                     (struct node_info){.op = OP_CALL,
                                        .rows = outputs,
                                        .columns = 1,
                                        .inputs = parameters ? 2 : 1,
                                        .offset = call},
                     (node[]){argument, parameters});
}

node graph_call_slope(struct graph *g, node a, node dot)
{
    if (g->failed) return 0;
    struct node_info info = g->info[a];
    bool parameters = info.inputs > 1;
    node x = graph_input(g, a, 0);
    node input[3] = {x, dot, parameters ? graph_input(g, a, 1) : 0};
    info.op = OP_CALL_SLOPE;
    info.inputs = parameters ? 3 : 2;
    return make_node(g, info, input);
}

/* --- Walks over a graph ------------------------------------------------- */

bool graph_depends(const struct graph *g, node a, enum op leaf)
{
    return g->info[a].leaves >> leaf & 1;
}

void graph_parts(const struct graph *g, node a, bool *wanted)
{
    for (node n = 0; n < a; n++)
        wanted[n] = false;
    wanted[a] = true;
    for (node n = a + 1; n-- > 0;)
        for (size_t i = 0; wanted[n] && i < g->info[n].inputs; i++)
            wanted[graph_input(g, n, i)] = true;
}

bool graph_has_functions(struct graph *g, node a)
{
    bool *part = GRAPH_NEW(g, bool, a + 1), has = false;
    if (!part) return false;
    graph_parts(g, a, part);
    for (node n = 0; n <= a; n++) {
        enum op op = graph_info(g, n)->op;
        has = has || (part[n] && (op == OP_NET || op == OP_GP ||
                                  op == OP_CALL || op == OP_CALL_SLOPE));
    }
    mem_free(part);
    return has;
}

bool graph_moves(const struct graph *g, node a)
{
    return graph_depends(g, a, OP_TIME) || graph_depends(g, a, OP_INPUT) ||
           graph_depends(g, a, OP_SLOPE);
}

node remake_all(struct graph *g, node a,
                node (*made)(struct graph *g, node n, const node *image,
                             node with),
                node with)
{
    if (g->failed) return 0;
    node *image = NEW(node, a + 1);
    bool *wanted = NEW(bool, a + 1);
    g->failed = !image || !wanted;
    if (!g->failed) graph_parts(g, a, wanted);
    for (node n = 0; !g->failed && n <= a; n++)
        if (wanted[n]) image[n] = made(g, n, image, with);
    node result = g->failed ? 0 : image[a];
    mem_free(image);
    mem_free(wanted);
    return result;
}

static node with_state(struct graph *g, node n, const node *image, node state)
{
    return g->info[n].op == OP_STATE ? state : remake(g, n, image);
}

node graph_substitute(struct graph *g, node a, node state)
{
    return remake_all(g, a, with_state, state);
}

static node not_below_zero(struct graph *g, node a)
{
    return graph_binary(g, OP_MAX, a, graph_number(g, 0.0));
}

static node with_roots(struct graph *g, node n, const node *image, node unused)
{
    struct node_info info = g->info[n];
    double power = 0.5;
    (void)unused;
    if (info.op != OP_SQRT && info.op != OP_POW) return remake(g, n, image);
    node base = image[graph_input(g, n, 0)];
    if (info.op == OP_SQRT)
        return graph_unary(g, OP_SQRT, not_below_zero(g, base));
    node exponent = image[graph_input(g, n, 1)];
    bool whole = graph_is_number(g, exponent, &power) && power == floor(power);
    return graph_binary(g, OP_POW, whole ? base : not_below_zero(g, base),
                        exponent);
}

node graph_guard_roots(struct graph *g, node a)
{
    return remake_all(g, a, with_roots, 0);
}

node graph_replace(struct graph *g, node a, node what, node with)
{
    if (g->failed || what > a) return a;
    node *image = NEW(node, a + 1);
    bool *wanted = NEW(bool, a + 1);
    g->failed = !image || !wanted;
    if (!g->failed) graph_parts(g, a, wanted);
    for (node n = 0; !g->failed && n <= a; n++)
        if (wanted[n]) image[n] = n == what ? with : remake(g, n, image);
    node result = g->failed ? 0 : image[a];
    MEM_FREE(image, wanted);
    return result;
}

static node with_all(struct graph *g, node n, const node *image, node all)
{
    const struct node_info *info = &g->info[n];
    if (info->op == OP_STATE)
        return graph_slice(g, all, g->info[all].rows - info->rows, info->rows,
                           1);
    if (info->op == OP_PARAM)
        return graph_slice(g, all, info->offset, info->rows, info->columns);
    return remake(g, n, image);
}

node graph_lift(struct graph *g, node a, node all)
{
    return remake_all(g, a, with_all, all);
}
