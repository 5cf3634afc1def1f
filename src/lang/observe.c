/* SPDX-License-Identifier: MIT */
/* obs lines: VALUE ~ law(arguments). The states that an argument is made of
 * are latent; the values are columns of the data, and inputs of the graph
 * after the model's own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/law.h"
#include "lang/scope.h"

/* A line while it is built. */
struct line {
    const struct declared *name;
    const struct expr *call;
    enum law law;
    node argument[LAW_ARGUMENTS];
    struct declared trials; /* the column of a binomial's, or no name */
};

/* --- The law -------------------------------------------------------------- */

static int find_law(struct builder *b, struct line *l)
{
    const char *name[LAW_COUNT];
    char known[200] = "";
    size_t law = law_find(l->call->name);
    l->law = (enum law)law;
    if (law < LAW_COUNT) return 0;
    for (size_t i = 0; i < LAW_COUNT; i++) {
        name[i] = LAW_TABLE[i].name;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
                 i ? " " : "", name[i]);
    }
    const char *near = gsv_suggestion(l->call->name, LAW_COUNT, name);
    if (near)
        return complain(b->source, l->call->place,
                        "unknown law '%s'; did you mean '%s'?", l->call->name,
                        near);
    return complain(b->source, l->call->place,
                    "unknown law '%s'; the laws are %s", l->call->name, known);
}

int check_law_arguments(struct builder *b, const struct expr *call, size_t law)
{
    const struct law_row *row = &LAW_TABLE[law];
    char list[200] = "";
    if (call->kids == row->arguments) return 0;
    for (size_t i = 0; i < row->arguments; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 i ? ", " : "", row->argument[i].name);
    return complain(
        b->source, expr_span(call), "'%s' takes %zu %s (%s), but is given %zu",
        row->name, row->arguments,
        row->arguments == 1 ? "argument" : "arguments", list, call->kids);
}

int check_law_numbers(struct builder *b, const struct expr *e, size_t law,
                      size_t argument, node value)
{
    static const char *const WANTED[] = {[RANGE_ANY] = "a finite number",
                                         [RANGE_POSITIVE] = "positive",
                                         [RANGE_PROBABILITY] = "from 0 to 1",
                                         [RANGE_WHOLE] =
                                             "a whole number from 0 on"};
    const struct law_row *row = &LAW_TABLE[law];
    enum law_range range = row->argument[argument].range;
    const struct node_info *i = graph_info(b->spec->graph, value);
    size_t n = i->op == OP_CONSTANT ? i->rows * i->columns : 0;
    for (size_t k = 0; k < n; k++)
        if (!law_allows(range, i->data[k]))
            return complain(b->source, expr_span(e),
                            "the %s of '%s' must be %s, but is %g",
                            row->argument[argument].name, row->name,
                            WANTED[range], i->data[k]);
    return 0;
}

/* --- The columns ---------------------------------------------------------- */

static int check_others(struct builder *b, const struct declared *d)
{
    const struct spec *spec = b->spec;
    for (size_t i = 0; i < spec->dim; i++)
        if (is_column_of(d, spec->column[i]))
            return complain(b->source, d->place,
                            "'%s' is the name of a state or of its column; an "
                            "observation is a column of its own, with another "
                            "name",
                            spec->column[i]);
    for (size_t i = 0; i < spec->inputs; i++)
        if (is_column_of(d, spec->input[i].name))
            return complain(b->source, d->place,
                            "'%s' is an input; an observation is a column of "
                            "its own, with another name",
                            spec->input[i].name);
    return column_is_ordinary(b, d);
}

static int check_value(struct builder *b, const struct declared *d)
{
    const struct spec *spec = b->spec;
    int status = check_others(b, d);
    if (!status) status = scope_check(b, d->name, d->place);
    if (status) return status;
    if (d->rank > 1)
        return complain(b->source, d->place,
                        "an observation is one column or a vector of them; "
                        "write '%s[%zu]'",
                        d->name, d->rows * d->columns);
    for (size_t i = 0; i < spec->observations; i++) {
        const struct obs_spec *o = &spec->obs[i];
        for (size_t k = 0; k < o->values - law_given(o); k++)
            if (is_column_of(d, spec->value_column[o->value + k]))
                return complain(b->source, d->place,
                                "the column '%s' is observed twice; a column "
                                "has one law",
                                spec->value_column[o->value + k]);
    }
    return 0;
}

