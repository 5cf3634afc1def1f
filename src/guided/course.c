/* SPDX-License-Identifier: MIT */
#include "guided/course.h"

#include <math.h>

#include "base/error.h"
#include "graph/build.h"
#include "graph/words.h"
#include "lang/singular.h"
#include "model/reach.h"

/* --- Coordinates ---------------------------------------------------------- */

static node leaf_x(const struct course *f)
{
    return graph_leaf(f->graph, OP_STATE, 0, f->D, 1);
}

/* z over x. */
static node state_of(const struct course *f)
{
    struct graph *g = f->graph;
    node u = graph_slice(g, leaf_x(f), 0, f->d, 1);
    return f->stretched ? graph_substitute(g, f->model->spec->unstretch, u) : u;
}

/* An expression over z as one over x, at no state below where its noise ends.
 */
static node over_x(const struct course *f, node a)
{
    struct graph *g = f->graph;
    node z = state_of(f);
    if (f->ends) {
        node least = graph_constant(g, f->d, 1, f->least);
        z = op(g, OP_MAX, z, least);
    }
    return graph_substitute(g, a, z);
}

static node over_raw(const struct course *f, node a)
{
    return graph_substitute(f->graph, a, state_of(f));
}

/* Below each other, as one column. */
static node below(struct graph *g, node a, node b)
{
    return graph_stack(g, 2, (node[2]){a, b},
                       graph_size(g, a) + graph_size(g, b), 1);
}

/* --- Drift and noise ------------------------------------------------------ */

static node drift_of(const struct course *f)
{
    const struct spec *s = f->model->spec;
    struct graph *g = f->graph;
    node all = over_x(f, f->stretched ? f->model->stretched_drift : s->drift);
    for (size_t k = 0; k < s->integrals; k++)
        all = below(g, all, over_x(f, s->integral[k].rate));
    return graph_guard_roots(g, all);
}

/* (D, m), with rows of zeros for the integrals. */
static node noise_of(const struct course *f)
{
    const struct spec *s = f->model->spec;
    struct graph *g = f->graph;
    size_t d = f->d, m = f->noises;
    node G = f->stretched ? s->sigma : s->diffusion;
    node *element = GRAPH_NEW(g, node, f->D * m);
    if (!element) return 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < m; j++) {
            if (s->diagonal && i != j) continue;
            element[i * m + j] =
                graph_slice(g, G, s->diagonal ? i : i * m + j, 1, 1);
        }
    node all = graph_stack(g, f->D * m, element, f->D, m);
    mem_free(element);
    return graph_guard_roots(g, over_x(f, all));
}

/* F'v and v'F''v over (x; v). */
static void derivatives_of(const struct course *f, node F, node *first,
                           node *second)
{
    struct graph *g = f->graph;
    size_t D = f->D;
    node both = graph_leaf(g, OP_STATE, 0, 2 * D, 1);
    node along = graph_pad(g, graph_slice(g, both, D, D, 1), 0, 2 * D, 1);
    node at = graph_substitute(g, F, graph_slice(g, both, 0, D, 1));
    *first = graph_directional(g, at, both, along);
    *second = graph_directional(g, *first, both, along);
}

static node filled(struct graph *g, node a, size_t rows)
{
    return graph_fill(g, a, rows, 1);
}

/* Whether F'v, over (x; v), does not depend on x. */
static bool is_straight(struct graph *g, node first, size_t D)
{
    bool *used = GRAPH_NEW(g, bool, 2 * D), straight = true;
    if (!used || graph_state_used(g, first, 2 * D, used)) g->failed = true;
    for (size_t i = 0; !g->failed && i < D; i++)
        straight = straight && !used[i];
    mem_free(used);
    return straight;
}

