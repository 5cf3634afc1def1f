/* SPDX-License-Identifier: MIT */
/* The scan over the stops, in chunks: the densities between all points of a
 * chunk's neighbouring stops are one batch, then the weights go through it stop
 * by stop. What is kept of earlier chunks are the weights at their ends, so
 * that memory hardly grows with the stops; the pass backward draws and computes
 * a chunk again. */
#include "sde/scan.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum { MOST_PAIRS = 1 << 16 };

static size_t first_of(const struct scan *s, size_t chunk)
{
    size_t first = chunk * s->chunk;
    return first < s->stops.count ? first : s->stops.count;
}

/* The stop before a chunk is drawn with it. */
static size_t low_of(const struct scan *s, size_t chunk)
{
    size_t first = first_of(s, chunk);
    return first ? first - 1 : 0;
}

static double log_sum(size_t n, const double *x)
{
    double most = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, x[i]);
    if (most == -INFINITY) return most;
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}

/* --- Setting up
 * --------------------------------------------------------------- */

/* Bridges against lna are so good that one for each pair is enough: what it
 * misses the mean over pairs takes away. */
static gsv_options pair_options(const gsv_options *o)
{
    gsv_options p = *o;
    p.paths = 1;
    if (!p.steps) p.steps = 8;
    p.tolerance = 0.0;
    p.joint = p.richardson = p.delta = false;
    if (p.reference == GSV_REFERENCE_AUTO) p.reference = GSV_REFERENCE_LNA;
    return p;
}

/* A linear drift's densities are exact in one step. */
static bool drift_is_linear(const gsv_model *m)
{
    const struct spec *spec = m->spec;
    struct graph *g = m->calls || m->bridged ? NULL : graph_copy(spec->graph);
    bool linear = g != NULL;
    if (!g) return false;
    node leaf = graph_leaf(g, OP_STATE, 0, spec->dim, 1);
    for (size_t i = 0; linear && i < spec->dim; i++) {
        node row = graph_slice(g, m->unit_drift, i, 1, 1);
        row = graph_gradient(g, row, leaf);
        linear = !g->failed && !graph_depends(g, row, OP_STATE);
    }
    graph_free(g);
    return linear;
}

