/* SPDX-License-Identifier: MIT */
#include "graph/program.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/ops.h"

/* Where a node's numbers are: uniform ones from `row` on in the uniforms,
 * others in the rows from `row` on of the workspace, P numbers each. */
struct slot {
    bool wanted, by_parameter, by_state;
    bool moving; /* some output moves with it: not only through a stop */
    size_t row;
    size_t packed; /* offset of packed weights, bytes               */
};

struct program {
    const struct graph *graph;
    struct slot *slot; /* (nodes) */
    size_t nodes;
    node *order[2]; /* those that are computed: at points, uniform ones */
    size_t ordered[2];
    node *output;
    size_t *output_row; /* where outputs stand in a workspace */
    size_t outputs;
    size_t parameters, uniforms; /* doubles of the uniform vector */
    size_t rows;                 /* of a workspace                */
    size_t packed;               /* bytes                         */
    size_t most_inputs;
    size_t inputs;   /* of all nodes that are computed at points */
    struct net *net; /* as in the graph, in double or not */
};

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* --- Making a program --------------------------------------------------- */

static void mark(struct program *p)
{
    const struct graph *g = p->graph;
    for (size_t i = 0; i < p->outputs; i++)
        p->slot[p->output[i]].wanted = p->slot[p->output[i]].moving = true;
    for (node n = p->nodes; n-- > 0;)
        for (size_t i = 0; p->slot[n].wanted && i < g->info[n].inputs; i++) {
            struct slot *in = &p->slot[graph_input(g, n, i)];
            in->wanted = true;
            if (p->slot[n].moving && g->info[n].op != OP_STOP)
                in->moving = true;
        }
    for (node n = 0; n < p->nodes; n++) {
        struct slot *s = &p->slot[n];
        s->by_parameter = g->info[n].op == OP_PARAM;
        s->by_state = g->info[n].op == OP_STATE;
        if (g->info[n].op == OP_STOP) continue;
        for (size_t i = 0; i < g->info[n].inputs; i++) {
            const struct slot *from = &p->slot[graph_input(g, n, i)];
            s->by_parameter = s->by_parameter || from->by_parameter;
            s->by_state = s->by_state || from->by_state;
        }
    }
}

static bool has_memory(enum op op)
{
    return OP_TABLE[op].forward; /* leaves and views point elsewhere */
}

/* An output that is uniform, a leaf or a view is copied to rows of its own, at
 * the end, so that it looks like any other. */
static bool is_copied(const struct program *p, node n)
{
    const struct node_info *info = &p->graph->info[n];
    return info->uniform || !has_memory(info->op);
}

static void lay_out(struct program *p)
{
    const struct graph *g = p->graph;
    p->uniforms = p->parameters;
    for (node n = 0; n < p->nodes; n++) {
        const struct node_info *info = &g->info[n];
        struct slot *s = &p->slot[n];
        if (!s->wanted || !has_memory(info->op)) continue;
        size_t *end = info->uniform ? &p->uniforms : &p->rows;
        s->row = *end;
        *end += graph_size(g, n);
        if (info->inputs > p->most_inputs) p->most_inputs = info->inputs;
        if (info->op == OP_NET) {
            const struct net *net = &p->net[info->offset];
            s->packed = p->packed;
            p->packed += round_up(net_kernel(net)->packed_size(net));
        }
    }
    for (size_t i = 0; i < p->outputs; i++) {
        p->output_row[i] = p->slot[p->output[i]].row;
        if (!is_copied(p, p->output[i])) continue;
        p->output_row[i] = p->rows;
        p->rows += graph_size(g, p->output[i]);
    }
}

/* A graph has many nodes that a program does not use, and blocks may be of one
 * point. */
static int list_nodes(struct program *p)
{
    for (int uniform = 0; uniform < 2; uniform++) {
        node *list = p->order[uniform] = NEW(node, p->nodes);
        if (!list) return GSV_NO_MEMORY;
        for (node n = 0; n < p->nodes; n++) {
            const struct node_info *info = &p->graph->info[n];
            if (!p->slot[n].wanted || !has_memory(info->op) ||
                info->uniform != (bool)uniform)
                continue;
            list[p->ordered[uniform]++] = n;
            if (!uniform) p->inputs += info->inputs;
        }
    }
    return 0;
}

