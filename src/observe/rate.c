/* SPDX-License-Identifier: MIT */
#include "observe/rate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/gamma.h"
#include "graph/words.h"

/* Points of a block, roughly: a pair has 2d of them. */
enum { BLOCK = 2048 };

/* --- The program ---------------------------------------------------------- */

/* z over y: U^-1(sigma y). */
static node state_of_unit(struct graph *g, const struct spec *spec)
{
    node y = graph_leaf(g, OP_STATE, 0, spec->dim, 1);
    node u = spec->diagonal ? mul(g, spec->sigma, y)
                            : graph_matmul(g, spec->sigma, y);
    return spec->unstretch ? graph_substitute(g, spec->unstretch, u) : u;
}

static int make_program(struct rates *r, bool use_double)
{
    const struct spec *spec = r->model->spec;
    struct graph *g = r->graph = graph_copy(spec->graph);
    node *rate = NEW(node, r->count), all = 0;
    r->value = NEW(size_t, r->count);
    if (g && rate && r->value) {
        node z = state_of_unit(g, spec);
        for (size_t i = 0, n = 0; i < spec->observations; i++) {
            size_t k;
            if (!obs_is_process(spec, &spec->obs[i], &k)) continue;
            rate[n] = graph_substitute(g, spec->integral[k].rate, z);
            r->value[n++] = spec->obs[i].value;
        }
        all = graph_stack(g, r->count, rate, r->count, 1);
    }
    if (all && !g->failed)
        r->program = program_new(g, 1, &all, spec->parameters, use_double);
    mem_free(rate);
    return r->program ? uniforms_init(&r->uniforms, r->program) : GSV_NO_MEMORY;
}

static size_t count_processes(const struct spec *spec)
{
    size_t n = 0, k;
    for (size_t i = 0; i < spec->observations; i++)
        n += obs_is_process(spec, &spec->obs[i], &k);
    return n;
}

int rates_init(struct rates *r, const gsv_model *m, const struct stops *stops,
               bool use_double)
{
    *r = (struct rates){.model = m,
                        .stops = stops,
                        .d = m->spec->dim,
                        .count = count_processes(m->spec)};
    return r->count ? make_program(r, use_double) : 0;
}

void rates_free(struct rates *r)
{
    uniforms_free(&r->uniforms);
    program_free(r->program);
    if (r->graph) graph_free(r->graph);
    mem_free(r->value);
    *r = (struct rates){0};
}

void rates_prepare(struct rates *r)
{
    if (r->count) program_prepare(r->program, r->model->value, &r->uniforms);
}

size_t rates_uniforms(const struct rates *r)
{
    return r->count ? program_uniforms(r->program) : 0;
}

void rates_gradient(const struct rates *r, double *bar, double *gradient)
{
    if (!r->count) return;
    program_finish(r->program, &r->uniforms, bar);
    for (size_t i = 0; i < r->model->spec->parameters; i++)
        gradient[i] += bar[i];
}

/* --- Memory --------------------------------------------------------------- */

int rater_init(struct rater *w, const struct rates *r, size_t most,
               bool gradient)
{
    *w = (struct rater){.rates = r, .most = most};
    if (!r->count) return 0;
    size_t d = r->d, n = r->count, ends = n * most;
    w->block = BLOCK / (2 * d) ? BLOCK / (2 * d) : 1;
    size_t P = 2 * d * w->block, pairs = n * w->block;
    size_t inputs = r->model->spec->inputs + r->model->spec->values;
    const struct arena_part part[] = {
        {&w->state, d * P},
        {&w->time, P},
        {&w->input, inputs * P},
        {&w->slope, inputs * P},
        {&w->end[0], ends},
        {&w->end[1], ends},
        {&w->mean, pairs},
        {&w->events, n},
        {&w->constant, n},
        {&w->state_bar, gradient ? d * P : 0},
        {&w->output_bar, gradient ? n * P : 0},
        {&w->end_bar[0], gradient ? ends : 0},
        {&w->end_bar[1], gradient ? ends : 0},
        {&w->mean_bar, gradient ? pairs : 0},
        {&w->bar, gradient ? program_uniforms(r->program) : 0}};
    if (arena_lay(&w->arena, sizeof part / sizeof *part, part) ||
        workspace_init(&w->space, r->program, P, gradient, false))
        return GSV_NO_MEMORY;
    return 0;
}

