/* SPDX-License-Identifier: MIT */
/* external NAME(args) -> n : its parameters, itself as a node, and the
 * functions that callers give. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

/* --- The declaration ------------------------------------------------------ */

/* NAME.p, or of several arrays NAME.p1, NAME.p2 and so on. */
static int add_array(struct builder *b, const struct statement *s, size_t i)
{
    char name[300], number[24] = "";
    size_t rows = s->width[2 * i], columns = s->width[2 * i + 1];
    if (s->widths > 2) snprintf(number, sizeof number, "%zu", i + 1);
    snprintf(name, sizeof name, "%.250s.p%s", s->declared.name, number);
    struct param_spec *p = new_param(b, s->declared.place, name, rows, columns);
    if (!p) return GSV_NO_MEMORY;
    p->rank = columns > 1 ? 2 : 1;
    p->given = true;
    if (s->weights) p->fan_in = columns;
    return 0;
}

static int add_arrays(struct builder *b, const struct statement *s)
{
    double sum = 0.0;
    for (size_t i = 0; i + 1 < s->widths; i += 2)
        sum += (double)s->width[i] * (double)s->width[i + 1];
    int status = check_numbers(b, s->declared.place, sum);
    for (size_t i = 0; !status && i < s->widths / 2; i++)
        status = add_array(b, s, i);
    return status;
}

node external_at(const struct spec *spec, size_t external, node argument)
{
    struct graph *g = spec->graph;
    const struct external_spec *e = &spec->external[external];
    if (g->failed) return 0;
    node p = e->count ? graph_leaf(g, OP_PARAM, e->offset, e->count, 1) : 0;
    return graph_call(g, external, argument, p, e->outputs);
}

int declare_external(struct builder *b, const struct statement *s)
{
    struct spec *spec = b->spec;
    struct external_spec e = {.outputs = s->outputs,
                              .sized = s->widths > 0,
                              .weights = s->weights,
                              .to = s->to,
                              .place = s->declared.place,
                              .offset = spec->parameters};
    node argument;
    int status = read_arguments(b, s, &argument);
    if (!status) status = add_arrays(b, s);
    if (status) return status;
    e.inputs = graph_size(spec->graph, argument);
    e.count = spec->parameters - e.offset;
    if (MEM_ROOM(spec->external, spec->externals, spec->external_capacity))
        return GSV_NO_MEMORY;
    e.name = mem_string(s->declared.name);
    if (!e.name) return GSV_NO_MEMORY;
    spec->external[spec->externals] = e;
    size_t number = spec->externals++;
    graph_call_add(spec->graph, e.name);
    node value = external_at(spec, number, argument);
    if (spec->graph->failed) return GSV_NO_MEMORY;
    return scope_add(b, (struct symbol){.name = s->declared.name,
                                        .kind = SYMBOL_EXTERNAL,
                                        .place = s->declared.place,
                                        .value = value,
                                        .net = number,
                                        .rank = 1});
}

/* --- The functions -------------------------------------------------------- */

struct shared_callback {
    gsv_callback callback;
    atomic_size_t users;
};

struct shared_callback *callback_share(const gsv_callback *c)
{
    struct shared_callback *s = NEW(struct shared_callback, 1);
    if (!s) return NULL;
    s->callback = *c;
    atomic_init(&s->users, 1);
    return s;
}

struct shared_callback *callback_use(struct shared_callback *c)
{
    if (c) atomic_fetch_add(&c->users, 1);
    return c;
}

void callback_drop(struct shared_callback *c)
{
    if (!c || atomic_fetch_sub(&c->users, 1) > 1) return;
    if (c->callback.release) c->callback.release(c->callback.user);
    mem_free(c);
}

void external_give(struct spec *s, size_t external, struct shared_callback *c)
{
    callback_use(c);
    callback_drop(s->external[external].given);
    s->external[external].given = c;
    s->graph->call[external].function = c ? &c->callback : NULL;
}

void externals_copy(const struct spec *from, struct spec *to)
{
    for (size_t i = 0; i < to->externals; i++)
        for (size_t j = 0; j < from->externals; j++)
            if (!strcmp(to->external[i].name, from->external[j].name))
                external_give(to, i, from->external[j].given);
}

int externals_refuse(const struct spec *s)
{
    int status = 0;
    for (size_t i = 0; !status && i < s->externals; i++)
        status = graph_refuse_call(s->graph, i);
    return status;
}