static int check_calls(const struct program *p)
{
    for (node n = 0; n < p->nodes; n++)
        if (p->slot[n].wanted && p->graph->info[n].op == OP_CALL &&
            graph_refuse_call(p->graph, p->graph->info[n].offset))
            return GSV_BAD_INPUT;
    return 0;
}

struct program *program_new(const struct graph *g, size_t outputs,
                            const node *output, size_t parameters,
                            bool in_double)
{
    struct program *p = NEW(struct program, 1);
    if (!p) return NULL;
    p->graph = g;
    p->parameters = parameters;
    p->outputs = outputs;
    for (size_t i = 0; i < outputs; i++)
        if (output[i] >= p->nodes) p->nodes = output[i] + 1;
    p->slot = NEW(struct slot, p->nodes);
    p->output = NEW(node, outputs);
    p->output_row = NEW(size_t, outputs);
    p->net = NEW(struct net, g->nets);
    if (!p->slot || !p->output || !p->output_row || !p->net) {
        program_free(p);
        return NULL;
    }
    memcpy(p->output, output, outputs * sizeof *output);
    for (size_t i = 0; i < g->nets; i++) {
        p->net[i] = g->net[i];
        p->net[i].in_double = in_double;
    }
    mark(p);
    if (!check_calls(p)) {
        lay_out(p);
        if (!list_nodes(p)) return p;
    }
    program_free(p);
    return NULL;
}

void program_free(struct program *p)
{
    if (!p) return;
    mem_free(p->order[0]);
    mem_free(p->order[1]);
    mem_free(p->slot);
    mem_free(p->output);
    mem_free(p->output_row);
    mem_free(p->net);
    mem_free(p);
}

bool program_uses(const struct program *p, enum op leaf)
{
    for (node n = 0; n < p->nodes; n++)
        if (p->slot[n].wanted && p->graph->info[n].op == leaf) return true;
    return false;
}

size_t program_uniforms(const struct program *p)
{
    return p->uniforms;
}

/* --- Memory ------------------------------------------------------------- */

/* All fields but in, out but its size, packed and scratch. One by one: with few
 * points the time goes into copies of the struct. */
static void blank(const struct program *p, node n, size_t P, struct apply *a)
{
    const struct graph *g = p->graph;
    const struct node_info *info = &g->info[n];
    const struct node_info *first =
        info->inputs ? &g->info[graph_input(g, n, 0)] : NULL;
    a->P = P;
    a->info = info;
    a->call = info->op == OP_CALL || info->op == OP_CALL_SLOPE
                  ? g->call[info->offset].function
                  : NULL;
    a->out.size = info->rows * info->columns;
    a->rows = first ? first->rows : 0;
    a->columns = first ? first->columns : 0;
    a->net = info->op == OP_NET ? &p->net[info->offset] : NULL;
    a->gp = info->op == OP_GP ? &g->gp[gp_number(info->offset)] : NULL;
    a->own[0] = a->own[1] = NULL;
    a->own_stride = 0;
}

/* Bytes that node n keeps for P points. */
static size_t scratch_of(const struct program *p, node n, size_t P)
{
    const struct op_row *row = &OP_TABLE[p->graph->info[n].op];
    if (!p->slot[n].wanted || !row->scratch) return 0;
    struct apply a;
    blank(p, n, P, &a);
    return round_up(row->scratch(&a));
}

static size_t scratch_all(const struct program *p, size_t P, bool uniform)
{
    size_t bytes = 0;
    for (node n = 0; n < p->nodes; n++)
        if (p->graph->info[n].uniform == uniform) bytes += scratch_of(p, n, P);
    return bytes;
}

size_t program_bytes(const struct program *p, bool gradient)
{
    /* What a further point takes: some scratch does not grow with them. */
    size_t few = 128, many = 1152;
    size_t scratch = scratch_all(p, many, false) - scratch_all(p, few, false);
    return p->rows * sizeof(double) * (gradient ? 2 : 1) +
           scratch / (many - few);
}

int uniforms_init(struct uniforms *u, const struct program *p)
{
    *u = (struct uniforms){
        .value = NEW(double, p->uniforms),
        .packed = mem_new(p->packed, 1),
        .scratch = mem_new(scratch_all(p, 1, true), 1),
        .operand = NEW(struct operand, p->most_inputs),
    };
    if (u->value && u->packed && u->scratch && u->operand) return 0;
    uniforms_free(u);
    return GSV_NO_MEMORY;
}

