/* SPDX-License-Identifier: MIT */
/* prior lines: NAME ~ law(numbers), of a parameter, an element of one, or all
 * weights of a network; and the same from a text of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/prior_law.h"
#include "lang/scope.h"

/* --- The law -------------------------------------------------------------- */

static int find_law(struct builder *b, const struct expr *call, gsv_prior *p)
{
    const char *word[PRIOR_LAWS];
    char forms[400];
    for (size_t i = 0; i < PRIOR_LAWS; i++)
        word[i] = PRIOR_LAW[i].word;
    size_t law = prior_law_find(call->name);
    prior_law_list(forms, sizeof forms);
    const char *near = gsv_suggestion(call->name, PRIOR_LAWS, word);
    if (law == PRIOR_LAWS)
        return complain(b->source, call->place,
                        "unknown law '%s'; %s%s%sa prior is %s", call->name,
                        near ? "did you mean '" : "", near ? near : "",
                        near ? "'? " : "", forms);
    p->law = (enum gsv_law)law;
    if (call->kids == PRIOR_LAW[law].numbers) return 0;
    return complain(b->source, call->place, "'%s' has %zu number%s; write %s",
                    call->name, PRIOR_LAW[law].numbers,
                    PRIOR_LAW[law].numbers == 1 ? "" : "s",
                    PRIOR_LAW[law].form);
}

static int read_law(struct builder *b, const struct expr *call, gsv_prior *p)
{
    double *number[] = {&p->a, &p->b};
    int status = find_law(b, call, p);
    for (size_t i = 0; !status && i < call->kids; i++)
        status = evaluate_number(b, call->kid[i], number[i]);
    const char *fault = status ? NULL : prior_fault(p);
    return fault ? complain(b->source, expr_span(call), "%s", fault) : status;
}

/* --- The name ------------------------------------------------------------- */

/* Which element of a parameter a prior is of, counted from 0; all: SIZE_MAX. */
static int find_element(const struct builder *b, const struct declared *d,
                        const struct param_spec *p, size_t *at)
{
    size_t row = d->rows, column = d->rank == 2 ? d->columns : 1;
    *at = (size_t)-1;
    if (!d->rank) return 0;
    /* Which series or levels there are is known from data. */
    if (p->category && d->rank == 1) return 0;
    if (d->category)
        return complain(b->source, d->category_place,
                        "'%s' has no element '%s'; labels are for a param with "
                        "a number for each series or level",
                        p->name, d->category);
    *at = (row - 1) * p->columns + column - 1;
    if (d->rank == p->rank && row <= p->rows && column <= p->columns) return 0;
    if (!p->rank)
        return complain(b->source, d->place,
                        "'%s' is one number; write 'prior %s ~ ...'", p->name,
                        p->name);
    return complain(b->source, d->place,
                    "this is not an element of '%s', which is %zu x %zu",
                    p->name, p->rows, p->columns);
}

static int check_starts(const struct builder *b, const struct declared *d,
                        const struct param_spec *p, const gsv_prior *law,
                        size_t at)
{
    char room[PRIOR_ROOM];
    for (size_t i = 0; i < p->rows * p->columns; i++) {
        bool above = p->lower && i % p->columns > i / p->columns;
        if ((at != (size_t)-1 && i != at) || above) continue;
        if (prior_reaches(law, p->start[i])) continue;
        return complain(b->source, d->place,
                        "the start value %g of '%s' is outside of its prior "
                        "%s; write 'param %s = ...' with a value inside",
                        p->start[i], p->name, prior_text(law, room), p->name);
    }
    return 0;
}

static int check_param(const struct builder *b, const struct declared *d,
                       const gsv_prior *law)
{
    const struct param_spec *p = b->spec->param;
    size_t at;
    while (strcmp(p->name, d->name))
        p++;
    if (p->effect)
        return complain(b->source, d->place,
                        "'%s' is a random effect, whose law is its prior; "
                        "priors are for its mean and deviation",
                        d->name);
    int status = find_element(b, d, p, &at);
    return status ? status : check_starts(b, d, p, law, at);
}

static int check_name(struct builder *b, const struct declared *d,
                      const gsv_prior *law)
{
    const struct symbol *y = scope_find(b, d->name);
    char hint[160];
    if (!y)
        return complain(b->source, d->place, "there is no parameter '%s'%s",
                        d->name, scope_hint(b, d->name, hint, sizeof hint));
    if (y->kind == SYMBOL_PARAM) return check_param(b, d, law);
    if (y->kind == SYMBOL_GP)
        return complain(b->source, d->place,
                        "'%s' is a gp, whose prior is its kernel", d->name);
    if (y->kind != SYMBOL_NET && y->kind != SYMBOL_EXTERNAL)
        return complain(b->source, d->place,
                        "'%s' is not a parameter or a network, and only these "
                        "have priors",
                        d->name);
    return d->rank ? complain(b->source, d->place,
                              "a prior is for all weights of a network; write "
                              "'prior %s ~ ...'",
                              d->name)
                   : 0;
}

