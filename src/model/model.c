/* SPDX-License-Identifier: MIT */
/* Making models and asking them: sizes, names, values, drift and diffusion. */
#include "model/model.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "lang/law.h"
#include "model/effects.h"
#include "model/fit_record.h"

const char *gsv_version(void)
{
    return GSV_VERSION;
}

/* --- What it depends on -------------------------------------------------- */

int spec_leaves(const struct spec *s, node root, bool *input, bool *param)
{
    const struct graph *g = s->graph;
    bool *wanted = NEW(bool, root + 1);
    if (!wanted) return GSV_NO_MEMORY;
    wanted[root] = true;
    for (node n = root + 1; n-- > 0;) {
        const struct node_info *info = graph_info(g, n);
        if (!wanted[n]) continue;
        if (info->op == OP_INPUT || info->op == OP_SLOPE)
            input[info->offset] = true;
        size_t end = info->offset + info->rows * info->columns;
        size_t p =
            info->op == OP_PARAM ? spec_param_at(s, info->offset) : s->params;
        /* A network's leaf is all of its weights. */
        for (; p < s->params && s->param[p].offset < end; p++)
            param[p] = true;
        for (size_t i = 0; i < info->inputs; i++)
            wanted[graph_input(g, n, i)] = true;
    }
    mem_free(wanted);
    return 0;
}

static int find_dependencies(struct gsv_model *m)
{
    const struct spec *s = m->spec;
    m->noise_input = NEW(bool, s->inputs);
    m->noise_param = NEW(bool, s->params);
    m->drift_param = NEW(bool, s->params);
    bool *other = NEW(bool, s->inputs);
    int status = GSV_NO_MEMORY;
    if (m->noise_input && m->noise_param && m->drift_param && other)
        status = spec_leaves(s, s->drift, other, m->drift_param);
    const node noise[] = {m->unit_state, m->log_jacobian, spec_noise(s)};
    for (size_t i = 0; !status && i < sizeof noise / sizeof *noise; i++)
        status = spec_leaves(s, noise[i], m->noise_input, m->noise_param);
    mem_free(other);
    return status;
}

/* --- Making ------------------------------------------------------------- */

/* The bytes of the UTF-8 character that begins here, or 0 for something else.
 */
static size_t utf8_length(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t n = c[0] < 0x80                    ? 1
               : c[0] >= 0xc2 && c[0] <= 0xdf ? 2
               : (c[0] & 0xf0) == 0xe0        ? 3
               : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4
                                              : 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    /* Longer than need be, halves of pairs, beyond the last character. */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return n;
}

char *utf8_string(const char *text)
{
    char *copy = mem_string(text);
    for (char *c = copy; c && *c;) {
        size_t n = utf8_length(c);
        if (!n) *c = '?';
        c += n ? n : 1;
    }
    return copy;
}

/* Only what binomials are given may be in the values again. */
static void add_values(gsv_model *m)
{
    const struct spec *s = m->spec;
    size_t first = m->data_columns;
    bool again = false;
    for (size_t i = 0; i < s->observations; i++)
        again = again || law_given(&s->obs[i]);
    for (size_t i = 0; i < s->values; i++) {
        size_t k = again ? first : m->data_columns;
        while (k < m->data_columns && strcmp(m->data[k], s->value_column[i]))
            k++;
        if (k == m->data_columns)
            m->data[m->data_columns++] = m->column[s->dim + s->inputs + i];
    }
}

/* The names of columns: of states, inputs and values, and in the same order
 * those that are in the data, each once. */
static int name_columns(gsv_model *m)
{
    const struct spec *s = m->spec;
    size_t n = s->dim + s->inputs + s->values;
    m->column = NEW(const char *, n);
    m->data = NEW(const char *, n);
    if (!m->column || !m->data) return GSV_NO_MEMORY;
    for (size_t i = 0; i < s->dim; i++)
        m->column[i] = s->column[i];
    for (size_t i = 0; i < s->inputs; i++)
        m->column[s->dim + i] = s->input[i].name;
    for (size_t i = 0; i < s->values; i++)
        m->column[s->dim + s->inputs + i] = s->value_column[i];
    for (size_t i = 0; i < s->dim + s->inputs; i++)
        if (i < s->dim ? !s->latent[i] : strcmp(m->column[i], SERIES_NAME))
            m->data[m->data_columns++] = m->column[i];
    add_values(m);
    return 0;
}

