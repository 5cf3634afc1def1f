/* SPDX-License-Identifier: MIT */
#include "integrate/rhs.h"

#include "base/error.h"
#include "base/fast.h"
#include "base/memory.h"

bool noise_has_state(const gsv_model *m)
{
    return graph_depends(m->spec->graph, m->data_diffusion, OP_STATE);
}

static bool is_diagonal(const struct spec *s)
{
    return s->diagonal && !s->mapped;
}

/* --- Stratonovich -------------------------------------------------------- */

/* Column j of g, (dim, 1). */
static node noise_column(struct graph *g, const gsv_model *m, size_t j)
{
    size_t d = m->spec->dim;
    if (is_diagonal(m->spec))
        return graph_pad(g, graph_slice(g, m->data_diffusion, j, 1, 1), j, d,
                         1);
    node rows = graph_transpose(g, m->data_diffusion);
    return graph_slice(g, rows, j * d, d, 1);
}

/* f - 1/2 sum over j of (dg_j/dx) g_j. */
static node stratonovich_drift(struct graph *g, const gsv_model *m)
{
    node x = graph_leaf(g, OP_STATE, 0, m->spec->dim, 1);
    node f = m->data_drift, half = graph_number(g, 0.5);
    for (size_t j = 0; j < m->spec->noises; j++) {
        node column = noise_column(g, m, j);
        if (!graph_depends(g, column, OP_STATE)) continue;
        node bend = graph_directional(g, column, x, column);
        f = graph_binary(g, OP_SUB, f, graph_binary(g, OP_MUL, half, bend));
    }
    return f;
}

/* --- The program --------------------------------------------------------- */

static int start(struct rhs *r, const gsv_model *m, const node output[2],
                 bool use_double)
{
    const struct graph *g = r->graph;
    *r = (struct rhs){.graph = r->graph,
                      .dim = m->spec->dim,
                      .noises = m->spec->noises,
                      .diagonal = is_diagonal(m->spec),
                      .moved = graph_depends(g, output[1], OP_STATE) ||
                               graph_depends(g, output[1], OP_PARAM)};
    if (g->failed) return GSV_NO_MEMORY;
    r->program = program_new(g, 2, output, m->spec->parameters, use_double);
    if (!r->program || uniforms_init(&r->uniforms, r->program))
        return GSV_NO_MEMORY;
    r->timed = program_uses(r->program, OP_TIME) ||
               program_uses(r->program, OP_INPUT) ||
               program_uses(r->program, OP_SLOPE);
    return 0;
}

int rhs_init(struct rhs *r, const gsv_model *m, bool stratonovich,
             bool use_double)
{
    struct graph *g = graph_copy(m->spec->graph);
    *r = (struct rhs){.graph = g};
    if (!g) return GSV_NO_MEMORY;
    node f = stratonovich ? stratonovich_drift(g, m) : m->data_drift;
    return start(r, m, (node[2]){f, m->data_diffusion}, use_double);
}

/* What has parameters inside that are one for all points, or so many that a
 * derivative by each of them is no longer sensible. */
static int check_lift(const struct program *p, size_t parameters)
{
    static const struct {
        enum op op;
        const char *name;
    } INSIDE[] = {{OP_NET, "a network"},
                  {OP_GP, "a gp"},
                  {OP_CALL, "an external function"}};
    enum { MOST = 1000 };
    for (size_t i = 0; i < sizeof INSIDE / sizeof *INSIDE; i++)
        if (program_uses(p, INSIDE[i].op))
            return fail(GSV_BAD_INPUT,
                        "mse-forward is for formulas: it solves one more "
                        "equation for each parameter, and this model has %s; "
                        "use mse-backprop or mse-adjoint, whose work does not "
                        "grow with the parameters",
                        INSIDE[i].name);
    if (parameters > MOST)
        return fail(GSV_BAD_INPUT,
                    "mse-forward solves one more equation for each parameter: "
                    "%zu of them are more than %d; use mse-backprop or "
                    "mse-adjoint, whose work does not grow with them",
                    parameters, MOST);
    return 0;
}

