/* SPDX-License-Identifier: MIT */
/* A scan made ready: stops, points, memory, threads. */
#include "base/error.h"
#include "base/lanes.h"
#include "observe/scan.h"

enum { MOST_PAIRS = 1 << 18 };

static int make_memory(struct scan *s)
{
    size_t points = (s->chunk + 1) * s->J, pairs = s->chunk * s->J * s->J;
    size_t tracks = s->stops.gaps.series->tracks, n = s->stops.count;
    size_t d = s->jumps.d;
    bool gradient = s->options.gradient;
    const struct arena_part part[] = {
        {&s->y, d * points},
        {&s->y_end, model_map_jumps(s->model) ? d * points : 0},
        {&s->log_det, points},
        {&s->y_bar, gradient ? 2 * d * points : 0},
        {&s->log_p, pairs},
        {&s->weight, pairs},
        {&s->a, points},
        {&s->b, points},
        {&s->some, points},
        {&s->posterior, points},
        {&s->keep, s->chunks * s->J},
        {&s->keep_even, s->chunks * s->J},
        {&s->keep_odd, s->chunks * s->J},
        {&s->keep_fourth, s->chunks * s->J},
        {&s->total, tracks},
        {&s->ahead, s->J},
        {&s->increment, n},
        {&s->ess, n},
        {&s->error, n},
        {&s->odd, n},
        {&s->fourth, n},
        {&s->left, tracks},
        {&s->drift_bar, program_uniforms(s->jumps.drift)},
        {&s->map_bar, program_uniforms(s->jumps.map)},
        {&s->rate_bar, rates_uniforms(&s->rates)}};
    s->at = NEW(size_t, s->chunk + 2);
    s->pair = NEW(size_t, s->chunk + 1);
    if (!s->at || !s->pair ||
        arena_lay(&s->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    if (!model_map_jumps(s->model)) s->y_end = s->y;
    return 0;
}

static int make_jumpers(struct scan *s)
{
    size_t most = lanes_threads(s->options.threads);
    s->threads = most < s->chunk ? most : s->chunk;
    s->jumper = NEW(struct jumper, s->threads);
    s->rater = NEW(struct rater, s->threads);
    int status = s->jumper && s->rater ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < s->threads; i++) {
        status =
            jumper_init(&s->jumper[i], &s->jumps, s->J, s->options.gradient);
        if (!status)
            status =
                rater_init(&s->rater[i], &s->rates, s->J, s->options.gradient);
    }
    return status;
}

static void make_chunks(struct scan *s)
{
    s->chunk = MOST_PAIRS / (s->J * s->J);
    if (s->chunk > s->stops.count) s->chunk = s->stops.count;
    if (!s->chunk) s->chunk = 1;
    s->chunks = (s->stops.count + s->chunk - 1) / s->chunk;
    s->loaded = s->chunks;
}

static size_t usual_points(const gsv_model *m)
{
    return spec_latent(m->spec) > 1 ? SCAN_POINTS_MORE : SCAN_POINTS;
}

int scan_init(struct scan *s, const gsv_model *m, const gsv_series *series,
              const gsv_options *o)
{
    *s = (struct scan){.model = m,
                       .options = *o,
                       .J = o->points ? o->points : usual_points(m)};
    if (s->J < 2 || s->J > SCAN_MOST)
        return fail(GSV_BAD_INPUT,
                    "%zu support points: a scan takes 2 to %d (--support)",
                    s->J, SCAN_MOST);
    int status = stops_init(&s->stops, m, series);
    if (!status) status = jumps_init(&s->jumps, m, &s->stops.gaps, o->wide);
    if (!status) status = jumps_divide(m, &s->stops, o);
    if (status) return status;
    make_chunks(s);
    status = support_init(&s->support, m, &s->stops, &s->options, s->J,
                          (s->chunk + 1) * s->J, false);
    if (!status) status = rates_init(&s->rates, m, &s->stops, o->wide);
    if (!status) status = make_jumpers(s);
    return status ? status : make_memory(s);
}

void scan_free(struct scan *s)
{
    for (size_t i = 0; s->jumper && i < s->threads; i++)
        jumper_free(&s->jumper[i]);
    for (size_t i = 0; s->rater && i < s->threads; i++)
        rater_free(&s->rater[i]);
    MEM_FREE(s->jumper, s->rater);
    jumps_free(&s->jumps);
    rates_free(&s->rates);
    support_free(&s->support);
    stops_free(&s->stops);
    arena_free(&s->arena);
    MEM_FREE(s->at, s->pair);
}
