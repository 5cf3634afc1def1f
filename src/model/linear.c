/* SPDX-License-Identifier: MIT */
/* Whether a model with latent states is linear with normal observations: its
 * drift, the means of its observations, what these integrate, and the jumps of
 * its events are sums of terms, each of which is a state times something free
 * of states. This is seen from the operations, not from derivatives alone: that
 * of floor(x) is 0. The matrices then are the derivatives, the rest is what is
 * left where the states are 0. Integrals are states, too: x has z, then them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/law.h"
#include "model/model.h"

/* --- Affine expressions --------------------------------------------------- */

/* Which inputs of an operation may be made of certain leaves, so that the
 * result is affine in these where they are. */
enum affine {
    NEVER,
    EVERY, /* all of them    */
    FIRST, /* the first      */
    LAST,  /* the last       */
    ONE    /* any one of two */
};

static const enum affine AFFINE[OPS] = {
    [OP_STATE] = EVERY, [OP_TIME] = EVERY,      [OP_INPUT] = EVERY,
    [OP_SLOPE] = EVERY, [OP_NEG] = EVERY,       [OP_ADD] = EVERY,
    [OP_SUB] = EVERY,   [OP_FILL] = EVERY,      [OP_SUM] = EVERY,
    [OP_PAD] = EVERY,   [OP_SLICE] = EVERY,     [OP_STACK] = EVERY,
    [OP_MUL] = ONE,     [OP_TRANSPOSE] = EVERY, [OP_MATMUL] = ONE,
    [OP_DIV] = FIRST,   [OP_GATHER] = FIRST,    [OP_SCATTER] = FIRST,
    [OP_SOLVE] = LAST,
};

static bool has_state(const struct graph *g, node a)
{
    return graph_depends(g, a, OP_STATE);
}

static bool node_is_affine(const struct graph *g, node n, const bool *with)
{
    const struct node_info *info = graph_info(g, n);
    size_t count = 0, last = info->inputs - 1;
    for (size_t i = 0; i < info->inputs; i++)
        count += with[graph_input(g, n, i)];
    switch (AFFINE[info->op]) {
    case NEVER: return false;
    case EVERY: return true;
    case FIRST: return count == 1 && with[graph_input(g, n, 0)];
    case LAST: return count == 1 && with[graph_input(g, n, last)];
    case ONE: return count == 1;
    }
    return false;
}

int spec_is_affine(const struct spec *s, node a, leaf_test *test, bool *any,
                   bool *affine)
{
    const struct graph *g = s->graph;
    bool *with = NEW(bool, a + 1), *wanted = NEW(bool, a + 1);
    int status = with && wanted ? 0 : GSV_NO_MEMORY;
    for (node n = 0; !status && n <= a; n++) {
        const struct node_info *info = graph_info(g, n);
        with[n] = op_is_leaf(info->op) && test(s, info);
        for (size_t i = 0; i < info->inputs; i++)
            with[n] = with[n] || with[graph_input(g, n, i)];
    }
    if (!status) *any = wanted[a] = with[a];
    *affine = true;
    for (node n = a + 1; !status && *affine && n-- > 0;) {
        if (!wanted[n] || !with[n]) continue;
        *affine = node_is_affine(g, n, with);
        for (size_t i = 0; i < graph_info(g, n)->inputs; i++)
            wanted[graph_input(g, n, i)] = true;
    }
    MEM_FREE(with, wanted);
    return status;
}

static bool is_state(const struct spec *s, const struct node_info *leaf)
{
    (void)s;
    return leaf->op == OP_STATE;
}

/* Leaves that change within a gap. */
static bool is_moving(const struct spec *s, const struct node_info *leaf)
{
    return leaf->op == OP_TIME ||
           (leaf->op == OP_INPUT && leaf->offset < s->inputs &&
            !s->input[leaf->offset].hold);
}

int spec_moves(const struct spec *s, node a, bool *moves, bool *straight)
{
    return spec_is_affine(s, a, is_moving, moves, straight);
}

static int find_affine(const struct spec *s, node a, bool *affine)
{
    bool any;
    return spec_is_affine(s, a, is_state, &any, affine);
}

/* --- Why not -------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int
say_why(struct gsv_model *m, const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    m->linear.why = mem_string(text);
    return m->linear.why ? 0 : GSV_NO_MEMORY;
}

/* An expression over z and integrals as one over x. */
static node over_x(const struct spec *s, node a)
{
    struct graph *g = s->graph;
    if (!s->integrals) return a;
    size_t first = s->inputs + s->values;
    node x = graph_leaf(g, OP_STATE, 0, s->dim + s->integrals, 1);
    a = graph_substitute(g, a, graph_slice(g, x, 0, s->dim, 1));
    for (size_t k = 0; k < s->integrals; k++)
        a = graph_replace(g, a, graph_leaf(g, OP_INPUT, first + k, 1, 1),
                          graph_slice(g, x, s->dim + k, 1, 1));
    return a;
}