/* The trials of a binomial as a column: a name that nothing declares. */
static int find_trials(struct builder *b, struct line *l)
{
    const struct expr *e = l->call->kid[0];
    const struct expr *name = e->kind == EXPR_INDEX ? e->kid[0] : e;
    struct declared *d = &l->trials;
    if (!LAW_TABLE[l->law].trials || name->kind != EXPR_NAME ||
        !is_free(b, name->name))
        return 0;
    *d = (struct declared){name->name, name->place, 0, 1, 1};
    int status = column_size(b, e, d);
    if (!status) status = check_others(b, d);
    if (status) return status;
    if (d->rank && d->rows != l->name->rows)
        return complain(b->source, expr_span(e),
                        "'%s' has %zu %s, so its trials must be as many "
                        "columns, or one column for all of them",
                        l->name->name, l->name->rows,
                        l->name->rows == 1 ? "column" : "columns");
    if (!strcmp(d->name, l->name->name) ||
        (!d->rank && is_column_of(l->name, d->name)))
        return complain(b->source, d->place,
                        "'%s' cannot be the number of its own trials", d->name);
    return 0;
}

static int add_value(struct spec *spec, const struct declared *d, size_t i)
{
    if (MEM_ROOM(spec->value_column, spec->values, spec->value_capacity))
        return GSV_NO_MEMORY;
    char *name = column_name(d, i);
    if (!name) return GSV_NO_MEMORY;
    spec->value_column[spec->values++] = name;
    return 0;
}

static node value_leaf(const struct spec *spec, size_t value)
{
    return graph_leaf(spec->graph, OP_INPUT, spec->inputs + value, 1, 1);
}

/* --- Arguments ------------------------------------------------------------ */

static int check_shape(struct builder *b, const struct line *l, size_t i)
{
    const struct graph *g = b->spec->graph;
    const struct declared *d = l->name;
    const char *what = LAW_TABLE[l->law].argument[i].name;
    struct place place = expr_span(l->call->kid[i]);
    size_t n = graph_size(g, l->argument[i]);
    bool column = graph_info(g, l->argument[i])->columns == 1;
    char text[48];
    shape_text(g, l->argument[i], text);
    if (column && n == d->rows) return 0;
    if (LAW_TABLE[l->law].together)
        return complain(b->source, place,
                        "there are %zu columns, so the probabilities are a "
                        "vector of %zu, but this is %s",
                        d->rows, d->rows, text);
    if (n == 1) return 0;
    if (column && d->rows == 1)
        return complain(b->source, place,
                        "'%s' is one column, but the %s is %s; write 'obs "
                        "%s[%zu]'",
                        d->name, what, text, d->name, n);
    return complain(b->source, place, "'%s' has %zu %s, but the %s is %s",
                    d->name, d->rows, d->rows == 1 ? "column" : "columns", what,
                    text);
}

static int evaluate_arguments(struct builder *b, struct line *l)
{
    int status = check_law_arguments(b, l->call, l->law);
    if (!status) status = find_trials(b, l);
    if (!status && LAW_TABLE[l->law].together && l->name->rows < 2)
        status = complain(b->source, l->name->place,
                          "'%s' needs two or more columns; write "
                          "'%s[3]' for '%s1' to '%s3'",
                          LAW_TABLE[l->law].name, l->name->name, l->name->name,
                          l->name->name);
    for (size_t i = l->trials.name ? 1 : 0; !status && i < l->call->kids; i++) {
        const struct expr *e = l->call->kid[i];
        status = evaluate(b, e, &l->argument[i]);
        if (!status) status = check_shape(b, l, i);
        if (!status)
            status = refuse_slope(b, expr_span(e), l->argument[i],
                                  "this observation");
        if (!status)
            status = check_law_numbers(b, e, l->law, i, l->argument[i]);
    }
    return status;
}

/* --- Latent states -------------------------------------------------------- */

int make_latent(struct builder *b, size_t state, struct place place)
{
    for (size_t i = 0; i < b->symbols; i++) {
        const struct symbol *s = &b->symbol[i];
        if (s->kind != SYMBOL_STATE || !s->column || state < s->offset ||
            state >= s->offset + graph_size(b->spec->graph, s->value))
            continue;
        return complain(
            b->source, place,
            "the state '%s' is a function of the column '%s', so "
            "it is known exactly; declare a hidden state by 'state %s' alone",
            s->name, s->column, s->name);
    }
    if (!spec_is_latent(b->spec)) b->spec->latent_place = place;
    b->spec->latent[state] = true;
    return 0;
}

