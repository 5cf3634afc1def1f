/* SPDX-License-Identifier: MIT */
/* param k[series], param b[group]: one number for each series, or for each
 * level of a column. The column is a held input whose value is the number of
 * its level, from 1 on, and the parameter is the element that it numbers. How
 * many there are is known from data: until then there is one for all. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

const char SERIES_NAME[] = "series";

size_t spec_category(const struct spec *s, const char *name)
{
    size_t i = 0;
    while (i < s->categories && strcmp(s->category[i].name, name))
        i++;
    return i;
}

bool spec_is_bound(const struct spec *s)
{
    for (size_t i = 0; i < s->categories; i++)
        if (!s->category[i].levels) return false;
    return true;
}

const char *spec_label(const struct spec *s, const struct param_spec *p,
                       size_t element)
{
    const struct category_spec *c =
        p->category ? &s->category[p->category - 1] : NULL;
    return c && element < c->levels ? c->label[element] : NULL;
}

/* The labels that are known of it, copied. */
static int copy_labels(const struct builder *b, struct category_spec *c)
{
    size_t i = 0;
    while (i < b->levels && strcmp(b->level[i].name, c->name))
        i++;
    if (i == b->levels) return 0;
    const struct category_spec *from = &b->level[i];
    c->label = NEW(char *, from->levels);
    if (!c->label) return GSV_NO_MEMORY;
    for (; c->levels < from->levels; c->levels++) {
        c->label[c->levels] = mem_string(from->label[c->levels]);
        if (!c->label[c->levels]) return GSV_NO_MEMORY;
    }
    return 0;
}

/* The input that has its levels: one that is declared, or a new one. */
static int find_input(struct builder *b, const char *name, struct place place,
                      size_t *input)
{
    struct spec *spec = b->spec;
    const struct declared column = {.name = (char *)(size_t)name,
                                    .place = place};
    for (*input = 0; *input < spec->inputs; ++*input)
        if (!strcmp(spec->input[*input].name, name)) {
            spec->input[*input].hold = true;
            return 0;
        }
    int status = strcmp(name, SERIES_NAME) ? columns_are_free(b, &column) : 0;
    if (status) return status;
    if (MEM_ROOM(spec->input, spec->inputs, spec->input_capacity))
        return GSV_NO_MEMORY;
    char *copy = mem_string(name);
    if (!copy) return GSV_NO_MEMORY;
    spec->input[spec->inputs++] = (struct input_spec){copy, place, true, true};
    return 0;
}

static int add_category(struct builder *b, const struct declared *d)
{
    struct spec *spec = b->spec;
    struct category_spec c = {.name = NULL};
    const struct symbol *y = scope_find(b, d->category);
    if (y && y->kind != SYMBOL_INPUT)
        return complain(b->source, d->category_place,
                        "'%s' is not a column of the data; write 'param "
                        "%s[series]', or name a column of categories",
                        d->category, d->name);
    int status = find_input(b, d->category, d->category_place, &c.input);
    if (status) return status;
    spec->input[c.input].category = true;
    if (MEM_ROOM(spec->category, spec->categories, spec->category_capacity))
        return GSV_NO_MEMORY;
    c.name = mem_string(d->category);
    if (!c.name) return GSV_NO_MEMORY;
    status = copy_labels(b, &c);
    spec->category[spec->categories++] = c;
    return status;
}

int category_of(struct builder *b, const struct declared *d, size_t *category)
{
    *category = spec_category(b->spec, d->category);
    return *category < b->spec->categories ? 0 : add_category(b, d);
}

node category_number(const struct spec *s, size_t category, node all)
{
    size_t input = s->category[category].input;
    return graph_choose(s->graph, all,
                        graph_leaf(s->graph, OP_INPUT, input, 1, 1));
}

int refuse_category(const struct builder *b, const struct expr *e)
{
    size_t i = spec_category(b->spec, e->name);
    if (i == b->spec->categories) return 0;
    return complain(b->source, e->place,
                    "'%s' is a category and has no value; write 'param "
                    "a[%s]' and use a",
                    e->name, e->name);
}

/* a[group] of a parameter that has one number for each level. */
int category_index(const struct builder *b, const struct expr *e,
                   const struct symbol *y)
{
    const char *name = b->spec->category[y->category - 1].name;
    const struct expr *at = e->kids > 1 ? e->kid[1] : NULL;
    if (e->kids == 2 && at->kind == EXPR_NAME && !strcmp(at->name, name))
        return 0;
    return complain(b->source, expr_span(e),
                    "'%s' has one number for each %s%s; write '%s' for the "
                    "one that belongs to a row",
                    y->name, strcmp(name, SERIES_NAME) ? "level of " : "", name,
                    y->name);
}
