/* SPDX-License-Identifier: MIT */
/* Other modes of the densities of what was observed, along a line (peaks.h)
 * through the means of a law: one state after the other, or, with several
 * states, through the origin, where all change their signs together. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "observe/peaks.h"
#include "observe/smooth_parts.h"

enum { MIDDLE = PEAKS_MIDDLE };

/* Laws reach so many deviations from their means. */
static const double REACH = 4.0;

struct line {
    struct smoother *s;
    const struct smooth_track *track;
    const struct smooth_law *law;
    size_t axis; /* d: through the origin */
    struct peaks peaks;
};

size_t smoother_lines(const struct smoother *s)
{
    return !s->curved ? 0 : s->d == 1 ? 1 : s->d + 1;
}

/* --- The densities along a line ------------------------------------------- */

static void reach(double mean, double variance, struct line *l)
{
    double width = REACH * sqrt(fmax(variance, 0.0));
    l->peaks.low = fmin(l->peaks.low, mean - width);
    l->peaks.high = fmax(l->peaks.high, mean + width);
}

/* Where a state may be: wherever its laws reach, its first one too, and as far
 * again on both sides. */
static bool find_ends(struct line *l)
{
    size_t d = l->s->d, i = l->axis;
    l->peaks.low = i < d ? INFINITY : -2.0;
    l->peaks.high = i < d ? -INFINITY : 2.0;
    if (i == d) return true;
    reach(l->s->first_mean[i], l->s->first_cov[i * (d + 1)], l);
    for (size_t n = 0; n < l->track->stops; n++)
        reach(l->law->mean[n * d + i], l->law->cov[n * d * d + i * (d + 1)], l);
    double span = l->peaks.high - l->peaks.low;
    l->peaks.low -= span;
    l->peaks.high += span;
    return span > 0.0 && isfinite(span);
}

/* The place of the mean of stop n on the line. */
static double place_of(const struct line *l, size_t n)
{
    return l->axis < l->s->d ? l->law->mean[n * l->s->d + l->axis] : 1.0;
}

/* y of place t on the line of stop n. */
static void put_point(const struct line *l, size_t n, double t, double *y)
{
    size_t d = l->s->d;
    const double *mean = l->law->mean + n * d;
    for (size_t i = 0; i < d; i++)
        y[i] = l->axis == d ? t * mean[i] : i == l->axis ? t : mean[i];
}

/* Log densities at P places; false: nothing was observed. */
static bool look_at(void *user, size_t n, size_t P, const double *place,
                    double *value)
{
    const struct line *l = user;
    double y[PEAKS_GRID * 64]; /* check_points() */
    for (size_t p = 0; p < P; p++)
        put_point(l, n, place[p], y + p * l->s->d);
    return smooth_values(l->s, l->track, n, P, y, value);
}

static struct line line_of(struct smoother *s, const struct smooth_track *track,
                           const struct smooth_law *law, size_t axis)
{
    return (struct line){.s = s,
                         .track = track,
                         .law = law,
                         .axis = axis,
                         .peaks = {.look = look_at}};
}

/* The grid of stop n, with the densities. */
static bool look_along(struct line *l, size_t n)
{
    l->peaks.user = l;
    return peaks_look(&l->peaks, n, place_of(l, n));
}

/* --- Modes ---------------------------------------------------------------- */

static bool is_exact(const struct line *l, size_t n)
{
    return l->track->exact && l->axis < l->s->d &&
           !isnan(l->track->exact[l->axis * l->track->stops + n]);
}

/* To shift (2, stops): from the mean to the mode above, and below; 0 where
 * there is none, NaN where nothing was observed. */
static void find_shifts(struct line *l, double *shift)
{
    size_t N = l->track->stops;
    for (size_t n = 0; n < N; n++) {
        shift[n] = shift[N + n] = 0.0;
        if (is_exact(l, n)) continue;
        if (look_along(l, n))
            peaks_shift(&l->peaks, n, &shift[n], &shift[N + n]);
        else shift[n] = shift[N + n] = NAN;
    }
}

/* --- Paths to start from -------------------------------------------------- */

unsigned smoother_look(struct smoother *s, const struct smooth_track *track,
                       const struct smooth_law *law, size_t line, double *shift,
                       double *start)
{
    struct line l = line_of(s, track, law, line);
    size_t N = track->stops, d = s->d;
    unsigned found = 0;
    if (!find_ends(&l)) return 0;
    find_shifts(&l, shift);
    for (size_t i = 0; i < SMOOTH_STARTS; i++) {
        double *way = shift + i * N, *path = start + i * N * d;
        peaks_fill(N, track->time, way);
        for (size_t n = 0; n < N; n++) {
            put_point(&l, n, place_of(&l, n) + way[n], path + n * d);
            if (way[n] != 0.0) found |= 1u << i;
        }
    }
    return found;
}

