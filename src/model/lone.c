/* SPDX-License-Identifier: MIT */
/* Stochastic volatility: one latent state beside an exact one. With z the
 * states of the equations, l the latent one and e the exact one,
 *
 *     dz_l = f_l dt + shape_l(z_l) c dW,   dz_e = f_e dt + shape_e(z_e) s(z_l)
 * dW,
 *
 * c and s rows of numbers. By Lamperti's maps dU/dz = 1/shape and Ito's lemma,
 * w = U_l(z_l)/|c| and u = U_e(z_e) have
 *
 *     dw = f dt + dB,   f = (f_l/shape_l - shape_l' |c|^2/2) / |c|,
 *     du = (f_e/shape_e - shape_e' |s|^2/2) dt + s dW,
 *
 * dB = c dW/|c|. The part of s dW along dB is S dB, S = s c'/|c|; what is left
 * has the variance V = |s|^2 - S^2. Stratonovich's S dw is Ito's with S'/2 dt
 * more, so D = (drift of u) - S f - S'/2. */
#include "base/constant.h"
#include "base/memory.h"
#include "graph/words.h"
#include "lang/lamperti.h"
#include "model/model.h"

node log_normal(struct graph *g, node z, node mean, node deviation)
{
    node off = over(g, sub(g, z, mean), deviation);
    node half = mul(g, num(g, -0.5), mul(g, off, off));
    return sub(g, sub(g, half, f(g, OP_LOG, deviation)),
               num(g, 0.5 * LOG_TWO_PI));
}

/* What is found on the way. Elements of c and s: (noises). */
struct finder {
    struct spec *s;
    struct graph *g;
    size_t l, e;
    node leaf, hidden; /* hidden: stands for z_l while z_e is looked at */
    node *c, *along;   /* (noises) c and s                              */
    node shape[2];     /* of l and of e: shape_l, shape_e               */
    struct lamperti map[2];
};

static node element(struct finder *q, node of, size_t i)
{
    return graph_slice(q->g, of, i, 1, 1);
}

/* A column of two, in the order of the states. */
static node pair(struct finder *q, node latent, node exact)
{
    node both[2];
    both[q->l] = latent;
    both[q->e] = exact;
    return graph_stack(q->g, 2, both, 2, 1);
}

static bool uses(struct finder *q, node a, size_t state)
{
    bool used[2] = {false, false};
    if (graph_state_used(q->g, a, 2, used)) q->g->failed = true;
    return used[state];
}

/* The factor of noise k of a state, or 0. */
static node factor_of(struct finder *q, size_t state, size_t k)
{
    if (q->s->diagonal)
        return k == state ? element(q, q->s->diffusion, k) : num(q->g, 0.0);
    return element(q, q->s->diffusion, state * q->s->noises + k);
}

static bool is_nothing(struct finder *q, node a)
{
    double value;
    return graph_is_number(q->g, a, &value) && value == 0.0;
}

/* Takes the shape that all noises of a state share; the rest goes to part
 * (noises). */
static bool take_shape(struct finder *q, size_t state, node *shape, node *part)
{
    node own = element(q, q->leaf, state);
    bool any = false;
    for (size_t k = 0; k < q->s->noises; k++) {
        node factor = factor_of(q, state, k), found;
        part[k] = factor;
        if (is_nothing(q, factor)) continue;
        if (state == q->e)
            factor = graph_substitute(q->g, factor, pair(q, q->hidden, own));
        if (!lamperti_split(q->g, factor, own, &part[k], &found)) return false;
        if (graph_depends(q->g, found, OP_INPUT) || (any && found != *shape))
            return false;
        *shape = found;
        any = true;
    }
    return any;
}

static bool find_map(struct finder *q, size_t state, node shape,
                     struct lamperti *map)
{
    node own = element(q, q->leaf, state);
    *map = (struct lamperti){.stretch = own, .unstretch = own};
    if (!graph_depends(q->g, shape, OP_STATE)) return true;
    return lamperti_find(q->s, shape, own, map) && !map->curved &&
           !map->numerical;
}

/* The noises taken apart; false where they are not of this form. */
static bool take_apart(struct finder *q)
{
    if (!take_shape(q, q->l, &q->shape[0], q->c) ||
        !take_shape(q, q->e, &q->shape[1], q->along))
        return false;
    for (size_t k = 0; k < q->s->noises; k++)
        q->along[k] = graph_replace(q->g, q->along[k], q->hidden,
                                    element(q, q->leaf, q->l));
    return find_map(q, q->l, q->shape[0], &q->map[0]) &&
           find_map(q, q->e, q->shape[1], &q->map[1]);
}

static node product_sum(struct finder *q, const node *a, const node *b)
{
    node sum = num(q->g, 0.0);
    for (size_t k = 0; k < q->s->noises; k++)
        sum = add(q->g, sum, mul(q->g, a[k], b[k]));
    return sum;
}

