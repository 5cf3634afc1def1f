/* SPDX-License-Identifier: MIT */
/* The expressions that bring a model to unit diffusion. From the data x by the
 * model's own map to the states, z = Z(x, t); each state stretched by itself,
 * u = U(z, t) with dU/dz = 1 / shape; and
 *
 *     y = T(x, t) = sigma(t)^-1 u.
 *
 * With dz = f dt + shape sigma dW, by Ito's lemma,
 *
 *     du = (dU/dt + f / shape - shape' (sigma sigma')_ii / 2) dt + sigma dW
 *     f~ = sigma^-1 (that - sigma' y),
 *
 * both at z = U^-1(sigma y). Where no such map exists (bridged), y is z. */
#include "base/error.h"
#include "graph/words.h"
#include "lang/singular.h"
#include "model/model.h"

static node leaf_of(const struct spec *s)
{
    return graph_leaf(s->graph, OP_STATE, 0, s->dim, 1);
}

/* --- sigma -------------------------------------------------------------- */

/* sigma y, sigma^-1 y, for a diagonal that is a vector, and for a matrix. */
static node times_sigma(const struct spec *s, node y)
{
    return s->diagonal ? op(s->graph, OP_MUL, s->sigma, y)
                       : graph_matmul(s->graph, s->sigma, y);
}

static node over_sigma(const struct spec *s, node x)
{
    return s->diagonal ? op(s->graph, OP_DIV, x, s->sigma)
                       : graph_solve(s->graph, s->sigma, x);
}

static node log_abs_sum(struct graph *g, node a)
{
    return graph_sum(g, graph_unary(g, OP_LOG, graph_unary(g, OP_ABS, a)));
}

static node log_det_sigma(const struct spec *s)
{
    if (!s->diagonal) return graph_logdet(s->graph, s->sigma);
    return log_abs_sum(s->graph, s->sigma);
}

/* The diagonal of sigma sigma'. */
static node variances(const struct spec *s)
{
    struct graph *g = s->graph;
    node squares = op(g, OP_MUL, s->sigma, s->sigma);
    if (s->diagonal) return squares;
    size_t n = graph_info(g, s->sigma)->columns;
    return graph_matmul(g, squares, graph_fill(g, graph_number(g, 1.0), n, 1));
}

/* --- The drift ---------------------------------------------------------- */

/* Of u, over z. */
static node stretched_drift(const struct spec *s)
{
    struct graph *g = s->graph;
    if (!s->shape) return s->drift;
    node ones = graph_fill(g, graph_number(g, 1.0), s->dim, 1);
    node slope = graph_directional(g, s->shape, leaf_of(s), ones);
    node half = op(g, OP_MUL, graph_number(g, 0.5), variances(s));
    node f = op(g, OP_SUB, op(g, OP_DIV, s->drift, s->shape),
                op(g, OP_MUL, half, slope));
    if (graph_moves(g, s->stretch))
        f = op(g, OP_ADD, f, graph_time_derivative(g, s->stretch));
    return f;
}

/* z over y. */
static node state_of_unit(const struct spec *s)
{
    node u = times_sigma(s, leaf_of(s));
    return s->unstretch ? graph_substitute(s->graph, s->unstretch, u) : u;
}

static node unit_drift(const struct spec *s)
{
    struct graph *g = s->graph;
    node state = leaf_of(s);
    node f = graph_substitute(g, stretched_drift(s), state_of_unit(s));
    if (graph_moves(g, s->sigma)) {
        node moved = graph_time_derivative(g, s->sigma);
        moved = s->diagonal ? op(g, OP_MUL, moved, state)
                            : graph_matmul(g, moved, state);
        f = op(g, OP_SUB, f, moved);
    }
    return over_sigma(s, f);
}

/* --- The map ------------------------------------------------------------ */

static node joined(struct graph *g, node a, node b)
{
    if (!a || !b) return a ? a : b;
    return graph_stack(g, 2, (node[2]){a, b},
                       graph_size(g, a) + graph_size(g, b), 1);
}

static node unit_state(const struct spec *s)
{
    node z = s->state_of_data;
    node u = s->stretch ? graph_substitute(s->graph, s->stretch, z) : z;
    return over_sigma(s, u);
}

static node log_jacobian(const struct spec *s)
{
    struct graph *g = s->graph;
    node sum = op(g, OP_SUB, s->map_log_jacobian, log_det_sigma(s));
    if (!s->shape) return sum;
    node shape = graph_substitute(g, s->shape, s->state_of_data);
    return op(g, OP_SUB, sum, log_abs_sum(g, shape));
}

/* An expression at the first half of a leaf that is twice as long. */
static node at_first(const struct spec *s, node a)
{
    node both = graph_leaf(s->graph, OP_STATE, 0, 2 * s->dim, 1);
    return graph_substitute(s->graph, a,
                            graph_slice(s->graph, both, 0, s->dim, 1));
}

/* The derivative of such a one along the second half. */
static node pushed(const struct spec *s, node a)
{
    struct graph *g = s->graph;
    size_t d = s->dim;
    node both = graph_leaf(g, OP_STATE, 0, 2 * d, 1);
    node along = graph_slice(g, both, d, d, 1);
    return graph_directional(g, a, both, graph_pad(g, along, 0, 2 * d, 1));
}

