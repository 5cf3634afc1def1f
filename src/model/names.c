/* SPDX-License-Identifier: MIT */
#include "model/names.h"

#include <stdio.h>
#include <string.h>

/* A network stands for f as it was written, whatever scales its inputs and
 * outputs have, so these are 0 and 1; and so is 0 what is above the diagonal of
 * a lower matrix. */
static bool param_name(const void *owner, size_t offset, char *name,
                       double *value)
{
    const struct spec *spec = owner;
    const struct param_spec *p = &spec->param[spec_param_at(spec, offset)];
    size_t at = offset - p->offset;
    size_t row = at / p->columns, column = at % p->columns;
    if ((p->scale && !p->effect) || (p->lower && column > row)) {
        *value = p->scale ? p->start[at] : 0.0;
        return false;
    }
    size_t most = GRAPH_NAME_SIZE - 64;
    if (p->rank == 2)
        snprintf(name, GRAPH_NAME_SIZE, "%.*s[%zu,%zu]", (int)most, p->name,
                 row + 1, column + 1);
    else if (p->rank == 1)
        snprintf(name, GRAPH_NAME_SIZE, "%.*s[%zu]", (int)most, p->name,
                 row + 1);
    else snprintf(name, GRAPH_NAME_SIZE, "%.*s", (int)most, p->name);
    return true;
}

static bool param_positive(const void *owner, size_t offset)
{
    const struct spec *spec = owner;
    const struct param_spec *p = &spec->param[spec_param_at(spec, offset)];
    size_t at = offset - p->offset;
    return p->lower ? at / p->columns == at % p->columns : p->low >= 0.0;
}

/* Its first weight is NAME.0.weight. */
static void net_name(const void *owner, size_t net, char *name)
{
    const struct spec *spec = owner;
    size_t first = spec_param_at(spec, spec->graph->net_offset[net]);
    const char *weight = spec->param[first].name;
    snprintf(name, GRAPH_NAME_SIZE, "%.*s", (int)strcspn(weight, "."), weight);
}

/* Its values are NAME.value. */
static void gp_name(const void *owner, size_t gp, char *name)
{
    const struct spec *spec = owner;
    size_t first = spec_param_at(spec, spec->gp[gp].value);
    const char *value = spec->param[first].name;
    snprintf(name, GRAPH_NAME_SIZE, "%.*s", (int)strcspn(value, "."), value);
}

struct graph_names spec_names(const struct spec *spec, const char *const *state,
                              const char *const *input)
{
    return (struct graph_names){.state = state,
                                .input = input,
                                .owner = spec,
                                .param = param_name,
                                .positive = param_positive,
                                .net = net_name,
                                .gp = gp_name};
}