/* The derivative by a state. */
static node slope(struct finder *q, node a, size_t state)
{
    const double unit[2] = {state == 0 ? 1.0 : 0.0, state == 1 ? 1.0 : 0.0};
    return graph_fill(
        q->g,
        graph_directional(q->g, a, q->leaf, graph_constant(q->g, 2, 1, unit)),
        1, 1);
}

/* The drift of U(z), over z. */
static node stretched(struct finder *q, size_t state, node shape, node square)
{
    struct graph *g = q->g;
    node half = mul(g, num(g, 0.5), mul(g, square, slope(q, shape, state)));
    return sub(g, over(g, element(q, q->s->drift, state), shape), half);
}

static node log_of(struct graph *g, node a)
{
    return f(g, OP_LOG, f(g, OP_ABS, a));
}

static void make_table(struct finder *q, struct lone_form *l, node size)
{
    struct graph *g = q->g;
    node half = num(g, 0.5), square = product_sum(q, q->along, q->along);
    node F = over(g, stretched(q, q->l, q->shape[0], mul(g, size, size)), size);
    node S = over(g, product_sum(q, q->along, q->c), size);
    node V = sub(g, square, mul(g, S, S));
    node pull = stretched(q, q->e, q->shape[1], square);
    F = graph_substitute(g, F, l->state);
    S = graph_substitute(g, S, l->state);
    l->table[LONE_F] = F;
    l->table[LONE_S] = S;
    l->table[LONE_V] = graph_substitute(g, V, l->state);
    l->table[LONE_PHI] = mul(g, half, add(g, mul(g, F, F), slope(q, F, q->l)));
    l->table[LONE_D] =
        sub(g, sub(g, graph_substitute(g, pull, l->state), mul(g, S, F)),
            mul(g, half, slope(q, S, q->l)));
    l->pulled = uses(q, l->table[LONE_D], q->e);
}

/* The law of the first state in w. */
static void make_first(struct finder *q, struct lone_form *l, node size)
{
    struct graph *g = q->g;
    const struct spec *s = q->s;
    node mean = element(q, s->init_mean, q->l);
    node deviation = element(q, s->init_deviation, q->l);
    node z = element(q, l->state, q->l);
    node shape = graph_substitute(g, q->shape[0], l->state);
    node density = s->init_log_density
                       ? graph_substitute(g, s->init_log_density, l->state)
                       : log_normal(g, z, mean, deviation);
    l->first = add(g, density, log_of(g, mul(g, shape, size)));
    node there = pair(q, mean, num(g, 1.0));
    l->start[0] = over(g, graph_substitute(g, q->map[0].stretch, there), size);
    l->start[1] = over(g, deviation,
                       mul(g, size, graph_substitute(g, q->shape[0], there)));
}

static void make_form(struct finder *q, struct lone_form *l)
{
    struct graph *g = q->g;
    node size = f(g, OP_SQRT, product_sum(q, q->c, q->c));
    node w = element(q, q->leaf, q->l), u = element(q, q->leaf, q->e);
    node at = pair(q, mul(g, size, w), u);
    *l = (struct lone_form){.latent = q->l, .exact = q->e};
    l->state = pair(q, graph_substitute(g, q->map[0].unstretch, at),
                    graph_substitute(g, q->map[1].unstretch, at));
    make_table(q, l, size);
    make_first(q, l, size);
    l->enter[0] = graph_substitute(g, q->map[1].stretch, q->s->state_of_data);
    l->enter[1] = log_of(g, slope(q, l->enter[0], q->e));
    if (q->map[0].range)
        l->range = over(g, graph_substitute(g, q->map[0].range, at), size);
    for (size_t i = 0; i < LONES; i++)
        l->table[i] = graph_fill(g, l->table[i], 1, 1);
    l->is = !uses(q, l->table[LONE_F], q->e) && !uses(q, l->enter[0], q->l) &&
            !g->failed;
}

/* Without looking at the noise. */
static bool may_be(const gsv_model *m)
{
    const struct spec *s = m->spec;
    return s->dim == 2 && spec_latent(s) == 1 && s->noise == NOISE_BRIDGED &&
           !s->events && !s->integrals && !s->inputs && !s->reactions &&
           !spec_has_functions(s) && !s->init_timed &&
           !graph_moves(s->graph, s->drift) &&
           !graph_moves(s->graph, s->diffusion) &&
           !graph_moves(s->graph, s->state_of_data) &&
           !noise_jumps(s->graph, s->diffusion);
}

int to_lone_form(struct gsv_model *m)
{
    struct spec *s = m->spec;
    if (!may_be(m)) return 0;
    struct finder q = {.s = s, .g = s->graph, .l = s->latent[0] ? 0 : 1};
    q.e = 1 - q.l;
    q.leaf = graph_leaf(s->graph, OP_STATE, 0, 2, 1);
    q.hidden = graph_leaf(s->graph, OP_INPUT, s->values, 1, 1);
    q.c = NEW(node, 2 * s->noises);
    if (!q.c) return GSV_NO_MEMORY;
    q.along = q.c + s->noises;
    if (take_apart(&q)) make_form(&q, &m->lone);
    mem_free(q.c);
    return s->graph->failed ? GSV_NO_MEMORY : 0;
}
