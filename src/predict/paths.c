/* SPDX-License-Identifier: MIT */
/* gsv_paths(): options, memory, and states that are observed exactly, whose
 * gaps are walked one by one; paths_latent.c has the others. */
#include "predict/paths.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "base/option_rules.h"
#include "base/sampler.h"
#include "data/series.h"
#include "estimator/settle.h"
#include "lang/law.h"
#include "predict/predict.h"
#include "predict/subjects.h"

enum { PATHS = 256, POINTS = 64, STEPS = 8, EXACT_BETWEEN = 7 };

/* Bridges between two points of a latent path, of which one is taken. */
enum { CHOICE = 8 };

/* Gaps between two reports of progress. */
enum { ROUND = 256 };

/* In an array; more would not be counted right. */
static const double MOST_NUMBERS = 1e15;

static const double QUANTILES[] = {0.05, 0.5, 0.95};

void gsv_smoothed_free(gsv_smoothed *s)
{
    if (!s) return;
    MEM_FREE(s->track, s->time, s->mean, s->sd, s->probability, s->quantile,
             s->draw, s->seen);
    *s = (gsv_smoothed){0};
}

/* --- Options -------------------------------------------------------------- */

/* Steps are a multiple of the parts that equidistant times cut a gap into. */
static size_t steps_for(size_t steps, size_t between)
{
    size_t parts = between + 1;
    return (steps + parts - 1) / parts * parts;
}

static int check_options(const struct paths *p, const gsv_paths_options *o)
{
    int status = quantiles_check(o->quantiles, o->quantile);
    if (status) return status;
    if (o->estimator.paths < 2)
        return fail(GSV_BAD_INPUT, "bands need at least 2 paths");
    if (o->estimator.form == GSV_FORM_BOUND ||
        o->estimator.form == GSV_FORM_COMPOSED ||
        o->estimator.form == GSV_FORM_EXACT)
        return fail(GSV_BAD_INPUT, "this form of the weights draws no paths to "
                                   "show: leave it to auto");
    if (!p->method->paths && !p->method->normal && !p->method->drawn &&
        !p->method->selects)
        return fail(GSV_BAD_INPUT,
                    "the estimator %s draws no paths of latent states; use "
                    "--observe guided or --observe scan",
                    p->method->name);
    return 0;
}

/* The options of the bridges, and how many there are in a gap. */
static void set_bridges(struct paths *p, bool latent)
{
    const gsv_options *o = &p->options->estimator;
    size_t steps = o->steps ? o->steps : STEPS;
    size_t paths = latent ? CHOICE : o->paths;
    /* The likelihood's own bridges; those of latent paths must be independent
     * of the numbers by which pairs of points were weighted. */
    p->purpose = latent ? RANDOM_STRAND : RANDOM_BRIDGE;
    p->bridge = *o;
    p->bridge.joint = p->bridge.richardson = p->bridge.delta = false;
    p->bridge.gradient = false;
    p->bridge.tolerance = 0.0;
    p->bridge.paths = 1; /* none of its own */
    p->bridge.steps =
        p->options->times ? steps : steps_for(steps, p->options->between);
    if (latent && o->reference == GSV_REFERENCE_AUTO)
        p->bridge.reference = GSV_REFERENCE_LNA;
    p->K = o->random == GSV_RANDOM_SOBOL ? power_of_two(paths) : paths;
}

/* --- Memory --------------------------------------------------------------- */

static int make_out(struct paths *p)
{
    gsv_smoothed *out = p->out;
    const gsv_paths_options *o = p->options;
    size_t n = out->rows * p->d;
    double most = fmax((double)o->draws, (double)o->quantiles);
    if (most * (double)n > MOST_NUMBERS)
        return fail(GSV_NO_MEMORY,
                    "%zu quantiles and %zu draws of %zu states at %zu times "
                    "are more than fit into memory",
                    o->quantiles, o->draws, p->d, out->rows);
    out->dim = p->d;
    out->draws = o->draws;
    out->quantiles = o->quantiles;
    out->ess_min = INFINITY;
    out->probability = NEW(double, o->quantiles);
    out->mean = NEW(double, n);
    out->sd = NEW(double, n);
    out->quantile = NEW(double, n * o->quantiles);
    if (o->draws) out->draw = NEW(double, n * o->draws);
    if (!out->probability || !out->mean || !out->sd || !out->quantile ||
        (o->draws && !out->draw))
        return GSV_NO_MEMORY;
    memcpy(out->probability, o->quantile,
           o->quantiles * sizeof *out->probability);
    return 0;
}

