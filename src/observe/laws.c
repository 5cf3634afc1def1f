/* SPDX-License-Identifier: MIT */
/* From tracks to the smoother, and from its coordinates y to u = sigma y. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/linalg.h"
#include "observe/observe.h"

/* --- Setting up ----------------------------------------------------------- */

static int make_memory(struct laws *l, bool linked)
{
    size_t d = l->d, n = l->stops->count, dd = d * d;
    size_t inputs = l->model->spec->inputs + l->model->spec->values;
    size_t more = linked ? n : 0;
    const struct arena_part part[] = {{&l->mean, n * d},
                                      {&l->cov, n * dd},
                                      {&l->time, 1},
                                      {&l->input, inputs},
                                      {&l->slope, inputs},
                                      {&l->state, d},
                                      {&l->small, 3 * dd},
                                      {&l->gain, more * dd},
                                      {&l->rest, more * dd},
                                      {&l->predicted_mean, more * d},
                                      {&l->predicted_cov, more * dd}};
    l->pivot = NEW(int, d);
    if (!l->pivot || arena_lay(&l->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    if (!linked)
        l->gain = l->rest = l->predicted_mean = l->predicted_cov = NULL;
    return 0;
}

int laws_init(struct laws *l, const gsv_model *m, const struct stops *stops,
              bool use_double, bool linked)
{
    const struct spec *spec = m->spec;
    *l = (struct laws){.model = m, .stops = stops, .d = spec->dim};
    int status = smoother_init(&l->smoother, m);
    if (status) return status;
    l->sigma =
        program_new(spec->graph, 1, &spec->sigma, spec->parameters, use_double);
    if (!l->sigma || uniforms_init(&l->uniforms, l->sigma) ||
        workspace_init(&l->space, l->sigma, 1, false, false))
        return GSV_NO_MEMORY;
    return make_memory(l, linked);
}

void laws_free(struct laws *l)
{
    workspace_free(&l->space);
    uniforms_free(&l->uniforms);
    program_free(l->sigma);
    smoother_free(&l->smoother);
    mem_free(l->pivot);
    laws_free_others(l);
    arena_free(&l->arena);
    *l = (struct laws){0};
}

/* --- Exact states --------------------------------------------------------- */

double laws_state(const struct laws *l, size_t stop, size_t i)
{
    return gaps_state(&l->stops->gaps, i, l->stops->stop[stop].row);
}

size_t laws_exact(const struct laws *l, size_t stop)
{
    size_t n = 0;
    for (size_t i = 0; i < l->d; i++)
        if (!isnan(laws_state(l, stop, i))) n++;
    return n;
}

void laws_pick(const struct laws *l, size_t row, size_t column,
               const double *from, double *to)
{
    size_t d = l->d;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; isnan(laws_state(l, row, i)) && j < d; j++)
            if (isnan(laws_state(l, column, j))) *to++ = from[i * d + j];
}

int laws_factor(const struct laws *l, size_t stop, size_t n, double *L,
                double *log_det)
{
    double copy[64 * 64], size = 0.0;
    *log_det = 0.0;
    if (!n) return 0;
    assert(n <= 64); /* check_points() */
    for (size_t i = 0; i < n; i++)
        size = fmax(size, L[i * (n + 1)]);
    memcpy(copy, L, n * n * sizeof *L);
    for (double more = 0.0; !linalg_cholesky(n, L);
         more = 10.0 * more + 1e-14) {
        if (more > 1.0 || !(size > 0.0))
            return fail(GSV_NUMERICAL,
                        "the smoother's covariance at time %g is singular",
                        l->stops->stop[stop].time);
        memcpy(L, copy, n * n * sizeof *L);
        for (size_t i = 0; i < n; i++)
            L[i * (n + 1)] += more * size;
    }
    for (size_t i = 0; i < n; i++)
        *log_det += log(L[i * (n + 1)]);
    return 0;
}

/* --- Stretching ----------------------------------------------------------- */

/* sigma (d, d) at a stop; before: as it was until then. */
static void sigma_of(struct laws *l, size_t stop, bool before, double *S)
{
    size_t d = l->d;
    const struct spec *spec = l->model->spec;
    const struct stop *here = &l->stops->stop[stop];
    struct points in =
        gaps_points(&l->stops->gaps, here->track, here->time, before, 1,
                    l->state, l->time, l->input, l->slope);
    program_forward(l->sigma, &l->uniforms, &l->space, &in);
    const double *sigma = program_output(l->sigma, &l->space, 1, 0);
    for (size_t i = 0; i < d * d; i++)
        S[i] = !spec->diagonal    ? sigma[i]
               : i % (d + 1) == 0 ? sigma[i / (d + 1)]
                                  : 0.0;
}

/* mean = S mean, unless it is NULL; cov = S cov S'. */
static void stretch(struct laws *l, const double *S, double *mean, double *cov)
{
    size_t d = l->d;
    double *T = l->small + 2 * d * d;
    if (mean) {
        linalg_product(d, d, 1, S, false, mean, false, T);
        memcpy(mean, T, d * sizeof *mean);
    }
    linalg_product(d, d, d, S, false, cov, false, T);
    linalg_product(d, d, d, T, false, S, true, cov);
}

/* gain = S gain S1^-1, S1 of the stop after; S1 is lost. */
static int stretch_gain(struct laws *l, const double *S, double *S1,
                        size_t stop)
{
    size_t d = l->d;
    double *T = l->small + 2 * d * d, *gain = l->gain + stop * d * d;
    linalg_product(d, d, d, S, false, gain, false, T);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            gain[j * d + i] = T[i * d + j];
    if (!linalg_lu(d, S1, l->pivot))
        return fail(GSV_NUMERICAL, "the noise is singular at time %g",
                    l->stops->stop[stop + 1].time);
    linalg_lu_solve(d, d, S1, l->pivot, true, gain);
    memcpy(T, gain, d * d * sizeof *T);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            gain[j * d + i] = T[i * d + j];
    return 0;
}

static int stretch_stop(struct laws *l, size_t n)
{
    size_t d = l->d, dd = d * d;
    double *S = l->small, *next = S + dd;
    sigma_of(l, n, false, S);
    stretch(l, S, l->mean + n * d, l->cov + n * dd);
    for (size_t k = 0; k < LAWS_OTHERS; k++) {
        const struct other_law *o = &l->other[k];
        if (o->there && o->there[n])
            stretch(l, S, o->mean + n * d, o->cov + n * dd);
    }
    if (!l->gain) return 0;
    stretch(l, S, l->predicted_mean + n * d, l->predicted_cov + n * dd);
    stretch(l, S, NULL, l->rest + n * dd);
    if (stop_is_last(l->stops, n)) return 0;
    sigma_of(l, n + 1, false, next);
    return stretch_gain(l, S, next, n);
}

/* --- The smoother --------------------------------------------------------- */

struct track_data {
    double *time, *input, *middle, *slope, *value, *exact, *unused;
    double *jump, *unjump; /* NULL where T does not jump */
};

/* to = S^-1 M; S is lost. */
static int divide(struct laws *l, size_t stop, double *S, const double *M,
                  double *to)
{
    size_t d = l->d;
    if (!linalg_lu(d, S, l->pivot))
        return fail(GSV_NUMERICAL, "the noise is singular at time %g",
                    l->stops->stop[stop].time);
    memcpy(to, M, d * d * sizeof *to);
    linalg_lu_solve(d, d, S, l->pivot, false, to);
    return 0;
}

/* What y is multiplied by at a stop where the noise jumps: sigma y does not. */
static int read_jump(struct laws *l, size_t stop, double *jump, double *unjump)
{
    size_t dd = l->d * l->d;
    double *S = l->small, *before = S + dd, *copy = before + dd;
    sigma_of(l, stop, false, S);
    sigma_of(l, stop, true, before);
    memcpy(copy, S, dd * sizeof *S);
    int status = divide(l, stop, copy, before, jump);
    memcpy(copy, before, dd * sizeof *S);
    return status ? status : divide(l, stop, copy, S, unjump);
}

/* The arrays that the smoother wants of one track. */
static void read_track(const struct laws *l, size_t first, size_t n,
                       const struct track_data *t)
{
    const struct stops *all = l->stops;
    const struct spec *spec = l->model->spec;
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
        for (size_t k = 0; k < l->d; k++)
            t->exact[k * n + i] = laws_state(l, first + i, k);
    }
}

