/* SPDX-License-Identifier: MIT */
/* init lines: STATE ~ normal(mean, deviation), the law of a first state that
 * the data do not show. */
#include "base/error.h"
#include "base/memory.h"
#include "lang/law.h"
#include "lang/scope.h"

/* Where the first state is when nothing is said about it. */
static const double WIDE_MEAN = 0.0, WIDE_DEVIATION = 10.0;

/* The two arguments of the law, (dim) elements each. */
struct first {
    node *element[2];
    bool *given; /* (dim) */
};

static int find_state(struct builder *b, const struct statement *s,
                      const struct symbol **state)
{
    const struct declared *d = &s->declared;
    char hint[160];
    *state = scope_find(b, d->name);
    if (!*state)
        return complain(b->source, d->place, "there is no state '%s'%s",
                        d->name, scope_hint(b, d->name, hint, sizeof hint));
    if ((*state)->kind != SYMBOL_STATE)
        return complain(b->source, d->place,
                        "'%s' is not a state, and only states have a first "
                        "value",
                        d->name);
    size_t n = graph_size(b->spec->graph, (*state)->value);
    if (d->rank && d->rows * d->columns != n)
        return complain(b->source, d->place,
                        "an init is for the whole state; write 'init %s'",
                        d->name);
    return 0;
}

static int check_call(struct builder *b, const struct expr *call)
{
    if (law_find(call->name) != LAW_NORMAL)
        return complain(b->source, call->place,
                        "a first state has a normal law; write 'normal(mean, "
                        "deviation)'");
    return check_law_arguments(b, call, LAW_NORMAL);
}

static int read_argument(struct builder *b, const struct expr *e,
                         const struct symbol *state, size_t i, node *element)
{
    struct graph *g = b->spec->graph;
    size_t n = graph_size(g, state->value);
    char text[48];
    node a;
    int status = evaluate(b, e, &a);
    if (status) return status;
    if (!graph_info(g, a)->uniform)
        return complain(b->source, expr_span(e),
                        "the law of a first state is made of numbers and "
                        "parameters, not of states, inputs or t");
    if (graph_size(g, a) != 1 &&
        (graph_size(g, a) != n || graph_info(g, a)->columns != 1))
        return complain(
            b->source, expr_span(e), "'%s' has %zu %s, but the %s is %s",
            state->name, n, n == 1 ? "element" : "elements",
            LAW_TABLE[LAW_NORMAL].argument[i].name, shape_text(g, a, text));
    for (size_t k = 0; k < n; k++)
        element[state->offset + k] =
            graph_size(g, a) == 1 ? a : graph_slice(g, a, k, 1, 1);
    return check_law_numbers(b, e, LAW_NORMAL, i, a);
}

static int read_init(struct builder *b, const struct statement *s,
                     struct first *f)
{
    const struct symbol *state;
    int status = find_state(b, s, &state);
    if (!status && f->given[state->offset])
        status = complain(b->source, s->declared.place,
                          "'%s' has two inits; remove one of them",
                          s->declared.name);
    if (!status) status = check_call(b, s->value);
    for (size_t i = 0; !status && i < 2; i++)
        status = read_argument(b, s->value->kid[i], state, i, f->element[i]);
    size_t n = status ? 0 : graph_size(b->spec->graph, state->value);
    for (size_t k = 0; !status && k < n; k++) {
        f->given[state->offset + k] = true;
        status = make_latent(b, state->offset + k, s->declared.place);
    }
    return status;
}

static int read_all(struct builder *b, struct first *f)
{
    struct spec *spec = b->spec;
    int status = 0;
    for (size_t i = 0; i < spec->dim; i++) {
        f->element[0][i] = graph_number(spec->graph, WIDE_MEAN);
        f->element[1][i] = graph_number(spec->graph, WIDE_DEVIATION);
    }
    for (size_t i = 0; !status && i < b->ast->statements; i++)
        if (b->ast->statement[i].kind == INIT)
            status = read_init(b, &b->ast->statement[i], f);
    if (status) return status;
    spec->init_mean =
        graph_stack(spec->graph, spec->dim, f->element[0], spec->dim, 1);
    spec->init_deviation =
        graph_stack(spec->graph, spec->dim, f->element[1], spec->dim, 1);
    return 0;
}

int build_init(struct builder *b)
{
    size_t dim = b->spec->dim;
    struct first f = {{NEW(node, dim), NEW(node, dim)}, NEW(bool, dim)};
    int status = f.element[0] && f.element[1] && f.given ? read_all(b, &f)
                                                         : GSV_NO_MEMORY;
    mem_free(f.element[0]);
    mem_free(f.element[1]);
    mem_free(f.given);
    return status;
}