int rhs_init_lifted(struct rhs *r, const gsv_model *m, bool stratonovich)
{
    size_t n = m->spec->parameters;
    int status = rhs_init(r, m, stratonovich, true);
    if (!status) status = check_lift(r->program, n);
    rhs_free(r);
    if (status) return status;
    struct graph *g = graph_copy(m->spec->graph);
    *r = (struct rhs){.graph = g};
    if (!g) return GSV_NO_MEMORY;
    node all = graph_leaf(g, OP_STATE, 0, n + m->spec->dim, 1);
    node f = stratonovich ? stratonovich_drift(g, m) : m->data_drift;
    return start(
        r, m,
        (node[2]){graph_lift(g, f, all), graph_lift(g, m->data_diffusion, all)},
        true);
}

void rhs_free(struct rhs *r)
{
    uniforms_free(&r->uniforms);
    program_free(r->program);
    graph_free(r->graph);
    *r = (struct rhs){0};
}

size_t rhs_noise_size(const struct rhs *r)
{
    return r->diagonal ? r->dim : r->dim * r->noises;
}

/* --- Moves --------------------------------------------------------------- */

/* One state's: terms rows of g, and of z. */
FAST static void move_row(size_t P, size_t terms, const double *h,
                          const double *root, const double *f, const double *g,
                          const double *z, double *move)
{
    for (size_t p = 0; p < P; p++)
        move[p] = h[p] * f[p];
    for (size_t j = 0; j < terms; j++, g += P, z += P)
        for (size_t p = 0; p < P; p++)
            move[p] += root[p] * g[p] * z[p];
}

FAST static void move_row_vjp(size_t P, size_t terms, const double *h,
                              const double *root, const double *z,
                              const double *move_bar, double *f_bar,
                              double *g_bar)
{
    for (size_t p = 0; p < P; p++)
        f_bar[p] = h[p] * move_bar[p];
    for (size_t j = 0; j < terms; j++, g_bar += P, z += P)
        for (size_t p = 0; p < P; p++)
            g_bar[p] = root[p] * move_bar[p] * z[p];
}

static void move_rows(const struct rhs *r, const struct pace *s,
                      const double *f, const double *g, double *move)
{
    size_t P = s->at.P, terms = r->diagonal ? 1 : r->noises;
    for (size_t i = 0; i < r->dim; i++)
        move_row(P, terms, s->h, s->root, f + i * P, g + i * terms * P,
                 s->z + (r->diagonal ? i * P : 0), move + i * P);
}

void rhs_move(const struct rhs *r, struct workspace *w, const struct pace *s,
              double *move)
{
    size_t P = s->at.P;
    program_forward(r->program, &r->uniforms, w, &s->at);
    move_rows(r, s, program_output(r->program, w, P, 0),
              program_output(r->program, w, P, 1), move);
}

void rhs_move_vjp(const struct rhs *r, struct workspace *w,
                  const struct pace *s, const double *move_bar, double *room,
                  double *x_bar, double *uniform_bar)
{
    size_t P = s->at.P, terms = r->diagonal ? 1 : r->noises;
    double *f_bar = room, *g_bar = room + r->dim * P;
    for (size_t i = 0; i < r->dim; i++)
        move_row_vjp(P, r->moved ? terms : 0, s->h, s->root,
                     s->z + (r->diagonal ? i * P : 0), move_bar + i * P,
                     f_bar + i * P, g_bar + i * terms * P);
    const double *output_bar[2] = {f_bar, r->moved ? g_bar : NULL};
    program_vjp(r->program, &r->uniforms, w, &s->at, output_bar, x_bar,
                uniform_bar);
}

void rhs_move_jvp(const struct rhs *r, struct workspace *w,
                  const struct pace *s, const double *dot, double *move_dot)
{
    size_t P = s->at.P;
    program_jvp(r->program, &r->uniforms, w, &s->at, dot);
    move_rows(r, s, program_output_dot(r->program, w, P, 0),
              program_output_dot(r->program, w, P, 1), move_dot);
}