void uniforms_free(struct uniforms *u)
{
    mem_free(u->value);
    mem_free(u->packed);
    mem_free(u->scratch);
    mem_free(u->operand);
    *u = (struct uniforms){0};
}

/* What operations were bound to, and how. */
struct bound {
    struct uniforms uniforms;
    const struct node_info *info;
    struct points in;
    struct apply *apply;     /* (nodes at points)        */
    struct operand *operand; /* (inputs of all of these) */
};

static void bound_free(struct bound *b)
{
    if (b) MEM_FREE(b->apply, b->operand);
    mem_free(b);
}

static struct bound *bound_new(const struct program *p)
{
    struct bound *b = NEW(struct bound, 1);
    if (!b) return NULL;
    b->apply = NEW(struct apply, p->ordered[0]);
    b->operand = NEW(struct operand, p->inputs);
    if (b->apply && b->operand) return b;
    bound_free(b);
    return NULL;
}

int workspace_init(struct workspace *w, const struct program *p, size_t P,
                   bool gradient, bool tangent)
{
    *w = (struct workspace){
        .capacity = P,
        .value = NEW(double, p->rows *P),
        .bar = gradient ? NEW(double, p->rows *P) : NULL,
        .dot = tangent ? NEW(double, p->rows *P) : NULL,
        .scratch = mem_new(scratch_all(p, P, false), 1),
        .operand = NEW(struct operand, p->most_inputs),
        .bound = bound_new(p),
    };
    if (w->value && w->scratch && w->operand && w->bound &&
        (w->bar || !gradient) && (w->dot || !tangent))
        return 0;
    workspace_free(w);
    return GSV_NO_MEMORY;
}

void workspace_free(struct workspace *w)
{
    mem_free(w->value);
    mem_free(w->bar);
    mem_free(w->dot);
    mem_free(w->scratch);
    mem_free(w->operand);
    bound_free(w->bound);
    *w = (struct workspace){0};
}

/* --- Operands ----------------------------------------------------------- */

/* Everything that a run over a block has at hand. */
struct run {
    const struct program *program;
    const struct uniforms *uniforms;
    const struct points *in;
    double *value, *bar, *dot; /* of the workspace; bar, dot may be NULL */
    double *state_bar, *uniform_bar;
    const double *state_dot;
    size_t P;
};

/* Where the numbers of a leaf begin, from its offset on. */
#define LEAF_AT(NAME, AT)                                                      \
    static const double *NAME##_at(const struct run *r,                        \
                                   const struct node_info *i)                  \
    {                                                                          \
        (void)r, (void)i;                                                      \
        return AT;                                                             \
    }
LEAF_AT(constant, i->data)
LEAF_AT(param, r->uniforms->value + i->offset)
LEAF_AT(state, r->in->state)
LEAF_AT(time, r->in->time)
LEAF_AT(input, r->in->input + i->offset * r->P)
LEAF_AT(slope, r->in->slope + i->offset * r->P)

static struct operand leaf(const struct run *r, node n)
{
    static const struct {
        const double *(*at)(const struct run *r, const struct node_info *i);
        size_t step;
    } LEAF[OP_LEAVES] = {
#define LEAF_OF(ID, NAME, STEP) [OP_##ID] = {NAME##_at, STEP},
        LEAF_OPS(LEAF_OF)};
    const struct node_info *info = &r->program->graph->info[n];
    struct operand o = {.value = (double *)(size_t)LEAF[info->op].at(r, info),
                        .size = info->rows * info->columns,
                        .step = LEAF[info->op].step};
    if (info->op == OP_PARAM && r->uniform_bar)
        o.bar = r->uniform_bar + info->offset;
    if (info->op == OP_STATE) {
        o.bar = r->state_bar;
        o.dot = (double *)(size_t)r->state_dot;
    }
    return o;
}

