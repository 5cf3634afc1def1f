/* SPDX-License-Identifier: MIT */
/* A spec without a text: the drift is a C function, the noise is diagonal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/spec.h"

static int add_param(struct spec *s, size_t i, const char *letter, size_t n,
                     double value, double low)
{
    struct param_spec *p = &s->param[i];
    char name[32];
    snprintf(name, sizeof name, "%s%zu", letter, n + 1);
    *p = (struct param_spec){.name = mem_string(name),
                             .rows = 1,
                             .columns = 1,
                             .offset = i,
                             .start = NEW(double, 1),
                             .bound = isinf(low) ? BOUND_NONE : BOUND_ABOVE,
                             .low = low,
                             .high = INFINITY};
    s->params++;
    if (!p->name || !p->start) return GSV_NO_MEMORY;
    p->start[0] = value;
    return 0;
}

static int check(const gsv_callback *c)
{
    if (!c->drift || !c->drift_vjp)
        return fail(GSV_BAD_INPUT,
                    "a callback needs both functions drift and drift_vjp; %s "
                    "is NULL",
                    c->drift ? "drift_vjp" : "drift");
    for (size_t i = 0; i < c->dim; i++)
        if (!(c->sigma[i] > 0.0 && isfinite(c->sigma[i])))
            return fail(GSV_BAD_INPUT, "sigma[%zu] is %g, but must be positive",
                        i, c->sigma[i]);
    for (size_t i = 0; i < c->parameters; i++)
        if (!isfinite(c->parameter[i]))
            return fail(GSV_BAD_INPUT, "parameter[%zu] is %g", i,
                        c->parameter[i]);
    return 0;
}

static int fill(struct spec *s, const gsv_callback *c)
{
    s->parameters = c->parameters + c->dim;
    s->param = NEW(struct param_spec, s->parameters);
    s->column = NEW(char *, c->dim);
    s->latent = NEW(bool, c->dim);
    s->graph = graph_new();
    int status =
        s->param && s->column && s->latent && s->graph ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < c->parameters; i++)
        status = add_param(s, i, "p", i, c->parameter[i], -INFINITY);
    for (size_t i = 0; !status && i < c->dim; i++)
        status = add_param(s, c->parameters + i, "s", i, c->sigma[i], 0.0);
    for (; !status && s->dim < c->dim; s->dim++) {
        char name[32];
        snprintf(name, sizeof name, "x%zu", s->dim + 1);
        s->column[s->dim] = mem_string(name);
        if (!s->column[s->dim]) return GSV_NO_MEMORY;
    }
    if (status) return status;
    struct call_spec call = {c->user, c->drift, c->drift_vjp, c->drift_jvp};
    s->drift = graph_call(s->graph, &call, s->parameters, c->dim);
    s->diagonal = true;
    s->noises = c->dim;
    s->diffusion = s->sigma =
        graph_leaf(s->graph, OP_PARAM, c->parameters, c->dim, 1);
    s->state_of_data = graph_leaf(s->graph, OP_STATE, 0, c->dim, 1);
    s->data_of_state = s->state_of_data;
    s->map_log_jacobian = graph_number(s->graph, 0.0);
    return s->graph->failed ? GSV_NO_MEMORY : 0;
}

struct spec *spec_callback(const gsv_callback *c)
{
    if (check(c)) return NULL;
    struct spec *s = NEW(struct spec, 1);
    if (s && fill(s, c)) {
        spec_free(s);
        return NULL;
    }
    return s;
}
