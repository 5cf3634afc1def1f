/* SPDX-License-Identifier: MIT */
/* random lines: NAME ~ normal(mean, deviation), numbers that every series draws
 * once. In the graph an effect is a parameter that is not learned: whoever runs
 * a series sets it (src/panel/). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/law.h"
#include "lang/scope.h"

/* Quadrature has points in all directions of them. */
enum { MOST_EFFECTS = 8 };

int declare_effect(struct builder *b, const struct statement *s)
{
    const struct declared *d = &s->declared;
    struct spec *spec = b->spec;
    if (d->rank == 2)
        return complain(b->source, d->place,
                        "random effects are one number or a vector; write "
                        "'random %s[%zu]'",
                        d->name, d->rows);
    if (spec->effect_size + d->rows > MOST_EFFECTS)
        return complain(b->source, d->place,
                        "with this line a series has %zu random effects; it "
                        "can have at most %d",
                        spec->effect_size + d->rows, MOST_EFFECTS);
    struct param_spec *p = new_param(b, d->place, d->name, d->rows, 1);
    if (!p || MEM_ROOM(spec->effect, spec->effects, spec->effect_capacity))
        return GSV_NO_MEMORY;
    p->rank = d->rank;
    p->scale = p->effect = true;
    spec->effect[spec->effects++] =
        (struct effect_spec){.param = spec->params - 1,
                             .offset = spec->effect_size,
                             .place = s->value->place};
    spec->effect_size += d->rows;
    node value = graph_leaf(spec->graph, OP_PARAM, p->offset, d->rows, 1);
    return scope_declare(b, d, SYMBOL_PARAM, value);
}

/* --- Its law -------------------------------------------------------------- */

static int check_law(struct builder *b, const struct statement *s)
{
    const struct expr *call = s->value;
    const char *name = s->declared.name;
    if (!strcmp(call->name, LAW_TABLE[LAW_NORMAL].name))
        return check_law_arguments(b, call, LAW_NORMAL);
    if (!strcmp(call->name, "lognormal"))
        return complain(b->source, call->place,
                        "a random effect is normal; write 'random %s ~ "
                        "normal(...)' and use exp(%s), which is lognormal",
                        name, name);
    return complain(b->source, call->place,
                    "a random effect is normal; write 'random %s ~ normal(m, "
                    "s)' and use a function of %s, such as exp(%s)",
                    name, name, name);
}

/* Whether a is made of random effects. */
static int uses_effects(const struct spec *s, node a, bool *uses)
{
    bool *wanted = NEW(bool, a + 1);
    if (!wanted) return GSV_NO_MEMORY;
    *uses = false;
    wanted[a] = true;
    for (node n = a + 1; n-- > 0;) {
        const struct node_info *info = graph_info(s->graph, n);
        if (!wanted[n]) continue;
        if (info->op == OP_PARAM &&
            s->param[spec_param_at(s, info->offset)].effect)
            *uses = true;
        for (size_t i = 0; i < info->inputs; i++)
            wanted[graph_input(s->graph, n, i)] = true;
    }
    mem_free(wanted);
    return 0;
}

/* An argument: of parameters and numbers alone. */
static int read_uniform(struct builder *b, const struct expr *e, node *a)
{
    bool uses = false;
    int status = evaluate(b, e, a);
    if (!status && !graph_info(b->spec->graph, *a)->uniform)
        return complain(b->source, expr_span(e),
                        "the law of a random effect is made of numbers and "
                        "parameters, not of states, inputs or t; what depends "
                        "on these goes into the expressions that use the "
                        "effect");
    if (!status) status = uses_effects(b->spec, *a, &uses);
    if (!status && uses)
        status = complain(b->source, expr_span(e),
                          "the law of a random effect cannot be made of random "
                          "effects; add them where they are used");
    return status;
}

static int read_mean(struct builder *b, const struct expr *e,
                     struct effect_spec *u, size_t n)
{
    struct graph *g = b->spec->graph;
    char text[48];
    int status = read_uniform(b, e, &u->mean);
    if (status) return status;
    if (graph_size(g, u->mean) == 1) u->mean = graph_fill(g, u->mean, n, 1);
    if (graph_size(g, u->mean) == n && graph_info(g, u->mean)->rows == n)
        return 0;
    return complain(
        b->source, expr_span(e), "'%s' has %zu %s, but its mean is %s",
        b->spec->param[u->param].name, n, n == 1 ? "element" : "elements",
        shape_text(g, u->mean, text));
}

/* A square matrix that is a param must be a lower one: above the diagonal it
 * is not used. */
static int check_matrix(struct builder *b, const struct expr *e, node a)
{
    const struct node_info *info = graph_info(b->spec->graph, a);
    if (info->op != OP_PARAM) return 0;
    const struct param_spec *p =
        &b->spec->param[spec_param_at(b->spec, info->offset)];
    if (p->lower) return 0;
    return complain(b->source, expr_span(e),
                    "the deviation of correlated effects is a lower matrix, "
                    "whose product with its transpose is their covariance; "
                    "declare it with 'param %s[%zu,%zu] lower'",
                    p->name, p->rows, p->columns);
}

/* A param that stands there alone must not become negative in a search. */
static int check_deviation(struct builder *b, const struct expr *e, node a)
{
    const struct node_info *info = graph_info(b->spec->graph, a);
    if (info->op != OP_PARAM) return 0;
    const struct param_spec *p =
        &b->spec->param[spec_param_at(b->spec, info->offset)];
    bool low = p->bound == BOUND_ABOVE || p->bound == BOUND_BETWEEN;
    if (p->lower || (low && p->low >= 0.0)) return 0;
    return complain(b->source, expr_span(e),
                    "the deviation of a random effect must be positive; "
                    "declare it with 'param %s > 0'",
                    p->name);
}

static int read_root(struct builder *b, const struct expr *e,
                     struct effect_spec *u, size_t n)
{
    struct graph *g = b->spec->graph;
    node a;
    char text[48];
    int status = read_uniform(b, e, &a);
    if (status) return status;
    size_t size = graph_size(g, a), columns = graph_info(g, a)->columns;
    u->root = a;
    if (n > 1 && size == n * n && columns == n) return check_matrix(b, e, a);
    if (size != 1 && (size != n || columns != 1))
        return complain(b->source, expr_span(e),
                        "'%s' has %zu %s, but its deviation is %s; write one "
                        "number, a vector of %zu, or a lower %zu x %zu matrix "
                        "for correlated effects",
                        b->spec->param[u->param].name, n,
                        n == 1 ? "element" : "elements", shape_text(g, a, text),
                        n, n, n);
    if (size == 1) status = check_law_numbers(b, e, LAW_NORMAL, 1, a);
    if (!status) status = check_deviation(b, e, a);
    if (n > 1)
        u->root = graph_binary(
            g, OP_MUL, graph_identity(g, n),
            graph_matmul(g, graph_fill(g, a, n, 1),
                         graph_fill(g, graph_number(g, 1.0), 1, n)));
    return status;
}

int build_effects(struct builder *b)
{
    struct spec *spec = b->spec;
    int status = 0;
    for (size_t i = 0, k = 0; !status && i < b->ast->statements; i++) {
        const struct statement *s = &b->ast->statement[i];
        if (s->kind != RANDOM) continue;
        struct effect_spec *u = &spec->effect[k++];
        size_t n = spec->param[u->param].rows;
        status = check_law(b, s);
        if (!status) status = read_mean(b, s->value->kid[0], u, n);
        if (!status) status = read_root(b, s->value->kid[1], u, n);
    }
    return !status && spec->graph->failed ? GSV_NO_MEMORY : status;
}