static struct operand operand(const struct run *r, node n)
{
    const struct node_info *info = &r->program->graph->info[n];
    const struct slot *s = &r->program->slot[n];
    if (op_is_leaf(info->op)) return leaf(r, n);
    if (info->op == OP_SLICE) {
        struct operand o = operand(r, graph_input(r->program->graph, n, 0));
        size_t shift = info->offset * (o.step ? r->P : 1);
        o.value += shift;
        if (o.bar) o.bar += shift;
        if (o.dot) o.dot += shift;
        o.size = info->rows * info->columns;
        return o;
    }
    struct operand o = {.size = info->rows * info->columns};
    if (info->uniform) {
        o.value = r->uniforms->value + s->row;
        if (r->uniform_bar && s->by_parameter && s->moving)
            o.bar = r->uniform_bar + s->row;
        return o;
    }
    o.step = 1;
    o.value = r->value + s->row * r->P;
    bool active = s->by_parameter || (s->by_state && r->state_bar);
    if (r->bar && active && s->moving) o.bar = r->bar + s->row * r->P;
    if (r->dot && s->by_state && s->moving) o.dot = r->dot + s->row * r->P;
    return o;
}

/* Value and weight of a gp where every point has its own. */
static void bind_own(const struct run *r, node n, struct apply *a)
{
    const struct graph *g = r->program->graph;
    const struct points *in = r->in;
    if (!in || !in->own || a->info->uniform) return;
    a->own_stride = in->own_stride;
    for (size_t i = 0; 2 * i + 1 < a->info->inputs; i++)
        a->own[i] = in->own + (g->info[graph_input(g, n, 2 * i + 1)].offset -
                               in->own_first);
}

static void bind(const struct run *r, node n, struct operand *in, char *scratch,
                 struct apply *a)
{
    const struct graph *g = r->program->graph;
    blank(r->program, n, r->P, a);
    for (size_t i = 0; i < a->info->inputs; i++) {
        in[i] = operand(r, graph_input(g, n, i));
        if (a->info->uniform) in[i].step = 1; /* a block of one point */
    }
    a->in = in;
    a->out = operand(r, n);
    a->out.step = 1;
    a->scratch = scratch;
    a->packed = (char *)r->uniforms->packed + r->program->slot[n].packed;
    if (a->gp) bind_own(r, n, a);
}

/* --- Forward ------------------------------------------------------------ */

static void forward_uniform(const struct run *r, const struct uniforms *u)
{
    const struct program *p = r->program;
    char *scratch = u->scratch;
    struct apply a;
    for (size_t i = 0; i < p->ordered[1]; i++) {
        node n = p->order[1][i];
        bind(r, n, u->operand, scratch, &a);
        OP_TABLE[a.info->op].forward(&a);
        scratch += scratch_of(p, n, 1);
    }
}

/* With few points binding takes longer than the operations. */
static bool is_bound(const struct bound *b, const struct run *r)
{
    const struct points *was = &b->in, *in = r->in;
    return b->uniforms.value == r->uniforms->value &&
           b->uniforms.packed == r->uniforms->packed &&
           b->info == r->program->graph->info && was->P == in->P &&
           was->state == in->state && was->time == in->time &&
           was->input == in->input && was->slope == in->slope &&
           was->own == in->own && was->own_first == in->own_first &&
           was->own_stride == in->own_stride;
}

static void bind_all(const struct run *r, const struct workspace *w)
{
    const struct program *p = r->program;
    struct bound *b = w->bound;
    struct operand *in = b->operand;
    char *scratch = w->scratch;
    for (size_t i = 0; i < p->ordered[0]; i++) {
        node n = p->order[0][i];
        bind(r, n, in, scratch, &b->apply[i]);
        in += p->graph->info[n].inputs;
        scratch += scratch_of(p, n, w->capacity);
    }
    b->uniforms = *r->uniforms;
    b->info = p->graph->info;
    b->in = *r->in;
}

void program_prepare(const struct program *p, const double *parameters,
                     struct uniforms *u)
{
    memcpy(u->value, parameters, p->parameters * sizeof *parameters);
    /* Weights first: a network at constant arguments is uniform itself. */
    for (node n = 0; n < p->nodes; n++) {
        const struct node_info *info = &p->graph->info[n];
        if (!p->slot[n].wanted || info->op != OP_NET) continue;
        node weights = graph_input(p->graph, n, 1);
        const struct net *net = &p->net[info->offset];
        net_kernel(net)->pack(net, u->value + p->graph->info[weights].offset,
                              (char *)u->packed + p->slot[n].packed);
    }
    struct run r = {.program = p, .uniforms = u, .P = 1};
    forward_uniform(&r, u);
}