/* The outputs in the middle of a step. */
static void middle_of(struct course *f, node F, node G, node *output)
{
    struct graph *g = f->graph;
    size_t D = f->D, m = f->noises;
    output[MIDDLE_DRIFT] = F;
    output[MIDDLE_NOISE] = G;
    output[MIDDLE_SLOPE] = output[MIDDLE_CURVATURE] = graph_number(g, 0.0);
    f->open = !graph_has_functions(g, F);
    if (!f->open) return;
    node first, second, curve = graph_number(g, 0.0);
    node *column = GRAPH_NEW(g, node, m);
    derivatives_of(f, F, &first, &second);
    bool straight = is_straight(g, first, D);
    /* Scores need the programs of steps (score.h). */
    const struct spec *s = f->model->spec;
    f->linear =
        straight && !graph_depends(g, G, OP_STATE) && !spec_has_functions(s);
    node transposed = graph_transpose(g, G);
    for (size_t j = 0; column && j < m; j++) {
        node v = graph_slice(g, transposed, j * D, D, 1);
        node at = below(g, leaf_x(f), v);
        column[j] = filled(g, graph_substitute(g, first, at), D);
        if (!straight) curve = add(g, curve, graph_substitute(g, second, at));
    }
    if (column && m)
        output[MIDDLE_SLOPE] =
            graph_transpose(g, graph_stack(g, m, column, m, D));
    output[MIDDLE_CURVATURE] = filled(g, curve, D);
    mem_free(column);
}

/* --- Observations --------------------------------------------------------- */

/* The log density of an obs over x; raw: also below where noise ends. */
static node density_of(const struct course *f, const struct obs_spec *o,
                       bool raw)
{
    const struct spec *s = f->model->spec;
    struct graph *g = f->graph;
    node a = raw ? over_raw(f, o->log_density) : over_x(f, o->log_density);
    size_t first = s->inputs + s->values;
    for (size_t k = 0; k < s->integrals; k++) {
        node x = graph_slice(g, leaf_x(f), f->d + k, 1, 1);
        double least = f->least[f->d + k];
        if (!raw && isfinite(least))
            x = op(g, OP_MAX, x, graph_number(g, least));
        a = graph_replace(g, a, graph_leaf(g, OP_INPUT, first + k, 1, 1), x);
    }
    return a;
}

static node gradient_of(const struct course *f, node density)
{
    return filled(f->graph, graph_gradient(f->graph, density, leaf_x(f)), f->D);
}

/* With a constant curvature a density has one mode at most. */
static bool is_curved(const struct course *f, const struct obs_spec *o)
{
    struct graph *g = f->graph;
    node ones = graph_fill(g, graph_number(g, 1.0), f->D, 1);
    node gradient = gradient_of(f, density_of(f, o, true));
    return graph_depends(g, graph_directional(g, gradient, leaf_x(f), ones),
                         OP_STATE);
}

static void densities_of(struct course *f, node *output)
{
    const struct spec *s = f->model->spec;
    for (size_t k = 0; k < s->observations; k++) {
        output[2 * k] = density_of(f, &s->obs[k], false);
        output[2 * k + 1] = gradient_of(f, output[2 * k]);
        f->curved = f->curved || is_curved(f, &s->obs[k]);
    }
}

/* --- The first state ------------------------------------------------------ */

static node log_size(struct graph *g, node a)
{
    return f(g, OP_LOG, f(g, OP_ABS, a));
}

/* Of the latent states in u: with |dz/du|, the shape. */
static node first_of(const struct course *f)
{
    const struct spec *s = f->model->spec;
    struct graph *g = f->graph;
    node z = state_of(f);
    node sum =
        s->init_log_density ? over_raw(f, s->init_log_density) : num(g, 0.0);
    node shape = f->stretched ? over_raw(f, s->shape) : 0;
    for (size_t i = 0; i < f->d; i++) {
        if (!s->latent[i]) continue;
        if (!s->init_log_density)
            sum = add(g, sum,
                      log_normal(g, graph_slice(g, z, i, 1, 1),
                                 graph_slice(g, s->init_mean, i, 1, 1),
                                 graph_slice(g, s->init_deviation, i, 1, 1)));
        if (shape)
            sum = add(g, sum, log_size(g, graph_slice(g, shape, i, 1, 1)));
    }
    return sum;
}

/* --- All programs --------------------------------------------------------- */

static int make(struct course *f, enum course_part part, size_t n,
                const node *output, bool wide)
{
    if (f->graph->failed) return GSV_NO_MEMORY;
    f->part[part] =
        program_new(f->graph, n, output, f->model->spec->parameters, wide);
    return f->part[part] ? 0 : GSV_NO_MEMORY;
}

