/* SPDX-License-Identifier: MIT */
/* Observations, first states, events and random effects in words. */
#include "model/describe.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/law.h"
#include "model/names.h"

/* A softmax is said once for all of its elements. */
static int put_softmax(FILE *out, const struct graph *g, node a,
                       const struct graph_names *names)
{
    char *text = graph_element_text(g, a, 0, names);
    if (!text) return GSV_NO_MEMORY;
    size_t n = strlen(text);
    bool first = n > 3 && !strcmp(text + n - 3, "[1]");
    fprintf(out, "%.*s", (int)(first ? n - 3 : n), text);
    mem_free(text);
    return 0;
}

/* A number as it is, a vector in brackets. */
static int put_argument(FILE *out, const struct graph *g, node a,
                        const struct graph_names *names)
{
    size_t n = graph_size(g, a);
    if (graph_info(g, a)->op == OP_SOFTMAX)
        return put_softmax(out, g, a, names);
    if (n > 1) fputc('[', out);
    for (size_t i = 0; i < n && i < MOST_ROWS; i++) {
        char *text = graph_element_text(g, a, i, names);
        if (!text) return GSV_NO_MEMORY;
        fprintf(out, "%s%s", i ? ", " : "", text);
        mem_free(text);
    }
    if (n > MOST_ROWS) fputs(", ...", out);
    if (n > 1) fputc(']', out);
    return 0;
}

/* law(arguments) */
static int put_law(FILE *out, const struct graph *g, enum law law,
                   const node *argument, const struct graph_names *names)
{
    int status = 0;
    fprintf(out, "%s(", LAW_TABLE[law].name);
    for (size_t i = 0; !status && i < LAW_TABLE[law].arguments; i++) {
        if (i) fputs(", ", out);
        status = put_argument(out, g, argument[i], names);
    }
    fputs(")\n", out);
    return status;
}

/* The names of inputs, values and integrals; an integral is its formula. */
struct leaf_names {
    const char **name; /* (inputs + values + integrals) */
    char **formula;    /* (integrals)                   */
};

static void leaf_names_free(struct leaf_names *l, const struct spec *s)
{
    for (size_t i = 0; l->formula && i < s->integrals; i++)
        mem_free(l->formula[i]);
    MEM_FREE(l->name, l->formula);
}

static char *integral_text(const struct spec *s, size_t k,
                           const struct graph_names *names)
{
    char *rate = graph_element_text(s->graph, s->integral[k].rate, 0, names);
    size_t size = rate ? strlen(rate) + sizeof "integral()" : 0;
    char *text = rate ? NEW(char, size) : NULL;
    if (text) snprintf(text, size, "integral(%s)", rate);
    mem_free(rate);
    return text;
}

static int leaf_names_init(struct leaf_names *l, const gsv_model *m)
{
    const struct spec *s = m->spec;
    size_t first = s->inputs + s->values;
    struct graph_names names = spec_names(s, m->column, m->column + s->dim);
    *l = (struct leaf_names){NEW(const char *, first + s->integrals),
                             NEW(char *, s->integrals)};
    bool made = l->name && l->formula;
    for (size_t i = 0; made && i < first; i++)
        l->name[i] = m->column[s->dim + i];
    for (size_t i = 0; made && i < s->integrals; i++) {
        l->name[first + i] = l->formula[i] = integral_text(s, i, &names);
        made = l->formula[i];
    }
    if (made) return 0;
    leaf_names_free(l, s);
    return GSV_NO_MEMORY;
}

static int put_obs(FILE *out, const gsv_model *m, const struct obs_spec *o,
                   const struct graph_names *names)
{
    const struct spec *s = m->spec;
    size_t n = o->values - law_given(o);
    int status = 0;
    for (size_t i = 0; i < n && i < MOST_ROWS; i++)
        fprintf(out, "%s%s", i ? ", " : "  ", s->value_column[o->value + i]);
    fprintf(out, "%s ~ ", n > MOST_ROWS ? ", ..." : "");
    if (o->zero) {
        fprintf(out, "%s(", ZERO_INFLATED);
        status = put_argument(out, s->graph, o->zero, names);
        fputs(", ", out);
    }
    fprintf(out, "%s(", LAW_TABLE[o->law].name);
    for (size_t i = 0; !status && i < LAW_TABLE[o->law].arguments; i++) {
        node a = o->argument[i];
        if (i) fputs(", ", out);
        if (LAW_TABLE[o->law].integrated)
            a = s->integral[spec_integral(s, a)].rate;
        status = put_argument(out, s->graph, a, names);
    }
    fputs(o->zero ? "))\n" : ")\n", out);
    return status;
}

