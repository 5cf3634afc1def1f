/* SPDX-License-Identifier: MIT */
/* The scan over the stops, in chunks: the densities between all points of a
 * chunk's neighbouring stops are one batch, then the weights go through it stop
 * by stop. What is kept of earlier chunks are the weights at their ends, so
 * that memory hardly grows with the stops; the pass backward draws and computes
 * a chunk again. */
#include "observe/scan.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fast.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "base/vector_math.h"

size_t scan_first(const struct scan *s, size_t chunk)
{
    size_t first = chunk * s->chunk;
    return first < s->stops.count ? first : s->stops.count;
}

/* The stop before a chunk is drawn with it. */
static size_t low_of(const struct scan *s, size_t chunk)
{
    size_t first = scan_first(s, chunk);
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

/* --- Densities of a chunk ------------------------------------------------- */

/* The pairs that end in a stop. */
static size_t pairs_of(const struct scan *s, const size_t *at, size_t n)
{
    return stop_is_first(&s->stops, n) ? 0 : (at[0] - at[-1]) * (at[1] - at[0]);
}

/* Where points and pairs of its stops begin. */
static void lay_out(struct scan *s, size_t chunk)
{
    size_t low = low_of(s, chunk), first = scan_first(s, chunk);
    size_t end = scan_first(s, chunk + 1), at = 0, pair = 0;
    for (size_t n = low; n < end; n++) {
        s->at[n - low] = at;
        at += support_points(&s->support, n);
    }
    s->at[end - low] = at;
    for (size_t n = first; n < end; n++) {
        s->pair[n - first] = pair;
        pair += pairs_of(s, &s->at[n - low], n);
    }
    s->pair[end - first] = pair;
    s->now = chunk;
}

static struct moment moment_of(const struct scan *s, size_t n)
{
    return (struct moment){s->stops.stop[n].track, s->stops.stop[n].time,
                           false};
}

static size_t points_now(const struct scan *s)
{
    return s->at[scan_first(s, s->now + 1) - low_of(s, s->now)];
}

/* Work for one thread at a time is some stops. */
static size_t lanes_of(size_t stops)
{
    enum { MOST = 16 };
    return stops < MOST ? stops : MOST;
}

/* y of the points of some stops. */
static void map_lane(void *context, size_t lane, size_t thread)
{
    struct scan *s = context;
    size_t low = low_of(s, s->now), stops = scan_first(s, s->now + 1) - low;
    size_t lanes = lanes_of(stops), P = points_now(s);
    size_t end = lanes_first(lane + 1, lanes, stops);
    for (size_t i = lanes_first(lane, lanes, stops); i < end && !halt_asked();
         i++) {
        struct moment at = moment_of(s, low + i);
        size_t p = s->at[i], n = s->at[i + 1] - p;
        jumper_map(&s->jumper[thread], &at, n, P, s->support.x + p, s->y + p,
                   s->log_det + p);
        if (s->y_end == s->y) continue;
        at.before = true;
        jumper_map(&s->jumper[thread], &at, n, P, s->support.x + p,
                   s->y_end + p, s->log_det + p);
    }
}

/* From the points of the stop before n. */
static double start(struct scan *s, struct jumper *w, size_t n)
{
    const size_t *at = &s->at[n - low_of(s, s->now)];
    struct moment from = moment_of(s, n - 1);
    double h = s->stops.stop[n].time - from.time;
    jumper_start(w, &from, h, at[0] - at[-1], points_now(s), s->y + at[-1]);
    return h;
}

/* The steps to stop n, as rates take them. */
static struct rate_step rate_step_of(const struct scan *s, size_t n)
{
    const size_t *at = &s->at[n - low_of(s, s->now)];
    return (struct rate_step){.stop = n,
                              .I = at[0] - at[-1],
                              .J = at[1] - at[0],
                              .ld = points_now(s),
                              .y0 = s->y + at[-1],
                              .y1 = s->y_end + at[0]};
}

/* The densities of the steps that end in some stops. */
static void jump_lane(void *context, size_t lane, size_t thread)
{
    struct scan *s = context;
    struct jumper *w = &s->jumper[thread];
    size_t low = low_of(s, s->now), first = scan_first(s, s->now);
    size_t stops = scan_first(s, s->now + 1) - first;
    size_t lanes = lanes_of(stops), end = lanes_first(lane + 1, lanes, stops);
    for (size_t i = lanes_first(lane, lanes, stops); i < end && !halt_asked();
         i++) {
        size_t n = first + i;
        if (stop_is_first(&s->stops, n)) continue;
        const size_t *at = &s->at[n - low];
        size_t J = at[1] - at[0];
        double *log_p = s->log_p + s->pair[i];
        start(s, w, n);
        jumper_all(w, J, points_now(s), s->y_end + at[0], log_p);
        for (size_t k = 0; k < at[0] - at[-1]; k++)
            for (size_t j = 0; j < J; j++)
                log_p[k * J + j] += s->log_det[at[0] + j];
        struct rate_step step = rate_step_of(s, n);
        rater_add(&s->rater[thread], &step, log_p);
    }
}

/* Runs lanes over so many stops. */
static void share_out(struct scan *s, size_t stops,
                      void (*work)(void *, size_t, size_t),
                      void (*merge)(void *, size_t, size_t))
{
    const struct lanes_job job = {s, work, merge};
    if (stops) lanes_run(lanes_of(stops), s->threads, &job);
}

static void load(struct scan *s, size_t chunk, uint32_t iteration)
{
    if (s->loaded == chunk) return;
    size_t low = low_of(s, chunk), end = scan_first(s, chunk + 1);
    lay_out(s, chunk);
    support_draw(&s->support, low, end, iteration);
    share_out(s, end - low, map_lane, NULL);
    share_out(s, end - scan_first(s, chunk), jump_lane, NULL);
    s->loaded = chunk;
}

/* --- Forward -------------------------------------------------------------- */

/* Some of a stop's points: every stride-th, from one on. Where there is but one
 * it is among them. */
struct subset {
    size_t first, stride;
};

static const struct subset ALL = {0, 1}, EVEN = {0, 2}, ODD = {1, 2},
                           FOURTH = {0, 4};

static size_t first_of(struct subset of, size_t points)
{
    return of.first < points ? of.first : 0;
}

static size_t count_of(struct subset of, size_t points)
{
    return (points - first_of(of, points) + of.stride - 1) / of.stride;
}

/* log sum_i exp(a_i + log_p_ij) of all j, over some i: columns side
 * by side. most (J) is scratch. */
FAST static void sum_columns(size_t I, size_t J, size_t first, size_t stride,
                             const double *restrict a,
                             const double *restrict log_p,
                             double *restrict most, double *restrict sum)
{
    for (size_t j = 0; j < J; j++) {
        most[j] = -DBL_MAX;
        sum[j] = 0.0;
    }
    for (size_t i = first; i < I; i += stride)
#pragma omp simd
        for (size_t j = 0; j < J; j++) {
            double term = a[i] + log_p[i * J + j];
            most[j] = term > most[j] ? term : most[j];
        }
    for (size_t i = first; i < I; i += stride)
#pragma omp simd
        for (size_t j = 0; j < J; j++)
            sum[j] += exp(a[i] + log_p[i * J + j] - most[j]);
    for (size_t j = 0; j < J; j++)
        sum[j] = most[j] + log(sum[j]);
}

/* log a of one stop from the one before, over some points. */
static void step_forward(const struct scan *s, const size_t *at,
                         const double *log_p, struct subset of, double *a)
{
    size_t I = at[0] - at[-1], J = at[1] - at[0];
    double most[SCAN_MOST], sum[SCAN_MOST];
    size_t terms = count_of(of, I);
    sum_columns(I, J, first_of(of, I), of.stride, a + at[-1], log_p, most, sum);
    for (size_t j = first_of(of, J); j < J; j += of.stride)
        a[at[0] + j] = s->support.log_g[at[0] + j] -
                       s->support.log_q[at[0] + j] + sum[j] -
                       log((double)terms);
}

static void start_track(const struct scan *s, const size_t *at, double *a)
{
    for (size_t j = at[0]; j < at[1]; j++)
        a[j] = s->support.log_g[j] - s->support.log_q[j];
}

/* The log of the mean of a over some points. */
static double log_mean(const size_t *at, struct subset of, const double *a)
{
    double term[SCAN_MOST];
    size_t terms = 0;
    size_t first = first_of(of, at[1] - at[0]);
    for (size_t j = at[0] + first; j < at[1]; j += of.stride)
        term[terms++] = a[j];
    return log_sum(terms, term) - log((double)terms);
}

/* Through a loaded chunk with some of the points, from what was kept of the one
 * before. The sums up to each stop go to `sum`. */
static void forward(const struct scan *s, size_t chunk, struct subset of,
                    double *a, double *keep, double *sum)
{
    size_t low = low_of(s, chunk), first = scan_first(s, chunk);
    size_t end = scan_first(s, chunk + 1);
    if (chunk) memcpy(a, keep + chunk * s->most, s->at[1] * sizeof *a);
    for (size_t n = first; n < end; n++) {
        const size_t *at = &s->at[n - low];
        if (stop_is_first(&s->stops, n)) start_track(s, at, a);
        else step_forward(s, at, s->log_p + s->pair[n - first], of, a);
        if (sum) sum[n] = log_mean(at, of, a);
    }
    if (chunk + 1 < s->chunks) {
        const size_t *at = &s->at[end - 1 - low];
        memcpy(keep + (chunk + 1) * s->most, a + at[0],
               (at[1] - at[0]) * sizeof *a);
    }
}

/* From sums up to each stop to what each stop adds. */
static void find_differences(const struct stops *stops, double *sum)
{
    for (size_t n = stops->count; n-- > 0;)
        if (!stop_is_first(stops, n)) sum[n] -= sum[n - 1];
}

static void find_totals(struct scan *s)
{
    for (size_t n = 0; n < s->stops.count; n++)
        if (stop_is_last(&s->stops, n))
            s->total[s->stops.stop[n].track] = s->increment[n];
}

/* What half of the points miss of a track: in sum, and of its rows as if these
 * were independent. */
static void find_misses(const struct scan *s, size_t track, double *sum,
                        double *rows)
{
    double row = 0.0, squares = 0.0;
    *sum = 0.0;
    for (size_t n = s->stops.first[track]; n < s->stops.first[track + 1]; n++) {
        *sum += s->error[n];
        row += s->error[n];
        if (s->stops.stop[n].row == NO_ROW) continue;
        squares += row * row;
        row = 0.0;
    }
    *rows = sqrt(squares);
}

/* Whether points of a track are drawn from laws of several modes. */
static bool has_modes(const struct scan *s, size_t track)
{
    size_t end = s->stops.first[track + 1];
    for (size_t n = s->stops.first[track]; n < end; n++)
        if (laws_count(&s->support.laws, n) > 1) return true;
    return false;
}

/* What all points miss of a track, from what halves of them do, and a quarter:
 * with twice as many it falls by a factor, or faster and faster once they lie
 * close enough together for what is averaged. By chance a half may come close,
 * so that the other one is asked, too, and the rows one by one; and no smaller
 * factor is believed than those that were seen with n latent states
 * (tests/observe/test_observe_flags.c), and with several modes
 * (tests/observe/test_modes.c). */
static double find_left(const struct scan *s, size_t track)
{
    static const double LEAST[] = {1.0, 1.0 / 64.0, 1.0 / 8.0, 1.0 / 4.0};
    static const double MODES = 1.0 / 2.0;
    size_t n = spec_latent(s->model->spec), last = s->stops.first[track + 1];
    double least = n < sizeof LEAST / sizeof *LEAST ? LEAST[n] : 0.5, sum, rows;
    if (s->stops.first[track] == last--) return 0.0;
    if (has_modes(s, track)) least = MODES;
    find_misses(s, track, &sum, &rows);
    double miss = fmax(fabs(sum), fabs(s->total[track] - s->odd[last]));
    double before = fabs(s->total[track] - s->fourth[last]);
    double left = miss < before ? miss * fmax(miss / before, least) : miss;
    return fmax(left, 0.5 * least * rows);
}

/* --- Backward ------------------------------------------------------------- */

/* The largest of log_p_j + ahead_j, and e_j = exp of them less that. */
FAST static double exponentials(size_t J, const double *restrict log_p,
                                const double *restrict ahead,
                                double *restrict e)
{
    enum { SIDE = 8 };
    double side[SIDE], most = -DBL_MAX;
    size_t full = J / SIDE * SIDE;
    for (size_t k = 0; k < SIDE; k++)
        side[k] = -DBL_MAX;
    for (size_t j = 0; j < full; j += SIDE)
        for (size_t k = 0; k < SIDE; k++) {
            double term = log_p[j + k] + ahead[j + k];
            side[k] = term > side[k] ? term : side[k];
        }
    for (size_t k = 0; k < SIDE; k++)
        most = fmax(most, side[k]);
    for (size_t j = full; j < J; j++)
        most = fmax(most, log_p[j] + ahead[j]);
#pragma omp simd
    for (size_t j = 0; j < J; j++)
        e[j] = exp(log_p[j] + ahead[j] - most);
    return most;
}

/* log b of the stop before from that of one stop, and the pairs' weights. */
static void step_backward(struct scan *s, const size_t *at, double total,
                          const double *log_p, double *weight)
{
    size_t I = at[0] - at[-1], J = at[1] - at[0];
    double ahead[SCAN_MOST], rest = log((double)I);
    for (size_t j = 0; j < J; j++)
        ahead[j] = s->support.log_g[at[0] + j] - s->support.log_q[at[0] + j] +
                   s->b[at[0] + j] - rest;
    for (size_t i = 0; i < I; i++) {
        double *e = weight + i * J;
        double most = exponentials(J, log_p + i * J, ahead, e), sum = e[0];
        for (size_t j = 1; j < J; j++)
            sum += e[j];
        s->b[at[-1] + i] = most + log(sum);
        double factor = exp(s->a[at[-1] + i] + most - total);
        for (size_t j = 0; j < J; j++)
            e[j] *= factor;
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
    s->ess[stop] = at[1] - at[0] == 1 ? NAN
                   : squares > 0.0    ? 1.0 / squares
                                      : 0.0;
}

static void backward(struct scan *s, size_t chunk)
{
    size_t low = low_of(s, chunk), first = scan_first(s, chunk);
    size_t end = scan_first(s, chunk + 1);
    if (end < s->stops.count)
        memcpy(s->b + s->at[end - 1 - low], s->ahead,
               (s->at[end - low] - s->at[end - 1 - low]) * sizeof *s->b);
    for (size_t n = end; n-- > first;) {
        const size_t *at = &s->at[n - low];
        double total = s->total[s->stops.stop[n].track];
        for (size_t j = at[0]; stop_is_last(&s->stops, n) && j < at[1]; j++)
            s->b[j] = -log((double)(at[1] - at[0]));
        note_posterior(s, at, n, total);
        if (stop_is_first(&s->stops, n)) continue;
        step_backward(s, at, total, s->log_p + s->pair[n - first],
                      s->weight + s->pair[n - first]);
    }
    if (first) memcpy(s->ahead, s->b, s->at[1] * sizeof *s->b);
}

/* --- The gradient --------------------------------------------------------- */

/* jump_lane() backward. */
static void jump_vjp_lane(void *context, size_t lane, size_t thread)
{
    struct scan *s = context;
    struct jumper *w = &s->jumper[thread];
    size_t low = low_of(s, s->now), first = scan_first(s, s->now);
    size_t stops = scan_first(s, s->now + 1) - first, P = points_now(s);
    size_t lanes = lanes_of(stops), end = lanes_first(lane + 1, lanes, stops);
    for (size_t i = lanes_first(lane, lanes, stops); i < end && !halt_asked();
         i++) {
        size_t n = first + i;
        if (stop_is_first(&s->stops, n)) continue;
        const size_t *at = &s->at[n - low];
        struct moment from = moment_of(s, n - 1);
        double h = start(s, w, n);
        jumper_all_vjp(w, &from, h, P, at[1] - at[0], s->y_end + at[0],
                       s->weight + s->pair[i],
                       s->y_bar + s->jumps.d * P + at[-1], s->y_bar + at[0]);
        struct rate_step step = rate_step_of(s, n);
        rater_add_vjp(&s->rater[thread], &step, s->weight + s->pair[i],
                      s->y_bar + s->jumps.d * P + at[-1], s->y_bar + at[0]);
    }
}

/* map_lane() backward: the end of a step has the density's factor, whose bar is
 * the weight of all steps that end there. Where T does not jump both ends are
 * one. */
static void map_vjp_lane(void *context, size_t lane, size_t thread)
{
    struct scan *s = context;
    size_t low = low_of(s, s->now), first = scan_first(s, s->now);
    size_t stops = scan_first(s, s->now + 1) - low, P = points_now(s);
    size_t lanes = lanes_of(stops), d = s->jumps.d;
    size_t last = lanes_first(lane + 1, lanes, stops);
    double *end = s->y_bar, *start = s->y_bar + d * P;
    for (size_t i = lanes_first(lane, lanes, stops); i < last && !halt_asked();
         i++) {
        struct moment at = moment_of(s, low + i);
        size_t p = s->at[i], n = s->at[i + 1] - p;
        bool ends = low + i >= first && !stop_is_first(&s->stops, low + i);
        memset(s->b + p, 0, n * sizeof *s->b);
        if (s->y_end != s->y)
            jumper_map_vjp(&s->jumper[thread], &at, n, P, s->support.x + p,
                           start + p, s->b + p);
        for (size_t k = 0; s->y_end == s->y && k < d; k++)
            for (size_t j = p; j < p + n; j++)
                end[k * P + j] += start[k * P + j];
        for (size_t j = p; j < p + n; j++)
            s->b[j] = ends ? s->posterior[j] : 0.0;
        at.before = true;
        jumper_map_vjp(&s->jumper[thread], &at, n, P, s->support.x + p, end + p,
                       s->b + p);
    }
}

static void merge_bars(void *context, size_t lane, size_t thread)
{
    struct scan *s = context;
    struct jumper *w = &s->jumper[thread];
    (void)lane;
    move_sum(program_uniforms(s->jumps.drift), w->drift_bar, s->drift_bar);
    move_sum(program_uniforms(s->jumps.map), w->map_bar, s->map_bar);
    if (s->rates.count)
        move_sum(rates_uniforms(&s->rates), s->rater[thread].bar, s->rate_bar);
}

/* Adds a chunk's part of the gradient. The stop before it belongs to the chunk
 * before. */
static void add_gradient(struct scan *s)
{
    size_t low = low_of(s, s->now), first = scan_first(s, s->now);
    size_t end = scan_first(s, s->now + 1), P = points_now(s);
    memset(s->y_bar, 0, 2 * s->jumps.d * P * sizeof *s->y_bar);
    share_out(s, end - first, jump_vjp_lane, merge_bars);
    share_out(s, end - low, map_vjp_lane, merge_bars);
    for (size_t j = 0; first && j < s->at[1]; j++)
        s->posterior[j] = 0.0;
    support_vjp(&s->support, low, end, s->posterior);
}

static int run_backward(struct scan *s, uint32_t iteration, double *gradient)
{
    int status = 0;
    memset(s->drift_bar, 0,
           program_uniforms(s->jumps.drift) * sizeof *s->drift_bar);
    memset(s->map_bar, 0, program_uniforms(s->jumps.map) * sizeof *s->map_bar);
    memset(s->rate_bar, 0, rates_uniforms(&s->rates) * sizeof *s->rate_bar);
    for (size_t c = s->chunks; !status && c-- > 0;) {
        load(s, c, iteration);
        forward(s, c, ALL, s->a, s->keep, NULL);
        backward(s, c);
        if (s->observer.observe)
            status = s->observer.observe(s->observer.user, s, c);
        if (!status && gradient) add_gradient(s);
    }
    if (status || !gradient) return status;
    jumps_gradient(&s->jumps, s->drift_bar, s->map_bar, gradient);
    rates_gradient(&s->rates, s->rate_bar, gradient);
    support_gradient(&s->support, gradient);
    return 0;
}

/* --- Runs ----------------------------------------------------------------- */

int scan_prepare(struct scan *s, const double *reference)
{
    s->loaded = s->chunks;
    int status = support_prepare(&s->support, reference);
    if (status) return status;
    jumps_prepare(&s->jumps);
    rates_prepare(&s->rates);
    return 0;
}

void scan_forward(struct scan *s, size_t chunk, uint32_t iteration)
{
    load(s, chunk, iteration);
    forward(s, chunk, ALL, s->a, s->keep, s->increment);
}

int scan_close(struct scan *s)
{
    find_totals(s);
    find_differences(&s->stops, s->increment);
    return stops_check(&s->stops, 0, s->stops.count, s->increment, "");
}

/* Through a loaded chunk with halves of the points, and with a quarter. */
static void forward_some(struct scan *s, size_t chunk)
{
    forward(s, chunk, EVEN, s->some, s->keep_even, s->error);
    forward(s, chunk, ODD, s->some, s->keep_odd, s->odd);
    forward(s, chunk, FOURTH, s->some, s->keep_fourth, s->fourth);
}

/* After the increments: what half of the points miss of each, and of tracks
 * what all of them do. */
static void find_errors(struct scan *s)
{
    find_differences(&s->stops, s->error);
    for (size_t n = 0; n < s->stops.count; n++)
        s->error[n] = s->increment[n] - s->error[n];
    for (size_t r = 0; r < s->stops.gaps.series->tracks; r++)
        s->left[r] = find_left(s, r);
}

int scan_run(struct scan *s, const double *reference, uint32_t iteration,
             double *gradient)
{
    int status = scan_prepare(s, reference);
    if (status) return status;
    for (size_t c = 0; c < s->chunks; c++) {
        scan_forward(s, c, iteration);
        if (s->diagnosed) forward_some(s, c);
    }
    status = scan_close(s);
    if (status) return status;
    if (s->diagnosed) find_errors(s);
    if (gradient)
        memset(gradient, 0, s->model->spec->parameters * sizeof *gradient);
    return gradient || s->diagnosed || s->observer.observe
               ? run_backward(s, iteration, gradient)
               : 0;
}
