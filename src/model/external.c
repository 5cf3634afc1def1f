/* SPDX-License-Identifier: MIT */
/* External functions: what a program gives to a model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "model/model.h"

/* --- Checks --------------------------------------------------------------- */

static int find(const gsv_model *m, const char *name, size_t *found)
{
    const struct spec *s = m->spec;
    for (*found = 0; *found < s->externals; ++*found)
        if (!strcmp(s->external[*found].name, name)) return 0;
    if (!s->externals)
        return fail(GSV_BAD_INPUT,
                    "the model has no external functions; write 'external "
                    "%.100s(x) -> 1' for a function that a program gives",
                    name);
    return fail(GSV_BAD_INPUT,
                "the model has no external function '%.100s', but '%.100s'",
                name, s->external[0].name);
}

static int check_size(const struct external_spec *e, const char *what,
                      size_t text, size_t given)
{
    if (text == given) return 0;
    return fail(GSV_BAD_INPUT,
                "'%.100s' has %zu %s in the text of the model, but the "
                "function that is given has %zu",
                e->name, text, what, given);
}

static int check_shapes(const gsv_callback *c)
{
    double sum = 0.0;
    for (size_t i = 0; i < c->arrays; i++)
        sum += (double)c->shape[2 * i] * (double)c->shape[2 * i + 1];
    if (!c->arrays || (c->weights && sum == (double)c->parameters)) return 0;
    return fail(GSV_BAD_INPUT,
                c->weights ? "the arrays of weights have %.0f numbers in all, "
                             "but there are %zu parameters"
                           : "shapes are for weights; a function with "
                             "parameters has none",
                sum, c->parameters);
}

static int check(const gsv_model *m, const struct external_spec *e,
                 const gsv_callback *c)
{
    enum { MOST = MOST_DIFFERENCES };
    if (!c->value)
        return fail(GSV_BAD_INPUT, "the function '%.100s' has no value()",
                    e->name);
    if (!c->vjp && c->parameters > MOST)
        return fail(GSV_BAD_INPUT,
                    "the function '%.100s' has %zu parameters and no vjp(); "
                    "differences are for at most %d",
                    e->name, c->parameters, MOST);
    for (size_t i = 0; c->parameter && i < c->parameters; i++)
        if (!isfinite(c->parameter[i]))
            return fail(GSV_BAD_INPUT, "parameter[%zu] of '%.100s' is %g", i,
                        e->name, c->parameter[i]);
    int status = check_size(e, "inputs", e->inputs, c->inputs);
    if (!status) status = check_size(e, "outputs", e->outputs, c->outputs);
    if (!status && (e->sized || m->record))
        status = check_size(e, "parameters", e->count, c->parameters);
    return status ? status : check_shapes(c);
}

enum gsv_status gsv_model_external_size(const gsv_model *m, const char *name,
                                        size_t *inputs, size_t *outputs,
                                        size_t *parameters)
{
    size_t i;
    if (ANY_NULL(m, name, inputs, outputs, parameters)) return GSV_BAD_INPUT;
    if (find(m, name, &i)) return GSV_BAD_INPUT;
    const struct external_spec *e = &m->spec->external[i];
    *inputs = e->inputs;
    *outputs = e->outputs;
    *parameters = e->sized ? e->count : 0;
    return GSV_OK;
}

/* --- How many parameters -------------------------------------------------- */

static void put_sizes(FILE *out, const gsv_callback *c)
{
    fputs(" :", out);
    for (size_t i = 0; i < c->arrays; i++) {
        size_t rows = c->shape[2 * i], columns = c->shape[2 * i + 1];
        if (columns > 1) fprintf(out, " [%zu,%zu]", rows, columns);
        else fprintf(out, " %zu", rows);
    }
    if (!c->arrays) fprintf(out, " %zu", c->parameters);
    fputs(c->weights ? " weights" : " parameters", out);
}

/* The text with the sizes in it. */
static char *sized_text(const gsv_model *m, const struct external_spec *e,
                        const gsv_callback *c)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return fail_null(GSV_NO_MEMORY, "out of memory");
    fwrite(m->text, 1, e->to, out);
    put_sizes(out, c);
    fputs(m->text + e->to, out);
    bool failed = ferror(out);
    if (!fclose(out) && !failed) return text;
    free(text);
    return fail_null(GSV_NO_MEMORY, "out of memory");
}

/* A new text may have other numbers; levels of categories are bound later. */
static int make_again(gsv_model *m, size_t external, const gsv_callback *c)
{
    const struct external_spec *e = &m->spec->external[external];
    if (e->sized || !c->parameters) return 0;
    char *text = sized_text(m, e, c);
    size_t levels = spec_is_bound(m->spec) ? m->spec->categories : 0;
    gsv_model *made = text ? model_parse(text, m->spec->source_name, levels,
                                         m->spec->category)
                           : NULL;
    free(text);
    if (!made) return (int)gsv_last_status();
    model_copy_values(m, made);
    externals_copy(m->spec, made->spec);
    gsv_model old = *m;
    *m = *made;
    *made = old;
    gsv_model_free(made);
    return 0;
}

/* --- Giving --------------------------------------------------------------- */

enum gsv_status gsv_model_external(gsv_model *m, const char *name,
                                   const gsv_callback *callback)
{
    size_t i;
    if (ANY_NULL(m, name, callback) || callback_rules(callback))
        return GSV_BAD_INPUT;
    int status = find(m, name, &i);
    if (!status) status = check(m, &m->spec->external[i], callback);
    struct shared_callback *c = status ? NULL : callback_share(callback);
    if (!status && !c) status = GSV_NO_MEMORY;
    if (!status) status = make_again(m, i, callback);
    if (status) {
        mem_free(c);
        return status;
    }
    const struct external_spec *e = &m->spec->external[i];
    external_give(m->spec, i, c);
    callback_drop(c);
    if (callback->parameter && e->count && !m->record)
        memcpy(m->value + e->offset, callback->parameter,
               e->count * sizeof *m->value);
    return GSV_OK;
}

const char *gsv_model_external_name(const gsv_model *m, size_t i)
{
    return ANY_NULL(m) || i >= m->spec->externals ? NULL
                                                  : m->spec->external[i].name;
}
