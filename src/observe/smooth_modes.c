/* SPDX-License-Identifier: MIT */
/* Other modes of the densities of what was observed, along a line through the
 * means of a law: one state after the other, or, with several states, through
 * the origin, where all change their signs together. On a grid the modes that
 * stand apart are seen, and their tops are found by finer and finer grids. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "observe/smooth_parts.h"

/* Points of the grid, of which the middle one is the mean, and of the finer
 * ones. */
enum { MIDDLE = 64, GRID = 2 * MIDDLE + 1, FINE = 17, FINER = 12 };

/* Points of the grid are the closer together the nearer they are to the mean,
 * down to this part of its range. */
static const double NEAREST = 1e-5;

/* A mode counts if its top is not so much lower than the one at hand, and if
 * the density between falls at least so much: in nats. */
static const double MOST_DEFICIT = 15.0, LEAST_VALLEY = 0.5;

/* A mean whose density is so much below the top of its own mode is not there.
 */
static const double ASIDE = 4.0;

/* Laws reach so many deviations from their means. */
static const double REACH = 4.0;

struct line {
    struct smoother *s;
    const struct smooth_track *track;
    const struct smooth_law *law;
    size_t axis;        /* d: through the origin */
    double low, high;   /* of the state that changes, or of the factor */
    double place[GRID]; /* the grid of one stop, and log densities there */
    double value[GRID];
};

size_t smoother_lines(const struct smoother *s)
{
    return !s->curved ? 0 : s->d == 1 ? 1 : s->d + 1;
}

/* --- The densities along a line ------------------------------------------- */

static void reach(double mean, double variance, struct line *l)
{
    double width = REACH * sqrt(fmax(variance, 0.0));
    l->low = fmin(l->low, mean - width);
    l->high = fmax(l->high, mean + width);
}

/* Where a state may be: wherever its laws reach, its first one too, and as far
 * again on both sides. */
static bool find_ends(struct line *l)
{
    size_t d = l->s->d, i = l->axis;
    l->low = i < d ? INFINITY : -2.0;
    l->high = i < d ? -INFINITY : 2.0;
    if (i == d) return true;
    reach(l->s->first_mean[i], l->s->first_cov[i * (d + 1)], l);
    for (size_t n = 0; n < l->track->stops; n++)
        reach(l->law->mean[n * d + i], l->law->cov[n * d * d + i * (d + 1)], l);
    double span = l->high - l->low;
    l->low -= span;
    l->high += span;
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
static bool look_at(const struct line *l, size_t n, size_t P,
                    const double *place, double *value)
{
    double y[GRID * 64]; /* check_points() */
    for (size_t p = 0; p < P; p++)
        put_point(l, n, place[p], y + p * l->s->d);
    return smooth_values(l->s, l->track, n, P, y, value);
}

/* The grid of stop n, with the densities. */
static bool look_along(struct line *l, size_t n)
{
    double mean = place_of(l, n);
    double range = fmax(l->high - mean, mean - l->low);
    l->place[MIDDLE] = mean;
    for (size_t p = 1; p <= MIDDLE; p++) {
        double share = (double)(MIDDLE - p) / (MIDDLE - 1);
        double far = range * pow(NEAREST, share);
        l->place[MIDDLE + p] = mean + far;
        l->place[MIDDLE - p] = mean - far;
    }
    return look_at(l, n, GRID, l->place, l->value);
}

/* --- Modes ---------------------------------------------------------------- */

/* The top of a mode around point p of the grid, and its place. */
static double find_top(const struct line *l, size_t n, size_t p, double *top_at)
{
    double low = l->place[p - 1], high = l->place[p + 1], top = -INFINITY;
    for (int i = 0; i < FINER; i++) {
        double place[FINE], value[FINE];
        size_t best = 1;
        for (size_t k = 0; k < FINE; k++)
            place[k] = low + (high - low) * (double)k / (FINE - 1);
        look_at(l, n, FINE, place, value);
        for (size_t k = 2; k + 1 < FINE; k++)
            if (value[k] > value[best]) best = k;
        bool done = value[best] < top + 1e-3;
        top = fmax(top, value[best]);
        *top_at = place[best];
        if (done) break;
        low = place[best - 1];
        high = place[best + 1];
    }
    return top;
}

/* The point of the grid on top of the mode that the mean is on the side of. */
static size_t climb(const double *value)
{
    size_t p = MIDDLE;
    while (p + 2 < GRID && value[p + 1] > value[p])
        p++;
    while (p > 1 && value[p - 1] > value[p])
        p--;
    return p;
}

/* From point p, on top of the mean's own mode, to the next one above or below
 * that counts: how far it is from the mean, or 0. */
static double next_mode(const struct line *l, size_t n, size_t p, int side)
{
    const double *value = l->value;
    double at, top = NAN, lowest = INFINITY;
    for (size_t k = p + (size_t)side; k > 0 && k + 1 < GRID;
         k += (size_t)side) {
        lowest = fmin(lowest, value[k]);
        bool is_top = value[k] >= value[k - 1] && value[k] >= value[k + 1];
        if (!is_top || value[k] <= lowest) continue;
        if (isnan(top)) top = find_top(l, n, p, &at);
        double place, other = find_top(l, n, k, &place);
        if (other < top - MOST_DEFICIT) continue;
        if (lowest > fmin(top, other) - LEAST_VALLEY) continue;
        return place - place_of(l, n);
    }
    return 0.0;
}

/* To shift (2, stops), at stop n. */
static void find_shift(struct line *l, size_t n, double *shift)
{
    size_t N = l->track->stops, p = climb(l->value);
    double at;
    shift[n] = next_mode(l, n, p, 1);
    shift[N + n] = next_mode(l, n, p, -1);
    if (l->value[p] - l->value[MIDDLE] < ASIDE) return;
    find_top(l, n, p, &at);
    shift[p > MIDDLE ? n : N + n] = at - place_of(l, n);
}

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
        if (look_along(l, n)) find_shift(l, n, shift);
        else shift[n] = shift[N + n] = NAN;
    }
}

