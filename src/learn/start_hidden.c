/* SPDX-License-Identifier: MIT */
/* Where networks of hidden states begin. States are first taken from the data:
 * as they are where an obs of a normal law has the state itself as its mean;
 * else, where a network is the mean, as the first principal components of what
 * was observed, each with deviation 1. The model without its obs and init lines
 * is learned from these as if they were the states, by the usual search for
 * exactly observed ones, and a network of an obs by regression on them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/random.h"
#include "learn/learner.h"
#include "learn/start.h"
#include "learn/twin.h"
#include "model/gaps.h"
#include "model/theta.h"

struct guess {
    struct learner *l;
    struct gaps gaps;
    size_t rows, d, V;
    double *state;       /* (d, rows) NaN where unknown                 */
    double *seen;        /* (V, rows) the values of obs                 */
    bool reduced;        /* whether states are principal components...  */
    size_t net, outputs; /* ...of what this network is the mean of */
    size_t *of;          /* (outputs) these values                 */
};

/* --- States from the data ------------------------------------------------- */

static bool is_normal(enum law law)
{
    return law == LAW_NORMAL || law == LAW_STUDENT;
}

/* Whether row r of the mean of an obs is state i, at some points. */
static int is_itself(const struct guess *g, const struct obs_spec *o, size_t r,
                     size_t i, bool *itself)
{
    enum { POINTS = 5 };
    const struct spec *s = g->l->m->spec;
    size_t inputs = s->inputs + s->values + s->integrals;
    size_t size = graph_size(s->graph, o->argument[0]);
    double *state = NEW(double, g->d *POINTS), *time = NEW(double, POINTS);
    double *input = NEW(double, 2 * inputs * POINTS);
    double *mean = NEW(double, size *POINTS);
    int status = state && time && input && mean ? 0 : GSV_NO_MEMORY;
    for (size_t e = 0; !status && e < g->d * POINTS; e++)
        state[e] = 0.3 + sin(1.0 + 7.0 * (double)e);
    const struct points in = {.P = POINTS,
                              .state = state,
                              .time = time,
                              .input = input,
                              .slope = input + inputs * POINTS};
    if (!status)
        status = model_evaluate(g->l->m, o->argument[0], &in, true, mean);
    size_t row = size > 1 ? r : 0;
    *itself = !status;
    for (size_t p = 0; *itself && p < POINTS; p++)
        *itself = mean[row * POINTS + p] == state[i * POINTS + p];
    MEM_FREE(state, time, input, mean);
    return status;
}

/* The value that state i is the mean of, or V. */
static int find_value(const struct guess *g, size_t i, size_t *value)
{
    const struct spec *s = g->l->m->spec;
    *value = g->V;
    for (size_t k = 0; k < s->observations; k++) {
        const struct obs_spec *o = &s->obs[k];
        for (size_t r = 0; is_normal(o->law) && !o->zero && r < o->values;
             r++) {
            bool itself;
            int status = is_itself(g, o, r, i, &itself);
            if (status) return status;
            if (itself) *value = o->value + r;
        }
    }
    return 0;
}

/* The element of network n that an expression is; `outputs`: none. */
static size_t element_of(const struct spec *s, size_t n, node a, size_t outputs)
{
    const struct node_info *info = graph_info(s->graph, a);
    if (a == s->net[n].value) return outputs == 1 ? 0 : outputs;
    bool inside = info->op == OP_SLICE && graph_size(s->graph, a) == 1 &&
                  graph_input(s->graph, a, 0) == s->net[n].value;
    return inside ? info->offset : outputs;
}

/* The values that the outputs of network n are the means of; whether each has
 * one. */
static bool is_decoder(struct guess *g, size_t n)
{
    const struct spec *s = g->l->m->spec;
    const struct net *net = &s->graph->net[n];
    size_t outputs = net->width[net->layers], found = 0;
    for (size_t i = 0; i < outputs; i++)
        g->of[i] = g->V;
    for (size_t k = 0; k < s->observations; k++) {
        const struct obs_spec *o = &s->obs[k];
        if (!is_normal(o->law) || o->zero || o->values != 1) continue;
        size_t i = element_of(s, n, o->argument[0], outputs);
        if (i == outputs || g->of[i] < g->V) continue;
        g->of[i] = o->value;
        found++;
    }
    g->net = n;
    g->outputs = outputs;
    return found == outputs && found >= g->d;
}

