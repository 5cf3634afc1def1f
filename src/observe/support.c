/* SPDX-License-Identifier: MIT */
/* Support points: drawn from about the smoother's law, in the coordinates u of
 * stretched states (unit.c), where each state is by itself: y = sigma^-1 u. Of
 * states that were observed exactly in a row all points have what was observed,
 * and q is a density of the others. */
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/lattice.h"
#include "observe/observe.h"

/* Outputs of weigh: before those of the observations. */
enum { SLOPES, FIRST_STATE, OBSERVED };

/* --- Expressions ---------------------------------------------------------- */

/* log N(z; m, s) of the latent states, as the law of the first stop, or what
 * the text says instead. */
static node first_density(struct graph *g, const struct spec *s, node state)
{
    if (s->init_log_density)
        return graph_substitute(g, s->init_log_density, state);
    node sum = graph_number(g, 0.0);
    for (size_t i = 0; i < s->dim; i++) {
        if (!s->latent[i]) continue;
        node m = graph_slice(g, s->init_mean, i, 1, 1);
        node sd = graph_slice(g, s->init_deviation, i, 1, 1);
        node z = graph_slice(g, state, i, 1, 1);
        node off = graph_binary(g, OP_DIV, graph_binary(g, OP_SUB, z, m), sd);
        node part = graph_binary(g, OP_MUL, graph_number(g, -0.5),
                                 graph_binary(g, OP_MUL, off, off));
        part = graph_binary(g, OP_SUB, part, graph_unary(g, OP_LOG, sd));
        part = graph_binary(g, OP_SUB, part, graph_number(g, 0.5 * LOG_TWO_PI));
        sum = graph_binary(g, OP_ADD, sum, part);
    }
    return sum;
}

static int make_programs(struct support *s)
{
    const gsv_model *m = s->model;
    const struct spec *spec = m->spec;
    size_t outputs = OBSERVED + spec->observations, n = spec->parameters;
    struct graph *g = s->graph = graph_copy(spec->graph);
    node *output = NEW(node, outputs);
    if (!g || !output) {
        mem_free(output);
        return GSV_NO_MEMORY;
    }
    node leaf = graph_leaf(g, OP_STATE, 0, s->d, 1);
    node u = spec->stretch
                 ? graph_substitute(g, spec->stretch, spec->state_of_data)
                 : spec->state_of_data;
    node ones = graph_fill(g, graph_number(g, 1.0), s->d, 1);
    output[SLOPES] = graph_directional(g, u, leaf, ones);
    output[FIRST_STATE] = first_density(g, spec, spec->state_of_data);
    for (size_t k = 0; k < spec->observations; k++)
        output[OBSERVED + k] =
            spec->obs[k].integrated
                ? graph_number(g, 0.0)
                : graph_substitute(g, spec->obs[k].log_density,
                                   spec->state_of_data);
    bool use_double = s->options->wide;
    node x = spec->unstretch
                 ? graph_substitute(g, spec->data_of_state, spec->unstretch)
                 : spec->data_of_state;
    s->place = program_new(g, 1, &x, n, use_double);
    s->weigh =
        g->failed ? NULL : program_new(g, outputs, output, n, use_double);
    mem_free(output);
    if (!s->place || !s->weigh || uniforms_init(&s->place_uniforms, s->place) ||
        uniforms_init(&s->weigh_uniforms, s->weigh) ||
        uniforms_init(&s->reference_uniforms, s->weigh) ||
        workspace_init(&s->place_space, s->place, s->capacity, false, false) ||
        workspace_init(&s->weigh_space, s->weigh, s->capacity,
                       s->options->gradient, false))
        return GSV_NO_MEMORY;
    return 0;
}