/* F with 0 in the rows of networks. */
static node formulas_of(const struct course *f, node F)
{
    struct graph *g = f->graph;
    node *row = GRAPH_NEW(g, node, f->D);
    if (!row) return 0;
    for (size_t i = 0; i < f->D; i++) {
        row[i] = graph_slice(g, F, i, 1, 1);
        if (graph_has_functions(g, row[i])) row[i] = graph_number(g, 0.0);
    }
    node made = graph_stack(g, f->D, row, f->D, 1);
    mem_free(row);
    return made;
}

/* dF/dx, column by column. */
static node slope_of(const struct course *f, node F)
{
    struct graph *g = f->graph;
    size_t D = f->D;
    node *column = GRAPH_NEW(g, node, D), slope = 0;
    double *unit = GRAPH_NEW(g, double, D);
    for (size_t j = 0; column && unit && j < D; j++) {
        for (size_t i = 0; i < D; i++)
            unit[i] = i == j ? 1.0 : 0.0;
        column[j] = filled(
            g,
            graph_directional(g, F, leaf_x(f), graph_constant(g, D, 1, unit)),
            D);
    }
    if (column && unit)
        slope = graph_transpose(g, graph_stack(g, D, column, D, D));
    MEM_FREE(column, unit);
    return slope;
}

/* How noise reaches the states. Where all have noise of their own, integrals
 * of it add nothing. */
static int find_orders(struct course *f, node F, node G)
{
    size_t D = f->D, m = f->noises;
    bool *drift = NEW(bool, D *D), *noise = NEW(bool, D *m);
    size_t orders = 0;
    int status = drift && noise ? 0 : GSV_NO_MEMORY;
    if (!status) status = graph_state_elements(f->graph, F, D, drift);
    for (size_t i = 0; !status && i < D * m; i++)
        noise[i] = !element_is_zero(f->graph, G, i);
    if (!status) status = reach_find(D, m, drift, noise, NULL, &orders);
    MEM_FREE(drift, noise);
    if (f->model->spec->noise == NOISE_SINGULAR)
        f->orders = orders < REACH_MOST ? orders : REACH_MOST;
    return status;
}

static int make_equations(struct course *f, bool wide)
{
    struct graph *g = f->graph;
    node F = drift_of(f), G = noise_of(f), output[MIDDLES];
    if (g->failed) return GSV_NO_MEMORY;
    middle_of(f, F, G, output);
    int status = find_orders(f, F, G);
    f->m = f->linear ? f->D : f->noises * (1 + f->orders);
    f->steady = !graph_moves(g, F) && !graph_moves(g, G);
    if (!status) status = make(f, COURSE_DRIFT, 1, &F, wide);
    if (!status) status = make(f, COURSE_MIDDLE, MIDDLES, output, wide);
    if (status || !(f->open || f->orders)) return status;
    node slope = slope_of(f, f->open ? F : formulas_of(f, F));
    return make(f, COURSE_SLOPE, 1, &slope, wide);
}

static int make_events(struct course *f, bool wide)
{
    const struct spec *s = f->model->spec;
    if (!s->events) return 0;
    node *output = NEW(node, 1 + s->events);
    if (!output) return GSV_NO_MEMORY;
    output[0] = state_of(f);
    for (size_t e = 0; e < s->events; e++)
        output[1 + e] = over_x(f, s->event[e].jump);
    int status = make(f, COURSE_DEPART, 1 + s->events, output, wide);
    mem_free(output);
    return status;
}

static int make_densities(struct course *f, bool wide)
{
    const struct spec *s = f->model->spec;
    if (!s->observations) return 0;
    node *output = NEW(node, 2 * s->observations);
    if (!output) return GSV_NO_MEMORY;
    bool opened = true;
    for (size_t k = 0; k < s->observations; k++) {
        output[k] = density_of(f, &s->obs[k], false);
        opened = opened && !graph_has_functions(f->graph, output[k]);
    }
    int status = make(f, COURSE_VALUE, s->observations, output, wide);
    /* The gradients of many outputs of a network would each go through it. */
    if (!status && opened) {
        densities_of(f, output);
        status = make(f, COURSE_DENSITY, 2 * s->observations, output, wide);
    }
    mem_free(output);
    return status;
}