/* Marks the states that an argument is made of. */
static int mark(struct builder *b, const struct expr *e, node a, bool *any)
{
    const struct spec *spec = b->spec;
    if (!graph_depends(spec->graph, a, OP_STATE)) return 0;
    bool *used = NEW(bool, spec->dim);
    if (!used) return GSV_NO_MEMORY;
    int status = graph_state_used(spec->graph, a, spec->dim, used);
    for (size_t i = 0; !status && i < spec->dim; i++)
        if (used[i]) {
            *any = true;
            status = make_latent(b, i, expr_span(e));
        }
    mem_free(used);
    return status;
}

static int mark_all(struct builder *b, const struct line *l)
{
    bool any = false;
    int status = 0;
    for (size_t i = l->trials.name ? 1 : 0; !status && i < l->call->kids; i++)
        status = mark(b, l->call->kid[i], l->argument[i], &any);
    if (status || any) return status;
    return complain(b->source, expr_span(l->call),
                    "this does not depend on any state, so '%s' gives no "
                    "information about the states",
                    l->name->name);
}

/* --- The statement -------------------------------------------------------- */

/* Columns from first on, n of them, with the arguments of the first. */
static int add_obs(struct builder *b, const struct line *l, size_t first,
                   size_t n)
{
    struct spec *spec = b->spec;
    struct obs_spec o = {.law = l->law, .value = spec->values};
    int status = 0;
    for (size_t i = 0; !status && i < n; i++)
        status = add_value(spec, l->name, first + i);
    for (size_t i = 0; i < l->call->kids; i++) {
        node a = l->argument[i];
        bool one = n > 1 || graph_size(spec->graph, a) == 1;
        o.argument[i] = one ? a : graph_slice(spec->graph, a, first, 1, 1);
    }
    if (!status && l->trials.name) {
        o.argument[0] = value_leaf(spec, spec->values);
        status = add_value(spec, &l->trials, l->trials.rank ? first : 0);
    }
    if (LAW_TABLE[l->law].integrated) {
        o.rate = o.argument[0];
        o.integral = spec->integrals++;
    }
    o.values = spec->values - o.value;
    if (status || MEM_ROOM(spec->obs, spec->observations, spec->obs_capacity))
        return GSV_NO_MEMORY;
    spec->obs[spec->observations++] = o;
    return 0;
}

/* A vector is observed element by element, so that one that is missing leaves
 * the others; the counts of a multinomial are one. */
static int observe(struct builder *b, const struct statement *s)
{
    struct line l = {.name = &s->declared, .call = s->value};
    int status = check_value(b, l.name);
    if (!status) status = find_law(b, &l);
    if (!status) status = evaluate_arguments(b, &l);
    if (!status) status = mark_all(b, &l);
    if (status) return status;
    size_t n = LAW_TABLE[l.law].together ? l.name->rows : 1;
    for (size_t i = 0; !status && i < l.name->rows; i += n)
        status = add_obs(b, &l, i, n);
    return status;
}

/* The integrals stand after all values, whose number is known only now. */
static int add_densities(struct spec *spec)
{
    for (size_t i = 0; i < spec->observations; i++) {
        struct obs_spec *o = &spec->obs[i];
        node *value = NEW(node, o->values);
        if (!value) return GSV_NO_MEMORY;
        for (size_t k = 0; k < o->values; k++)
            value[k] = value_leaf(spec, o->value + k);
        node integral = value_leaf(spec, spec->values + o->integral);
        o->log_density =
            LAW_TABLE[o->law].density(spec->graph, o, value, integral);
        mem_free(value);
    }
    return spec->graph->failed ? GSV_NO_MEMORY : 0;
}

int build_observations(struct builder *b)
{
    int status = 0;
    b->spec->latent = NEW(bool, b->spec->dim);
    if (!b->spec->latent) return GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < b->ast->statements; i++)
        if (b->ast->statement[i].kind == OBS)
            status = observe(b, &b->ast->statement[i]);
    if (!status) status = add_densities(b->spec);
    return status ? status : build_init(b);
}
