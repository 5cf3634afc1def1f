/* SPDX-License-Identifier: MIT */
/* The noise of a model in words, and its equations where these say more than a
 * map to unit diffusion. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/describe.h"
#include "model/names.h"

static const char *noise_words(const struct spec *s)
{
    const struct graph *g = s->graph;
    if (graph_depends(g, s->diffusion, OP_STATE)) return "depends on the state";
    return graph_moves(g, s->diffusion) ? "changing in time" : "constant";
}

/* A model without any noise has one column of zeros. */
static bool is_silent(const struct spec *s)
{
    const struct node_info *info = graph_info(s->graph, s->diffusion);
    for (size_t i = 0; info->op == OP_CONSTANT && i < s->dim * s->noises; i++)
        if (info->data[i] != 0.0) return false;
    return info->op == OP_CONSTANT && s->noise == NOISE_SINGULAR;
}

void describe_noise(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    if (is_silent(s)) {
        fprintf(out, "%-15s none\n", "noise");
        return;
    }
    fprintf(out, "%-15s %s, %s, %zu %s%s\n", "noise",
            s->diagonal ? "diagonal" : "full matrix", noise_words(s), s->noises,
            s->noises == 1 ? "source" : "sources",
            s->noise == NOISE_SINGULAR ? ", singular" : "");
}

/* --- Chains of integrals -------------------------------------------------- */

/* dx/dt, d2x/dt2, ... */
static void put_rate(FILE *out, const char *state, size_t order)
{
    if (order == 1) fprintf(out, "d%s/dt", state);
    else fprintf(out, "d%zu%s/dt%zu", order, state, order);
}

/* One chain from its bottom, y_i. */
static int put_chain(FILE *out, const gsv_model *m, size_t i,
                     const struct graph_names *names)
{
    const struct chain_form *c = &m->chain;
    const char *state = names->state[c->bottom[i]];
    size_t order = 0;
    fprintf(out, "  %s", state);
    while (c->next[i] < m->spec->dim) {
        i = c->next[i];
        char *text = graph_element_text(m->spec->graph, c->rate, i, names);
        if (!text) return GSV_NO_MEMORY;
        fputs(", ", out);
        put_rate(out, state, ++order);
        fprintf(out, " = %s", text);
        mem_free(text);
    }
    fputc('\n', out);
    return 0;
}

int describe_chains(FILE *out, const gsv_model *m,
                    const struct graph_names *names)
{
    const struct chain_form *c = &m->chain;
    size_t d = m->spec->dim, shown = 0;
    int status = 0;
    fprintf(out, "%-15s of integrals; the last of each has noise\n", "chains");
    for (size_t i = 0; !status && i < d && shown <= MOST_ROWS; i++) {
        bool begins = true;
        for (size_t j = 0; j < d; j++)
            begins = begins && c->next[j] != i;
        if (!begins) continue;
        if (shown++ < MOST_ROWS) status = put_chain(out, m, i, names);
        else fputs("  ...\n", out);
    }
    return status;
}

/* --- Equations ------------------------------------------------------------ */

/* Whether a formula is a sum, which needs brackets as a factor. */
static bool is_sum(const char *text)
{
    int depth = 0;
    for (const char *c = text; *c; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (!depth && *c == ' ') return true;
    }
    return false;
}

/* " + factor*what", or how a sum begins with it. */
static void put_term(FILE *out, const char *factor, const char *what,
                     bool first)
{
    bool sum = is_sum(factor), minus = !sum && factor[0] == '-';
    if (minus) factor++;
    fputs(first ? (minus ? "-" : "") : minus ? " - " : " + ", out);
    if (!strcmp(factor, "1")) fputs(what, out);
    else if (sum) fprintf(out, "(%s)*%s", factor, what);
    else fprintf(out, "%s*%s", factor, what);
}

/* An element of the drift or diffusion; those that are 0 are left out. */
static int put_element(FILE *out, const gsv_model *m, node a, size_t at,
                       const struct graph_names *names, const char *what,
                       bool *first)
{
    char *text = graph_element_text(m->spec->graph, a, at, names);
    if (!text) return GSV_NO_MEMORY;
    if (strcmp(text, "0") != 0) {
        put_term(out, text, what, *first);
        *first = false;
    }
    mem_free(text);
    return 0;
}

/* A noise of a reaction: as it is meant, not as it is made. */
static int put_root(FILE *out, const gsv_model *m,
                    const struct reaction_spec *r, size_t i,
                    const struct graph_names *names, const char *what,
                    bool *first)
{
    if (r->change[i] == 0.0) return 0;
    char *rate = graph_element_text(m->spec->graph, r->rate, 0, names);
    if (!rate) return GSV_NO_MEMORY;
    fputs(r->change[i] < 0.0 ? (*first ? "-" : " - ")
          : *first           ? ""
                             : " + ",
          out);
    if (fabs(r->change[i]) != 1.0) fprintf(out, "%g*", fabs(r->change[i]));
    double value;
    bool number = graph_is_number(m->spec->graph, r->rate, &value);
    fprintf(out, number ? "sqrt(%s)*%s" : "sqrt(max(%s, 0))*%s", rate, what);
    mem_free(rate);
    *first = false;
    return 0;
}

static int put_equation(FILE *out, const gsv_model *m, size_t i,
                        const struct graph_names *names)
{
    const struct spec *s = m->spec;
    bool first = true;
    size_t own = s->noises - s->reactions; /* of the equations themselves */
    fprintf(out, "  d%s = ", names->state[i]);
    int status = put_element(out, m, s->drift, i, names, "dt", &first);
    for (size_t j = 0; !status && j < s->noises; j++) {
        char what[32];
        snprintf(what, sizeof what, "dW%zu", j + 1);
        if (j >= own)
            status =
                put_root(out, m, &s->reaction[j - own], i, names, what, &first);
        else if (!s->diagonal || i == j)
            status = put_element(out, m, s->diffusion,
                                 s->diagonal ? i : i * s->noises + j, names,
                                 what, &first);
    }
    fputs(first ? "0*dt\n" : "\n", out);
    return status;
}

static int put_reactions(FILE *out, const gsv_model *m,
                         const struct graph_names *names)
{
    const struct spec *s = m->spec;
    fprintf(out, "%-15s with their rates\n", "reactions");
    for (size_t j = 0; j < s->reactions && j < MOST_ROWS; j++) {
        char *rate =
            graph_element_text(s->graph, s->reaction[j].rate, 0, names);
        if (!rate) return GSV_NO_MEMORY;
        fprintf(out, "  %s : %s\n", s->reaction[j].text, rate);
        mem_free(rate);
    }
    if (s->reactions > MOST_ROWS) fputs("  ...\n", out);
    return 0;
}

int describe_equations(FILE *out, const gsv_model *m,
                       const struct graph_names *names)
{
    int refused = m->spec->reactions ? put_reactions(out, m, names) : 0;
    if (refused) return refused;
    size_t dim = m->spec->dim;
    int status = 0;
    fprintf(out, "%-15s of the states\n", "equations");
    for (size_t i = 0; !status && i < dim && i < MOST_ROWS; i++)
        status = put_equation(out, m, i, names);
    if (dim > MOST_ROWS) fputs("  ...\n", out);
    return status;
}
