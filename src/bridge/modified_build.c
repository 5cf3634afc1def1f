/* SPDX-License-Identifier: MIT */
/* The programs of modified bridges, and what can be asked of them. */
#include "base/error.h"
#include "bridge/weighers.h"
#include "graph/words.h"

int modified_check(const struct plan *p)
{
    const gsv_options *o = p->options;
    bool reference = o->reference == GSV_REFERENCE_AUTO ||
                     o->reference == GSV_REFERENCE_MODIFIED;
    bool form = o->form == GSV_FORM_AUTO || o->form == GSV_FORM_EULER;
    if (reference && form) return 0;
    return refuse_noise(
        p->model, reference ? "its bridges have euler weights: leave the form "
                              "to auto"
                            : "its bridges are modified ones: leave the "
                              "reference to auto");
}

int modified_build(struct plan *p, struct drift_outputs *out)
{
    const gsv_model *m = p->model;
    const struct spec *s = m->spec;
    size_t d = p->d;
    struct graph *g = p->graph = graph_copy(s->graph);
    if (!g) return GSV_NO_MEMORY;
    node both = graph_leaf(g, OP_STATE, 0, 2 * d, 1);
    node X = graph_slice(g, both, 0, d, 1), v = graph_slice(g, both, d, d, 1);
    node f = graph_substitute(g, m->unit_drift, X);
    node sigma = noise_root(s, g, X);
    out->node[0] = noise_inverse(s, g, X, op(g, OP_SUB, v, f), &out->node[1]);
    out->count = 2;
    node step =
        s->diagonal ? op(g, OP_MUL, sigma, v) : graph_matmul(g, sigma, v);
    if (g->failed) return GSV_NO_MEMORY;
    p->step = program_new(g, 1, &step, s->parameters, p->options->wide);
    return p->step ? 0 : GSV_NO_MEMORY;
}