static int bridges_init(struct paths *p, size_t thread)
{
    struct gap_bridges *w = &p->bridges[thread];
    size_t K = p->K, d = p->d, draws = p->options->draws;
    *w = (struct gap_bridges){.paths = p,
                              .estimate = &p->estimate,
                              .scratch = &p->estimate.run.scratch[thread],
                              .ess = INFINITY,
                              .y = NEW(double, p->most *d *K),
                              .z = NEW(double, d *K),
                              .S = NEW(double, K),
                              .S2 = NEW(double, K),
                              .room = NEW(struct ranked, K),
                              .order = NEW(size_t, draws),
                              .pick = NEW(size_t, draws)};
    return w->y && w->z && w->S && w->S2 && w->room && w->order && w->pick
               ? 0
               : GSV_NO_MEMORY;
}

int paths_make_bridges(struct paths *p, size_t count)
{
    int status = 0;
    p->estimate.run.iteration = p->bridge.iteration;
    p->bridges = NEW(struct gap_bridges, p->estimate.run.threads);
    p->lost = NEW(bool, count);
    if (!p->bridges || !p->lost) return GSV_NO_MEMORY;
    for (size_t t = 0; !status && t < p->estimate.run.threads; t++)
        status = bridges_init(p, t);
    return status;
}

static void bridges_free(struct gap_bridges *w)
{
    MEM_FREE(w->y, w->z, w->S, w->S2, w->room, w->order, w->pick);
}

static void paths_free(struct paths *p)
{
    for (size_t t = 0; p->bridges && t < p->estimate.run.threads; t++)
        bridges_free(&p->bridges[t]);
    MEM_FREE(p->bridges, p->lost, p->end, p->first, p->at_stop, p->chosen,
             p->now, p->before, p->term, p->uniform, p->equal, p->room);
    estimate_free(&p->estimate);
    stops_free(&p->stops);
}

double *draw_at(const struct paths *p, size_t draw, size_t i, size_t row)
{
    return p->out->draw + (draw * p->d + i) * p->out->rows + row;
}

int paths_tell(const struct paths *p, size_t done, size_t all)
{
    const gsv_paths_options *o = p->options;
    if (!o->progress || !o->progress(o->user, done, all)) return 0;
    return fail(GSV_STOPPED, "progress() stopped the paths");
}

int paths_run(struct paths *p, size_t begin, size_t count,
              void (*work)(void *context, size_t lane, size_t thread))
{
    const struct estimate *e = &p->estimate;
    p->begin = begin;
    p->count = count;
    struct lanes_job job = {.context = p, .work = work};
    memset(p->lost, 0, count * sizeof *p->lost);
    int stopped =
        lanes_run(count < LANES ? count : LANES, e->run.threads, &job);
    if (stopped) return stopped;
    for (size_t i = 0; i < count; i++) {
        const struct gap *gap = &e->run.gaps.gap[begin + i];
        if (!p->lost[i]) continue;
        return fail(GSV_NUMERICAL,
                    "series '%s', time %g to %g: no bridge has any weight; "
                    "check the model's formula and its parameters, or take "
                    "more paths and steps (--paths, --steps)",
                    p->series->label[gap->track], gap->start, gap->end);
    }
    return 0;
}

/* --- What was seen of the states ------------------------------------------ */

static size_t column_of(const gsv_series *s, const char *name)
{
    for (size_t c = 0; c < s->columns; c++)
        if (!strcmp(s->name[c], name)) return c;
    return SIZE_MAX;
}

