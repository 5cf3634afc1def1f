/* SPDX-License-Identifier: MIT */
/* The rows of the result, track by track: of every stop the times after the
 * stop before, then the stop itself. A track has no times before its first stop
 * or after its last. */
#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "observe/jump.h"
#include "predict/paths.h"

/* Counting more than this would take hours. */
static const double MOST_ROWS = 1e11;

/* Times as they are found; time is NULL while they are counted. */
struct list {
    struct paths *paths;
    double *time;
    size_t *track;
    size_t count;
};

static void add(struct list *l, size_t track, double time)
{
    if (l->time) {
        l->time[l->count] = time;
        l->track[l->count] = track;
    }
    l->count++;
}

/* Times that differ by rounding are the same: 0.1 + 0.2 is row 0.3. */
static bool is_same(double a, double b)
{
    return isfinite(b) &&
           fabs(a - b) <= 16.0 * DBL_EPSILON * fmax(fabs(a), fabs(b));
}

/* The row of a stop; of the first of a track it is the first one, whether or
 * not anything was observed in it. */
static size_t row_of(const struct paths *p, const struct stop *s)
{
    assert(s);
    return s->row == NO_ROW ? p->series->start[s->track] : s->row;
}

/* Rows without observations and equidistant times, in order. */
static void add_gap(struct list *l, const struct stop *from,
                    const struct stop *to)
{
    const struct paths *p = l->paths;
    size_t between = p->options->between, row = row_of(p, from) + 1, k = 1;
    size_t end = row_of(p, to);
    double step = (to->time - from->time) / (double)(between + 1);
    while (row < end || k <= between) {
        double grid = from->time + step * (double)k;
        double here = row < end ? p->series->time[row] : INFINITY;
        bool same = k <= between && is_same(grid, here);
        bool next = k <= between && grid < here;
        add(l, from->track, next && !same ? grid : here);
        if (same || next) k++;
        if (same || !next) row++;
    }
}

/* The first requested time that is not before t, up to rounding. */
static size_t first_asked(const gsv_paths_options *o, double t)
{
    size_t low = 0, high = o->times;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->time[middle] < t && !is_same(o->time[middle], t))
            low = middle + 1;
        else high = middle;
    }
    return low;
}

static void add_asked(struct list *l, const struct stop *from,
                      const struct stop *to)
{
    const gsv_paths_options *o = l->paths->options;
    size_t end = first_asked(o, to->time);
    for (size_t i = first_asked(o, from->time); i < end; i++)
        if (!is_same(o->time[i], from->time)) add(l, from->track, o->time[i]);
}

/* Whether a stop itself is requested. */
static bool is_asked(const struct paths *p, const struct stop *stop)
{
    const gsv_paths_options *o = p->options;
    size_t i = first_asked(o, stop->time);
    return !o->times || (i < o->times && is_same(o->time[i], stop->time));
}

/* Stops that are no rows are none of a gap's ends, but for the first of a
 * track: they are those of latent states, which are found by spread(). */
static void list_all(struct list *l)
{
    struct paths *p = l->paths;
    const struct stop *from = NULL;
    p->most = 0;
    for (size_t n = 0; n < p->stops.count; n++) {
        const struct stop *stop = &p->stops.stop[n];
        bool begins = stop_is_first(&p->stops, n);
        if (!begins && stop->row == NO_ROW) continue;
        p->first[n] = l->count;
        if (!begins) {
            if (p->options->times) add_asked(l, from, stop);
            else add_gap(l, from, stop);
        }
        from = stop;
        if (l->count - p->first[n] > p->most) p->most = l->count - p->first[n];
        p->at_stop[n] = is_asked(p, stop);
        if (p->at_stop[n]) add(l, stop->track, stop->time);
    }
    p->first[p->stops.count] = l->count;
}