static int find_decoder(struct guess *g, bool *found)
{
    const struct spec *s = g->l->m->spec;
    size_t most = 0;
    for (size_t n = 0; n < s->nets; n++) {
        const struct net *net = &s->graph->net[n];
        size_t outputs = net->width[net->layers];
        most = outputs > most ? outputs : most;
    }
    g->of = NEW(size_t, most);
    if (!g->of) return GSV_NO_MEMORY;
    *found = false;
    for (size_t n = 0; !*found && n < s->nets; n++)
        *found = is_decoder(g, n);
    return 0;
}

static double *value_row(const struct guess *g, size_t i)
{
    return g->seen + g->of[i] * g->rows;
}

/* Whether all of its values are in a row. */
static bool is_whole(const struct guess *g, size_t row)
{
    for (size_t i = 0; i < g->outputs; i++)
        if (isnan(value_row(g, i)[row])) return false;
    return true;
}

static void moments(size_t n, const double *x, double *mean, double *deviation)
{
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) {
            sum += x[i];
            count += 1.0;
        }
    *mean = count > 0.0 ? sum / count : 0.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) squares += (x[i] - *mean) * (x[i] - *mean);
    *deviation = count > 0.0 ? sqrt(squares / count) : 0.0;
}

/* C (n, n): the covariance of complete rows. */
static void covariance(const struct guess *g, const double *mean, double *C)
{
    size_t n = g->outputs;
    for (size_t r = 0; r < g->rows; r++) {
        if (!is_whole(g, r)) continue;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                C[i * n + j] += (value_row(g, i)[r] - mean[i]) *
                                (value_row(g, j)[r] - mean[j]) /
                                (double)g->rows;
    }
}

/* The first d components of the values, each of deviation 1. */
static int reduce(struct guess *g)
{
    size_t n = g->outputs;
    double *mean = NEW(double, n), *C = NEW(double, n *n);
    double *size = NEW(double, n), *room = NEW(double, 64 * n);
    int status = mean && C && size && room ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++)
        moments(g->rows, value_row(g, i), &mean[i], &size[i]);
    if (!status) covariance(g, mean, C);
    if (!status && !linalg_eigen(n, C, size, room)) status = GSV_NUMERICAL;
    for (size_t i = 0; !status && i < g->d; i++) {
        size_t best = n - 1 - i; /* eigenvalues rise */
        double scale = size[best] > 0.0 ? 1.0 / sqrt(size[best]) : 1.0;
        for (size_t r = 0; r < g->rows; r++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += C[best * n + k] * (value_row(g, k)[r] - mean[k]);
            g->state[i * g->rows + r] = scale * sum;
        }
    }
    g->reduced = !status;
    MEM_FREE(mean, C, size, room);
    return status == GSV_NUMERICAL ? 0 : status;
}

/* Whether all states can be taken from the data. */
static int find_states(struct guess *g, bool *found)
{
    *found = true;
    for (size_t i = 0; *found && i < g->d; i++) {
        size_t value;
        int status = find_value(g, i, &value);
        if (status) return status;
        *found = value < g->V;
        if (*found)
            memcpy(g->state + i * g->rows, g->seen + value * g->rows,
                   g->rows * sizeof *g->state);
    }
    if (*found) return 0;
    int status = find_decoder(g, found);
    if (!status && *found) status = reduce(g);
    *found = g->reduced;
    return status;
}

static int guess_init(struct guess *g, struct learner *l)
{
    *g = (struct guess){.l = l,
                        .rows = l->s->rows,
                        .d = l->m->spec->dim,
                        .V = l->m->spec->obs_values};
    int status = gaps_find(&g->gaps, l->m, l->s);
    if (status) return status;
    g->state = NEW(double, g->d * g->rows);
    g->seen = NEW(double, g->V * g->rows);
    if (!g->state || !g->seen) return GSV_NO_MEMORY;
    for (size_t i = 0; i < g->V; i++)
        for (size_t r = 0; r < g->rows; r++)
            g->seen[i * g->rows + r] = gaps_value(&g->gaps, i, r);
    return 0;
}

