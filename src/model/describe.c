/* SPDX-License-Identifier: MIT */
/* A model in words: what the text was understood to mean. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain.h"
#include "base/prior_law.h"
#include "model/describe.h"
#include "model/gp_rows.h"
#include "model/names.h"

void describe_names(FILE *out, const char *title, size_t n,
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

/* The first labels of each. */
static void categories(FILE *out, const struct spec *s)
{
    enum { SHOWN = 6 };
    for (size_t i = 0; i < s->categories; i++) {
        const struct category_spec *c = &s->category[i];
        fprintf(out, "%-15s %s", i ? "" : "categories", c->name);
        if (!c->levels) fputs(": levels are those of the data", out);
        for (size_t k = 0; k < c->levels && k < SHOWN; k++)
            fprintf(out, "%s%.40s", k ? ", " : ": ", c->label[k]);
        if (c->levels > SHOWN) fprintf(out, ", ... (%zu)", c->levels);
        fputc('\n', out);
    }
}

static void priors(FILE *out, const struct spec *s)
{
    char room[PRIOR_ROOM];
    for (size_t i = 0; i < s->priors; i++)
        fprintf(out, "%-15s %s ~ %s\n", i ? "" : "priors", s->prior[i].law.name,
                prior_text(&s->prior[i].law, room));
}