void rater_free(struct rater *w)
{
    workspace_free(&w->space);
    arena_free(&w->arena);
    *w = (struct rater){0};
}

/* --- Rates at points ------------------------------------------------------ */

/* The block's first P states, at an instant. */
static struct points points_at(struct rater *w, const struct moment *at,
                               size_t P)
{
    return gaps_points(&w->rates->stops->gaps, at->track, at->time, at->before,
                       P, w->state, w->time, w->input, w->slope);
}

/* All rates (count, P) of the block's points. */
static const double *run(struct rater *w, const struct points *in)
{
    const struct rates *r = w->rates;
    program_forward(r->program, &r->uniforms, &w->space, in);
    return program_output(r->program, &w->space, in->P, 0);
}

/* After it, with output_bar: adds to bar, and sets state_bar. */
static void run_vjp(struct rater *w, const struct points *in)
{
    const struct rates *r = w->rates;
    const double *output_bar[] = {w->output_bar};
    memset(w->state_bar, 0, r->d * in->P * sizeof *w->state_bar);
    program_vjp(r->program, &r->uniforms, &w->space, in, output_bar,
                w->state_bar, w->bar);
}

/* A rate, or NaN where it is none. */
static double checked(double rate)
{
    return rate >= 0.0 && isfinite(rate) ? rate : NAN;
}

/* --- Ends of steps -------------------------------------------------------- */

/* What a step's end number e is, 0 or 1. */
static struct moment moment_of(const struct rater *w,
                               const struct rate_step *step, size_t e)
{
    const struct stop *stop = &w->rates->stops->stop[step->stop];
    return (struct moment){stop->track, e ? stop->time : stop[-1].time, e};
}

static double length_of(const struct rater *w, const struct rate_step *step)
{
    const struct stop *stop = &w->rates->stops->stop[step->stop];
    return stop->time - stop[-1].time;
}

static void run_ends(struct rater *w, const struct rate_step *step, size_t e)
{
    size_t all = e ? step->J : step->I, most = 2 * w->rates->d * w->block;
    const double *y = e ? step->y1 : step->y0;
    struct moment at = moment_of(w, step, e);
    for (size_t first = 0; first < all; first += most) {
        size_t P = all - first < most ? all - first : most;
        for (size_t i = 0; i < w->rates->d; i++)
            memcpy(w->state + i * P, y + i * step->ld + first,
                   P * sizeof *w->state);
        struct points in = points_at(w, &at, P);
        const double *rate = run(w, &in);
        for (size_t k = 0; k < w->rates->count; k++)
            for (size_t p = 0; p < P; p++)
                w->end[e][k * w->most + first + p] = checked(rate[k * P + p]);
    }
}

/* Whether any rate of an end's point has a bar. */
static bool is_wanted(const struct rater *w, size_t e, size_t point)
{
    for (size_t k = 0; k < w->rates->count; k++)
        if (w->end_bar[e][k * w->most + point] != 0.0) return true;
    return false;
}

/* A block of ends [first, first + P). Points that do not count stand where one
 * does, good: their rates may have no derivative. */
static void block_ends_vjp(struct rater *w, const struct rate_step *step,
                           size_t e, size_t first, size_t P, double *y_bar)
{
    size_t d = w->rates->d, good = first, ld = step->ld;
    const double *y = e ? step->y1 : step->y0;
    while (good < first + P && !is_wanted(w, e, good))
        good++;
    if (good == first + P) return;
    for (size_t p = 0; p < P; p++) {
        size_t from = is_wanted(w, e, first + p) ? first + p : good;
        for (size_t i = 0; i < d; i++)
            w->state[i * P + p] = y[i * ld + from];
    }
    struct moment at = moment_of(w, step, e);
    struct points in = points_at(w, &at, P);
    run(w, &in);
    for (size_t k = 0; k < w->rates->count; k++)
        memcpy(w->output_bar + k * P, w->end_bar[e] + k * w->most + first,
               P * sizeof *w->output_bar);
    run_vjp(w, &in);
    for (size_t i = 0; i < d; i++)
        for (size_t p = 0; p < P; p++)
            y_bar[i * ld + first + p] += w->state_bar[i * P + p];
}

