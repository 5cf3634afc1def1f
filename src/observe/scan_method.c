/* SPDX-License-Identifier: MIT */
/* The scan as a method: its memory, its result, filtered laws from its pass
 * forward, points for paths from its pass backward. */
#include "base/error.h"
#include "base/lanes.h"
#include "model/states.h"
#include "observe/scan.h"

/* --- Setting up ----------------------------------------------------------- */

enum { MOST_PAIRS = 1 << 18 };

static int make_memory(struct scan *s)
{
    size_t points = (s->chunk + 1) * s->most;
    size_t pairs = s->chunk * s->most * s->most;
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
        {&s->keep, s->chunks * s->most},
        {&s->keep_even, s->chunks * s->most},
        {&s->keep_odd, s->chunks * s->most},
        {&s->keep_fourth, s->chunks * s->most},
        {&s->total, tracks},
        {&s->ahead, s->most},
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
            jumper_init(&s->jumper[i], &s->jumps, s->most, s->options.gradient);
        if (!status)
            status = rater_init(&s->rater[i], &s->rates, s->most,
                                s->options.gradient);
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

int scan_init(struct scan *s, const gsv_model *m, const gsv_series *series,
              const gsv_options *o)
{
    size_t usual = spec_latent(m->spec) > 1 ? SCAN_POINTS_MORE : SCAN_POINTS;
    *s = (struct scan){
        .model = m, .options = *o, .J = o->points ? o->points : usual};
    if (s->J < 2 || s->J > SCAN_MOST)
        return fail(GSV_BAD_INPUT,
                    "%zu support points: a scan takes 2 to %d (--support)",
                    s->J, SCAN_MOST);
    s->most = 4 * s->J < SCAN_MOST ? 4 * s->J : SCAN_MOST;
    int status = stops_init(&s->stops, m, series);
    if (!status) status = jumps_init(&s->jumps, m, &s->stops.gaps, o->wide);
    if (!status) status = jumps_divide(m, &s->stops, o);
    if (status) return status;
    make_chunks(s);
    status = support_init(&s->support, m, &s->stops, &s->options, s->J, s->most,
                          (s->chunk + 1) * s->most, false);
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

/* --- The result ----------------------------------------------------------- */

static int scan_fill(const struct scan *s, gsv_result *r)
{
    r->observe = GSV_OBSERVE_SCAN;
    r->paths = s->J;
    for (size_t n = 0; n < s->stops.count; n++) {
        size_t points = support_points(&s->support, n);
        r->drift_evaluations += points;
        if (points > r->paths) r->paths = points;
    }
    int status =
        stops_fill(&s->stops, s->increment, s->error, s->ess, s->J, s->left, r);
    if (!status) laws_flag(&s->support.laws, true, r);
    return status;
}

/* --- Given the data so far ------------------------------------------------ */

/* Points of a stop where the options do not say: more than a likelihood needs,
 * since each row's law is used by itself. */
enum { FILTER_POINTS = 64 };

/* Filtered laws are wider than the smoother's, from which points are drawn:
 * later data narrow that one, but not these. */
static const double WIDER = 1.5;

static int visit_chunk(const struct scan *s, size_t chunk,
                       struct state_law *law, const struct filter_visitor *v)
{
    size_t first = scan_first(s, chunk), end = scan_first(s, chunk + 1);
    const size_t *at = s->at + (first > 0);
    size_t count = 0;
    for (size_t n = first; n < end; n++, at++) {
        const struct stop *stop = &s->stops.stop[n];
        if (stop->row != NO_ROW)
            law[count++] =
                (struct state_law){.track = stop->track,
                                   .row = stop->row,
                                   .time = stop->time,
                                   .points = at[1] - at[0],
                                   .stride = s->at[end - first + (first > 0)],
                                   .x = s->support.x + at[0],
                                   .log_weight = s->a + at[0]};
    }
    int status = stops_check(&s->stops, first, end, s->increment, "");
    return status || !count ? status : v->visit(v->user, count, law);
}

static int pass_forward(struct scan *s, const struct filter_visitor *v)
{
    struct state_law *law = NEW(struct state_law, s->chunk);
    int status = law ? scan_prepare(s, NULL) : GSV_NO_MEMORY;
    if (!status) support_widen(&s->support, WIDER);
    for (size_t c = 0; !status && c < s->chunks; c++) {
        scan_forward(s, c, s->options.iteration);
        status = visit_chunk(s, c, law, v);
    }
    mem_free(law);
    return status ? status : scan_close(s);
}

int scan_filter(const struct task *t, const struct filter_visitor *v)
{
    struct scan scan;
    gsv_options o = *t->options;
    if (!o.points) o.points = FILTER_POINTS;
    o.gradient = false;
    int status = scan_init(&scan, t->model, t->series, &o);
    if (!status) status = pass_forward(&scan, v);
    scan_free(&scan);
    return status;
}

/* --- Given all data ------------------------------------------------------- */

/* a(i) p(x^j | x^i). */
static void backward(const struct path_stop *at, size_t j, double *log_weight)
{
    const struct scan *s = at->machine;
    const double *log_p = s->log_p + at->pairs;
    for (size_t i = 0; i < at->before; i++)
        log_weight[i] = s->a[at->origin + i] + log_p[i * at->points + j];
}

static int visit_stops(void *user, const struct scan *s, size_t chunk)
{
    const struct path_visitor *v = user;
    size_t first = scan_first(s, chunk), end = scan_first(s, chunk + 1);
    const size_t *at = s->at + (first > 0);
    int status = 0;
    for (size_t n = end; !status && n-- > first;) {
        const size_t *here = at + (n - first);
        bool begins = stop_is_first(&s->stops, n);
        const struct path_stop stop = {.stop = n,
                                       .points = here[1] - here[0],
                                       .first = here[0],
                                       .before =
                                           begins ? 0 : here[0] - here[-1],
                                       .origin = begins ? 0 : here[-1],
                                       .x = s->support.x,
                                       .stride = at[end - first],
                                       .weight = s->posterior + here[0],
                                       .ess = s->ess[n],
                                       .backward = backward,
                                       .machine = s,
                                       .pairs = s->pair[n - first]};
        status = v->visit(v->user, &stop);
    }
    return status;
}

int scan_paths(const struct task *t, const struct path_visitor *v)
{
    struct scan scan;
    struct path_visitor visitor = *v;
    gsv_options o = *t->options;
    o.gradient = false;
    int status = scan_init(&scan, t->model, t->series, &o);
    scan.observer = (struct scan_observer){&visitor, visit_stops};
    if (!status) status = scan_run(&scan, NULL, o.iteration, NULL);
    scan_free(&scan);
    return status;
}

/* --- The method ----------------------------------------------------------- */

/* What steps twice as long would say: less so many times the error of the steps
 * themselves. Where no step can be longer, as inputs turn so often, nothing is
 * said. */
static int look_at_steps(const struct scan *s, const struct request *q,
                         gsv_result *r)
{
    struct scan half;
    gsv_options o = s->options;
    double sum = 0.0;
    if (r->steps < 2) return 0;
    o.gradient = false;
    o.steps = (jumps_steps(&s->options) + 1) / 2;
    o.step *= 2.0;
    int status = scan_init(&half, s->model, s->stops.gaps.series, &o);
    bool coarser = !status && half.stops.count < s->stops.count;
    if (coarser)
        status = scan_run(&half, q->reference_values, q->iteration, NULL);
    for (size_t n = 0; coarser && !status && n < half.stops.count; n++)
        sum += half.increment[n];
    scan_free(&half);
    if (!status && coarser) r->discretisation = r->loglik - sum;
    return status == GSV_NUMERICAL ? 0 : status;
}

ROWS_FUNCTIONS(scan)

static int fill_steps(void *machine, const struct request *q, bool list,
                      gsv_result *r)
{
    struct scan *s = machine;
    s->diagnosed = true;
    int status = method_fill(machine, q, list, r);
    s->diagnosed = false;
    return status || !list ? status : look_at_steps(machine, q, r);
}

const struct method METHOD_SCAN = {.name = "scan",
                                   .size = sizeof(struct scan),
                                   .fewest = SCAN_STEPS,
                                   .change = SCAN_CHANGE,
                                   .first_laws = true,
                                   .accept = smoothed_accept,
                                   .init = method_init,
                                   .free = method_free,
                                   .run = method_run,
                                   .fill = fill_steps,
                                   .slots = rows_slots,
                                   .units = rows_units,
                                   .track_logs = rows_track_logs,
                                   .filter = scan_filter,
                                   .paths = scan_paths};