/* --- Chains of modes: one state ------------------------------------------- */

/* Modes around the mean on the grid, with their tops, those next to it first;
 * the mean itself is one of them. */
static void find_modes(struct line *l, size_t n, struct mode *mode)
{
    size_t count = 1;
    double top[SMOOTH_MODES], best = l->peaks.value[MIDDLE], g, H;
    mode[0] = (struct mode){.place = place_of(l, n),
                            .value = l->peaks.value[MIDDLE],
                            .width = fmax(l->law->cov[n], 0.0),
                            .used = true};
    for (size_t k = 0; k < 2 * MIDDLE - 1 && count < SMOOTH_MODES; k++) {
        size_t p = k % 2 ? MIDDLE - (k + 1) / 2 : MIDDLE + k / 2;
        const double *v = l->peaks.value + p;
        if (!(v[0] >= v[-1] && v[0] > v[1])) continue;
        struct mode m = {.used = true};
        m.value = top[count] = peaks_top(&l->peaks, n, p, &m.place);
        best = fmax(best, m.value);
        smooth_densities(l->s, l->track, n, 1, &m.place, &m.value, &g, &H);
        m.value = top[count];
        m.width = H != 0.0 ? 1.0 / (H * H) : mode[0].width;
        mode[count++] = m;
    }
    for (size_t k = 1; k < count; k++)
        if (mode[k].value < best - PEAKS_DEFICIT) mode[k].used = false;
}

/* Where the drift leads from a place, up to stop n + 1, and the variance. */
static void lead(const struct line *l, size_t n, double *y, double *variance)
{
    enum { STEPS = 4 };
    const double *time = l->track->time;
    double h = (time[n + 1] - time[n]) / STEPS, f, A, Phi, c, Q;
    for (size_t i = 0; i < STEPS; i++) {
        double at = time[n] + h * ((double)i + 0.5);
        if (!smooth_drift(l->s, l->track, n + 1, at, y, &f, &A)) return;
        smooth_transition(l->s, h, &A, &f, y, &Phi, &c, &Q);
        *y = Phi * *y + c;
        *variance = Phi * Phi * *variance + Q;
    }
}

/* What a mode costs, in nats, of a state that is normal: -log of the integral
 * of both, the mode as a normal density times a factor. */
static double meeting_cost(const struct mode *m, double mean, double variance)
{
    double off = m->place - mean, sum = variance + m->width;
    return 0.5 * off * off / sum + 0.5 * log(sum / m->width) - m->value;
}

/* What a step between modes at two stops costs: by the drift, or as a Brownian
 * motion where this is less, since paths from one mode to another are not those
 * that the drift leads along. */
static double step_cost(double from, double led, double variance,
                        const struct mode *to, double h)
{
    return fmin(meeting_cost(to, led, variance), meeting_cost(to, from, h));
}

/* Costs of all steps from stop n to the observed stop next: the best ways
 * forward to its modes. */
static void go_forward(const struct line *l, struct mode *all, size_t n,
                       size_t next)
{
    struct mode *from = all + n * SMOOTH_MODES, *to = all + next * SMOOTH_MODES;
    double h = l->track->time[next] - l->track->time[n];
    for (size_t j = 0; j < SMOOTH_MODES; j++) {
        double led = from[j].place, variance = from[j].width;
        if (!from[j].used) continue;
        for (size_t k = n; k < next; k++)
            lead(l, k, &led, &variance);
        for (size_t k = 0; k < SMOOTH_MODES; k++) {
            if (!to[k].used) continue;
            double cost = step_cost(from[j].place, led, variance, &to[k], h);
            from[j].step[k] = cost;
            if (from[j].before + cost < to[k].before) {
                to[k].before = from[j].before + cost;
                to[k].from = j;
            }
        }
    }
}

static void go_backward(struct mode *from, const struct mode *to)
{
    for (size_t j = 0; j < SMOOTH_MODES; j++)
        for (size_t k = 0; from[j].used && k < SMOOTH_MODES; k++) {
            double cost = from[j].step[k] + to[k].after;
            if (!to[k].used || cost >= from[j].after) continue;
            from[j].after = cost;
            from[j].to = k;
        }
}