static void run_ends_vjp(struct rater *w, const struct rate_step *step,
                         size_t e, double *y_bar)
{
    size_t all = e ? step->J : step->I, most = 2 * w->rates->d * w->block;
    for (size_t first = 0; first < all; first += most)
        block_ends_vjp(w, step, e, first,
                       all - first < most ? all - first : most, y_bar);
}

/* --- Pairs ---------------------------------------------------------------- */

static size_t pairs_of(const struct rate_step *step)
{
    return step->each ? step->I : step->I * step->J;
}

static size_t start_of(const struct rate_step *step, size_t pair)
{
    return step->each ? pair : pair / step->J;
}

static size_t end_of(const struct rate_step *step, size_t pair)
{
    return step->each ? pair : pair % step->J;
}

/* The 2d points in the middle of a pair, as number b of n. */
static void put_middle(struct rater *w, const struct rate_step *step,
                       size_t pair, size_t b, size_t n)
{
    size_t d = w->rates->d, P = 2 * d * n, ld = step->ld;
    double away = 0.5 * sqrt((double)d * length_of(w, step));
    const double *y0 = step->y0 + start_of(step, pair);
    const double *y1 = step->y1 + end_of(step, pair);
    for (size_t i = 0; i < d; i++) {
        double middle = 0.5 * (y0[i * ld] + y1[i * ld]);
        double *to = w->state + i * P + b;
        for (size_t s = 0; s < 2 * d; s++)
            to[s * n] = middle;
        to[2 * i * n] += away;
        to[(2 * i + 1) * n] -= away;
    }
}

static struct points points_in_middles(struct rater *w,
                                       const struct rate_step *step, size_t n)
{
    struct moment at = moment_of(w, step, 0);
    at.time += 0.5 * length_of(w, step);
    return points_at(w, &at, 2 * w->rates->d * n);
}

/* L of n pairs from number first on, whose middles have these rates. */
static void integrate(struct rater *w, const struct rate_step *step,
                      size_t first, size_t n, const double *rate)
{
    size_t d = w->rates->d;
    double sixth = length_of(w, step) / 6.0;
    for (size_t k = 0; k < w->rates->count; k++)
        for (size_t b = 0; b < n; b++) {
            double sum = 0.0;
            for (size_t s = 0; s < 2 * d; s++)
                sum += checked(rate[(2 * d * k + s) * n + b]);
            w->mean[k * n + b] =
                sixth * (w->end[0][k * w->most + start_of(step, first + b)] +
                         w->end[1][k * w->most + end_of(step, first + b)] +
                         2.0 * sum / (double)d);
        }
}

/* integrate() backward, and the rates in the middles. */
static void integrate_vjp(struct rater *w, const struct rate_step *step,
                          size_t first, size_t n, const struct points *in,
                          double *y0_bar, double *y1_bar)
{
    size_t d = w->rates->d;
    double sixth = length_of(w, step) / 6.0;
    for (size_t k = 0; k < w->rates->count; k++)
        for (size_t b = 0; b < n; b++) {
            double bar = sixth * w->mean_bar[k * n + b];
            w->end_bar[0][k * w->most + start_of(step, first + b)] += bar;
            w->end_bar[1][k * w->most + end_of(step, first + b)] += bar;
            for (size_t s = 0; s < 2 * d; s++)
                w->output_bar[(2 * d * k + s) * n + b] = 2.0 * bar / (double)d;
        }
    run_vjp(w, in);
    for (size_t i = 0; i < d; i++)
        for (size_t b = 0; b < n; b++) {
            double bar = 0.0;
            for (size_t s = 0; s < 2 * d; s++)
                bar += w->state_bar[i * in->P + s * n + b];
            y0_bar[i * step->ld + start_of(step, first + b)] += 0.5 * bar;
            y1_bar[i * step->ld + end_of(step, first + b)] += 0.5 * bar;
        }
}

