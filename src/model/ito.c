/* SPDX-License-Identifier: MIT */
/* The equations of the data by Ito's lemma. Of dz = f dt + sum over j of
 * g_j dW_j and x = X(z, t),
 *
 *     dx = (dX/dt + X_z f + 1/2 sum over j of X_zz[g_j, g_j]) dt
 *          + sum over j of X_z g_j dW_j,
 *
 * all at z = Z(x, t). Derivatives of X are taken over a leaf of 2 dim rows,
 * (z; v), along a v that stands still; v then becomes f or g_j. */
#include "base/memory.h"
#include "model/model.h"

struct ito {
    const struct spec *spec;
    struct graph *g;
    node push; /* X_z v over (z; v)      */
    node bend; /* X_zz[v, v] over (z; v) */
};

static void ito_init(struct ito *i, const struct spec *spec)
{
    struct graph *g = spec->graph;
    size_t d = spec->dim;
    *i = (struct ito){.spec = spec, .g = g};
    node both = graph_leaf(g, OP_STATE, 0, 2 * d, 1);
    node along = graph_pad(g, graph_slice(g, both, d, d, 1), 0, 2 * d, 1);
    node X =
        graph_substitute(g, spec->data_of_state, graph_slice(g, both, 0, d, 1));
    i->push = graph_directional(g, X, both, along);
    i->bend = graph_directional(g, i->push, both, along);
}

/* What is over (z; v), with the state as z and a vector over z as v. */
static node at(const struct ito *i, node what, node v)
{
    size_t d = i->spec->dim;
    node z = graph_leaf(i->g, OP_STATE, 0, d, 1);
    node both = graph_stack(i->g, 2, (node[2]){z, v}, 2 * d, 1);
    return graph_substitute(i->g, what, both);
}

/* Column j of the diffusion, (dim, 1). */
static node noise_column(const struct spec *s, size_t j)
{
    struct graph *g = s->graph;
    if (s->diagonal)
        return graph_pad(g, graph_slice(g, s->diffusion, j, 1, 1), j, s->dim,
                         1);
    node rows = graph_transpose(g, s->diffusion);
    return graph_slice(g, rows, j * s->dim, s->dim, 1);
}

static node plus(struct graph *g, node a, node b)
{
    return graph_binary(g, OP_ADD, a, b);
}

/* Over z; column has room for the noises. */
static void apply_lemma(const struct ito *i, node *column, node *drift,
                        node *diffusion)
{
    const struct spec *s = i->spec;
    struct graph *g = i->g;
    node half = graph_number(g, 0.5), bend = 0;
    for (size_t j = 0; j < s->noises; j++) {
        node v = noise_column(s, j);
        column[j] = at(i, i->push, v);
        node part = at(i, i->bend, v);
        bend = bend ? plus(g, bend, part) : part;
    }
    *drift =
        plus(g, at(i, i->push, s->drift), graph_binary(g, OP_MUL, half, bend));
    if (graph_moves(g, s->data_of_state))
        *drift = plus(g, *drift, graph_time_derivative(g, s->data_of_state));
    *diffusion = graph_transpose(
        g, graph_stack(g, s->noises, column, s->noises, s->dim));
}

int to_data_coordinates(struct gsv_model *m)
{
    const struct spec *s = m->spec;
    struct graph *g = s->graph;
    m->data_drift = s->drift;
    m->data_diffusion = s->diffusion;
    if (!s->mapped) return 0;
    node *column = NEW(node, s->noises), drift, diffusion;
    if (!column) return GSV_NO_MEMORY;
    struct ito i;
    ito_init(&i, s);
    apply_lemma(&i, column, &drift, &diffusion);
    m->data_drift = graph_substitute(g, drift, s->state_of_data);
    m->data_diffusion = graph_substitute(g, diffusion, s->state_of_data);
    mem_free(column);
    return g->failed ? GSV_NO_MEMORY : 0;
}