static void guess_free(struct guess *g)
{
    gaps_free(&g->gaps);
    MEM_FREE(g->state, g->seen, g->of);
}

/* --- The model with these states ------------------------------------------ */

static gsv_fit_options twin_options(const struct learner *l)
{
    enum { ITERATIONS = 400 };
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator = learner_usual(l);
    o.iterations = ITERATIONS;
    o.errors = GSV_ERRORS_NONE;
    o.estimate = GSV_ESTIMATE_NONE;
    o.stop = l->o->stop;
    o.user = l->o->user;
    if (l->o->time_limit > 0.0) o.time_limit = 0.25 * l->o->time_limit;
    return o;
}

static bool is_noise(const gsv_model *m, size_t i)
{
    size_t p = spec_param_at(m->spec, i);
    return m->noise_param[p] && !m->drift_param[p];
}

/* A noise that vanishes where states are exact does not where they are not. */
static double tempered(double start, double learned)
{
    static const double LEAST = 0.01;
    return start > 0.0 && learned > 0.0 ? fmax(learned, LEAST * start)
                                        : learned;
}

/* A start that cannot be found is no reason to fail. */
static int learn_twin(const struct guess *g, const bool *kept)
{
    gsv_model *m = g->l->m;
    struct twin t;
    gsv_fit_options o = twin_options(g->l);
    int status = twin_init(&t, m, g->l->s, 1, g->state);
    if (t.m) {
        status = gsv_fit(t.m, t.s, &o);
        for (size_t i = 0; !status && i < m->spec->parameters; i++)
            if (!kept[i])
                m->value[i] = is_noise(m, i)
                                  ? tempered(m->value[i], t.m->value[i])
                                  : t.m->value[i];
    }
    twin_free(&t);
    return status == GSV_STOPPED ? status : 0;
}

/* --- A network of an obs -------------------------------------------------- */

/* A regression: batches of rows, whose log density rises by Adam. */
struct regression {
    const struct guess *g;
    struct program *program; /* the log density of every obs */
    const double **bar;      /* (observations)               */
    struct uniforms uniforms;
    struct workspace space;
    size_t *row, rows; /* complete ones */
    double *state, *time, *input, *slope, *ones;
    double *value_bar, *theta, *theta_bar, *unit;
    struct adam adam;
    struct arena arena;
};

enum { ROWS = 256, ITERATIONS = 2000 };

static struct program *densities_of(const struct spec *s)
{
    node *output = NEW(node, s->observations);
    struct program *p = NULL;
    for (size_t k = 0; output && k < s->observations; k++)
        output[k] = s->obs[k].log_density;
    if (output)
        p = program_new(s->graph, s->observations, output, s->parameters,
                        false);
    mem_free(output);
    return p;
}

static int regression_init(struct regression *r, const struct guess *g)
{
    gsv_model *m = g->l->m;
    const struct spec *s = m->spec;
    size_t inputs = s->inputs + s->values + s->integrals, n = g->l->n;
    *r = (struct regression){.g = g,
                             .program = densities_of(s),
                             .bar = NEW(const double *, s->observations),
                             .row = NEW(size_t, g->rows)};
    if (!r->program || !r->bar || !r->row ||
        uniforms_init(&r->uniforms, r->program) ||
        workspace_init(&r->space, r->program, ROWS, true, false) ||
        adam_init(&r->adam, n))
        return GSV_NO_MEMORY;
    const struct arena_part part[] = {
        {&r->state, g->d * ROWS},
        {&r->time, ROWS},
        {&r->input, inputs * ROWS},
        {&r->slope, inputs * ROWS},
        {&r->ones, ROWS},
        {&r->theta, n},
        {&r->theta_bar, n},
        {&r->unit, n},
        {&r->value_bar, program_uniforms(r->program)}};
    for (size_t k = 0; k < g->rows; k++)
        if (is_whole(g, k)) r->row[r->rows++] = k;
    int status = arena_lay(&r->arena, sizeof part / sizeof *part, part);
    for (size_t k = 0; k < s->observations; k++)
        r->bar[k] = r->ones;
    return status;
}