static int smooth_track(struct laws *l, const double *values, size_t track,
                        const struct track_data *t)
{
    size_t first = l->stops->first[track], d = l->d, dd = d * d;
    size_t n = l->stops->first[track + 1] - first;
    int status = 0;
    if (!n) return 0;
    read_track(l, first, n, t);
    for (size_t i = 0; t->jump && !status && i < n; i++)
        status = read_jump(l, first + i, t->jump + i * dd, t->unjump + i * dd);
    if (status) return status;
    struct smooth_track given = {.stops = n,
                                 .time = t->time,
                                 .input = t->input,
                                 .middle_input = t->middle,
                                 .middle_slope = t->slope,
                                 .jump = t->jump,
                                 .unjump = t->unjump,
                                 .value = t->value,
                                 .exact = t->exact};
    struct smooth_law law = {.mean = l->mean + first * d,
                             .cov = l->cov + first * dd};
    if (l->gain) {
        law.gain = l->gain + first * dd;
        law.rest = l->rest + first * dd;
        law.predicted_mean = l->predicted_mean + first * d;
        law.predicted_cov = l->predicted_cov + first * dd;
    }
    status = smoother_run(&l->smoother, values, &given, &law);
    return status ? status : laws_find_others(l, &given, first, &law);
}

static int smooth_all(struct laws *l, const double *values)
{
    const struct spec *spec = l->model->spec;
    size_t n = stops_longest(l->stops), tracks = l->stops->gaps.series->tracks;
    size_t jumps = model_map_jumps(l->model) ? 2 * l->d * l->d : 0;
    double *room =
        NEW(double, n *(1 + 4 * spec->inputs + spec->values + l->d + jumps));
    int status = 0;
    if (!room) return GSV_NO_MEMORY;
    struct track_data t = {.time = room, .input = room + n};
    t.middle = t.input + n * spec->inputs;
    t.slope = t.middle + n * spec->inputs;
    t.unused = t.slope + n * spec->inputs;
    t.value = t.unused + n * spec->inputs;
    t.exact = t.value + n * spec->values;
    if (jumps) t.jump = t.exact + n * l->d;
    if (jumps) t.unjump = t.jump + n * l->d * l->d;
    for (size_t r = 0; !status && r < tracks; r++)
        status = halt_asked() ? halt_status() : smooth_track(l, values, r, &t);
    mem_free(room);
    return status;
}

int laws_run(struct laws *l, const double *values)
{
    program_prepare(l->sigma, values, &l->uniforms);
    laws_clear_others(l);
    int status = smooth_all(l, values);
    for (size_t n = 0; !status && n < l->stops->count; n++)
        status = stretch_stop(l, n);
    return status;
}
