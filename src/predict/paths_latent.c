/* SPDX-License-Identifier: MIT */
/* Paths of latent states: the scan goes backward chunk by chunk, and with it
 * the paths, from point to point. No more is kept than the points that the
 * paths are at. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "predict/paths.h"

/* --- Memory ----------------------------------------------------------------
 */

static int make_memory(struct paths *p)
{
    size_t D = p->sample, most = D > SCAN_MOST ? D : SCAN_MOST;
    p->chosen = NEW(double, p->most * p->d * D);
    p->now = NEW(size_t, D);
    p->before = NEW(size_t, D);
    p->uniform = NEW(double, D);
    p->equal = NEW(double, D);
    p->term = NEW(double, SCAN_MOST);
    p->room = NEW(struct ranked, most);
    if (!p->chosen || !p->now || !p->before || !p->uniform || !p->equal ||
        !p->term || !p->room)
        return GSV_NO_MEMORY;
    for (size_t n = 0; n < D; n++)
        p->equal[n] = 1.0 / (double)D;
    return 0;
}

/* --- From point to point ---------------------------------------------------
 */

/* What is at hand of a stop: points [at[0], at[1]) of P, the stop before from
 * at[-1] on, and the densities between both. */
struct here {
    const struct scan *scan;
    const size_t *at;
    size_t stop, P;
    const double *log_p; /* (at[0] - at[-1], at[1] - at[0]) */
};

static void draw_uniforms(struct paths *p, size_t stop, uint64_t row)
{
    struct random_key key = {.seed = p->bridge.seed,
                             .purpose = RANDOM_PATHS,
                             .iteration = p->bridge.iteration,
                             .item = stop};
    random_uniforms(&key, row, 1, 0, p->sample, p->uniform);
}

/* j_N ~ a_N, which is the posterior there. */
static void start_track(struct paths *p, const struct here *h)
{
    size_t J = h->at[1] - h->at[0];
    draw_uniforms(p, h->stop, 1);
    for (size_t n = 0; n < p->sample; n++)
        p->now[n] = pick_one(J, h->scan->posterior + h->at[0], p->uniform[n]);
}

/* i ~ a(i) p(x^j | x^i). */
static void step_back(struct paths *p, const struct here *h)
{
    const size_t *at = h->at;
    size_t I = at[0] - at[-1], J = at[1] - at[0];
    draw_uniforms(p, h->stop, 0);
    for (size_t n = 0; n < p->sample; n++) {
        for (size_t i = 0; i < I; i++)
            p->term[i] = h->scan->a[at[-1] + i] + h->log_p[i * J + p->now[n]];
        normalise(I, p->term);
        p->before[n] = pick_one(I, p->term, p->uniform[n]);
    }
}

/* --- Rows ------------------------------------------------------------------
 */

static void take_stop(struct paths *p, const struct here *h)
{
    size_t row = p->first[h->stop + 1] - 1, J = h->at[1] - h->at[0];
    for (size_t i = 0; i < p->d; i++) {
        const double *x = h->scan->support.x + i * h->P + h->at[0];
        bands_set(p, row, i, J, x, h->scan->posterior + h->at[0], p->room);
        for (size_t n = 0; n < p->options->draws; n++)
            *draw_at(p, n, i, row) = x[p->now[n]];
    }
}

static void take_gap(struct paths *p, size_t rows, size_t row0)
{
    size_t d = p->d, D = p->sample;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < d; i++) {
            const double *x = p->chosen + (r * d + i) * D;
            bands_set(p, row0 + r, i, D, x, p->equal, p->room);
            for (size_t n = 0; n < p->options->draws; n++)
                *draw_at(p, n, i, row0 + r) = x[n];
        }
}

/* Of the bridges of a path one by its weight. */
static void walk_pairs(void *context, size_t lane, size_t thread)
{
    struct paths *p = context;
    struct strand *w = &p->strand[thread];
    size_t lanes = p->count < LANES ? p->count : LANES, d = p->d;
    size_t end = lanes_first(lane + 1, lanes, p->count);
    size_t rows = rows_inside(p, p->stop);
    const double *time = p->out->time + p->first[p->stop];
    for (size_t n = lanes_first(lane, lanes, p->count);
         n < end && !halt_asked(); n++) {
        p->lost[n] = !strand_walk(w, n, rows, time);
        if (p->lost[n]) continue;
        size_t k = pick_one(p->K, w->S, p->uniform[n]);
        for (size_t r = 0; r < rows * d; r++)
            p->chosen[r * p->sample + n] = w->y[r * p->K + k];
    }
}

