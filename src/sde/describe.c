/* SPDX-License-Identifier: MIT */
/* A model in words: what the text was understood to mean. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sde/model.h"

static void names(FILE *out, const char *title, size_t n,
                  const char *const *name)
{
    fprintf(out, "%-15s", title);
    for (size_t i = 0; i < n; i++) {
        /* A long vector is shown by its ends. */
        if (n > 12 && i == 3) {
            fputs(", ...", out);
            i = n - 2;
            continue;
        }
        fprintf(out, "%s%s", i ? ", " : " ", name[i]);
    }
    fputc('\n', out);
}

static void bounds(FILE *out, const struct param_spec *p)
{
    if (p->lower) fputs("  lower, diagonal > 0", out);
    if (p->bound == BOUND_ABOVE) fprintf(out, "  > %g", p->low);
    if (p->bound == BOUND_BELOW) fprintf(out, "  < %g", p->high);
    if (p->bound == BOUND_BETWEEN)
        fprintf(out, "  in (%g, %g)", p->low, p->high);
}

static void parameters(FILE *out, const gsv_model *m)
{
    for (size_t i = 0; i < m->spec->params; i++) {
        const struct param_spec *p = &m->spec->param[i];
        const double *v = m->value + p->offset;
        char shape[64] = "";
        if (p->scale) continue;
        if (p->rank == 1) snprintf(shape, sizeof shape, "[%zu]", p->rows);
        if (p->rank == 2)
            snprintf(shape, sizeof shape, "[%zu,%zu]", p->rows, p->columns);
        fprintf(out, "  %s%s", p->name, shape);
        if (p->fan_in) fputs(m->record ? "  learned" : "  drawn", out);
        else if (p->rank == 0) fprintf(out, " = %g", v[0]);
        else
            for (size_t j = 0; j < p->rows * p->columns; j++) {
                if (j == 6) {
                    fputs(", ...", out);
                    break;
                }
                fprintf(out, "%s%g", j ? ", " : " = ", v[j]);
            }
        bounds(out, p);
        fputc('\n', out);
    }
}

static const char *noise_kind(const struct spec *s)
{
    const struct graph *g = s->graph;
    bool moves = graph_depends(g, s->sigma, OP_TIME) ||
                 graph_depends(g, s->sigma, OP_INPUT);
    if (s->diagonal)
        return moves ? "diagonal, changing in time" : "diagonal, constant";
    return moves ? "full matrix, changing in time" : "full matrix, constant";
}

static void networks(FILE *out, const struct graph *g)
{
    for (size_t i = 0; i < g->nets; i++) {
        const struct net *n = &g->net[i];
        fprintf(out, "%-15s ", "network");
        for (size_t l = 0; l <= n->layers; l++)
            fprintf(out, "%s%zu", l ? "-" : "", n->width[l]);
        fprintf(out, " %s, %zu weights\n", activation_name[n->act],
                net_parameters(n));
    }
}

static void write_all(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    names(out, s->mapped ? "data" : "states", s->dim, m->column);
    if (s->inputs) names(out, "inputs", s->inputs, m->column + s->dim);
    fprintf(out, "%-15s %s, %zu %s\n", "noise", noise_kind(s), s->noises,
            s->noises == 1 ? "source" : "sources");
    fprintf(out, "%-15s y = %s, so that dy = f~ dt + dW\n", "map",
            s->diagonal ? "x / sigma, state by state" : "sigma^-1 x");
    if (s->mapped)
        fprintf(out, "%-15s x are the states, as functions of the data\n", "");
    networks(out, s->graph);
    size_t numbers = 0, params = 0;
    for (size_t i = 0; i < s->params; i++) {
        const struct param_spec *p = &s->param[i];
        numbers += p->scale ? 0 : p->rows * p->columns;
        params += !p->scale;
    }
    fprintf(out, "%-15s %zu %s in %zu %s\n", "parameters", numbers,
            numbers == 1 ? "number" : "numbers", params,
            params == 1 ? "name" : "names");
    parameters(out, m);
}

char *gsv_model_describe(const gsv_model *m)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return fail_null(GSV_NO_MEMORY, "out of memory");
    write_all(out, m);
    bool failed = ferror(out);
    if (fclose(out) || failed) {
        free(text);
        return fail_null(GSV_NO_MEMORY, "out of memory");
    }
    return text;
}

void gsv_text_free(char *text)
{
    free(text);
}