/* --- Boundaries --------------------------------------------------------- */

/* How f~ grows at condition i of the range: a = lim delta f~(delta), with the
 * sign of the way inside, from two distances. */
static node steepness_of(const struct spec *s, node drift, node edge,
                         node slope, double distance)
{
    struct graph *g = s->graph;
    node near[2];
    node inwards = graph_unary(g, OP_SIGN, slope);
    for (int i = 0; i < 2; i++) {
        node delta = graph_number(g, (1.0 + i) * distance);
        node y = op(g, OP_ADD, edge, op(g, OP_MUL, delta, inwards));
        node f = graph_substitute(g, drift, y);
        near[i] = op(g, OP_MUL, op(g, OP_MUL, delta, inwards), f);
    }
    node extrapolated =
        op(g, OP_SUB, op(g, OP_MUL, graph_number(g, 4.0), near[0]), near[1]);
    return op(g, OP_DIV, extrapolated, graph_number(g, 3.0));
}

/* In one dimension, where nothing moves in time: the range's conditions are
 * linear in y, so that their zeros are its boundaries. */
static void find_boundaries(struct gsv_model *m)
{
    static const double NEAR = 1e-3;
    const struct spec *s = m->spec;
    struct graph *g = s->graph;
    if (s->dim != 1 || !m->range || graph_moves(g, m->range) ||
        graph_moves(g, m->unit_drift) || s->numerical || s->curved)
        return;
    size_t n = graph_size(g, m->range);
    node zero = graph_number(g, 0.0), leaf = leaf_of(s);
    node distance[2], steepness[2];
    if (n > 2) return;
    for (size_t i = 0; i < n; i++) {
        node margin = graph_slice(g, m->range, i, 1, 1);
        node slope = graph_directional(g, margin, leaf, graph_number(g, 1.0));
        node edge = graph_unary(
            g, OP_NEG, op(g, OP_DIV, graph_substitute(g, margin, zero), slope));
        node size = graph_unary(g, OP_ABS, slope);
        distance[i] = op(g, OP_DIV, margin, size);
        steepness[i] =
            op(g, OP_DIV, steepness_of(s, m->unit_drift, edge, slope, NEAR),
               distance[i]);
    }
    m->distance = graph_stack(g, n, distance, n, 1);
    m->steepness = graph_stack(g, n, steepness, n, 1);
}

/* Whether an equation without noise has a network or gp. */
static bool has_inert_functions(const struct spec *s)
{
    bool has = false;
    for (size_t i = 0; i < s->dim; i++) {
        bool noisy = false;
        for (size_t j = 0; !s->diagonal && j < s->noises; j++)
            noisy = noisy ||
                    !element_is_zero(s->graph, s->diffusion, i * s->noises + j);
        if (s->diagonal) noisy = !element_is_zero(s->graph, s->diffusion, i);
        has = has || (!noisy &&
                      graph_has_functions(
                          s->graph, graph_slice(s->graph, s->drift, i, 1, 1)));
    }
    return has;
}

int to_unit_diffusion(struct gsv_model *m)
{
    const struct spec *s = m->spec;
    struct graph *g = s->graph;
    bool chained = s->noise == NOISE_SINGULAR && !spec_is_latent(s);
    int status = chained ? to_chains(m) : 0;
    if (status) return status;
    chained = m->chain.next;
    m->bridged =
        !chained && (s->noise == NOISE_BRIDGED || s->noise == NOISE_SINGULAR);
    if (chained) {
        m->stretched_drift = s->drift;
    } else if (m->bridged) {
        m->unit_drift = s->drift;
        m->unit_state = s->state_of_data;
        m->data_state = s->data_of_state;
        m->log_jacobian = s->map_log_jacobian;
        m->domain = s->map_domain;
    } else {
        m->unit_drift = unit_drift(s);
        m->stretched_drift = stretched_drift(s);
        m->state_drift = over_sigma(s, m->stretched_drift);
        m->unit_state = unit_state(s);
        m->data_state = graph_substitute(g, s->data_of_state, state_of_unit(s));
        m->log_jacobian = log_jacobian(s);
        node inside = s->stretch_domain ? graph_substitute(g, s->stretch_domain,
                                                           s->state_of_data)
                                        : 0;
        m->domain = joined(g, s->map_domain, inside);
    }
    if (s->stretch_range)
        m->range =
            graph_substitute(g, s->stretch_range, times_sigma(s, leaf_of(s)));
    find_boundaries(m);
    m->forth[0] = at_first(s, m->unit_state);
    m->forth[1] = at_first(s, m->log_jacobian);
    m->forth[2] = pushed(s, m->forth[0]);
    m->back[0] = at_first(s, m->data_state);
    m->back[1] = pushed(s, m->back[0]);
    m->learned_noise =
        graph_depends(g, m->unit_state, OP_PARAM) ||
        graph_depends(g, m->log_jacobian, OP_PARAM) ||
        (m->bridged && graph_depends(g, spec_noise(s), OP_PARAM));
    m->inert_functions = s->noise == NOISE_SINGULAR && has_inert_functions(s);
    return g->failed ? GSV_NO_MEMORY : 0;
}