static int first_values(FILE *out, const gsv_model *m,
                        const struct graph_names *names)
{
    const struct spec *s = m->spec;
    int status = 0;
    fprintf(out, "%-15s of the latent states", "first values");
    if (s->init_timed) fprintf(out, ", at time %.10g", s->init_time);
    fputc('\n', out);
    for (size_t i = 0, shown = 0; !status && i < s->dim; i++) {
        if (!s->latent[i]) continue;
        if (shown++ == MOST_ROWS) {
            fputs("  ...\n", out);
            break;
        }
        fprintf(out, "  %s ~ ", m->column[i]);
        status = put_law(out, s->graph, s->first[i].law, s->first[i].argument,
                         names);
    }
    return status;
}

/* The elements of z that an event adds to. */
static int put_event(FILE *out, const gsv_model *m, const struct event_spec *e,
                     const struct graph_names *names)
{
    const struct graph *g = m->spec->graph;
    for (size_t i = 0, shown = 0; i < m->spec->dim; i++) {
        char *text = graph_element_text(g, e->jump, i, names);
        if (!text) return GSV_NO_MEMORY;
        bool jumps = strcmp(text, "0") != 0 && shown++ < MOST_ROWS;
        if (jumps) fprintf(out, "  %s += %s\n", names->state[i], text);
        mem_free(text);
    }
    return 0;
}

/* States that are functions of the data have the letters of formulas(). */
int describe_events(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    struct letters z = {0};
    int status =
        s->mapped ? letters_init(&z, s->dim, free_letter(m, STATE_LETTERS)) : 0;
    struct graph_names names =
        spec_names(s, s->mapped ? z.name : m->column, m->column + s->dim);
    for (size_t i = 0; !status && i < s->events; i++) {
        if (i == MOST_ROWS) fputs("  ...\n", out);
        if (i >= MOST_ROWS) break;
        fprintf(out, "%-15s where '%s' has a value\n", "event",
                s->value_column[s->event[i].value]);
        status = put_event(out, m, &s->event[i], &names);
    }
    letters_free(&z);
    return status;
}

static int latent_names(FILE *out, const gsv_model *m)
{
    size_t n = 0;
    const char **name = NEW(const char *, m->spec->dim);
    if (!name) return GSV_NO_MEMORY;
    for (size_t i = 0; i < m->spec->dim; i++)
        if (m->spec->latent[i]) name[n++] = m->column[i];
    describe_names(out, "latent", n, name);
    mem_free(name);
    return 0;
}

int describe_observations(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    struct leaf_names leaf;
    if (!spec_is_latent(s)) return 0;
    int status = leaf_names_init(&leaf, m);
    if (status) return status;
    struct graph_names names = spec_names(s, m->column, leaf.name);
    status = latent_names(out, m);
    if (s->observations)
        fprintf(out, "%-15s given the states\n", "observations");
    for (size_t i = 0; !status && i < s->observations; i++) {
        if (i < MOST_ROWS) status = put_obs(out, m, &s->obs[i], &names);
        else if (i == MOST_ROWS) fputs("  ...\n", out);
    }
    if (!status) status = first_values(out, m, &names);
    leaf_names_free(&leaf, s);
    return status;
}

/* The deviations, or of correlated effects the lower half of the matrix. */
static int put_root(FILE *out, const struct graph *g, node root,
                    const struct graph_names *names)
{
    size_t n = graph_info(g, root)->rows;
    bool first = true;
    if (n > 1) fputc('[', out);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            char *text = graph_element_text(g, root, i * n + j, names);
            if (!text) return GSV_NO_MEMORY;
            if (strcmp(text, "0") != 0)
                fprintf(out, "%s%s", first ? "" : ", ", text);
            first = false;
            mem_free(text);
        }
    if (n > 1) fputc(']', out);
    return 0;
}

int describe_effects(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    const struct graph_names names =
        spec_names(s, m->column, m->column + s->dim);
    int status = 0;
    if (s->effects) fprintf(out, "%-15s of each series\n", "random effects");
    for (size_t i = 0; !status && i < s->effects; i++) {
        const struct effect_spec *e = &s->effect[i];
        fprintf(out, "  %s ~ normal(", s->param[e->param].name);
        status = put_argument(out, s->graph, e->mean, &names);
        fputs(", ", out);
        if (!status) status = put_root(out, s->graph, e->root, &names);
        fputs(")\n", out);
    }
    return status;
}