/* The spec is taken. */
static gsv_model *model_new(struct spec *spec, const char *text)
{
    if (!spec) return NULL;
    gsv_model *m = NEW(gsv_model, 1);
    if (!m) {
        spec_free(spec);
        return NULL;
    }
    m->spec = spec;
    m->text = utf8_string(text);
    m->value = NEW(double, spec->parameters);
    if (!m->text || !m->value || name_columns(m) || to_unit_diffusion(m) ||
        to_data_coordinates(m) || find_dependencies(m) || to_linear_form(m) ||
        to_lone_form(m)) {
        gsv_model_free(m);
        return NULL;
    }
    for (size_t i = 0; i < spec->params; i++) {
        const struct param_spec *p = &spec->param[i];
        memcpy(m->value + p->offset, p->start,
               p->rows * p->columns * sizeof *p->start);
    }
    gsv_model_draw(m, 1);
    if (effects_to_mean(m)) {
        gsv_model_free(m);
        return NULL;
    }
    return m;
}

gsv_model *gsv_model_parse(const char *text, const char *name)
{
    if (ANY_NULL(text)) return NULL;
    return model_parse(text, name, 0, NULL);
}

gsv_model *model_parse(const char *text, const char *name, size_t levels,
                       const struct category_spec *level)
{
    struct source source = {.name = name ? name : "model", .text = text};
    return model_new(spec_new_levels(&source, levels, level), text);
}

void model_copy_values(const gsv_model *from, gsv_model *to)
{
    for (size_t i = 0; i < to->spec->params; i++) {
        const struct param_spec *p = &to->spec->param[i];
        for (size_t j = 0; j < from->spec->params; j++) {
            const struct param_spec *q = &from->spec->param[j];
            if (strcmp(p->name, q->name)) continue;
            memcpy(to->value + p->offset, from->value + q->offset,
                   p->rows * p->columns * sizeof *to->value);
            break;
        }
    }
}

void gsv_model_free(gsv_model *m)
{
    if (!m) return;
    spec_free(m->spec);
    MEM_FREE(m->chain.next, m->chain.noise, m->chain.bottom);
    MEM_FREE(m->value, m->column, m->data, m->noise_input, m->noise_param,
             m->drift_param, m->text, m->linear.why);
    fit_record_free(m->record);
    draws_free(m->draws);
    tensors_free(&m->posterior);
    tensors_free(&m->state);
    mem_free(m);
}

/* --- Asking ------------------------------------------------------------- */

size_t gsv_model_dim(const gsv_model *m)
{
    return ANY_NULL(m) ? 0 : m->spec->dim;
}

size_t gsv_model_noises(const gsv_model *m)
{
    return ANY_NULL(m) ? 0 : m->spec->noises;
}

size_t gsv_model_inputs(const gsv_model *m)
{
    return ANY_NULL(m) ? 0 : m->spec->inputs;
}

size_t gsv_model_columns(const gsv_model *m)
{
    return ANY_NULL(m) ? 0 : m->spec->dim + m->spec->inputs;
}

const char *const *gsv_model_column(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : m->column;
}

size_t gsv_model_data_columns(const gsv_model *m)
{
    return ANY_NULL(m) ? 0 : m->data_columns;
}

const char *const *gsv_model_data_column(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : m->data;
}

size_t gsv_model_params(const gsv_model *m)
{
    return ANY_NULL(m) ? 0 : m->spec->params;
}

static bool no_param(const gsv_model *m, size_t i)
{
    if (i < m->spec->params) return false;
    fail(GSV_BAD_INPUT, "there is no parameter %zu: the model has %zu", i,
         m->spec->params);
    return true;
}

static const char *const *labels_of(const struct spec *s,
                                    const struct param_spec *p)
{
    return p->category ? (const char *const *)s->category[p->category - 1].label
                       : NULL;
}

gsv_param gsv_model_param(const gsv_model *m, size_t i)
{
    if (ANY_NULL(m) || no_param(m, i)) return (gsv_param){0};
    const struct param_spec *p = &m->spec->param[i];
    return (gsv_param){.name = p->name,
                       .rank = p->rank,
                       .rows = p->rows,
                       .columns = p->columns,
                       .offset = p->offset,
                       .low = p->low,
                       .high = p->high,
                       .lower = p->lower,
                       .weight = p->fan_in > 0,
                       .gp = p->gp,
                       .term = p->term,
                       .effect = p->effect,
                       .scale = p->scale,
                       .label = labels_of(m->spec, p)};
}

bool gsv_model_is_noise(const gsv_model *m, size_t i)
{
    if (ANY_NULL(m) || no_param(m, i)) return false;
    return m->noise_param[i];
}

const char *gsv_model_text(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : m->text;
}

const gsv_draws *gsv_model_draws(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : m->draws;
}

const gsv_record *gsv_model_record(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : m->record;
}

size_t gsv_model_values(const gsv_model *m)
{
    return ANY_NULL(m) ? 0 : m->spec->parameters;
}

const double *gsv_model_value(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : m->value;
}

/* How the n weights or biases of a layer are drawn. */
typedef void layer_law(const struct param_spec *p, const struct random_key *key,
                       size_t n, double *w);