/* --- Paths to start from -------------------------------------------------- */

/* Between stops where something was observed shifts change linearly. */
static void fill_shifts(const struct smooth_track *track, double *shift)
{
    size_t N = track->stops, last = N;
    for (size_t n = 0; n < N; n++) {
        if (isnan(shift[n])) continue;
        for (size_t k = last == N ? 0 : last + 1; k < n; k++) {
            double share = last == N ? 1.0
                                     : (track->time[k] - track->time[last]) /
                                           (track->time[n] - track->time[last]);
            double from = last == N ? 0.0 : shift[last];
            shift[k] = from + share * (shift[n] - from);
        }
        last = n;
    }
    for (size_t k = last == N ? 0 : last + 1; k < N; k++)
        shift[k] = last == N ? 0.0 : shift[last];
}

unsigned smoother_look(struct smoother *s, const struct smooth_track *track,
                       const struct smooth_law *law, size_t line, double *shift,
                       double *start)
{
    struct line l = {.s = s, .track = track, .law = law, .axis = line};
    size_t N = track->stops, d = s->d;
    unsigned found = 0;
    if (!find_ends(&l)) return 0;
    find_shifts(&l, shift);
    for (size_t i = 0; i < SMOOTH_STARTS; i++) {
        double *way = shift + i * N, *path = start + i * N * d;
        fill_shifts(track, way);
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
    double top[SMOOTH_MODES], best = l->value[MIDDLE], g, H;
    mode[0] = (struct mode){.place = place_of(l, n),
                            .value = l->value[MIDDLE],
                            .width = fmax(l->law->cov[n], 0.0),
                            .used = true};
    for (size_t k = 0; k < 2 * MIDDLE - 1 && count < SMOOTH_MODES; k++) {
        size_t p = k % 2 ? MIDDLE - (k + 1) / 2 : MIDDLE + k / 2;
        const double *v = l->value + p;
        if (!(v[0] >= v[-1] && v[0] > v[1])) continue;
        struct mode m = {.used = true};
        m.value = top[count] = find_top(l, n, p, &m.place);
        best = fmax(best, m.value);
        smooth_densities(l->s, l->track, n, 1, &m.place, &m.value, &g, &H);
        m.value = top[count];
        m.width = H != 0.0 ? 1.0 / (H * H) : mode[0].width;
        mode[count++] = m;
    }
    for (size_t k = 1; k < count; k++)
        if (mode[k].value < best - MOST_DEFICIT) mode[k].used = false;
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
    struct line l = {.s = s, .track = track, .law = law};
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
    fill_shifts(track, path);
    for (size_t n = 0; n < N; n++)
        path[n] += law->mean[n];
    return count;
}
