/* SPDX-License-Identifier: MIT */
/* The programs of a smoother. Densities are over z, and are needed over y:
 * with u = U(z, t) and y = sigma^-1 u, as in unit.c,
 *
 *     z(y) = U^-1(sigma y),   T(z) = sigma^-1 U(z). */
#include "base/error.h"
#include "graph/words.h"
#include "observe/smooth_parts.h"

static node leaf_of(const struct smoother *s)
{
    return graph_leaf(s->graph, OP_STATE, 0, s->d, 1);
}

/* U over z. */
static node stretched(const struct smoother *s)
{
    const struct spec *spec = s->model->spec;
    return spec->stretch ? spec->stretch : leaf_of(s);
}

/* T over z. */
static node unit_of_state(const struct smoother *s)
{
    const struct spec *spec = s->model->spec;
    node u = stretched(s);
    return spec->diagonal ? op(s->graph, OP_DIV, u, spec->sigma)
                          : graph_solve(s->graph, spec->sigma, u);
}

/* z over y. */
static node state_of_unit(const struct smoother *s)
{
    const struct spec *spec = s->model->spec;
    node y = leaf_of(s);
    node u = spec->diagonal ? op(s->graph, OP_MUL, spec->sigma, y)
                            : graph_matmul(s->graph, spec->sigma, y);
    return spec->unstretch ? graph_substitute(s->graph, spec->unstretch, u) : u;
}

/* Of a poisson process the integral of the rate is taken for the rate at its
 * end times the gap's length, which stands where the integral would. */
static node log_density(const struct smoother *s, const struct obs_spec *obs)
{
    const struct spec *spec = s->model->spec;
    struct graph *g = s->graph;
    if (!obs->rate) return obs->log_density;
    node count = graph_leaf(g, OP_INPUT, spec->inputs + obs->value, 1, 1);
    node length = graph_leaf(g, OP_INPUT,
                             spec->inputs + spec->values + obs->integral, 1, 1);
    node mean = op(g, OP_MUL, obs->rate, length);
    node log_mean = graph_unary(g, OP_LOG, mean);
    return op(g, OP_SUB, op(g, OP_MUL, count, log_mean), mean);
}

static int part_init(struct smooth_part *p, const struct smoother *s,
                     size_t outputs, const node *output)
{
    p->program = program_new(s->graph, outputs, output,
                             s->model->spec->parameters, true);
    if (!p->program || uniforms_init(&p->uniforms, p->program) ||
        workspace_init(&p->workspace, p->program, SMOOTH_BLOCK, false, true))
        return GSV_NO_MEMORY;
    return 0;
}

static void part_free(struct smooth_part *p)
{
    if (!p->program) return;
    workspace_free(&p->workspace);
    uniforms_free(&p->uniforms);
    program_free(p->program);
}

static int density_init(struct smoother *s)
{
    const struct spec *spec = s->model->spec;
    size_t n = spec->observations;
    if (!n) return 0;
    node *output = NEW(node, 2 * n);
    if (!output) return GSV_NO_MEMORY;
    node z = state_of_unit(s), y = leaf_of(s);
    for (size_t i = 0; i < n; i++) {
        node over_z = log_density(s, &spec->obs[i]);
        output[2 * i] = graph_substitute(s->graph, over_z, z);
        output[2 * i + 1] = graph_gradient(s->graph, output[2 * i], y);
    }
    int status = s->graph->failed ? GSV_NO_MEMORY
                                  : part_init(&s->density, s, 2 * n, output);
    mem_free(output);
    return status;
}

static int parts_init(struct smoother *s)
{
    const gsv_model *m = s->model;
    const struct spec *spec = m->spec;
    const node pin[2] = {stretched(s), spec->sigma};
    const node first[3] = {spec->init_mean, spec->init_deviation,
                           unit_of_state(s)};
    if (s->graph->failed || density_init(s) ||
        part_init(&s->drift, s, 1, &m->unit_drift) ||
        part_init(&s->first, s, 3, first) ||
        (m->range && part_init(&s->range, s, 1, &m->range)) ||
        (s->pinned && part_init(&s->pin, s, 2, pin)))
        return GSV_NO_MEMORY;
    return 0;
}

static int memory_init(struct smoother *s)
{
    size_t d = s->d, dd = d * d, P = SMOOTH_BLOCK;
    const struct arena_part piece[] = {{&s->state, d * P},
                                       {&s->time, P},
                                       {&s->input, s->columns * P},
                                       {&s->slope, s->inputs * P},
                                       {&s->dot, d * P},
                                       {&s->log_density, P},
                                       {&s->first_mean, d},
                                       {&s->first_cov, dd},
                                       {&s->mean, d},
                                       {&s->cov, dd},
                                       {&s->matrix, SMOOTH_MATRICES * dd},
                                       {&s->vector, SMOOTH_VECTORS * d},
                                       {&s->eigen_room, 64 * d}};
    return arena_lay(&s->arena, sizeof piece / sizeof *piece, piece);
}

int smoother_init(struct smoother *s, const gsv_model *m)
{
    const struct spec *spec = m->spec;
    *s = (struct smoother){.model = m, .d = spec->dim, .inputs = spec->inputs};
    int refused = gsv_check_likelihood(m);
    if (refused) return refused;
    s->columns = spec->inputs + spec->values + spec->integrals;
    for (size_t i = 0; i < s->d; i++)
        s->pinned = s->pinned || !spec->latent || !spec->latent[i];
    s->graph = graph_copy(spec->graph);
    if (s->graph && !parts_init(s) && !memory_init(s)) return 0;
    smoother_free(s);
    return GSV_NO_MEMORY;
}

void smoother_free(struct smoother *s)
{
    part_free(&s->drift);
    part_free(&s->density);
    part_free(&s->range);
    part_free(&s->pin);
    part_free(&s->first);
    arena_free(&s->arena);
    arena_free(&s->stop.arena);
    graph_free(s->graph);
    *s = (struct smoother){0};
}