/* The first row of the equations that is not affine. */
static int look_at_drift(struct gsv_model *m)
{
    struct spec *s = m->spec;
    for (size_t i = 0; i < s->dim; i++) {
        bool affine;
        node row = graph_slice(s->graph, s->drift, i, 1, 1);
        int status = find_affine(s, row, &affine);
        if (status) return status;
        if (!affine)
            return say_why(m,
                           "the drift of d%s is not linear in the states: it "
                           "must be a sum of states times factors without "
                           "states",
                           s->column[i]);
    }
    return 0;
}

/* What is integrated, and the jumps of events. */
static int look_at_others(struct gsv_model *m)
{
    const struct spec *s = m->spec;
    for (size_t k = 0; k < s->integrals + s->events; k++) {
        bool affine, jumps = k >= s->integrals;
        const struct integral_spec *of = &s->integral[jumps ? 0 : k];
        const struct event_spec *event =
            &s->event[jumps ? k - s->integrals : 0];
        int status = find_affine(s, jumps ? event->jump : of->rate, &affine);
        if (status) return status;
        if (!affine)
            return say_why(m, "%s in line %zu is not linear in the states",
                           jumps ? "the jump of the event" : "the integral",
                           jumps ? event->place.line : of->place.line);
    }
    return 0;
}

static int look_at_noise(struct gsv_model *m)
{
    struct spec *s = m->spec;
    for (size_t i = 0; has_state(s->graph, s->diffusion) && i < s->dim; i++) {
        size_t n = s->diagonal ? 1 : s->noises;
        node row = graph_slice(s->graph, s->diffusion, i * n, 1, n);
        if (has_state(s->graph, row))
            return say_why(m, "the noise of d%s depends on the states",
                           s->column[i]);
    }
    if (has_state(s->graph, s->diffusion))
        return say_why(m, "the noise depends on the states");
    return 0;
}

/* Values of the data stand after the inputs. */
static bool is_value(const struct spec *s, const struct node_info *leaf)
{
    return leaf->op == OP_INPUT && leaf->offset >= s->inputs;
}

static int uses_values(const struct spec *s, node a, bool *uses)
{
    bool affine;
    return spec_is_affine(s, a, is_value, uses, &affine);
}

static int look_at_obs(struct gsv_model *m, const struct obs_spec *o)
{
    const struct spec *s = m->spec;
    const char *name = s->value_column[o->value];
    bool affine, uses = false;
    if (o->law != LAW_NORMAL || o->zero)
        return say_why(m, "'obs %s' has the law %s, which is not normal", name,
                       o->zero ? "zeroinflated" : LAW_TABLE[o->law].name);
    const node part[] = {over_x(s, o->argument[0]), over_x(s, o->argument[1])};
    if (s->graph->failed) return GSV_NO_MEMORY;
    int status = find_affine(s, part[0], &affine);
    for (size_t i = 0; !status && !uses && i < 2; i++)
        status = uses_values(s, part[i], &uses);
    if (status) return status;
    if (uses) return say_why(m, "'obs %s' is made of other columns", name);
    if (!affine)
        return say_why(m,
                       "the mean of 'obs %s' is not linear in the states: it "
                       "must be a sum of states times factors without states",
                       name);
    if (has_state(s->graph, part[1]))
        return say_why(m, "the deviation of 'obs %s' depends on the states",
                       name);
    return 0;
}

static int look_at_all(struct gsv_model *m)
{
    const struct spec *s = m->spec;
    if (!spec_is_latent(s))
        return say_why(m, "all states are observed exactly");
    if (s->externals) return say_why(m, "it has an external function");
    if (s->mapped)
        return say_why(m, "a state is a function of a column of the data");
    if (s->init_log_density)
        return say_why(m, "the law of a first state is not normal");
    int status = look_at_noise(m);
    if (!status && !m->linear.why) status = look_at_drift(m);
    for (size_t i = 0; !status && !m->linear.why && i < s->observations; i++)
        status = look_at_obs(m, &s->obs[i]);
    if (!status && !m->linear.why) status = look_at_others(m);
    return status;
}

/* --- Its matrices --------------------------------------------------------- */