static int walk_gap(struct paths *p, const struct here *h)
{
    const struct stop *to = &p->stops.stop[h->stop];
    struct estimate *e = &p->estimate;
    size_t rows = rows_inside(p, h->stop);
    if (!rows) return 0;
    for (size_t n = 0; n < p->sample; n++)
        e->run.gaps.gap[n] =
            (struct gap){.track = to->track,
                         .from = h->at[-1] + p->before[n],
                         .to = h->at[0] + p->now[n],
                         .number = h->stop * p->sample + n + p->stops.count,
                         .start = to[-1].time,
                         .length = to->time - to[-1].time,
                         .end = to->time};
    int status = run_select_pairs(&e->run, p->sample, h->P, h->scan->support.x);
    if (status) return status;
    p->stop = h->stop;
    draw_uniforms(p, h->stop, 2);
    status = paths_run(p, 0, p->sample, walk_pairs);
    if (!status) take_gap(p, rows, p->first[h->stop]);
    return status;
}

/* --- A chunk ---------------------------------------------------------------
 */

static int see_stop(struct paths *p, const struct here *h)
{
    size_t J = h->at[1] - h->at[0];
    if (stop_is_last(&p->stops, h->stop)) start_track(p, h);
    if (p->at_stop[h->stop]) take_stop(p, h);
    if (J > 1) p->out->ess_min = fmin(p->out->ess_min, h->scan->ess[h->stop]);
    if (stop_is_first(&p->stops, h->stop)) return 0;
    step_back(p, h);
    int status = walk_gap(p, h);
    size_t *free = p->now;
    p->now = p->before;
    p->before = free;
    return status;
}

static int see_chunk(void *user, const struct scan *s, size_t chunk)
{
    struct paths *p = user;
    size_t first = scan_first(s, chunk), end = scan_first(s, chunk + 1);
    size_t low = first ? first - 1 : 0, pairs = 0;
    int status = 0;
    for (size_t n = first; n < end; n++) {
        const size_t *at = &s->at[n - low];
        if (!stop_is_first(&s->stops, n))
            pairs += (at[0] - at[-1]) * (at[1] - at[0]);
    }
    for (size_t n = end; !status && n-- > first;) {
        struct here h = {
            .scan = s, .at = &s->at[n - low], .stop = n, .P = s->at[end - low]};
        if (!stop_is_first(&s->stops, n))
            pairs -= (h.at[0] - h.at[-1]) * (h.at[1] - h.at[0]);
        h.log_p = s->log_p + pairs;
        status = see_stop(p, &h);
    }
    return status ? status
                  : paths_tell(p, s->stops.count - first, s->stops.count);
}

/* --- All -------------------------------------------------------------------
 */

static int make_bridges(struct paths *p)
{
    struct estimate *e = &p->estimate;
    int status = estimate_init_pairs(e,
                                     &(struct task){.model = p->model,
                                                    .series = p->series,
                                                    .options = &p->bridge},
                                     p->sample, p->stops.longest);
    if (!status) status = paths_strands(p, p->sample);
    if (!status) run_set_values(&e->run, NULL);
    return status;
}

int paths_latent(struct paths *p)
{
    struct scan scan;
    gsv_options o = p->options->estimator;
    o.gradient = false;
    int status = make_memory(p);
    if (!status && p->most) status = make_bridges(p);
    if (status) return status;
    p->out->paths = o.points;
    status = scan_init(&scan, p->model, p->series, &o);
    scan.looker = (struct scan_looker){p, see_chunk};
    if (!status) status = scan_run(&scan, NULL, o.iteration, NULL);
    scan_free(&scan);
    if (!isfinite(p->out->ess_min)) p->out->ess_min = (double)o.points;
    return status;
}
