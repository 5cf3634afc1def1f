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
    struct place place;
    const struct expr *call; /* of the law                               */
    const struct expr *zero; /* of zeroinflated(p, ...) its p, or NULL   */
    enum law law;
    node argument[LAW_ARGUMENTS], inflation;
    struct declared trials; /* the column of a binomial's, or no name */
    size_t obs;             /* the number of its first obs            */
};

/* --- The law -------------------------------------------------------------- */

static int unknown_law(struct builder *b, const struct expr *call)
{
    const char *name[LAW_COUNT + 1];
    char known[300] = "";
    for (size_t i = 0; i <= LAW_COUNT; i++) {
        name[i] = i < LAW_COUNT ? LAW_TABLE[i].name : ZERO_INFLATED;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
                 i ? " " : "", name[i]);
    }
    const char *near = gsv_suggestion(call->name, LAW_COUNT + 1, name);
    if (near)
        return complain(b->source, call->place,
                        "unknown law '%s'; did you mean '%s'?", call->name,
                        near);
    return complain(b->source, call->place, "unknown law '%s'; the laws are %s",
                    call->name, known);
}

/* zeroinflated(p, law(...)): goes on with the law inside. */
static int open_inflated(struct builder *b, struct line *l)
{
    const struct expr *call = l->call;
    if (call->kids != 2 || call->kid[1]->kind != EXPR_CALL)
        return complain(b->source, expr_span(call),
                        "'%s' takes 2 arguments (probability, law of counts), "
                        "as in '%s(p, poisson(m))'",
                        ZERO_INFLATED, ZERO_INFLATED);
    l->zero = call->kid[0];
    l->call = call->kid[1];
    size_t law = law_find(l->call->name);
    bool again = !strcmp(l->call->name, ZERO_INFLATED);
    if (!again && (law == LAW_COUNT || law_can_be_inflated((enum law)law)))
        return 0;
    return complain(b->source, l->call->place,
                    "'%s' cannot be inside of '%s', which is for laws of one "
                    "count: poisson negbin binomial betabinomial",
                    l->call->name, ZERO_INFLATED);
}