static void draw_layers(gsv_model *m, uint64_t seed, layer_law *draw)
{
    for (size_t i = 0; i < m->spec->params; i++) {
        const struct param_spec *p = &m->spec->param[i];
        struct random_key key = {
            .seed = seed, .purpose = RANDOM_NET, .item = p->offset};
        if (p->fan_in && !p->given)
            draw(p, &key, p->rows * p->columns, m->value + p->offset);
    }
}

static void draw_uniform(const struct param_spec *p,
                         const struct random_key *key, size_t n, double *w)
{
    double bound = 1.0 / sqrt((double)p->fan_in);
    random_uniforms(key, 0, n, 0, 1, w);
    for (size_t j = 0; j < n; j++)
        w[j] = bound * (2.0 * w[j] - 1.0);
}

void gsv_model_draw(gsv_model *m, uint64_t seed)
{
    if (ANY_NULL(m)) return;
    draw_layers(m, seed, draw_uniform);
}

/* A layer's weights are a matrix, its biases are not. */
static void draw_normal(const struct param_spec *p,
                        const struct random_key *key, size_t n, double *w)
{
    double sd = p->rank == 2 ? sqrt(2.0 / (double)p->fan_in) : 0.0;
    random_normals(key, 0, n, 0, 1, w);
    for (size_t j = 0; j < n; j++)
        w[j] *= sd;
}

void gsv_model_draw_he(gsv_model *m, uint64_t seed)
{
    if (ANY_NULL(m)) return;
    draw_layers(m, seed, draw_normal);
}

/* --- Drift and diffusion at points -------------------------------------- */

/* One output of the model at n points, in blocks. */
int model_evaluate_in(const gsv_model *m, const struct graph *g, node what,
                      const struct points *in, bool use_double, double *out)
{
    size_t n = in->P, size = graph_size(g, what);
    int status = externals_refuse(m->spec);
    if (status) return status;
    struct uniforms u = {0};
    struct workspace w = {0};
    struct program *p =
        program_new(g, 1, &what, m->spec->parameters, use_double);
    if (!p || uniforms_init(&u, p) || workspace_init(&w, p, n, false, false)) {
        status = GSV_NO_MEMORY;
    } else {
        program_prepare(p, m->value, &u);
        program_forward(p, &u, &w, in);
        memcpy(out, program_output(p, &w, n, 0), size * n * sizeof *out);
    }
    workspace_free(&w);
    uniforms_free(&u);
    program_free(p);
    return status;
}

int model_evaluate(const gsv_model *m, node what, const struct points *in,
                   bool use_double, double *out)
{
    return model_evaluate_in(m, m->spec->graph, what, in, use_double, out);
}

/* The same of what is over x, where inputs stand still. */
static int evaluate_data(const gsv_model *m, node what, struct points in,
                         double *out)
{
    const struct spec *s = m->spec;
    if (s->inputs && !in.input)
        return fail(GSV_BAD_INPUT, "the model has inputs, but none are given");
    if (!in.P) return 0;
    if (!graph_depends(s->graph, what, OP_SLOPE))
        return model_evaluate(m, what, &in, true, out);
    double *slope = NEW(double, s->inputs *in.P);
    in.slope = slope;
    int status =
        slope ? model_evaluate(m, what, &in, true, out) : GSV_NO_MEMORY;
    mem_free(slope);
    return status;
}

enum gsv_status gsv_model_drift(const gsv_model *m, size_t n,
                                const double *time, const double *x,
                                const double *input, double *f)
{
    if (ANY_NULL(m) || (n && ANY_NULL(time, x, f))) return GSV_BAD_INPUT;
    struct points in = {.P = n, .state = x, .time = time, .input = input};
    return evaluate_data(m, m->data_drift, in, f);
}

enum gsv_status gsv_model_diffusion(const gsv_model *m, size_t n,
                                    const double *time, const double *x,
                                    const double *input, double *g)
{
    if (ANY_NULL(m) || (n && ANY_NULL(time, x, g))) return GSV_BAD_INPUT;
    const struct spec *s = m->spec;
    struct points in = {.P = n, .state = x, .time = time, .input = input};
    int status = evaluate_data(m, m->data_diffusion, in, g);
    bool matrix = graph_info(s->graph, m->data_diffusion)->columns > 1;
    if (status || !n || !s->diagonal || matrix) return status;
    /* From the diagonal (dim, n) to the matrix (dim, dim, n), last row first:
     * a row only ever moves to the right. */
    for (size_t i = s->dim; i-- > 0;) {
        memmove(g + (i * s->dim + i) * n, g + i * n, n * sizeof *g);
        for (size_t j = s->dim; j-- > 0;)
            if (j != i) memset(g + (i * s->dim + j) * n, 0, n * sizeof *g);
    }
    return 0;
}

bool model_map_jumps(const gsv_model *m)
{
    for (size_t i = 0; i < m->spec->inputs; i++)
        if (m->spec->input[i].hold && m->noise_input[i]) return true;
    return false;
}