/* Every requested time is inside of some track. */
static int check_times(const struct paths *p)
{
    const gsv_paths_options *o = p->options;
    const struct stops *s = &p->stops;
    double first = INFINITY, last = -INFINITY;
    for (size_t n = 0; n < s->count; n++) {
        first = fmin(first, s->stop[n].time);
        last = fmax(last, s->stop[n].time);
    }
    for (size_t i = 0; i < o->times; i++) {
        double t = o->time[i];
        bool inside = false;
        if (!isfinite(t) || (i && !(t > o->time[i - 1])))
            return fail(GSV_BAD_INPUT,
                        "the times must be finite and increase, which fails "
                        "at number %zu",
                        i + 1);
        for (size_t r = 0; !inside && r < p->series->tracks; r++) {
            size_t a = s->first[r], b = s->first[r + 1];
            if (a == b) continue;
            double low = s->stop[a].time, high = s->stop[b - 1].time;
            inside = (t >= low || is_same(t, low)) &&
                     (t <= high || is_same(t, high));
        }
        if (!inside)
            return fail(GSV_BAD_INPUT,
                        "the time %g is not inside of any series: the "
                        "observations are from %g to %g; what comes after "
                        "them is for predict",
                        t, first, last);
    }
    return 0;
}

size_t rows_inside(const struct paths *p, size_t stop)
{
    return p->first[stop + 1] - p->first[stop] - p->at_stop[stop];
}

/* The requested times among the stops, of which there may be more now. */
static int spread(struct paths *p)
{
    size_t n = p->stops.count, row = 0;
    const gsv_smoothed *o = p->out;
    MEM_FREE(p->first, p->at_stop);
    p->first = NEW(size_t, n + 1);
    p->at_stop = NEW(bool, n);
    if (!p->first || !p->at_stop) return GSV_NO_MEMORY;
    p->most = 0;
    for (size_t i = 0; i < n; i++) {
        const struct stop *stop = &p->stops.stop[i];
        p->first[i] = row;
        while (row < o->rows && o->track[row] == stop->track &&
               o->time[row] < stop->time && !is_same(o->time[row], stop->time))
            row++;
        if (row - p->first[i] > p->most) p->most = row - p->first[i];
        p->at_stop[i] = row < o->rows && o->track[row] == stop->track &&
                        is_same(o->time[row], stop->time);
        row += p->at_stop[i];
    }
    p->first[n] = row;
    return 0;
}

/* Before any time is counted: the result and all paths of a gap are in
 * memory. */
static int check_memory(const struct paths *p)
{
    static const double MOST = 2e9;
    const gsv_paths_options *o = p->options;
    size_t K = o->estimator.paths ? o->estimator.paths : 1;
    double inside = (double)(o->times ? o->times : o->between);
    double rows = o->times ? inside * (double)p->series->tracks
                           : inside * (double)p->stops.count;
    double kept = 4.0 + (double)o->quantiles + (double)o->draws;
    double bytes = 8.0 * (double)p->d * (rows * kept + inside * (double)K);
    if (bytes <= MOST) return 0;
    return fail(GSV_BAD_INPUT,
                "paths at %.0f times, %.0f of them inside of one gap, would "
                "take %.1f GB; at most %.0f GB are used: ask for fewer times "
                "(--between, --times), draws or paths",
                rows, inside, bytes / 1e9, MOST / 1e9);
}

int paths_ask(struct paths *p)
{
    size_t n = p->stops.count;
    int status = check_memory(p);
    if (!status) status = check_times(p);
    if (status) return status;
    if (((double)p->options->between + 1.0) * (double)n > MOST_ROWS)
        return fail(GSV_NO_MEMORY,
                    "%zu times in each of %zu gaps are more than fit into "
                    "memory; ask for fewer times between two rows",
                    p->options->between, n);
    p->first = NEW(size_t, n + 1);
    p->at_stop = NEW(bool, n);
    if (!p->first || !p->at_stop) return GSV_NO_MEMORY;
    struct list l = {.paths = p};
    list_all(&l);
    p->out->rows = l.count;
    l.time = p->out->time = NEW(double, l.count);
    l.track = p->out->track = NEW(size_t, l.count);
    l.count = 0;
    if (!l.time || !l.track) return GSV_NO_MEMORY;
    list_all(&l);
    if (!p->method->paths) return 0;
    status = jumps_divide(p->model, &p->stops, &p->options->estimator);
    return status ? status : spread(p);
}