static int find_law(struct builder *b, struct line *l)
{
    if (!strcmp(l->call->name, ZERO_INFLATED)) {
        int status = open_inflated(b, l);
        if (status) return status;
    }
    size_t law = law_find(l->call->name);
    l->law = (enum law)law;
    return law < LAW_COUNT ? 0 : unknown_law(b, l->call);
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

/* Whether element k of a is a number in the text, by itself or in a list. */
static bool is_known(struct graph *g, node a, size_t k, double *number)
{
    enum op op = graph_info(g, a)->op;
    if (op != OP_CONSTANT && op != OP_STACK) return false;
    return graph_is_number(g, graph_slice(g, a, k, 1, 1), number);
}

/* Numbers of the argument `what` of a law that are out of their range. */
static int check_numbers_of(struct builder *b, const struct expr *e,
                            const char *law, const char *what,
                            enum law_range range, node value)
{
    struct graph *g = b->spec->graph;
    double number;
    for (size_t k = 0; k < graph_size(g, value); k++)
        if (is_known(g, value, k, &number) && !law_allows(range, number))
            return complain(b->source, expr_span(e),
                            "the %s of '%s' must be %s, but is %g", what, law,
                            RANGE_WORDS[range], number);
    return 0;
}

int check_law_numbers(struct builder *b, const struct expr *e, size_t law,
                      size_t argument, node value)
{
    const struct law_row *row = &LAW_TABLE[law];
    return check_numbers_of(b, e, row->name, row->argument[argument].name,
                            row->argument[argument].range, value);
}

/* --- The columns ---------------------------------------------------------- */

int check_others(struct builder *b, const struct declared *d, const char *what)
{
    const struct spec *spec = b->spec;
    for (size_t i = 0; i < spec->dim; i++)
        if (is_column_of(d, spec->column[i]))
            return complain(b->source, d->place,
                            "'%s' is the name of a state or of its column; an "
                            "%s a column of its own, with another name",
                            spec->column[i], what);
    for (size_t i = 0; i < spec->inputs; i++)
        if (is_column_of(d, spec->input[i].name))
            return complain(b->source, d->place,
                            "'%s' is an input; an %s a column of its own, "
                            "with another name",
                            spec->input[i].name, what);
    return column_is_ordinary(b, d);
}

static int check_value(struct builder *b, const struct declared *d)
{
    const struct spec *spec = b->spec;
    int status = check_others(b, d, "observation is");
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
    *d = (struct declared){
        .name = name->name, .place = name->place, .rows = 1, .columns = 1};
    int status = column_size(b, e, d);
    if (!status) status = check_others(b, d, "observation is");
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

int add_value(struct spec *spec, const struct declared *d, size_t i)
{
    if (MEM_ROOM(spec->value_column, spec->values, spec->value_capacity))
        return GSV_NO_MEMORY;
    char *name = column_name(d, i);
    if (!name) return GSV_NO_MEMORY;
    spec->value_column[spec->values++] = name;
    return 0;
}

node value_leaf(const struct spec *spec, size_t value)
{
    return graph_leaf(spec->graph, OP_INPUT, spec->inputs + value, 1, 1);
}

/* --- Arguments ------------------------------------------------------------ */

static int check_rising(struct builder *b, const struct line *l, size_t i)
{
    const struct law_row *row = &LAW_TABLE[l->law];
    struct graph *g = b->spec->graph;
    node a = l->argument[i];
    double now, last;
    for (size_t k = 1; k < graph_size(g, a); k++)
        if (is_known(g, a, k, &now) && is_known(g, a, k - 1, &last) &&
            !(now > last))
            return complain(b->source, expr_span(l->call->kid[i]),
                            "the %s of '%s' must rise, but %g comes after %g",
                            row->argument[i].name, row->name, now, last);
    return 0;
}

/* A list is for all columns. */
static int check_list(struct builder *b, const struct line *l, size_t i)
{
    const struct graph *g = b->spec->graph;
    const struct law_row *row = &LAW_TABLE[l->law];
    node a = l->argument[i];
    char text[48];
    if (graph_info(g, a)->columns == 1 && graph_size(g, a) >= row->list[i])
        return row->rising ? check_rising(b, l, i) : 0;
    return complain(b->source, expr_span(l->call->kid[i]),
                    "the %s of '%s' are a vector of %zu or more, such as "
                    "'[a, b]', but this is %s",
                    row->argument[i].name, row->name, row->list[i],
                    shape_text(g, a, text));
}

/* A number for all columns, or one for each: of the argument `what`. */
static int check_shape(struct builder *b, const struct line *l,
                       const struct expr *e, const char *what, node a)
{
    const struct graph *g = b->spec->graph;
    const struct declared *d = l->name;
    struct place place = expr_span(e);
    size_t n = graph_size(g, a);
    bool column = graph_info(g, a)->columns == 1;
    char text[48];
    shape_text(g, a, text);
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

static int evaluate_part(struct builder *b, const struct expr *e, node *a)
{
    b->observing = true;
    int status = evaluate(b, e, a);
    b->observing = false;
    return status ? status
                  : refuse_slope(b, expr_span(e), *a, "this observation");
}

static int evaluate_inflation(struct builder *b, struct line *l)
{
    node *p = &l->inflation;
    int status = evaluate_part(b, l->zero, p);
    if (!status) status = check_shape(b, l, l->zero, "probability", *p);
    return status ? status
                  : check_numbers_of(b, l->zero, ZERO_INFLATED, "probability",
                                     RANGE_PROBABILITY, *p);
}

static int evaluate_argument(struct builder *b, struct line *l, size_t i)
{
    const struct expr *e = l->call->kid[i];
    node *a = &l->argument[i];
    int status = evaluate_part(b, e, a);
    if (!status)
        status =
            LAW_TABLE[l->law].list[i]
                ? check_list(b, l, i)
                : check_shape(b, l, e, LAW_TABLE[l->law].argument[i].name, *a);
    if (!status) status = check_law_numbers(b, e, l->law, i, *a);
    if (!status && LAW_TABLE[l->law].integrated)
        status = integrate_elements(b, expr_span(e), *a, a);
    return status;
}

static int evaluate_arguments(struct builder *b, struct line *l)
{
    int status = l->zero ? evaluate_inflation(b, l) : 0;
    for (size_t i = l->trials.name ? 1 : 0; !status && i < l->call->kids; i++)
        status = evaluate_argument(b, l, i);
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

/* The states that an argument is made of, also inside of integrals: used (dim)
 * is added to. */
static int find_states(const struct spec *spec, node a, bool *used)
{
    bool any, *inside = NEW(bool, spec->integrals);
    int status =
        inside ? spec_integrals_used(spec, a, inside, &any) : GSV_NO_MEMORY;
    if (!status) status = graph_state_used(spec->graph, a, spec->dim, used);
    for (size_t k = 0; !status && k < spec->integrals; k++)
        if (inside[k])
            status = graph_state_used(spec->graph, spec->integral[k].rate,
                                      spec->dim, used);
    mem_free(inside);
    return status;
}

/* Marks them. */
static int mark(struct builder *b, const struct expr *e, node a, bool *any)
{
    const struct spec *spec = b->spec;
    bool *used = NEW(bool, spec->dim);
    if (!used) return GSV_NO_MEMORY;
    int status = find_states(spec, a, used);
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
    int status = l->zero ? mark(b, l->zero, l->inflation, &any) : 0;
    for (size_t i = l->trials.name ? 1 : 0; !status && i < l->call->kids; i++)
        status = mark(b, l->call->kid[i], l->argument[i], &any);
    if (status || any) return status;
    return complain(b->source, expr_span(l->call),
                    "this does not depend on any state, so '%s' gives no "
                    "information about the states",
                    l->name->name);
}

/* --- The statements ------------------------------------------------------- */

/* An obs of n columns from first on, without its arguments. */
static int add_obs(struct builder *b, const struct line *l, size_t first,
                   size_t n)
{
    struct spec *spec = b->spec;
    struct obs_spec o = {
        .law = l->law, .value = spec->values, .place = l->place};
    int status = 0;
    for (size_t i = 0; !status && i < n; i++)
        status = add_value(spec, l->name, first + i);
    if (!status && l->trials.name)
        status = add_value(spec, &l->trials, l->trials.rank ? first : 0);
    o.values = spec->values - o.value;
    if (status || MEM_ROOM(spec->obs, spec->observations, spec->obs_capacity))
        return GSV_NO_MEMORY;
    spec->obs[spec->observations++] = o;
    return 0;
}

/* A vector is observed element by element, so that one that is missing leaves
 * the others; the counts of a multinomial are one. */
static size_t columns_of(const struct line *l)
{
    return LAW_TABLE[l->law].together ? l->name->rows : 1;
}

/* The law and the columns of a line. */
static int read_columns(struct builder *b, struct line *l)
{
    int status = check_value(b, l->name);
    if (!status) status = find_law(b, l);
    if (!status) status = check_law_arguments(b, l->call, l->law);
    if (!status) status = find_trials(b, l);
    if (!status && LAW_TABLE[l->law].together && l->name->rows < 2)
        status = complain(b->source, l->name->place,
                          "'%s' needs two or more columns; write "
                          "'%s[3]' for '%s1' to '%s3'",
                          LAW_TABLE[l->law].name, l->name->name, l->name->name,
                          l->name->name);
    l->obs = b->spec->observations;
    for (size_t i = 0; !status && i < l->name->rows; i += columns_of(l))
        status = add_obs(b, l, i, columns_of(l));
    return status;
}

/* What column i has of a number for all columns, or one for each. */
static node element(const struct spec *spec, node a, size_t i)
{
    struct graph *g = spec->graph;
    return graph_size(g, a) == 1 ? a : graph_slice(g, a, i, 1, 1);
}

/* Its arguments, to all of its obs. */
static int read_arguments_of(struct builder *b, struct line *l)
{
    const struct spec *spec = b->spec;
    size_t n = columns_of(l);
    int status = evaluate_arguments(b, l);
    if (!status) status = mark_all(b, l);
    for (size_t first = 0; !status && first < l->name->rows; first += n) {
        struct obs_spec *o = &spec->obs[l->obs + first / n];
        for (size_t i = l->trials.name ? 1 : 0; i < l->call->kids; i++) {
            bool whole = n > 1 || LAW_TABLE[l->law].list[i];
            o->argument[i] =
                whole ? l->argument[i] : element(spec, l->argument[i], first);
        }
        if (l->zero) o->zero = element(spec, l->inflation, first);
        if (l->trials.name)
            o->argument[0] = value_leaf(spec, o->value + o->values - 1);
    }
    return status;
}

static int add_density(struct spec *spec, struct obs_spec *o)
{
    node *value = NEW(node, o->values);
    if (!value) return GSV_NO_MEMORY;
    for (size_t k = 0; k < o->values; k++)
        value[k] = value_leaf(spec, o->value + k);
    o->log_density = law_density(spec->graph, o, value);
    mem_free(value);
    if (spec->graph->failed) return GSV_NO_MEMORY;
    return spec_integrals_used(spec, o->log_density, NULL, &o->integrated);
}

/* Integrals stand in the graph after all values, so the columns of all lines,
 * and of events, are read before the first argument. */
static int observe_all(struct builder *b, struct line *line)
{
    struct spec *spec = b->spec;
    size_t lines = 0;
    int status = 0;
    for (size_t i = 0; !status && i < b->ast->statements; i++) {
        const struct statement *s = &b->ast->statement[i];
        if (s->kind != OBS) continue;
        line[lines] = (struct line){
            .name = &s->declared, .place = s->value->place, .call = s->value};
        status = read_columns(b, &line[lines++]);
    }
    if (!status) status = build_events(b);
    for (size_t i = 0; !status && i < lines; i++)
        status = read_arguments_of(b, &line[i]);
    for (size_t i = 0; !status && i < spec->observations; i++)
        status = add_density(spec, &spec->obs[i]);
    return status;
}

int build_observations(struct builder *b)
{
    struct line *line = NEW(struct line, b->ast->statements);
    b->spec->latent = NEW(bool, b->spec->dim);
    int status = line && b->spec->latent ? observe_all(b, line) : GSV_NO_MEMORY;
    mem_free(line);
    return status ? status : build_init(b);
}