bool smoother_modes(struct smoother *s, const struct smooth_track *track,
                    const struct smooth_law *law, struct mode *all)
{
    struct line l = line_of(s, track, law, 0);
    size_t N = track->stops, last = N;
    bool several = false;
    memset(all, 0, N * SMOOTH_MODES * sizeof *all);
    if (!find_ends(&l)) return false;
    for (size_t n = 0; n < N; n++) {
        struct mode *here = all + n * SMOOTH_MODES;
        if (is_exact(&l, n) || !look_along(&l, n)) continue;
        find_modes(&l, n, here);
        for (size_t k = 0; k < SMOOTH_MODES; k++) {
            here[k].before = here[k].after = INFINITY;
            if (last == N && here[k].used)
                here[k].before =
                    meeting_cost(&here[k], s->first_mean[0], s->first_cov[0]);
            several = several || (k > 1 && here[k].used);
        }
        if (last < N) go_forward(&l, all, last, n);
        last = n;
    }
    if (!several) return false;
    for (size_t k = 0; k < SMOOTH_MODES; k++)
        all[last * SMOOTH_MODES + k].after = 0.0;
    for (size_t n = last, next = last; n-- > 0;) {
        if (!all[n * SMOOTH_MODES].used) continue;
        go_backward(all + n * SMOOTH_MODES, all + next * SMOOTH_MODES);
        next = n;
    }
    return true;
}

/* The next stop with modes after n, or before it: N where there is none. */
static size_t neighbour(const struct mode *all, size_t N, size_t n, int side)
{
    do
        n += (size_t)side;
    while (n < N && !all[n * SMOOTH_MODES].used);
    return n < N ? n : N;
}

static double cost_of(const struct mode *m)
{
    return m->used ? m->before + m->after : INFINITY;
}

/* The mode of a stop with the least cost; of all, or of those that are wanted
 * (SMOOTH_MODES: none). */
static size_t cheapest(const struct mode *here, bool wanted)
{
    size_t best = wanted ? SMOOTH_MODES : 0;
    for (size_t k = 0; k < SMOOTH_MODES; k++)
        if ((!wanted || here[k].wanted) &&
            (best == SMOOTH_MODES || cost_of(&here[k]) < cost_of(&here[best])))
            best = k;
    return best;
}

/* The modes of the best chain of all, to path (stops): their places, NaN where
 * a stop has no modes; they are marked. */
static void lay_best(size_t N, struct mode *all, double *path)
{
    size_t n = neighbour(all, N, N, -1);
    for (size_t k = 0; k < N; k++)
        path[k] = NAN;
    for (size_t k = n < N ? cheapest(all + n * SMOOTH_MODES, false) : 0; n < N;
         n = neighbour(all, N, n, -1)) {
        struct mode *m = &all[n * SMOOTH_MODES + k];
        m->best = true;
        path[n] = m->place;
        k = m->from;
    }
}

/* The chain through mode k of stop n, away from the best one, to path; the stop
 * where it ends. false: it would begin before stop `from`. */
static bool lay_chain(size_t N, const struct mode *all, size_t from, size_t n,
                      size_t k, double *path, size_t *end)
{
    size_t at = n, j = k;
    while (at < N && !all[at * SMOOTH_MODES + j].best) {
        if (at < from) return false;
        j = all[at * SMOOTH_MODES + j].from;
        at = neighbour(all, N, at, -1);
    }
    for (at = n, j = k; at < N && !all[at * SMOOTH_MODES + j].best;
         at = neighbour(all, N, at, -1)) {
        path[at] = all[at * SMOOTH_MODES + j].place;
        j = all[at * SMOOTH_MODES + j].from;
    }
    for (at = n, j = k; at < N && !all[at * SMOOTH_MODES + j].best;
         at = neighbour(all, N, at, 1)) {
        path[at] = all[at * SMOOTH_MODES + j].place;
        j = all[at * SMOOTH_MODES + j].to;
        *end = at;
    }
    return true;
}

size_t smoother_chain(const struct smooth_track *track,
                      const struct smooth_law *law, struct mode *all,
                      double *path)
{
    size_t N = track->stops, from = 0, count = 0;
    lay_best(N, all, path);
    for (size_t n = 0; n < N; n++) {
        size_t k = cheapest(all + n * SMOOTH_MODES, true), end = n;
        if (k == SMOOTH_MODES || !lay_chain(N, all, from, n, k, path, &end))
            continue;
        all[n * SMOOTH_MODES + k].tried = true;
        count++;
        n = end;
        from = end + 1;
    }
    for (size_t n = 0; n < N; n++)
        path[n] -= law->mean[n];
    peaks_fill(N, track->time, path);
    for (size_t n = 0; n < N; n++)
        path[n] += law->mean[n];
    return count;
}
