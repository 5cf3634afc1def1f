/* SPDX-License-Identifier: MIT */
/* Paths of latent states: the estimator visits the stops backward, and the
 * paths go with it from point to point. Only the points that the paths are at
 * are kept. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "predict/paths.h"

/* --- Memory --------------------------------------------------------------- */

static int make_memory(struct paths *p)
{
    size_t D = p->sample;
    p->chosen = NEW(double, p->most * p->d * D);
    p->now = NEW(size_t, D);
    p->before = NEW(size_t, D);
    p->uniform = NEW(double, D);
    p->equal = NEW(double, D);
    if (!p->chosen || !p->now || !p->before || !p->uniform || !p->equal)
        return GSV_NO_MEMORY;
    for (size_t n = 0; n < D; n++)
        p->equal[n] = 1.0 / (double)D;
    return 0;
}

static int make_room(struct paths *p, size_t points)
{
    if (points <= p->points) return 0;
    MEM_FREE(p->term, p->room);
    p->points = points;
    p->term = NEW(double, points);
    p->room = NEW(struct ranked, points > p->sample ? points : p->sample);
    return p->term && p->room ? 0 : GSV_NO_MEMORY;
}

/* --- From point to point -------------------------------------------------- */

static void draw_uniforms(struct paths *p, size_t stop, uint64_t row)
{
    struct random_key key = {.seed = p->bridge.seed,
                             .purpose = RANDOM_PATHS,
                             .iteration = p->bridge.iteration,
                             .item = stop};
    random_uniforms(&key, row, 1, 0, p->sample, p->uniform);
}

/* By the posterior at the last stop. */
static void start_track(struct paths *p, const struct path_stop *h)
{
    draw_uniforms(p, h->stop, 1);
    for (size_t n = 0; n < p->sample; n++)
        p->now[n] = pick_one(h->points, h->weight, p->uniform[n]);
}

static void step_back(struct paths *p, const struct path_stop *h)
{
    draw_uniforms(p, h->stop, 0);
    for (size_t n = 0; n < p->sample; n++) {
        h->backward(h, p->now[n], p->term);
        normalise(h->before, p->term);
        p->before[n] = pick_one(h->before, p->term, p->uniform[n]);
    }
}

/* --- Rows ----------------------------------------------------------------- */

static void report_stop(struct paths *p, const struct path_stop *h)
{
    size_t row = p->first[h->stop + 1] - 1;
    for (size_t i = 0; i < p->d; i++) {
        const double *x = h->x + i * h->stride + h->first;
        bands_set(p, row, i, h->points, x, h->weight, p->room);
        for (size_t n = 0; n < p->options->draws; n++)
            *draw_at(p, n, i, row) = x[p->now[n]];
    }
}

static void report_gap(struct paths *p, size_t rows, size_t row0)
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
    struct gap_bridges *w = &p->bridges[thread];
    size_t lanes = p->count < LANES ? p->count : LANES, d = p->d;
    size_t end = lanes_first(lane + 1, lanes, p->count);
    size_t rows = rows_inside(p, p->stop);
    const double *time = p->out->time + p->first[p->stop];
    for (size_t n = lanes_first(lane, lanes, p->count);
         n < end && !halt_asked(); n++) {
        p->lost[n] = !bridges_walk(w, n, rows, time);
        if (p->lost[n]) continue;
        size_t k = pick_one(p->K, w->S, p->uniform[n]);
        for (size_t r = 0; r < rows * d; r++)
            p->chosen[r * p->sample + n] = w->y[r * p->K + k];
    }
}

static int walk_gap(struct paths *p, const struct path_stop *h)
{
    const struct stop *to = &p->stops.stop[h->stop];
    struct estimate *e = &p->estimate;
    size_t rows = rows_inside(p, h->stop);
    if (!rows) return 0;
    for (size_t n = 0; n < p->sample; n++)
        e->run.gaps.gap[n] =
            (struct gap){.track = to->track,
                         .from = h->origin + p->before[n],
                         .to = h->first + p->now[n],
                         .number = h->stop * p->sample + n + p->stops.count,
                         .start = to[-1].time,
                         .length = to->time - to[-1].time,
                         .end = to->time};
    int status = run_select_pairs(&e->run, p->sample, h->stride, h->x);
    if (status) return status;
    p->stop = h->stop;
    draw_uniforms(p, h->stop, 2);
    status = paths_run(p, 0, p->sample, walk_pairs);
    if (!status) report_gap(p, rows, p->first[h->stop]);
    return status;
}

/* Stops between two reports of progress. */
enum { ROUND = 256 };

static int see_stop(void *user, const struct path_stop *h)
{
    struct paths *p = user;
    size_t all = p->stops.count, done = all - h->stop;
    size_t most = h->points > h->before ? h->points : h->before;
    if (make_room(p, most)) return GSV_NO_MEMORY;
    if (stop_is_last(&p->stops, h->stop)) start_track(p, h);
    if (p->at_stop[h->stop]) report_stop(p, h);
    if (h->points > 1) p->out->ess_min = fmin(p->out->ess_min, h->ess);
    if (!stop_is_first(&p->stops, h->stop)) {
        step_back(p, h);
        int status = walk_gap(p, h);
        if (status) return status;
        size_t *free = p->now;
        p->now = p->before;
        p->before = free;
    }
    return done % ROUND && done < all ? 0 : paths_tell(p, done, all);
}

/* --- All ------------------------------------------------------------------ */

static int make_bridges(struct paths *p)
{
    struct estimate *e = &p->estimate;
    int status = estimate_init_pairs(e,
                                     &(struct task){.model = p->model,
                                                    .series = p->series,
                                                    .options = &p->bridge},
                                     p->sample, p->stops.longest);
    if (!status) status = paths_make_bridges(p, p->sample);
    if (!status) run_set_values(&e->run, NULL);
    return status;
}

int paths_latent(struct paths *p)
{
    const gsv_options *o = &p->options->estimator;
    const struct task task = {
        .model = p->model, .series = p->series, .options = o};
    int status = p->method->accept(p->method, &task);
    if (!status) status = make_memory(p);
    if (!status && p->most) status = make_bridges(p);
    if (status) return status;
    p->out->paths = o->points;
    status = p->method->paths(&task, &(struct path_visitor){p, see_stop});
    if (!isfinite(p->out->ess_min)) p->out->ess_min = (double)o->points;
    return status;
}