/* "k", "a[2]", "A[1,2]" or "k[label]"; yours. */
static char *full_name(const struct declared *d)
{
    size_t size = strlen(d->name) + 50;
    if (d->category) size += strlen(d->category);
    char *text = mem_new(size, 1);
    if (text && d->category)
        snprintf(text, size, "%s[%s]", d->name, d->category);
    else if (text && d->rank == 2)
        snprintf(text, size, "%s[%zu,%zu]", d->name, d->rows, d->columns);
    else if (text && d->rank == 1)
        snprintf(text, size, "%s[%zu]", d->name, d->rows);
    else if (text) snprintf(text, size, "%s", d->name);
    return text;
}

static int refuse_twice(const struct builder *b, const struct statement *s,
                        const char *name)
{
    for (size_t i = 0; i < b->spec->priors; i++)
        if (!strcmp(b->spec->prior[i].law.name, name))
            return complain(b->source, s->declared.place,
                            "'%s' has a prior on line %zu already; leave one "
                            "of them out",
                            name, b->spec->prior[i].line);
    return 0;
}

static int read_prior(struct builder *b, const struct statement *s)
{
    struct spec *spec = b->spec;
    gsv_prior law = {0};
    int status = read_law(b, s->value, &law);
    if (!status) status = check_name(b, &s->declared, &law);
    if (status) return status;
    if (MEM_ROOM(spec->prior, spec->priors, spec->prior_capacity))
        return GSV_NO_MEMORY;
    char *name = full_name(&s->declared);
    if (!name) return GSV_NO_MEMORY;
    status = refuse_twice(b, s, name);
    law.name = name;
    spec->prior[spec->priors++] =
        (struct prior_spec){law, name, s->declared.place.line};
    return status;
}

int build_priors(struct builder *b)
{
    int status = 0;
    for (size_t i = 0; !status && i < b->ast->statements; i++)
        if (b->ast->statement[i].kind == PRIOR_LINE)
            status = read_prior(b, &b->ast->statement[i]);
    return status;
}

/* --- A text of its own ---------------------------------------------------- */

/* The text as a line of a model, in which the name has no dots. */
static char *as_line(const char *text)
{
    static const char WORD[] = "prior ";
    size_t size = strlen(text) + sizeof WORD;
    char *line = mem_new(size, 1);
    if (!line) return NULL;
    snprintf(line, size, "%s%s", WORD, text);
    for (char *c = line; *c && *c != '~'; c++)
        if (*c == '.') *c = '_';
    return line;
}

/* What is before the '~', without blanks; gsv_text_free() frees it. */
static char *name_in(const char *text)
{
    size_t n = strcspn(text, "~");
    char *name = malloc(n + 1), *to = name;
    if (!name) return fail_null(GSV_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ' && text[i] != '\t') *to++ = text[i];
    *to = 0;
    return name;
}

static int parse_line(const struct source *source, gsv_prior *p)
{
    struct builder b = {.source = source};
    struct ast *ast = ast_parse(source);
    struct spec spec = {0};
    if (!ast) return gsv_last_status();
    b.ast = ast;
    b.spec = &spec;
    spec.graph = graph_new();
    int status = spec.graph ? 0 : GSV_NO_MEMORY;
    bool one = ast->statements == 1 && ast->statement->kind == PRIOR_LINE;
    if (!status && !one)
        status = fail(GSV_BAD_INPUT, "a prior is one line: 'k ~ normal(0, 1)'");
    if (!status) status = read_law(&b, ast->statement->value, p);
    graph_free(spec.graph);
    ast_free(ast);
    return status;
}

char *gsv_prior_parse(const char *text, gsv_prior *p)
{
    if (ANY_NULL(text, p)) return NULL;
    *p = (gsv_prior){0};
    char *line = as_line(text), *name = line ? name_in(text) : NULL;
    const struct source source = {.name = "prior", .text = line};
    int status = name ? parse_line(&source, p) : (int)GSV_NO_MEMORY;
    mem_free(line);
    if (status) {
        free(name);
        return NULL;
    }
    p->name = name;
    return name;
}