/* The column of values around a state itself. Equal nodes are shared. */
static size_t noisy_column(const struct paths *p, node state)
{
    const struct spec *spec = p->model->spec;
    for (size_t k = 0; k < spec->observations; k++) {
        const struct obs_spec *o = &spec->obs[k];
        if (LAW_TABLE[o->law].centred && o->argument[0] == state)
            return column_of(p->series, spec->value_column[o->value]);
    }
    return SIZE_MAX;
}

static int find_seen(struct paths *p)
{
    const struct spec *spec = p->model->spec;
    struct graph *g = graph_copy(spec->graph);
    p->out->seen = NEW(size_t, p->d);
    if (!g || !p->out->seen) {
        graph_free(g);
        return GSV_NO_MEMORY;
    }
    node leaf = graph_leaf(g, OP_STATE, 0, p->d, 1);
    for (size_t i = 0; i < p->d; i++) {
        node state = graph_slice(g, leaf, i, 1, 1);
        if (!spec->latent[i])
            p->out->seen[i] = column_of(p->series, spec->column[i]);
        else p->out->seen[i] = spec->mapped ? SIZE_MAX : noisy_column(p, state);
    }
    int status = g->failed ? GSV_NO_MEMORY : 0;
    graph_free(g);
    return status;
}

/* --- States that are observed exactly ------------------------------------- */

/* Which bridges the draws use: as often as their weights say, rounded up or
 * down, in an order that is independent between gaps. */
static void pick_bridges(const struct paths *p, struct gap_bridges *w)
{
    size_t n = p->options->draws;
    struct sampler s;
    struct random_key key = {.seed = p->bridge.seed,
                             .purpose = RANDOM_PATHS,
                             .iteration = p->bridge.iteration,
                             .item = w->context->gap->number};
    sampler_start(&s, &key, UINT64_MAX);
    double shift = sampler_uniform(&s), sum = w->S[0];
    for (size_t i = 0, k = 0; i < n; i++) {
        double share = ((double)i + shift) / (double)n;
        while (share >= sum && k + 1 < p->K)
            sum += w->S[++k];
        w->order[i] = k;
    }
    for (size_t i = 0; i < n; i++) {
        size_t j = i + (size_t)(sampler_uniform(&s) * (double)(n - i));
        w->pick[i] = w->order[j < n ? j : n - 1];
        w->order[j < n ? j : n - 1] = w->order[i];
    }
}

static void report_gap(const struct paths *p, struct gap_bridges *w,
                       size_t row0)
{
    size_t d = p->d, K = p->K;
    for (size_t r = 0; r < w->rows; r++)
        for (size_t i = 0; i < d; i++)
            bands_set(p, row0 + r, i, K, w->y + (r * d + i) * K, w->S, w->room);
    if (!p->options->draws) return;
    pick_bridges(p, w);
    for (size_t n = 0; n < p->options->draws; n++)
        for (size_t r = 0; r < w->rows; r++)
            for (size_t i = 0; i < d; i++)
                *draw_at(p, n, i, row0 + r) =
                    w->y[(r * d + i) * K + w->pick[n]];
}

static void walk_gaps(void *context, size_t lane, size_t thread)
{
    struct paths *p = context;
    struct gap_bridges *w = &p->bridges[thread];
    size_t lanes = p->count < LANES ? p->count : LANES;
    size_t end = lanes_first(lane + 1, lanes, p->count);
    for (size_t g = lanes_first(lane, lanes, p->count);
         g < end && !halt_asked(); g++) {
        size_t stop = p->end[p->begin + g], rows = rows_inside(p, stop);
        size_t row = p->first[stop];
        if (!rows) continue;
        if (bridges_walk(w, p->begin + g, rows, p->out->time + row))
            report_gap(p, w, row);
        else p->lost[g] = true;
    }
}

/* At an observed row the path is the observation. */
static void report_stop(const struct paths *p, size_t stop)
{
    gsv_smoothed *out = p->out;
    size_t row = p->first[stop + 1] - 1, n = p->d * out->rows;
    for (size_t i = 0; i < p->d; i++) {
        double x = gaps_state(&p->stops.gaps, i, p->stops.stop[stop].row);
        size_t at = i * out->rows + row;
        out->mean[at] = x;
        out->sd[at] = 0.0;
        for (size_t q = 0; q < out->quantiles; q++)
            out->quantile[q * n + at] = x;
        for (size_t k = 0; k < out->draws; k++)
            *draw_at(p, k, i, row) = x;
    }
}