static void regression_free(struct regression *r)
{
    program_free(r->program);
    uniforms_free(&r->uniforms);
    workspace_free(&r->space);
    adam_free(&r->adam);
    MEM_FREE(r->row, r->bar);
    arena_free(&r->arena);
}

/* The batch of an iteration, at the place of each row in the data. */
static struct points batch_of(struct regression *r, uint64_t iteration)
{
    const struct guess *g = r->g;
    const struct spec *s = g->l->m->spec;
    double u[ROWS];
    struct random_key key = {.seed = g->l->o->estimator.seed,
                             .purpose = RANDOM_START,
                             .item = iteration};
    random_uniforms(&key, 1, 1, 0, ROWS, u);
    for (size_t j = 0; j < ROWS; j++) {
        size_t row = r->row[(size_t)(u[j] * (double)r->rows)];
        r->time[j] = g->l->s->time[row];
        for (size_t i = 0; i < g->d; i++)
            r->state[i * ROWS + j] = g->state[i * g->rows + row];
        for (size_t i = 0; i < g->V; i++) {
            double v = g->seen[i * g->rows + row];
            r->input[(s->inputs + i) * ROWS + j] = isnan(v) ? 1.0 : v;
        }
        r->ones[j] = 1.0 / ROWS;
    }
    return (struct points){.P = ROWS,
                           .state = r->state,
                           .time = r->time,
                           .input = r->input,
                           .slope = r->slope};
}

static void regress(struct regression *r)
{
    static const double RATE = 2e-2;
    struct learner *l = r->g->l;
    gsv_theta_get(l->m, r->theta);
    for (size_t i = 0; i < l->n; i++)
        r->unit[i] = l->fixed[i] ? 0.0 : 1.0;
    for (uint64_t t = 0; t < ITERATIONS && !halt_asked(); t++) {
        struct points in = batch_of(r, t);
        memset(r->value_bar, 0,
               program_uniforms(r->program) * sizeof *r->value_bar);
        memset(r->theta_bar, 0, l->n * sizeof *r->theta_bar);
        program_prepare(r->program, l->m->value, &r->uniforms);
        program_forward(r->program, &r->uniforms, &r->space, &in);
        program_vjp(r->program, &r->uniforms, &r->space, &in, r->bar, NULL,
                    r->value_bar);
        program_finish(r->program, &r->uniforms, r->value_bar);
        gsv_theta_vjp(l->m, r->value_bar, r->theta_bar);
        double share = (double)t / ITERATIONS;
        adam_begin(&r->adam);
        adam_step(&r->adam, RATE * 0.5 * (1.0 + cos(PI * share)), 0, l->n,
                  r->unit, r->theta_bar, r->theta);
        gsv_theta_set(l->m, r->theta);
    }
}

/* The scales of its outputs are those of the values. */
static void scale_outputs(const struct guess *g)
{
    gsv_model *m = g->l->m;
    size_t in = m->spec->graph->net[g->net].width[0], out = g->outputs;
    double *mean = m->value + net_scales(m->spec->graph, g->net) + 2 * in;
    for (size_t i = 0; i < out; i++) {
        moments(g->rows, value_row(g, i), &mean[i], &mean[out + i]);
        if (!(mean[out + i] > 0.0)) mean[out + i] = 1.0;
    }
}

static int learn_decoder(const struct guess *g)
{
    struct regression r;
    if (!g->reduced || g->l->m->spec->inputs) return 0;
    scale_outputs(g);
    int status = regression_init(&r, g);
    if (!status && r.rows) regress(&r);
    regression_free(&r);
    return status ? status : halt_status();
}

int start_hidden(struct learner *l, const bool *kept)
{
    const struct spec *s = l->m->spec;
    struct guess g;
    bool found = false;
    if (!s->nets || s->mapped) return 0;
    int status = guess_init(&g, l);
    if (!status) status = find_states(&g, &found);
    if (!status && found) status = learn_twin(&g, kept);
    if (!status && found) status = learn_decoder(&g);
    guess_free(&g);
    return status;
}
