/* SPDX-License-Identifier: MIT */
/* integral(e) in the arguments of obs lines: the integral of e since the row
 * before. In the graph it is an input after the model's own and those of all
 * values. Integrals of equal expressions are one. */
#include "base/error.h"
#include "base/memory.h"
#include "lang/law.h"
#include "lang/scope.h"

/* --- What is made of them ------------------------------------------------- */

size_t spec_integral(const struct spec *spec, node a)
{
    const struct node_info *i = graph_info(spec->graph, a);
    size_t first = spec->inputs + spec->values;
    return i->op == OP_INPUT && i->offset >= first ? i->offset - first
                                                   : spec->integrals;
}

int spec_integrals_used(const struct spec *spec, node a, bool *used, bool *any)
{
    const struct graph *g = spec->graph;
    *any = false;
    if (!spec->integrals || !graph_depends(g, a, OP_INPUT)) return 0;
    bool *part = NEW(bool, a + 1);
    if (!part) return GSV_NO_MEMORY;
    part[a] = true;
    for (node n = a + 1; n-- > 0;) {
        if (!part[n]) continue;
        size_t k = spec_integral(spec, n);
        if (k < spec->integrals) *any = true;
        if (k < spec->integrals && used) used[k] = true;
        for (size_t i = 0; i < graph_info(g, n)->inputs; i++)
            part[graph_input(g, n, i)] = true;
    }
    mem_free(part);
    return 0;
}

bool obs_is_process(const struct spec *spec, const struct obs_spec *o,
                    size_t *integral)
{
    if (!o->integrated || o->zero || !LAW_TABLE[o->law].events) return false;
    *integral = spec_integral(spec, o->argument[0]);
    return *integral < spec->integrals;
}

/* --- The call ------------------------------------------------------------- */

static int add_integral(struct spec *spec, struct place place, node rate,
                        node *leaf)
{
    size_t k = 0;
    while (k < spec->integrals && spec->integral[k].rate != rate)
        k++;
    if (k == spec->integrals) {
        if (MEM_ROOM(spec->integral, spec->integrals, spec->integral_capacity))
            return GSV_NO_MEMORY;
        spec->integral[spec->integrals++] = (struct integral_spec){rate, place};
    }
    *leaf = graph_leaf(spec->graph, OP_INPUT, spec->inputs + spec->values + k,
                       1, 1);
    return 0;
}

/* A rate is evaluated between rows, where there is no integral yet. */
static int check_rate(struct builder *b, struct place place, node rate)
{
    bool nested;
    int status = spec_integrals_used(b->spec, rate, NULL, &nested);
    if (!status && nested)
        status = complain(b->source, place,
                          "an integral cannot contain another one; use a state "
                          "for the inner one, 'dz = r*dt'");
    return status ? status : refuse_slope(b, place, rate, "this integral");
}

int integrate_elements(struct builder *b, struct place place, node rate,
                       node *result)
{
    struct graph *g = b->spec->graph;
    struct node_info i = *graph_info(g, rate);
    size_t n = i.rows * i.columns;
    int status = check_rate(b, place, rate);
    if (status) return status;
    node *leaf = NEW(node, n);
    status = leaf ? 0 : GSV_NO_MEMORY;
    for (size_t k = 0; !status && k < n; k++) {
        node one = n == 1 ? rate : graph_slice(g, rate, k, 1, 1);
        status = add_integral(b->spec, place, one, &leaf[k]);
    }
    if (!status)
        *result = n == 1 ? leaf[0] : graph_stack(g, n, leaf, i.rows, i.columns);
    mem_free(leaf);
    return status;
}

int evaluate_integral(struct builder *b, const struct expr *e, node rate,
                      node *result)
{
    if (!b->observing)
        return complain(b->source, expr_span(e),
                        "integral(...) is taken from one row of the data to "
                        "the next, so only the arguments of an obs can contain "
                        "it; write it there, as in 'obs n ~ "
                        "poisson(integral(r))'");
    return integrate_elements(b, expr_span(e), rate, result);
}