static int paths_exact(struct paths *p)
{
    struct estimate *e = &p->estimate;
    int status = estimate_init(e, weigher_choose(p->model, &p->bridge),
                               &(struct task){.model = p->model,
                                              .series = p->series,
                                              .options = &p->bridge});
    if (status) return status;
    run_set_values(&e->run, NULL);
    size_t gaps = e->run.gaps.count, g = 0;
    p->out->paths = p->K;
    p->end = NEW(size_t, gaps);
    status = p->end ? paths_make_bridges(p, ROUND) : GSV_NO_MEMORY;
    if (status) return status;
    for (size_t n = 0; n < p->stops.count; n++) {
        if (!stop_is_first(&p->stops, n)) p->end[g++] = n;
        if (p->at_stop[n]) report_stop(p, n);
    }
    for (g = 0; !status && g < gaps; g += ROUND) {
        size_t left = gaps - g;
        status = paths_run(p, g, left < ROUND ? left : ROUND, walk_gaps);
        if (!status) status = paths_tell(p, g + ROUND, gaps);
    }
    p->out->ess_min = (double)p->K;
    for (size_t t = 0; t < e->run.threads; t++)
        p->out->ess_min = fmin(p->out->ess_min, p->bridges[t].ess);
    return status;
}

/* --- Both ----------------------------------------------------------------- */

/* Everything that the options leave open. */
static gsv_paths_options complete(const gsv_paths_options *given, bool latent)
{
    gsv_paths_options o = *given;
    if (o.times) o.between = 0;
    else if (o.between == SIZE_MAX) o.between = latent ? 0 : EXACT_BETWEEN;
    if (!o.quantiles) {
        o.quantiles = sizeof QUANTILES / sizeof *QUANTILES;
        o.quantile = QUANTILES;
    }
    if (!o.estimator.points) o.estimator.points = POINTS;
    if (!o.estimator.paths) o.estimator.paths = PATHS;
    return o;
}

/* Random effects are the model's values; the estimator is chosen. */
int paths_given(const gsv_model *m, const gsv_series *s,
                const gsv_paths_options *o, gsv_smoothed *result)
{
    const struct method *method = filter_method(m, &o->estimator);
    bool latent = !method->selects;
    gsv_paths_options full = complete(o, latent);
    gsv_smoothed out = {0};
    struct paths p = {.model = m,
                      .series = s,
                      .options = &full,
                      .method = method,
                      .d = m->spec->dim,
                      .out = &out};
    p.sample =
        full.estimator.paths > o->draws ? full.estimator.paths : o->draws;
    int status = check_options(&p, &full);
    if (!status) status = filter_check(m, &full.estimator);
    if (!status) status = stops_init(&p.stops, m, s);
    if (!status) status = paths_ask(&p);
    if (!status) status = make_out(&p);
    if (!status) status = find_seen(&p);
    set_bridges(&p, latent);
    if (!status)
        status = method->normal  ? paths_normal(&p)
                 : method->drawn ? paths_drawn(&p)
                 : latent        ? paths_latent(&p)
                                 : paths_exact(&p);
    paths_free(&p);
    if (status) gsv_smoothed_free(&out);
    *result = out;
    return status;
}

enum gsv_status gsv_paths(const gsv_model *m, const gsv_series *s,
                          const gsv_paths_options *o, gsv_smoothed *result)
{
    if (ANY_NULL(m, s, o, result)) return GSV_BAD_INPUT;
    *result = (gsv_smoothed){0};
    if (option_check(GSV_OF_PATHS, o) || series_check(s)) return GSV_BAD_INPUT;
    gsv_paths_options own = *o;
    int status = estimator_settle(m, s, &own.estimator);
    if (status) return status;
    return m->spec->effects ? paths_subjects(m, s, &own, result)
                            : paths_given(m, s, &own, result);
}