/* --- Counts --------------------------------------------------------------- */

/* What was counted at the step's end; whether anything was. */
static bool read_events(struct rater *w, const struct rate_step *step)
{
    const struct rates *r = w->rates;
    if (!r->count || !stop_has_events(r->stops, step->stop)) return false;
    for (size_t k = 0; k < r->count; k++) {
        w->events[k] = gaps_value(&r->stops->gaps, r->value[k],
                                  r->stops->stop[step->stop].row);
        w->constant[k] = -log_gamma(w->events[k] + 1.0);
    }
    return true;
}

/* Of n events where the mean is L; without any, L may be 0. */
static double log_poisson(double n, double constant, double L)
{
    if (isnan(L) || (n > 0.0 && !(L > 0.0))) return -INFINITY;
    return constant - L + (n > 0.0 ? n * log(L) : 0.0);
}

static double log_poisson_vjp(double n, double L)
{
    return n > 0.0 ? n / L - 1.0 : -1.0;
}

void rater_add(struct rater *w, const struct rate_step *step, double *log_p)
{
    if (!read_events(w, step)) return;
    size_t pairs = pairs_of(step);
    run_ends(w, step, 0);
    run_ends(w, step, 1);
    for (size_t first = 0; first < pairs; first += w->block) {
        size_t n = pairs - first < w->block ? pairs - first : w->block;
        for (size_t b = 0; b < n; b++)
            put_middle(w, step, first + b, b, n);
        struct points in = points_in_middles(w, step, n);
        integrate(w, step, first, n, run(w, &in));
        for (size_t k = 0; k < w->rates->count; k++)
            for (size_t b = 0; !isnan(w->events[k]) && b < n; b++)
                log_p[first + b] += log_poisson(w->events[k], w->constant[k],
                                                w->mean[k * n + b]);
    }
}

/* One block of pairs. Those that weigh nothing stand where one that does is:
 * their rates may have no derivative. */
static void block_vjp(struct rater *w, const struct rate_step *step,
                      size_t first, size_t n, const double *weight,
                      double *y0_bar, double *y1_bar)
{
    size_t good = 0;
    while (good < n && weight[first + good] == 0.0)
        good++;
    if (good == n) return;
    for (size_t b = 0; b < n; b++)
        put_middle(w, step, first + (weight[first + b] != 0.0 ? b : good), b,
                   n);
    struct points in = points_in_middles(w, step, n);
    integrate(w, step, first, n, run(w, &in));
    for (size_t k = 0; k < w->rates->count; k++)
        for (size_t b = 0; b < n; b++) {
            double share = isnan(w->events[k]) ? 0.0 : weight[first + b];
            w->mean_bar[k * n + b] =
                share != 0.0
                    ? share * log_poisson_vjp(w->events[k], w->mean[k * n + b])
                    : 0.0;
        }
    integrate_vjp(w, step, first, n, &in, y0_bar, y1_bar);
}

void rater_add_vjp(struct rater *w, const struct rate_step *step,
                   const double *weight, double *y0_bar, double *y1_bar)
{
    if (!read_events(w, step)) return;
    size_t pairs = pairs_of(step), ends = w->rates->count * w->most;
    run_ends(w, step, 0);
    run_ends(w, step, 1);
    memset(w->end_bar[0], 0, ends * sizeof *w->end_bar[0]);
    memset(w->end_bar[1], 0, ends * sizeof *w->end_bar[1]);
    for (size_t first = 0; first < pairs; first += w->block) {
        size_t n = pairs - first < w->block ? pairs - first : w->block;
        block_vjp(w, step, first, n, weight, y0_bar, y1_bar);
    }
    run_ends_vjp(w, step, 0, y0_bar);
    run_ends_vjp(w, step, 1, y1_bar);
}
