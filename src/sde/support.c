/* SPDX-License-Identifier: MIT */
/* Support points: drawn from about the smoother's law, in the coordinates u of
 * stretched states (unit.c), where each state is by itself: y = sigma^-1 u. Of
 * states that were observed exactly in a row all points have what was observed,
 * and q is a density of the others. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/sobol.h"
#include "sde/observe.h"

/* In the middle q is the smoother's law, which is the best there is where the
 * smoother is right; its tails are heavier, so that those of the weights are
 * light where it is not: of a normal number z, sinh(TAIL z) / TAIL is taken. */
static const double TAIL = 0.15;

static const double LOG_TWO_PI = 1.8378770664093454836;

/* Outputs of weigh: before those of the observations. */
enum { SLOPES, FIRST_STATE, OBSERVED };

/* --- Expressions -----------------------------------------------------------
 */

/* log N(z; m, s) of the latent states, as the law of the first row. */
static node first_density(struct graph *g, const struct spec *s, node state)
{
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
            graph_substitute(g, spec->obs[k].log_density, spec->state_of_data);
    bool wide = s->options->wide;
    node x = spec->unstretch
                 ? graph_substitute(g, spec->data_of_state, spec->unstretch)
                 : spec->data_of_state;
    s->place = program_new(g, 1, &x, n, wide);
    s->sigma = program_new(g, 1, &spec->sigma, n, wide);
    s->weigh = g->failed ? NULL : program_new(g, outputs, output, n, wide);
    mem_free(output);
    if (!s->sigma || uniforms_init(&s->sigma_uniforms, s->sigma) ||
        workspace_init(&s->sigma_space, s->sigma, 1, false, false))
        return GSV_NO_MEMORY;
    if (!s->place || !s->weigh || uniforms_init(&s->place_uniforms, s->place) ||
        uniforms_init(&s->weigh_uniforms, s->weigh) ||
        uniforms_init(&s->guide_uniforms, s->weigh) ||
        workspace_init(&s->place_space, s->place, s->capacity, false, false) ||
        workspace_init(&s->weigh_space, s->weigh, s->capacity,
                       s->options->gradient, false))
        return GSV_NO_MEMORY;
    return 0;
}