static int make_memory(struct scan *s)
{
    size_t points = (s->chunk + 1) * s->J, pairs = s->chunk * s->J * s->J;
    size_t tracks = s->stops.gaps.series->tracks, n = s->stops.count;
    const struct arena_part part[] = {
        {&s->log_p, pairs},      {&s->weight, pairs},
        {&s->a, points},         {&s->b, points},
        {&s->posterior, points}, {&s->keep, s->chunks * s->J},
        {&s->total, tracks},     {&s->ahead, s->J},
        {&s->increment, n},      {&s->ess, n}};
    s->at = NEW(size_t, s->chunk + 2);
    if (!s->at || arena_lay(&s->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    return 0;
}

int scan_init(struct scan *s, const gsv_model *m, const gsv_series *series,
              const gsv_options *o)
{
    *s = (struct scan){.model = m,
                       .options = pair_options(o),
                       .J = o->points ? o->points : SCAN_POINTS};
    if (s->J < 2 || s->J > SCAN_MOST)
        return fail(GSV_BAD_INPUT,
                    "%zu support points: a scan takes 2 to %d (--support)",
                    s->J, SCAN_MOST);
    if (m->spec->integrals)
        return fail(GSV_BAD_INPUT,
                    "the likelihood of a poisson_process is not supported "
                    "yet; counts at single times are: poisson(...)");
    int status = stops_init(&s->stops, m, series);
    if (status) return status;
    if (drift_is_linear(m)) {
        s->options.steps = 1;
        s->options.step = 0.0;
        s->options.reference = GSV_REFERENCE_LINEAR;
        s->options.form = GSV_FORM_AUTO;
    }
    s->chunk = MOST_PAIRS / (s->J * s->J);
    if (!s->chunk) s->chunk = 1;
    if (s->chunk > s->stops.count) s->chunk = s->stops.count;
    s->chunks = (s->stops.count + s->chunk - 1) / s->chunk;
    s->loaded = s->chunks;
    status = support_init(&s->support, m, &s->stops, &s->options, s->J,
                          (s->chunk + 1) * s->J);
    if (!status)
        status = estimate_init_pairs(&s->pairs, m, series, &s->options,
                                     s->chunk * s->J * s->J, s->stops.longest);
    return status ? status : make_memory(s);
}

void scan_free(struct scan *s)
{
    if (s->pairs.model) estimate_free(&s->pairs);
    support_free(&s->support);
    stops_free(&s->stops);
    arena_free(&s->arena);
    mem_free(s->at);
}

/* --- Densities of a chunk
 * ------------------------------------------------------ */

/* Its points; where they begin, stop by stop. */
static size_t draw(struct scan *s, size_t chunk, uint32_t iteration)
{
    size_t low = low_of(s, chunk), end = first_of(s, chunk + 1), at = 0;
    for (size_t n = low; n < end; n++) {
        s->at[n - low] = at;
        at += support_points(&s->support, n);
    }
    s->at[end - low] = at;
    return support_draw(&s->support, low, end, iteration);
}

/* All pairs of neighbouring stops' points. */
static size_t list_pairs(struct scan *s, size_t chunk)
{
    size_t low = low_of(s, chunk), end = first_of(s, chunk + 1), count = 0;
    for (size_t n = first_of(s, chunk); n < end; n++) {
        const struct stop *here = &s->stops.stop[n];
        if (stop_is_first(&s->stops, n)) continue;
        const size_t *at = &s->at[n - low];
        for (size_t i = at[-1]; i < at[0]; i++)
            for (size_t j = at[0]; j < at[1]; j++, count++)
                s->pairs.gaps.gap[count] = (struct gap){
                    .track = here->track,
                    .from = i,
                    .to = j,
                    .number = (n * s->J + i - at[-1]) * s->J + j - at[0],
                    .start = here[-1].time,
                    .length = here->time - here[-1].time,
                    .end = here->time,
                    .turn = here->turn};
    }
    return count;
}

static int run_pairs(struct scan *s, size_t pairs, size_t points,
                     uint32_t iteration, bool gradient)
{
    bool wanted = s->options.gradient;
    int status = estimate_take_pairs(&s->pairs, pairs, points, s->support.x);
    if (status || !pairs) return status;
    s->options.gradient = gradient;
    s->pairs.weight = gradient ? s->weight : NULL;
    estimate_run(&s->pairs, iteration);
    s->options.gradient = wanted;
    return 0;
}

static int load(struct scan *s, size_t chunk, uint32_t iteration)
{
    if (s->loaded == chunk) return 0;
    size_t points = draw(s, chunk, iteration), pairs = list_pairs(s, chunk);
    int status = run_pairs(s, pairs, points, iteration, false);
    for (size_t i = 0; !status && i < pairs; i++) {
        double l = estimate_group(&s->pairs, i).loglik;
        s->log_p[i] = isnan(l) ? -INFINITY : l;
    }
    s->loaded = status ? s->chunks : chunk;
    return status;
}

/* --- Forward
 * -------------------------------------------------------------------- */

/* log a of one stop from the one before. */
static void step_forward(struct scan *s, const size_t *at, const double *log_p)
{
    size_t I = at[0] - at[-1], J = at[1] - at[0];
    double term[SCAN_MOST];
    for (size_t j = 0; j < J; j++) {
        for (size_t i = 0; i < I; i++)
            term[i] = s->a[at[-1] + i] + log_p[i * J + j];
        s->a[at[0] + j] = s->support.log_g[at[0] + j] -
                          s->support.log_q[at[0] + j] + log_sum(I, term) -
                          log((double)I);
    }
}

static void start_track(struct scan *s, const size_t *at)
{
    for (size_t j = at[0]; j < at[1]; j++)
        s->a[j] = s->support.log_g[j] - s->support.log_q[j];
}

/* Through a loaded chunk, from what was kept of the one before. again: for the
 * pass backward, where the sums are known. */
static void forward(struct scan *s, size_t chunk, bool again)
{
    size_t low = low_of(s, chunk), end = first_of(s, chunk + 1), pair = 0;
    if (chunk) memcpy(s->a, s->keep + chunk * s->J, s->at[1] * sizeof *s->a);
    for (size_t n = first_of(s, chunk); n < end; n++) {
        const size_t *at = &s->at[n - low];
        size_t J = at[1] - at[0];
        if (stop_is_first(&s->stops, n)) start_track(s, at);
        else {
            step_forward(s, at, s->log_p + pair);
            pair += (at[0] - at[-1]) * J;
        }
        if (again) continue;
        s->increment[n] = log_sum(J, s->a + at[0]) - log((double)J);
        s->total[s->stops.stop[n].track] = s->increment[n];
    }
    if (chunk + 1 < s->chunks) {
        const size_t *at = &s->at[end - 1 - low];
        memcpy(s->keep + (chunk + 1) * s->J, s->a + at[0],
               (at[1] - at[0]) * sizeof *s->a);
    }
}

/* From the sums up to each stop to what each stop adds. */
static void take_differences(struct scan *s)
{
    for (size_t n = s->stops.count; n-- > 0;)
        if (!stop_is_first(&s->stops, n))
            s->increment[n] -= s->increment[n - 1];
}

/* --- Backward
 * -------------------------------------------------------------------- */

/* log b of the stop before from that of one stop, and the pairs' weights. */
static void step_backward(struct scan *s, const size_t *at, double total,
                          const double *log_p, double *weight)
{
    size_t I = at[0] - at[-1], J = at[1] - at[0];
    double term[SCAN_MOST], rest = log((double)I);
    for (size_t i = 0; i < I; i++) {
        for (size_t j = 0; j < J; j++)
            term[j] = log_p[i * J + j] + s->support.log_g[at[0] + j] -
                      s->support.log_q[at[0] + j] + s->b[at[0] + j] - rest;
        s->b[at[-1] + i] = log_sum(J, term);
        for (size_t j = 0; j < J; j++)
            weight[i * J + j] = exp(s->a[at[-1] + i] + term[j] - total);
    }
}

static void note_posterior(struct scan *s, const size_t *at, size_t stop,
                           double total)
{
    double squares = 0.0;
    for (size_t j = at[0]; j < at[1]; j++) {
        s->posterior[j] = exp(s->a[j] + s->b[j] - total);
        squares += s->posterior[j] * s->posterior[j];
    }
    s->ess[stop] = squares > 0.0 ? 1.0 / squares : 0.0;
}

static bool is_last(const struct scan *s, size_t n)
{
    return n + 1 == s->stops.count || stop_is_first(&s->stops, n + 1);
}

/* The pairs that end in a stop. */
static size_t pairs_of(const struct scan *s, const size_t *at, size_t n)
{
    return stop_is_first(&s->stops, n) ? 0 : (at[0] - at[-1]) * (at[1] - at[0]);
}

static void backward(struct scan *s, size_t chunk, size_t pairs)
{
    size_t low = low_of(s, chunk), first = first_of(s, chunk);
    size_t end = first_of(s, chunk + 1), pair = pairs;
    if (end < s->stops.count)
        memcpy(s->b + s->at[end - 1 - low], s->ahead,
               (s->at[end - low] - s->at[end - 1 - low]) * sizeof *s->b);
    for (size_t n = end; n-- > first;) {
        const size_t *at = &s->at[n - low];
        double total = s->total[s->stops.stop[n].track];
        for (size_t j = at[0]; is_last(s, n) && j < at[1]; j++)
            s->b[j] = -log((double)(at[1] - at[0]));
        note_posterior(s, at, n, total);
        pair -= pairs_of(s, at, n);
        if (stop_is_first(&s->stops, n)) continue;
        step_backward(s, at, total, s->log_p + pair, s->weight + pair);
    }
    if (first) memcpy(s->ahead, s->b, s->at[1] * sizeof *s->b);
}

/* Adds a chunk's part of the gradient. The stop before it belongs to the chunk
 * before. */
static int add_gradient(struct scan *s, size_t chunk, uint32_t iteration,
                        double *part, double *gradient)
{
    size_t low = low_of(s, chunk), first = first_of(s, chunk);
    size_t end = first_of(s, chunk + 1), points = s->at[end - low];
    for (size_t j = 0; first && j < s->at[1]; j++)
        s->posterior[j] = 0.0;
    support_vjp(&s->support, low, end, s->posterior);
    size_t pairs = list_pairs(s, chunk);
    int status = run_pairs(s, pairs, points, iteration, true);
    if (status || !pairs) return status;
    status = estimate_gradient(&s->pairs, part);
    for (size_t i = 0; !status && i < s->model->spec->parameters; i++)
        gradient[i] += part[i];
    return status;
}

static int run_backward(struct scan *s, uint32_t iteration, double *gradient)
{
    size_t n = s->model->spec->parameters;
    double *part = gradient ? NEW(double, n) : NULL;
    int status = gradient && !part ? GSV_NO_MEMORY : 0;
    for (size_t c = s->chunks; !status && c-- > 0;) {
        status = load(s, c, iteration);
        if (status) break;
        forward(s, c, true);
        backward(s, c, list_pairs(s, c));
        if (gradient) status = add_gradient(s, c, iteration, part, gradient);
    }
    if (!status && gradient) support_gradient(&s->support, gradient);
    mem_free(part);
    return status;
}

/* --- The result
 * ------------------------------------------------------------------- */

static int check(const struct scan *s)
{
    const gsv_series *series = s->stops.gaps.series;
    for (size_t n = 0; n < s->stops.count; n++) {
        const struct stop *stop = &s->stops.stop[n];
        if (isfinite(s->increment[n])) continue;
        return fail(GSV_NUMERICAL,
                    "the log-likelihood of series '%s' is %g at time %g: no "
                    "support point explains what was observed there; check "
                    "the model's formula, its parameters and the data",
                    series->label[stop->track], s->increment[n], stop->time);
    }
    return 0;
}

/* The points of a stop as if they were independent: Sobol' points are better.
 */
static double error_of(const struct scan *s, size_t n)
{
    double J = (double)support_points(&s->support, n);
    return J > 1.0 ? sqrt(fmax(0.0, (J / s->ess[n] - 1.0) / (J - 1.0))) : 0.0;
}

int scan_fill(const struct scan *s, gsv_result *r)
{
    double variance = 0.0;
    r->groups = r->gaps = s->stops.count;
    r->gap = NEW(gsv_gap, r->groups);
    if (!r->gap) return GSV_NO_MEMORY;
    r->ess_min = INFINITY;
    r->khat_max = r->discretisation = NAN;
    for (size_t n = 0; n < s->stops.count; n++) {
        const struct stop *stop = &s->stops.stop[n];
        gsv_gap *g = &r->gap[n];
        *g = (gsv_gap){.track = stop->track,
                       .from = n && !stop_is_first(&s->stops, n) ? stop[-1].row
                                                                 : stop->row,
                       .to = stop->row,
                       .loglik = s->increment[n],
                       .error = error_of(s, n),
                       .ess = s->ess[n],
                       .khat = NAN,
                       .discretisation = NAN,
                       .reference = s->options.reference,
                       .form = s->options.form};
        size_t J = support_points(&s->support, n);
        if (J > 1 && g->ess < 0.1 * (double)J) g->flags |= GSV_FLAG_ESS;
        r->flagged += g->flags != 0;
        r->loglik += g->loglik;
        variance += g->error * g->error;
        if (J > 1) r->ess_min = fmin(r->ess_min, g->ess);
    }
    r->error = sqrt(variance);
    r->paths = s->J;
    r->steps = s->pairs.longest;
    return 0;
}

int scan_run(struct scan *s, const double *guide, uint32_t iteration,
             double *gradient)
{
    s->loaded = s->chunks;
    int status = support_prepare(&s->support, guide);
    if (status) return status;
    estimate_prepare(&s->pairs, guide);
    for (size_t c = 0; !status && c < s->chunks; c++) {
        status = load(s, c, iteration);
        if (!status) forward(s, c, false);
    }
    if (status) return status;
    take_differences(s);
    status = check(s);
    if (gradient)
        memset(gradient, 0, s->model->spec->parameters * sizeof *gradient);
    return status ? status : run_backward(s, iteration, gradient);
}