/* da/dx (size of a, columns) of an affine column a over so many of x. */
static node matrix_of(struct spec *s, node a, size_t columns)
{
    struct graph *g = s->graph;
    size_t d = columns, n = graph_size(g, a);
    node *part = GRAPH_NEW(g, node, d);
    double *unit = GRAPH_NEW(g, double, d);
    node leaf = graph_leaf(g, OP_STATE, 0, d, 1), result = 0;
    for (size_t j = 0; part && unit && j < d; j++) {
        memset(unit, 0, d * sizeof *unit);
        unit[j] = 1.0;
        part[j] = graph_directional(g, a, leaf, graph_constant(g, d, 1, unit));
        if (graph_size(g, part[j]) != n) part[j] = graph_fill(g, part[j], n, 1);
    }
    if (part && unit && !g->failed)
        result = graph_transpose(g, graph_stack(g, d, part, d, n));
    MEM_FREE(part, unit);
    return result;
}

/* a where x = 0. */
static node rest_of(struct spec *s, node a, size_t columns)
{
    struct graph *g = s->graph;
    double *zero = GRAPH_NEW(g, double, columns);
    if (!zero) return 0;
    node rest = graph_substitute(g, a, graph_constant(g, columns, 1, zero));
    mem_free(zero);
    return rest;
}

/* Rows of zeros for integrals below. */
static node diffusion_matrix(struct spec *s)
{
    struct graph *g = s->graph;
    size_t all = s->dim + s->integrals;
    if (!s->noises) return graph_fill(g, graph_number(g, 0.0), all, 1);
    node G = s->diffusion;
    if (s->diagonal)
        G = graph_binary(
            g, OP_MUL, graph_identity(g, s->dim),
            graph_matmul(g, G, graph_fill(g, graph_number(g, 1.0), 1, s->dim)));
    return s->integrals ? graph_pad(g, G, 0, all, s->noises) : G;
}

/* Columns below each other: those of `each` numbers that part(s, i) has. */
static node stack_all(struct spec *s, size_t n, size_t each,
                      node (*part)(const struct spec *s, size_t i))
{
    node *all = GRAPH_NEW(s->graph, node, n + 1), column = 0;
    for (size_t k = 0; all && k < n; k++)
        all[k] = part(s, k);
    if (all) column = graph_stack(s->graph, n, all, n * each, 1);
    mem_free(all);
    return column;
}

static node mean_of(const struct spec *s, size_t i)
{
    return over_x(s, s->obs[i].argument[0]);
}

static node deviation_of(const struct spec *s, size_t i)
{
    return s->obs[i].argument[1];
}

static node jump_of(const struct spec *s, size_t i)
{
    return s->event[i].jump;
}

/* Of z, and of integrals what these integrate. */
static node rate_of(const struct spec *s, size_t i)
{
    return over_x(s, i < s->dim ? graph_slice(s->graph, s->drift, i, 1, 1)
                                : s->integral[i - s->dim].rate);
}

/* Where all states are in the data: f~ = A y + b, if A stands still between the
 * turns of inputs. */
static int to_exact_form(struct gsv_model *m)
{
    struct spec *s = m->spec;
    bool moves = true, straight;
    if (spec_is_latent(s) || !m->affine || m->bridged || m->range ||
        spec_has_functions(s) || s->graph->nets)
        return 0;
    node A = matrix_of(s, m->unit_drift, s->dim);
    node b = rest_of(s, m->unit_drift, s->dim);
    if (s->graph->failed) return GSV_NO_MEMORY;
    int status = spec_moves(s, A, &moves, &straight);
    if (status || moves || has_state(s->graph, A)) return status;
    m->exact_A = A;
    m->exact_b = b;
    return 0;
}

int to_linear_form(struct gsv_model *m)
{
    struct spec *s = m->spec;
    struct linear_form *l = &m->linear;
    size_t d = s->dim, D = d + s->integrals;
    int status = find_affine(s, m->unit_drift, &m->affine);
    if (!status) status = to_exact_form(m);
    if (!status) status = look_at_all(m);
    if (status || l->why) return status;
    node drift = s->integrals ? stack_all(s, D, 1, rate_of) : s->drift;
    l->A = matrix_of(s, drift, D);
    l->b = rest_of(s, drift, D);
    l->G = diffusion_matrix(s);
    if (s->observations) {
        node mean = stack_all(s, s->observations, 1, mean_of);
        l->H = matrix_of(s, mean, D);
        l->offset = rest_of(s, mean, D);
        l->deviation = stack_all(s, s->observations, 1, deviation_of);
    }
    if (s->events) {
        node jumps = stack_all(s, s->events, d, jump_of);
        l->J = matrix_of(s, jumps, d);
        l->j = rest_of(s, jumps, d);
    }
    if (s->graph->failed) return GSV_NO_MEMORY;
    l->is = true;
    const node all[] = {l->A, l->b, l->H, l->offset, l->J, l->j};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] && has_state(s->graph, all[i])) l->is = false;
    return l->is ? 0 : say_why(m, "its equations are not linear");
}