static int make_memory(struct support *s)
{
    const struct spec *spec = s->model->spec;
    size_t P = s->capacity, d = s->d, n = s->stops->count;
    size_t inputs = spec->inputs + spec->values;
    size_t outputs = OBSERVED + spec->observations;
    const struct arena_part part[] = {
        {&s->mean, n * d},
        {&s->root, n * d * d},
        {&s->log_root, n},
        {&s->u, d * P},
        {&s->small, 2 * d * d},
        {&s->x, d * P},
        {&s->time, P},
        {&s->input, inputs * P},
        {&s->slope, inputs * P},
        {&s->log_g, P},
        {&s->log_q, P},
        {&s->z, s->J},
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
                 size_t capacity)
{
    *s = (struct support){.model = m,
                          .stops = stops,
                          .options = o,
                          .d = m->spec->dim,
                          .J = J,
                          .capacity = capacity};
    int status = smoother_init(&s->smoother, m);
    if (!status) status = make_programs(s);
    return status ? status : make_memory(s);
}

void support_free(struct support *s)
{
    workspace_free(&s->sigma_space);
    uniforms_free(&s->sigma_uniforms);
    program_free(s->sigma);
    workspace_free(&s->place_space);
    workspace_free(&s->weigh_space);
    uniforms_free(&s->place_uniforms);
    uniforms_free(&s->weigh_uniforms);
    uniforms_free(&s->guide_uniforms);
    program_free(s->place);
    program_free(s->weigh);
    if (s->graph) graph_free(s->graph);
    smoother_free(&s->smoother);
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
 * which is a value of every law: its density is not looked at, but must not be
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

/* --- The laws ---------------------------------------------------------------
 */

/* What was observed of state i at a stop, or NaN. */
static double exact_state(const struct support *s, size_t stop, size_t i)
{
    return gaps_state(&s->stops->gaps, i, s->stops->stop[stop].row);
}

static size_t exact_states(const struct support *s, size_t stop)
{
    size_t n = 0;
    for (size_t i = 0; i < s->d; i++)
        if (!isnan(exact_state(s, stop, i))) n++;
    return n;
}

size_t support_points(const struct support *s, size_t stop)
{
    return exact_states(s, stop) == s->d ? 1 : s->J;
}

/* A covariance that has no factor gets a little of its own size on its
 * diagonal. */
static int factor(struct support *s, size_t stop, size_t n)
{
    double *L = s->root + stop * s->d * s->d, size = 0.0;
    double copy[64 * 64];
    if (n > 64) return fail(GSV_BAD_INPUT, "more than 64 latent states");
    for (size_t i = 0; i < n; i++)
        size = fmax(size, L[i * (n + 1)]);
    memcpy(copy, L, n * n * sizeof *L);
    for (double more = 0.0; !linalg_cholesky(n, L);
         more = 10.0 * more + 1e-14) {
        if (more > 1.0 || !(size > 0.0))
            return fail(GSV_NUMERICAL,
                        "the smoother's covariance at time %g is singular",
                        s->stops->stop[stop].time);
        memcpy(L, copy, n * n * sizeof *L);
        for (size_t i = 0; i < n; i++)
            L[i * (n + 1)] += more * size;
    }
    s->log_root[stop] = 0.0;
    for (size_t i = 0; i < n; i++)
        s->log_root[stop] += log(L[i * (n + 1)]);
    return 0;
}

/* From y to u = sigma y: the mean, and the covariance of what is not exact, as
 * a matrix of its own. */
static void stretch_law(struct support *s, size_t stop)
{
    size_t d = s->d, n = 0;
    const struct spec *spec = s->model->spec;
    double *mean = s->mean + stop * d, *cov = s->root + stop * d * d;
    double *S = s->small, *T = S + d * d;
    read_inputs(s, stop, 0, 1);
    s->time[0] = s->stops->stop[stop].time;
    struct points in = points_of(s, s->u, 1);
    program_forward(s->sigma, &s->sigma_uniforms, &s->sigma_space, &in);
    const double *sigma = program_output(s->sigma, &s->sigma_space, 1, 0);
    for (size_t i = 0; i < d * d; i++)
        S[i] = !spec->diagonal    ? sigma[i]
               : i % (d + 1) == 0 ? sigma[i / (d + 1)]
                                  : 0.0;
    linalg_product(d, d, 1, S, false, mean, false, T);
    memcpy(mean, T, d * sizeof *mean);
    linalg_product(d, d, d, S, false, cov, false, T);
    linalg_product(d, d, d, T, false, S, true, cov);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            if (isnan(exact_state(s, stop, i)) &&
                isnan(exact_state(s, stop, j)))
                T[n++] = cov[i * d + j];
    memcpy(cov, T, n * sizeof *cov);
}

static int factor_all(struct support *s)
{
    int status = 0;
    for (size_t n = 0; !status && n < s->stops->count; n++) {
        size_t exact = exact_states(s, n);
        if (exact == s->d) continue;
        stretch_law(s, n);
        status = factor(s, n, s->d - exact);
    }
    return status;
}

struct track_data {
    double *time, *input, *middle, *slope, *value, *exact, *unused;
};

/* The arrays that the smoother wants of one track. */
static void read_track(const struct support *s, size_t first, size_t n,
                       const struct track_data *t)
{
    const struct stops *all = s->stops;
    const struct spec *spec = s->model->spec;
    for (size_t i = 0; i < n; i++) {
        const struct stop *stop = &all->stop[first + i];
        double before = i ? stop[-1].time : stop->time;
        t->time[i] = stop->time;
        if (spec->inputs) {
            gap_inputs(&all->gaps, stop->track, stop->time, false, t->input + i,
                       t->unused + i, n);
            gap_inputs(&all->gaps, stop->track, 0.5 * (before + stop->time),
                       false, t->middle + i, t->slope + i, n);
        }
        for (size_t k = 0; k < spec->values; k++)
            t->value[k * n + i] = gaps_value(&all->gaps, k, stop->row);
        for (size_t k = 0; k < s->d; k++)
            t->exact[k * n + i] = exact_state(s, first + i, k);
    }
}

static int smooth_track(struct support *s, const double *values, size_t track,
                        const struct track_data *t)
{
    size_t first = s->stops->first[track];
    size_t n = s->stops->first[track + 1] - first;
    if (!n) return 0;
    read_track(s, first, n, t);
    struct smooth_track given = {.stops = n,
                                 .time = t->time,
                                 .input = t->input,
                                 .middle_input = t->middle,
                                 .middle_slope = t->slope,
                                 .value = t->value,
                                 .exact = t->exact};
    struct smooth_law law = {.mean = s->mean + first * s->d,
                             .cov = s->root + first * s->d * s->d};
    return smoother_run(&s->smoother, values, &given, &law);
}

static size_t longest_track(const struct stops *s)
{
    size_t most = 0;
    for (size_t r = 0; r < s->gaps.series->tracks; r++)
        if (s->first[r + 1] - s->first[r] > most)
            most = s->first[r + 1] - s->first[r];
    return most;
}

static int smooth_all(struct support *s, const double *values)
{
    const struct spec *spec = s->model->spec;
    size_t n = longest_track(s->stops), tracks = s->stops->gaps.series->tracks;
    double *room = NEW(double, n *(1 + 4 * spec->inputs + spec->values + s->d));
    int status = 0;
    if (!room) return GSV_NO_MEMORY;
    struct track_data t = {.time = room, .input = room + n};
    t.middle = t.input + n * spec->inputs;
    t.slope = t.middle + n * spec->inputs;
    t.unused = t.slope + n * spec->inputs;
    t.value = t.unused + n * spec->inputs;
    t.exact = t.value + n * spec->values;
    for (size_t r = 0; !status && r < tracks; r++)
        status = smooth_track(s, values, r, &t);
    mem_free(room);
    return status;
}

int support_prepare(struct support *s, const double *guide)
{
    const double *values = guide ? guide : s->model->value;
    program_prepare(s->place, values, &s->place_uniforms);
    program_prepare(s->sigma, values, &s->sigma_uniforms);
    program_prepare(s->weigh, s->model->value, &s->weigh_uniforms);
    s->frozen = guide != NULL;
    memset(s->weigh_bar, 0, program_uniforms(s->weigh) * sizeof *s->weigh_bar);
    if (guide) program_prepare(s->weigh, guide, &s->guide_uniforms);
    int status = smooth_all(s, values);
    return status ? status : factor_all(s);
}

/* --- Points ------------------------------------------------------------------
 */

/* u = mean + root z, z from Sobol' points, and log q of u. */
static void draw_stop(struct support *s, size_t stop, uint32_t iteration,
                      size_t at, size_t P)
{
    size_t d = s->d, J = s->J, n = d - exact_states(s, stop);
    const double *mean = s->mean + stop * d, *L = s->root + stop * d * d;
    struct random_key key = {.seed = s->options->seed,
                             .purpose = RANDOM_SUPPORT,
                             .iteration = iteration + s->stops->stop[stop].turn,
                             .item = stop};
    for (size_t j = 0; j < J; j++)
        s->log_q[at + j] = -s->log_root[stop] - 0.5 * (double)n * LOG_TWO_PI;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < J; j++)
            s->u[i * P + at + j] = mean[i];
    for (size_t k = 0; k < n; k++) {
        double *z = s->z;
        sobol_normals(&key, k, 1, 0, J, z);
        for (size_t j = 0; j < J; j++) {
            s->log_q[at + j] -= 0.5 * z[j] * z[j] + log(cosh(TAIL * z[j]));
            z[j] = sinh(TAIL * z[j]) / TAIL;
        }
        for (size_t i = 0, row = 0; i < d; i++) {
            if (!isnan(exact_state(s, stop, i))) continue;
            for (size_t j = 0; row >= k && j < J; j++)
                s->u[i * P + at + j] += L[row * n + k] * z[j];
            row++;
        }
    }
}

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

/* Whether all values of an obs are there. */
static bool is_observed(const struct support *s, size_t stop, size_t obs)
{
    const struct obs_spec *o = &s->model->spec->obs[obs];
    size_t row = s->stops->stop[stop].row;
    for (size_t k = 0; k < o->values; k++)
        if (isnan(gaps_value(&s->stops->gaps, o->value + k, row))) return false;
    return true;
}

/* Whether an output of weigh counts at a stop. */
static bool counts(const struct support *s, size_t stop, size_t output)
{
    if (output == SLOPES) return false;
    if (output == FIRST_STATE) return stop_is_first(s->stops, stop);
    return is_observed(s, stop, output - OBSERVED);
}

/* q in the coordinates of x, by the values that it was made from. */
static void change_density(struct support *s, size_t first, size_t end,
                           const struct points *in)
{
    const struct uniforms *u =
        s->frozen ? &s->guide_uniforms : &s->weigh_uniforms;
    program_forward(s->weigh, u, &s->weigh_space, in);
    const double *slope =
        program_output(s->weigh, &s->weigh_space, in->P, SLOPES);
    for (size_t n = first, at = 0; n < end; n++) {
        size_t J = support_points(s, n);
        for (size_t j = at; J == 1 && j < at + J; j++)
            s->log_q[j] = 0.0;
        for (size_t i = 0; J > 1 && i < s->d; i++)
            for (size_t j = at; isnan(exact_state(s, n, i)) && j < at + J; j++)
                s->log_q[j] += log(fabs(slope[i * in->P + j]));
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

size_t support_draw(struct support *s, size_t first, size_t end,
                    uint32_t iteration)
{
    size_t P = 0, at = 0, d = s->d;
    for (size_t n = first; n < end; n++)
        P += support_points(s, n);
    for (size_t n = first; n < end; n++) {
        size_t J = support_points(s, n);
        if (J > 1) draw_stop(s, n, iteration, at, P);
        else
            for (size_t i = 0; i < d; i++)
                s->u[i * P + at] = s->mean[n * d + i];
        fill_stop(s, n, at, J, P);
        at += J;
    }
    struct points in = points_of(s, s->u, P);
    program_forward(s->place, &s->place_uniforms, &s->place_space, &in);
    memcpy(s->x, program_output(s->place, &s->place_space, P, 0),
           d * P * sizeof *s->x);
    at = 0;
    for (size_t n = first; n < end; at += support_points(s, n), n++)
        for (size_t i = 0; i < d; i++) {
            double seen = exact_state(s, n, i);
            for (size_t j = 0; !isnan(seen) && j < support_points(s, n); j++)
                s->x[i * P + at + j] = seen;
        }
    in = points_of(s, s->x, P);
    change_density(s, first, end, &in);
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

void support_vjp(struct support *s, size_t first, size_t end,
                 const double *weight)
{
    size_t outputs = OBSERVED + s->model->spec->observations, P = 0, at = 0;
    for (size_t n = first; n < end; n++)
        P += support_points(s, n);
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