/* Between the data, the states and u. */
static int make_places(struct course *f, bool wide)
{
    const struct spec *s = f->model->spec;
    struct graph *g = f->graph;
    node leaf = graph_leaf(g, OP_STATE, 0, f->d, 1);
    node ones = graph_fill(g, graph_number(g, 1.0), f->d, 1);
    node u = f->stretched ? graph_substitute(g, s->stretch, s->state_of_data)
                          : s->state_of_data;
    node enter[2] = {u, filled(g, graph_directional(g, u, leaf, ones), f->d)};
    node first = first_of(f), place = over_raw(f, s->data_of_state);
    node start[4] = {s->init_mean, s->init_deviation,
                     f->stretched ? s->stretch : leaf,
                     f->stretched ? s->shape : ones};
    int status = make(f, COURSE_ENTER, 2, enter, wide);
    if (!status) status = make(f, COURSE_START, 4, start, wide);
    if (!status) status = make(f, COURSE_FIRST, 1, &first, wide);
    if (!status) status = make(f, COURSE_PLACE, 1, &place, wide);
    if (!status && f->stretched && s->stretch_range) {
        node range = graph_substitute(g, s->stretch_range,
                                      graph_slice(g, leaf_x(f), 0, f->d, 1));
        f->conditions = graph_size(g, range);
        status = make(f, COURSE_RANGE, 1, &range, wide);
    }
    return status;
}

int course_init(struct course *f, const gsv_model *m, bool wide)
{
    const struct spec *s = m->spec;
    *f = (struct course){.model = m,
                         .d = s->dim,
                         .D = s->dim + s->integrals,
                         .graph = graph_copy(s->graph)};
    if (!f->graph) return GSV_NO_MEMORY;
    int status = course_choose(f);
    if (!status) status = make_equations(f, wide);
    if (!status) status = make_densities(f, wide);
    if (!status) status = make_events(f, wide);
    return status ? status : make_places(f, wide);
}

void course_free(struct course *f)
{
    for (size_t i = 0; i < COURSE_PARTS; i++)
        if (f->part[i]) program_free(f->part[i]);
    if (f->graph) graph_free(f->graph);
    mem_free(f->least);
    *f = (struct course){0};
}

/* --- Values and memory ---------------------------------------------------- */

int course_values_init(struct course_values *v, const struct course *f)
{
    *v = (struct course_values){0};
    for (size_t i = 0; i < COURSE_PARTS; i++)
        if (f->part[i] && uniforms_init(&v->part[i], f->part[i]))
            return GSV_NO_MEMORY;
    return 0;
}

void course_values_free(struct course_values *v)
{
    for (size_t i = 0; i < COURSE_PARTS; i++)
        uniforms_free(&v->part[i]);
}

void course_prepare(const struct course *f, const double *parameters,
                    struct course_values *v)
{
    for (size_t i = 0; i < COURSE_PARTS; i++)
        if (f->part[i]) program_prepare(f->part[i], parameters, &v->part[i]);
}

int course_room_init(struct course_room *r, const struct course *f)
{
    const struct spec *s = f->model->spec;
    size_t inputs = s->inputs + s->values + s->integrals, P = COURSE_BLOCK;
    const struct arena_part part[] = {{&r->time, P},
                                      {&r->input, inputs * P},
                                      {&r->slope, inputs * P},
                                      {&r->dot, (f->D + 1) * P}};
    *r = (struct course_room){0};
    for (size_t i = 0; i < COURSE_PARTS; i++)
        if (f->part[i] &&
            workspace_init(&r->part[i], f->part[i], P, false, true))
            return GSV_NO_MEMORY;
    return arena_lay(&r->arena, sizeof part / sizeof *part, part);
}

void course_room_free(struct course_room *r)
{
    for (size_t i = 0; i < COURSE_PARTS; i++)
        workspace_free(&r->part[i]);
    arena_free(&r->arena);
}