static void copy_outputs(const struct run *r, bool dot)
{
    const struct program *p = r->program;
    for (size_t i = 0; i < p->outputs; i++) {
        struct operand o = operand(r, p->output[i]);
        if (!is_copied(p, p->output[i]) && (!dot || o.dot)) continue;
        const double *from = dot ? o.dot : o.value;
        double *to = (dot ? r->dot : r->value) + p->output_row[i] * r->P;
        if (!from) memset(to, 0, o.size * r->P * sizeof *to);
        else if (o.step) memcpy(to, from, o.size * r->P * sizeof *to);
        else
            for (size_t row = 0; row < o.size; row++, to += r->P)
                for (size_t j = 0; j < r->P; j++)
                    to[j] = from[row];
    }
}

static struct run run_over(const struct program *p, const struct uniforms *u,
                           struct workspace *w, const struct points *in)
{
    assert(in->P <= w->capacity);
    return (struct run){
        .program = p, .uniforms = u, .in = in, .value = w->value, .P = in->P};
}

void program_forward(const struct program *p, const struct uniforms *u,
                     struct workspace *w, const struct points *in)
{
    struct run r = run_over(p, u, w, in);
    if (!is_bound(w->bound, &r)) bind_all(&r, w);
    for (size_t i = 0; i < p->ordered[0]; i++) {
        const struct apply *a = &w->bound->apply[i];
        OP_TABLE[a->info->op].forward(a);
    }
    copy_outputs(&r, false);
}

const double *program_output(const struct program *p, const struct workspace *w,
                             size_t P, size_t i)
{
    return w->value + p->output_row[i] * P;
}

/* --- Backward ----------------------------------------------------------- */

static void backward(const struct run *r, struct operand *in, char *end,
                     size_t capacity, bool uniform)
{
    const struct program *p = r->program;
    struct apply a;
    for (size_t i = p->ordered[uniform]; i-- > 0;) {
        node n = p->order[uniform][i];
        end -= scratch_of(p, n, capacity);
        bind(r, n, in, end, &a);
        if (a.out.bar) OP_TABLE[a.info->op].vjp(&a);
    }
}

static void seed(const struct run *r, const double *const *output_bar)
{
    const struct program *p = r->program;
    for (size_t i = 0; i < p->outputs; i++) {
        struct operand o = operand(r, p->output[i]);
        if (!o.bar || !output_bar[i]) continue;
        for (size_t j = 0; j < o.size * r->P; j++)
            o.bar[o.step ? j : j / r->P] += output_bar[i][j];
    }
}

void program_vjp(const struct program *p, const struct uniforms *u,
                 struct workspace *w, const struct points *in,
                 const double *const *output_bar, double *state_bar,
                 double *uniform_bar)
{
    struct run r = run_over(p, u, w, in);
    r.bar = w->bar;
    r.state_bar = state_bar;
    r.uniform_bar = uniform_bar;
    memset(w->bar, 0, p->rows * r.P * sizeof *w->bar);
    seed(&r, output_bar);
    backward(&r, w->operand, w->scratch + scratch_all(p, w->capacity, false),
             w->capacity, false);
}

void program_finish(const struct program *p, const struct uniforms *u,
                    double *uniform_bar)
{
    struct run r = {
        .program = p, .uniforms = u, .uniform_bar = uniform_bar, .P = 1};
    backward(&r, u->operand, u->scratch + scratch_all(p, 1, true), 1, true);
}

/* --- Tangents ----------------------------------------------------------- */

void program_jvp(const struct program *p, const struct uniforms *u,
                 struct workspace *w, const struct points *in,
                 const double *state_dot)
{
    struct run r = run_over(p, u, w, in);
    r.dot = w->dot;
    r.state_dot = state_dot;
    char *scratch = w->scratch;
    struct apply a;
    for (size_t i = 0; i < p->ordered[0]; i++) {
        node n = p->order[0][i];
        if (p->slot[n].by_state && p->slot[n].moving) {
            bind(&r, n, w->operand, scratch, &a);
            OP_TABLE[a.info->op].jvp(&a);
        }
        scratch += scratch_of(p, n, w->capacity);
    }
    copy_outputs(&r, true);
}

const double *program_output_dot(const struct program *p,
                                 const struct workspace *w, size_t P, size_t i)
{
    return w->dot + p->output_row[i] * P;
}