static void parameters(FILE *out, const gsv_model *m)
{
    for (size_t i = 0; i < m->spec->params; i++) {
        const struct param_spec *p = &m->spec->param[i];
        const double *v = m->value + p->offset;
        char shape[64] = "";
        if (p->scale) continue;
        if (p->category)
            snprintf(shape, sizeof shape, "[%.50s]",
                     m->spec->category[p->category - 1].name);
        else if (p->rank == 1) snprintf(shape, sizeof shape, "[%zu]", p->rows);
        if (p->rank == 2)
            snprintf(shape, sizeof shape, "[%zu,%zu]", p->rows, p->columns);
        fprintf(out, "  %s%s", p->name, shape);
        if (p->fan_in)
            fputs(m->record  ? "  learned"
                  : p->given ? "  given"
                             : "  drawn",
                  out);
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

/* --- The map, by its formulas -------------------------------------------- */

static bool is_taken(const gsv_model *m, char letter)
{
    const struct spec *s = m->spec;
    const char digits[] = "0123456789";
    size_t columns = s->dim + s->inputs + s->values;
    for (size_t i = 0; i < columns + s->params; i++) {
        const char *name =
            i < columns ? m->column[i] : s->param[i - columns].name;
        if (name[0] == letter && !name[1 + strspn(name + 1, digits)])
            return true;
    }
    return false;
}

char free_letter(const gsv_model *m, const char *choice)
{
    for (const char *c = choice; *c; c++)
        if (!is_taken(m, *c)) return *c;
    return *choice;
}

void letters_free(struct letters *l)
{
    MEM_FREE(l->text, l->name);
}

int letters_init(struct letters *l, size_t n, char letter)
{
    enum { SIZE = 24 };
    *l = (struct letters){NEW(char, n *SIZE), NEW(const char *, n)};
    if (!l->text || !l->name) {
        letters_free(l);
        return GSV_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        char *text = l->text + i * SIZE;
        if (n == 1) snprintf(text, SIZE, "%c", letter);
        else snprintf(text, SIZE, "%c%zu", letter, i + 1);
        l->name[i] = text;
    }
    return 0;
}

/* left1 = formula of the first element, and so on. */
static int rows_of(FILE *out, const gsv_model *m, node what,
                   const struct graph_names *names, const char *left)
{
    const struct graph *g = m->spec->graph;
    size_t n = graph_size(g, what);
    for (size_t i = 0; i < n && i < MOST_ROWS; i++) {
        char *text = graph_element_text(g, what, i, names);
        if (!text) return GSV_NO_MEMORY;
        if (n == 1) fprintf(out, "  %s = %s\n", left, text);
        else fprintf(out, "  %s%zu = %s\n", left, i + 1, text);
        mem_free(text);
    }
    if (n > MOST_ROWS) fputs("  ...\n", out);
    return 0;
}

/* A map by quadrature, and f~ over the states: over y it would be a table. The
 * slope of sigma in time is left out. */
static int numerical_rows(FILE *out, const gsv_model *m,
                          const struct graph_names *names, const char *left)
{
    const struct spec *s = m->spec;
    for (size_t i = 0; i < s->dim && i < MOST_ROWS; i++) {
        char *shape = graph_element_text(s->graph, s->shape, i, names);
        char *sigma = s->diagonal
                          ? graph_element_text(s->graph, s->sigma, i, names)
                          : mem_string("sigma");
        char number[24] = "";
        if (s->dim > 1) snprintf(number, sizeof number, "%zu", i + 1);
        if (shape && sigma)
            fprintf(out, "  %s%s = integral of d%s/((%s)*(%s))\n", left, number,
                    names->state[i], shape, sigma);
        bool failed = !shape || !sigma;
        MEM_FREE(shape, sigma);
        if (failed) return GSV_NO_MEMORY;
    }
    return rows_of(out, m, m->state_drift, names, "f~");
}

static int domain(FILE *out, const gsv_model *m,
                  const struct graph_names *names)
{
    size_t n = m->domain ? graph_size(m->spec->graph, m->domain) : 0;
    for (size_t i = 0; i < n; i++) {
        char *text = i < MOST_ROWS ? graph_condition_text(m->spec->graph,
                                                          m->domain, i, names)
                                   : mem_string("...");
        if (!text) return GSV_NO_MEMORY;
        if (!i) fprintf(out, "%-15s", "domain");
        fprintf(out, "%s%s", i ? ", " : " ", text);
        mem_free(text);
        if (i == MOST_ROWS) break;
    }
    if (n) fputc('\n', out);
    return 0;
}

/* What T and f~ call sigma: a matrix, or 0. */
static node matrix_of(const gsv_model *m)
{
    if (m->chain.next) return m->chain.sigma;
    return m->spec->diagonal ? 0 : m->spec->sigma;
}

/* sigma, where T and f~ speak of it by this name. */
static int sigma_rows(FILE *out, const gsv_model *m,
                      const struct graph_names *names)
{
    const struct spec *s = m->spec;
    node sigma = matrix_of(m);
    size_t d = graph_info(s->graph, sigma)->rows;
    size_t n = d * d < MOST_ROWS ? d * d : MOST_ROWS;
    if (!sigma || s->dim == 1) return 0;
    for (size_t i = 0; i < n; i++) {
        char *text = graph_element_text(s->graph, sigma, i, names);
        if (!text) return GSV_NO_MEMORY;
        fprintf(out, "  sigma[%zu,%zu] = %s\n", i / d + 1, i % d + 1, text);
        mem_free(text);
    }
    if (n < d * d) fputs("  ...\n", out);
    return 0;
}

/* The elements of y that are above 0 where T^-1 is defined: their condition is
 * their own name. */
static bool *positive_units(const gsv_model *m, const struct graph_names *names)
{
    const struct graph *g = m->spec->graph;
    size_t d = m->spec->dim, n = m->range ? graph_size(g, m->range) : 0;
    bool *positive = NEW(bool, d);
    for (size_t i = 0; positive && i < n; i++) {
        char *text = graph_condition_text(g, m->range, i, names);
        size_t length = text ? strcspn(text, " ") : 0;
        for (size_t k = 0; text && k < d; k++)
            if (strlen(names->state[k]) == length &&
                !strncmp(text, names->state[k], length) &&
                !strcmp(text + length, " > 0"))
                positive[k] = true;
        mem_free(text);
    }
    return positive;
}

static const char *map_words(const gsv_model *m)
{
    const struct spec *s = m->spec;
    if (m->chain.next)
        return "so that dy = f~ dt, and for the last of each chain dy = f~ dt "
               "+ dW";
    if (s->noise == NOISE_SINGULAR)
        return "no map to unit diffusion: the noise's covariance has no "
               "inverse";
    if (s->noise == NOISE_BRIDGED)
        return spec_is_latent(s)
                   ? "no map to unit diffusion"
                   : "no map to unit diffusion: modified diffusion bridges";
    if (s->noise == NOISE_ADDITIVE) return "so that dy = f~ dt + dW";
    return s->numerical ? "numerical map (quadrature), so that dy = f~ dt + dW"
                        : "stretched by Lamperti's map, so that dy = f~ dt + "
                          "dW";
}

/* A change of letters in "dy". */
static void put_map_words(FILE *out, const gsv_model *m, char letter)
{
    fprintf(out, "%-15s ", "map");
    for (const char *c = map_words(m); *c; c++)
        fputc(c[0] == 'y' && c[-1] == 'd' && c[1] == ' ' ? letter : *c, out);
    fputc('\n', out);
}

/* Whether a formula is too long to be written out. */
static bool is_long(const gsv_model *m, node what,
                    const struct graph_names *names)
{
    bool found = false;
    for (size_t i = 0; i < m->spec->dim && i < MOST_ROWS; i++) {
        char *text = graph_element_text(m->spec->graph, what, i, names);
        found = found || (text && strstr(text, "..."));
        mem_free(text);
    }
    return found;
}

/* f~ over y; or over the states, as numerical_rows() has it, where that is
 * what can be read. */
static int drift_rows(FILE *out, const gsv_model *m,
                      const struct graph_names *over_y,
                      const struct graph_names *over_z)
{
    bool states =
        (m->spec->shape || m->chain.next) && is_long(m, m->unit_drift, over_y);
    return states ? rows_of(out, m, m->state_drift, over_z, "f~")
                  : rows_of(out, m, m->unit_drift, over_y, "f~");
}

/* log |det dT/dx|. */
static int determinant(FILE *out, const gsv_model *m,
                       const struct graph_names *names)
{
    char *text = graph_element_text(m->spec->graph, m->log_jacobian, 0, names);
    if (!text) return GSV_NO_MEMORY;
    fprintf(out, "  log |det| = %s\n", text);
    mem_free(text);
    return 0;
}

static int formulas(FILE *out, const gsv_model *m, struct letters *y,
                    struct letters *z)
{
    const struct spec *s = m->spec;
    const char *const *input = m->column + s->dim;
    struct graph_names over_x = spec_names(s, m->column, input);
    struct graph_names over_y = spec_names(s, y->name, input);
    char left[2] = {y->name[0][0], '\0'}, state[2] = {z->name[0][0], '\0'};
    bool *positive = positive_units(m, &over_y);
    int status = positive ? 0 : GSV_NO_MEMORY;
    over_y.positive_state = positive;
    over_x.matrix = over_y.matrix = matrix_of(m);
    bool square = over_x.matrix;
    over_x.matrix_name = over_y.matrix_name = square ? "sigma" : NULL;
    if (s->mapped) {
        fprintf(out, "%-15s of the data\n", "functions");
        status = rows_of(out, m, s->state_of_data, &over_x, state);
    }
    struct graph_names over_z =
        s->mapped ? spec_names(s, z->name, input) : over_x;
    if (!status && m->chain.next) status = describe_chains(out, m, &over_z);
    put_map_words(out, m, left[0]);
    bool closed = !m->bridged && !s->numerical && !m->chain.numerical;
    if (!status && s->numerical) status = numerical_rows(out, m, &over_z, left);
    if (!status && closed)
        status = rows_of(out, m, m->unit_state, &over_x, left);
    if (!status && closed) status = drift_rows(out, m, &over_y, &over_z);
    if (!status && m->chain.next) status = determinant(out, m, &over_x);
    if (!status && !m->bridged) status = sigma_rows(out, m, &over_x);
    if (!status) status = domain(out, m, &over_x);
    if (!status && (s->noise == NOISE_SINGULAR || s->reactions))
        status = describe_equations(out, m, &over_z);
    if (!status && s->noise == NOISE_SINGULAR && !m->chain.next)
        status = describe_reach(out, m, &over_z);
    mem_free(positive);
    return status;
}

static int map(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    struct letters y, z;
    if (!s->mapped && s->noise == NOISE_ADDITIVE && !s->reactions) {
        fprintf(out, "%-15s y = %s, so that dy = f~ dt + dW\n", "map",
                s->diagonal ? "x / sigma, state by state" : "sigma^-1 x");
        return 0;
    }
    if (letters_init(&y, s->dim, free_letter(m, "yYvw"))) return GSV_NO_MEMORY;
    int status = letters_init(&z, s->dim, free_letter(m, STATE_LETTERS));
    if (!status) {
        status = formulas(out, m, &y, &z);
        letters_free(&z);
    }
    letters_free(&y);
    return status;
}

/* --- All of it ----------------------------------------------------------- */

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

static void externals(FILE *out, const struct spec *s)
{
    for (size_t i = 0; i < s->externals; i++) {
        const struct external_spec *e = &s->external[i];
        fprintf(out, "%-15s %s: %zu %s, %zu %s, ", "external", e->name,
                e->inputs, e->inputs == 1 ? "input" : "inputs", e->outputs,
                e->outputs == 1 ? "output" : "outputs");
        if (e->sized || e->given)
            fprintf(out, "%zu %s, ", e->count,
                    e->weights      ? "weights"
                    : e->count == 1 ? "parameter"
                                    : "parameters");
        fputs(e->given ? "given\n" : "not given yet\n", out);
    }
}

static void put_box(FILE *out, const gsv_model *m, size_t gp)
{
    size_t axes = m->spec->graph->gp[gp].axes;
    const double *low = m->value + m->spec->gp[gp].box, *high = low + axes;
    if (!m->record && !gp_is_placed(m, gp)) fputs("the data's range", out);
    else
        for (size_t k = 0; k < axes; k++)
            fprintf(out, "%s[%g, %g]", k ? " x " : "", low[k], high[k]);
}

static void grid_functions(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    for (size_t i = 0; i < s->gps; i++) {
        const struct gp *h = &s->graph->gp[i];
        fprintf(out, "%-15s grid ", "gp");
        for (size_t k = 0; k < h->axes; k++)
            fprintf(out, "%s%zu", k ? " x " : "", h->nodes[k]);
        fputs(" over ", out);
        put_box(out, m, i);
        fprintf(out, ", %s", kernel_name(s->gp[i].kernel));
        if (h->degree) fprintf(out, " + %s", polynomial_name[h->degree]);
        fprintf(out, "%s, %zu %s of %zu nodes", s->gp[i].map ? ", map" : "",
                h->outputs, h->outputs == 1 ? "output" : "outputs",
                gp_nodes(h));
        if (h->degree) fprintf(out, " and %zu features", gp_features(h));
        fputc('\n', out);
    }
}

static int write_all(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    describe_names(out, s->mapped ? "data" : "states", s->dim, m->column);
    if (s->inputs) describe_names(out, "inputs", s->inputs, m->column + s->dim);
    categories(out, s);
    int status = describe_observations(out, m);
    if (!status) status = describe_events(out, m);
    describe_noise(out, m);
    if (!status) status = describe_effects(out, m);
    if (!status) status = map(out, m);
    networks(out, s->graph);
    grid_functions(out, m);
    externals(out, s);
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
    priors(out, s);
    return status;
}

char *model_text(const gsv_model *m,
                 int (*write)(FILE *out, const gsv_model *m))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return fail_null(GSV_NO_MEMORY, "out of memory");
    struct plain_locale locale;
    plain_begin(&locale);
    bool failed = write(out, m) || ferror(out);
    plain_end(&locale);
    if (fclose(out) || failed) {
        free(text);
        return fail_null(GSV_NO_MEMORY, "out of memory");
    }
    return text;
}

char *gsv_model_describe(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : model_text(m, write_all);
}

void gsv_text_free(char *text)
{
    free(text);
}
