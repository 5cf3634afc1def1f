/* SPDX-License-Identifier: MIT */
/* sigma^-1 v and log |det sigma| as expressions. */
#include "graph/words.h"
#include "model/model.h"

/* Matrices that are written out element by element run over whole blocks; the
 * others are factored point by point. */
enum { WRITTEN_OUT = 8 };

struct inverse {
    struct graph *g;
    node sigma;
    size_t d;
};

static node log_abs(struct graph *g, node a)
{
    return graph_unary(g, OP_LOG, graph_unary(g, OP_ABS, a));
}

static node element(const struct inverse *a, size_t i, size_t j)
{
    return graph_slice(a->g, a->sigma, i * a->d + j, 1, 1);
}

static bool is_lower(const struct inverse *a)
{
    double value;
    if (graph_info(a->g, a->sigma)->op == OP_CHOLESKY) return true;
    for (size_t i = 0; i < a->d; i++)
        for (size_t j = i + 1; j < a->d; j++)
            if (!graph_is_number(a->g, element(a, i, j), &value) ||
                value != 0.0)
                return false;
    return true;
}

/* Forward substitution. */
static node lower_solve(const struct inverse *a, node v, node *log_det)
{
    struct graph *g = a->g;
    node r[WRITTEN_OUT];
    *log_det = graph_number(g, 0.0);
    for (size_t i = 0; i < a->d; i++) {
        node sum = graph_slice(g, v, i, 1, 1), pivot = element(a, i, i);
        for (size_t j = 0; j < i; j++)
            sum = op(g, OP_SUB, sum, op(g, OP_MUL, element(a, i, j), r[j]));
        r[i] = op(g, OP_DIV, sum, pivot);
        *log_det = op(g, OP_ADD, *log_det, log_abs(g, pivot));
    }
    return graph_stack(g, a->d, r, a->d, 1);
}

/* Cramer's rule. */
static node pair_solve(const struct inverse *a, node v, node *log_det)
{
    struct graph *g = a->g;
    node v0 = graph_slice(g, v, 0, 1, 1), v1 = graph_slice(g, v, 1, 1, 1);
    node p = element(a, 0, 0), q = element(a, 0, 1);
    node r = element(a, 1, 0), t = element(a, 1, 1);
    node det = op(g, OP_SUB, op(g, OP_MUL, p, t), op(g, OP_MUL, q, r));
    node x0 = op(g, OP_SUB, op(g, OP_MUL, t, v0), op(g, OP_MUL, q, v1));
    node x1 = op(g, OP_SUB, op(g, OP_MUL, p, v1), op(g, OP_MUL, r, v0));
    *log_det = log_abs(g, det);
    node both = graph_stack(g, 2, (node[2]){x0, x1}, 2, 1);
    return op(g, OP_DIV, both, det);
}

static node over_sigma(const struct spec *s, const struct inverse *a, node v,
                       node *log_det)
{
    if (s->diagonal) {
        *log_det = graph_sum(a->g, log_abs(a->g, a->sigma));
        return op(a->g, OP_DIV, v, a->sigma);
    }
    if (a->d <= WRITTEN_OUT && is_lower(a)) return lower_solve(a, v, log_det);
    if (a->d == 2) return pair_solve(a, v, log_det);
    *log_det = graph_logdet(a->g, a->sigma);
    return graph_solve(a->g, a->sigma, v);
}

node noise_root(const struct spec *s, struct graph *g, node X)
{
    return graph_substitute(g, s->sigma, X);
}

node noise_inverse(const struct spec *s, struct graph *g, node X, node v,
                   node *log_det)
{
    const struct inverse a = {g, noise_root(s, g, X), s->dim};
    if (!s->shape) return over_sigma(s, &a, v, log_det);
    node shape = graph_substitute(g, s->shape, X);
    node r = over_sigma(s, &a, op(g, OP_DIV, v, shape), log_det);
    *log_det = op(g, OP_ADD, *log_det, graph_sum(g, log_abs(g, shape)));
    return r;
}

bool noise_has_networks(const gsv_model *m)
{
    for (size_t p = 0; p < m->spec->params; p++)
        if (m->noise_param[p] && m->spec->param[p].fan_in) return true;
    return false;
}