static int make_memory(struct support *s)
{
    const struct spec *spec = s->model->spec;
    size_t P = s->capacity, d = s->d, n = s->rooted ? s->stops->count : 0;
    size_t inputs = spec->inputs + spec->values;
    size_t outputs = OBSERVED + spec->observations;
    const struct arena_part part[] = {
        {&s->root, n * d * d},
        {&s->log_root, n},
        {&s->u, d * P},
        {&s->x, d * P},
        {&s->time, P},
        {&s->input, inputs * P},
        {&s->slope, inputs * P},
        {&s->log_g, P},
        {&s->log_q, P},
        {&s->z, s->most},
        {&s->bar, s->options->gradient ? outputs * P : 0},
        {&s->weigh_bar, program_uniforms(s->weigh)}};
    s->output_bar = NEW(const double *, outputs);
    if (!s->output_bar ||
        arena_lay(&s->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    return 0;
}

int support_init(struct support *s, const gsv_model *m,
                 const struct stops *stops, const gsv_options *o, size_t J,
                 size_t most, size_t capacity, bool given)
{
    *s = (struct support){.model = m,
                          .stops = stops,
                          .options = o,
                          .d = m->spec->dim,
                          .J = J,
                          .most = most,
                          .generator = lattice_generator(J, m->spec->dim),
                          .given = given,
                          .rooted =
                              !given || o->observe == GSV_OBSERVE_CONJUGATE,
                          .capacity = capacity};
    int status = laws_init(&s->laws, m, stops, o->wide, given);
    if (!status) status = make_programs(s);
    return status ? status : make_memory(s);
}

void support_free(struct support *s)
{
    workspace_free(&s->place_space);
    workspace_free(&s->weigh_space);
    uniforms_free(&s->place_uniforms);
    uniforms_free(&s->weigh_uniforms);
    uniforms_free(&s->reference_uniforms);
    program_free(s->place);
    program_free(s->weigh);
    if (s->graph) graph_free(s->graph);
    laws_free(&s->laws);
    for (size_t k = 0; k < LAWS_OTHERS; k++)
        MEM_FREE(s->other[k].root, s->other[k].log_root);
    mem_free(s->output_bar);
    arena_free(&s->arena);
    *s = (struct support){0};
}

static struct points points_of(const struct support *s, const double *state,
                               size_t P)
{
    return (struct points){.P = P,
                           .state = state,
                           .time = s->time,
                           .input = s->input,
                           .slope = s->slope};
}

/* Inputs and values of a stop as those of point `at`. What is missing is 1,
 * which is a value of every law: its density is not used, but must not be
 * NaN. */
static void read_inputs(struct support *s, size_t stop, size_t at, size_t P)
{
    const struct stops *all = s->stops;
    const struct spec *spec = s->model->spec;
    const struct stop *here = &all->stop[stop];
    if (spec->inputs)
        gap_inputs(&all->gaps, here->track, here->time, false, s->input + at,
                   s->slope + at, P);
    for (size_t k = 0; k < spec->values; k++) {
        double v = gaps_value(&all->gaps, k, here->row);
        s->input[(spec->inputs + k) * P + at] = isnan(v) ? 1.0 : v;
        s->slope[(spec->inputs + k) * P + at] = 0.0;
    }
}

/* --- The laws ------------------------------------------------------------- */

size_t power_of_two(size_t n)
{
    size_t K = 1;
    while (K < n)
        K *= 2;
    return K;
}

size_t support_points(const struct support *s, size_t stop)
{
    if (s->given) return s->J;
    if (laws_exact(&s->laws, stop) == s->d) return 1;
    size_t all = laws_count(&s->laws, stop) * s->J;
    return all < s->most ? all : s->most;
}

/* The factor of a covariance at a stop, of the states that are not exact. */
static int factor(struct support *s, size_t stop, const double *cov,
                  double *root, double *log_root)
{
    size_t d = s->d, n = d - laws_exact(&s->laws, stop);
    double *L = root + stop * d * d;
    laws_pick(&s->laws, stop, stop, cov + stop * d * d, L);
    return n ? laws_factor(&s->laws, stop, n, L, &log_root[stop]) : 0;
}

/* Those of the laws of other modes. */
static int factor_others(struct support *s)
{
    size_t N = s->stops->count;
    int status = 0;
    for (size_t k = 0; !status && k < LAWS_OTHERS; k++) {
        const struct other_law *o = &s->laws.other[k];
        if (!o->there) break;
        if (!s->other[k].root) {
            s->other[k].root = NEW(double, N * s->d * s->d);
            s->other[k].log_root = NEW(double, N);
        }
        if (!s->other[k].root || !s->other[k].log_root) return GSV_NO_MEMORY;
        for (size_t n = 0; !status && n < N; n++)
            if (o->there[n])
                status = factor(s, n, o->cov, s->other[k].root,
                                s->other[k].log_root);
    }
    return status;
}

int support_prepare(struct support *s, const double *reference)
{
    const double *values = reference ? reference : s->model->value;
    program_prepare(s->place, values, &s->place_uniforms);
    program_prepare(s->weigh, s->model->value, &s->weigh_uniforms);
    s->frozen = reference != NULL;
    memset(s->weigh_bar, 0, program_uniforms(s->weigh) * sizeof *s->weigh_bar);
    if (reference) program_prepare(s->weigh, reference, &s->reference_uniforms);
    int status = laws_run(&s->laws, values);
    for (size_t n = 0; s->rooted && !status && n < s->stops->count; n++)
        status = factor(s, n, s->laws.cov, s->root, s->log_root);
    return status || s->given ? status : factor_others(s);
}

static void widen(const struct support *s, size_t n, double factor,
                  double *root, double *log_root)
{
    size_t dd = s->d * s->d;
    for (size_t i = 0; i < dd; i++)
        root[n * dd + i] *= factor;
    log_root[n] += (double)(s->d - laws_exact(&s->laws, n)) * log(factor);
}

void support_widen(struct support *s, double factor)
{
    for (size_t n = 0; n < s->stops->count; n++) {
        widen(s, n, factor, s->root, s->log_root);
        for (size_t k = 0; k < LAWS_OTHERS; k++)
            if (s->laws.other[k].there && s->laws.other[k].there[n])
                widen(s, n, factor, s->other[k].root, s->other[k].log_root);
    }
}

/* --- Points --------------------------------------------------------------- */

/* Time, inputs and values, the same for all points of a stop. */
static void fill_stop(struct support *s, size_t stop, size_t at, size_t n,
                      size_t P)
{
    const struct spec *spec = s->model->spec;
    const struct stop *here = &s->stops->stop[stop];
    read_inputs(s, stop, at, P);
    for (size_t j = 0; j < n; j++) {
        s->time[at + j] = here->time;
        for (size_t k = 0; j && k < spec->inputs + spec->values; k++) {
            s->input[k * P + at + j] = s->input[k * P + at];
            s->slope[k * P + at + j] = s->slope[k * P + at];
        }
    }
}

bool support_observed(const struct support *s, size_t stop, size_t obs)
{
    const struct obs_spec *o = &s->model->spec->obs[obs];
    size_t row = s->stops->stop[stop].row;
    if (o->integrated) return false;
    for (size_t k = 0; k < o->values; k++)
        if (isnan(gaps_value(&s->stops->gaps, o->value + k, row))) return false;
    return true;
}

/* Whether an output of weigh counts at a stop. */
static bool counts(const struct support *s, size_t stop, size_t output)
{
    if (output == SLOPES) return false;
    if (output == FIRST_STATE) return stop_is_first(s->stops, stop);
    return support_observed(s, stop, output - OBSERVED);
}

/* log_q of a stop's points in the coordinates of x. Where they are direct it is
 * that already, unless a point is outside of what u is defined for. */
static void change_stop(struct support *s, size_t stop, const double *slope,
                        size_t P, size_t at, bool direct)
{
    for (size_t i = 0; i < s->d; i++) {
        if (!isnan(laws_state(&s->laws, stop, i))) continue;
        for (size_t j = at; j < at + support_points(s, stop); j++) {
            double more = log(fabs(slope[i * P + j]));
            if (!direct || !isfinite(more)) s->log_q[j] += more;
        }
    }
}

/* q in the coordinates of x, by the values that it was made from. */
static void change_density(struct support *s, size_t first, size_t end,
                           const struct points *in, const bool *direct)
{
    const struct uniforms *u =
        s->frozen ? &s->reference_uniforms : &s->weigh_uniforms;
    program_forward(s->weigh, u, &s->weigh_space, in);
    const double *slope =
        program_output(s->weigh, &s->weigh_space, in->P, SLOPES);
    for (size_t n = first, at = 0; n < end; n++) {
        size_t J = support_points(s, n);
        for (size_t j = at; J == 1 && j < at + J; j++)
            s->log_q[j] = 0.0;
        if (J > 1) change_stop(s, n, slope, in->P, at, direct && direct[n]);
        at += J;
    }
}

/* log g. What is not finite weighs nothing; whether there was any. */
static bool weigh_stop(struct support *s, size_t stop, size_t at, size_t n,
                       size_t P)
{
    size_t outputs = OBSERVED + s->model->spec->observations;
    for (size_t j = at; j < at + n; j++)
        s->log_g[j] = 0.0;
    for (size_t k = 0; k < outputs; k++) {
        if (!counts(s, stop, k)) continue;
        const double *value = program_output(s->weigh, &s->weigh_space, P, k);
        for (size_t j = at; j < at + n; j++)
            s->log_g[j] += value[j];
    }
    bool lost = false;
    for (size_t j = at; j < at + n; j++)
        if (!isfinite(s->log_g[j]) || !isfinite(s->log_q[j])) {
            s->log_g[j] = -INFINITY;
            s->log_q[j] = 0.0;
            lost = true;
        }
    return lost;
}

/* Points that weigh nothing go where the first that weighs anything is, so that
 * nothing comes of them in gradients either. */
static void replace_lost(struct support *s, size_t at, size_t n, size_t P)
{
    size_t good = at;
    while (good < at + n && s->log_g[good] == -INFINITY)
        good++;
    for (size_t j = at; good < at + n && j < at + n; j++)
        for (size_t i = 0; s->log_g[j] == -INFINITY && i < s->d; i++)
            s->x[i * P + j] = s->x[i * P + good];
}

static size_t points_in_all(const struct support *s, size_t first, size_t end)
{
    size_t P = 0;
    for (size_t n = first; n < end; n++)
        P += support_points(s, n);
    return P;
}

/* x of u; of exact states what was observed. */
static void place(struct support *s, size_t first, size_t end, size_t P,
                  const bool *direct)
{
    struct points in = points_of(s, s->u, P);
    program_forward(s->place, &s->place_uniforms, &s->place_space, &in);
    memcpy(s->x, program_output(s->place, &s->place_space, P, 0),
           s->d * P * sizeof *s->x);
    for (size_t n = first, at = 0; n < end; at += support_points(s, n), n++)
        for (size_t i = 0; i < s->d; i++) {
            double seen = laws_state(&s->laws, n, i), *x = s->x + i * P + at;
            if (direct && direct[n])
                memcpy(x, s->u + i * P + at, s->J * sizeof *x);
            for (size_t j = 0; !isnan(seen) && j < support_points(s, n); j++)
                x[j] = seen;
        }
}

size_t support_place(struct support *s, size_t first, size_t end,
                     const bool *direct)
{
    size_t P = points_in_all(s, first, end), at = 0;
    for (size_t n = first; n < end; at += support_points(s, n), n++)
        fill_stop(s, n, at, support_points(s, n), P);
    place(s, first, end, P, direct);
    struct points in = points_of(s, s->x, P);
    change_density(s, first, end, &in, direct);
    if (s->frozen)
        program_forward(s->weigh, &s->weigh_uniforms, &s->weigh_space, &in);
    bool lost = false;
    at = 0;
    for (size_t n = first; n < end; at += support_points(s, n), n++)
        if (weigh_stop(s, n, at, support_points(s, n), P)) {
            replace_lost(s, at, support_points(s, n), P);
            lost = true;
        }
    if (lost)
        program_forward(s->weigh, &s->weigh_uniforms, &s->weigh_space, &in);
    return P;
}

size_t support_draw(struct support *s, size_t first, size_t end,
                    uint32_t iteration)
{
    size_t P = points_in_all(s, first, end), at = 0, d = s->d;
    for (size_t n = first; n < end; at += support_points(s, n), n++) {
        if (support_points(s, n) > 1) support_draw_stop(s, n, iteration, at, P);
        else
            for (size_t i = 0; i < d; i++)
                s->u[i * P + at] = s->laws.mean[n * d + i];
    }
    return support_place(s, first, end, NULL);
}

struct points support_probe(struct support *s, size_t stop, size_t P)
{
    size_t d = s->d, n = d - laws_exact(&s->laws, stop);
    const double *L = s->root + stop * d * d;
    for (size_t i = 0; i < d; i++) {
        double width = 0.0, middle = 0.5 * (double)(P - 1);
        bool exact = !isnan(laws_state(&s->laws, stop, i));
        for (size_t k = 0; !exact && k < n; k++)
            width += L[k] * L[k];
        if (!exact) L += n;
        for (size_t p = 0; p < P; p++)
            s->u[i * P + p] =
                s->laws.mean[stop * d + i] + ((double)p - middle) * sqrt(width);
    }
    fill_stop(s, stop, 0, P, P);
    struct points in = points_of(s, s->u, P);
    program_forward(s->place, &s->place_uniforms, &s->place_space, &in);
    memcpy(s->x, program_output(s->place, &s->place_space, P, 0),
           d * P * sizeof *s->x);
    for (size_t i = 0; i < d; i++) {
        double seen = laws_state(&s->laws, stop, i);
        for (size_t p = 0; !isnan(seen) && p < P; p++)
            s->x[i * P + p] = seen;
    }
    return points_of(s, s->x, P);
}

void support_vjp(struct support *s, size_t first, size_t end,
                 const double *weight)
{
    size_t outputs = OBSERVED + s->model->spec->observations, at = 0;
    size_t P = points_in_all(s, first, end);
    memset(s->bar, 0, outputs * P * sizeof *s->bar);
    for (size_t k = 0; k < outputs; k++)
        s->output_bar[k] = s->bar + k * P;
    for (size_t n = first; n < end; at += support_points(s, n), n++)
        for (size_t k = 0; k < outputs; k++)
            if (counts(s, n, k))
                memcpy(s->bar + k * P + at, weight + at,
                       support_points(s, n) * sizeof *weight);
    struct points in = points_of(s, s->x, P);
    program_vjp(s->weigh, &s->weigh_uniforms, &s->weigh_space, &in,
                s->output_bar, NULL, s->weigh_bar);
}

void support_gradient(struct support *s, double *gradient)
{
    program_finish(s->weigh, &s->weigh_uniforms, s->weigh_bar);
    for (size_t i = 0; i < s->model->spec->parameters; i++)
        gradient[i] += s->weigh_bar[i];
}
