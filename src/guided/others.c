/* SPDX-License-Identifier: MIT */
#include "guided/others.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "guided/scout.h"
#include "observe/peaks.h"

/* By so many nats a path may explain a track worse than the best one. */
static const double MOST_WORSE = 10.0;

enum { MOST_SEARCHES = 12 };

/* Of what the first law says of a state, so many deviations. */
static const double REACH = 4.0;

/* A line through a path: one state changes, or, where the axis is d, all are
 * multiplied by a factor. */
struct line {
    struct guide *g;
    const double *path; /* (nodes, D)                                     */
    size_t axis;
    double *shift; /* (2, nodes) from the path to the modes above, below */
    double *start; /* (nodes, D)                                         */
    const double *spread; /* (nodes, D) of scouts, or NULL                */
    bool several;   /* modes beside a path were seen                      */
    double *points; /* (D, P)                                             */
    struct peaks peaks;
};

static double place_of(const struct line *l, size_t k)
{
    const struct course *f = l->g->swarm.course;
    return l->axis < f->d ? l->path[k * f->D + l->axis] : 1.0;
}

/* Element i of place t on the line at node k. */
static double element(const struct line *l, size_t k, size_t i, double t)
{
    const struct course *f = l->g->swarm.course;
    double x = l->path[k * f->D + i];
    return i >= f->d ? x : l->axis == f->d ? t * x : i == l->axis ? t : x;
}

static bool look_at(void *user, size_t k, size_t P, const double *place,
                    double *value)
{
    const struct line *l = user;
    struct mover *m = &l->g->mover[0];
    for (size_t i = 0; i < l->g->swarm.D; i++)
        for (size_t p = 0; p < P; p++)
            l->points[i * P + p] = element(l, k, i, place[p]);
    if (!mover_density(m, &l->g->pace, k, P, l->points)) return false;
    memcpy(value, m->log_g, P * sizeof *value);
    return true;
}

/* Where a state may be: as far as the path and its first law go, and as far
 * again on both sides. */
static bool find_ends(struct line *l)
{
    const struct ahead *w = &l->g->ahead[0];
    size_t D = w->D, i = l->axis;
    double low = -2.0, high = 2.0;
    if (i < w->course->d) {
        double width = REACH * w->first_B[i * (D + 1)];
        low = w->first_a[i] - width;
        high = w->first_a[i] + width;
        for (size_t k = 0; k < l->g->pace.nodes; k++) {
            low = fmin(low, l->path[k * D + i]);
            high = fmax(high, l->path[k * D + i]);
        }
        double span = high - low;
        low -= span;
        high += span;
    }
    l->peaks.low = low;
    l->peaks.high = high;
    return high > low && isfinite(high - low);
}

/* Whether the shift to a place leads through a valley, and not just up to the
 * top that the path is beside of. */
static bool is_beyond(const struct peaks *p, double shift)
{
    double here = p->value[PEAKS_MIDDLE], lowest = here;
    for (size_t i = 0; i < PEAKS_GRID; i++) {
        double way = p->place[i] - p->place[PEAKS_MIDDLE];
        if (way * shift > 0.0 && fabs(way) < fabs(shift))
            lowest = fmin(lowest, p->value[i]);
    }
    return lowest < here - 0.1;
}

static bool has_others(const struct line *l, size_t k)
{
    double above = l->shift[k], below = l->shift[l->g->pace.nodes + k];
    return (above != 0.0 && below != 0.0) || is_beyond(&l->peaks, above) ||
           is_beyond(&l->peaks, below);
}

/* The modes beside the path, to shift; whether there are any. */
static bool find_shifts(struct line *l)
{
    size_t N = l->g->pace.nodes;
    bool any = false;
    if (!find_ends(l)) return false;
    for (size_t k = 0; k < N; k++) {
        l->shift[k] = l->shift[N + k] = NAN;
        if (!peaks_look(&l->peaks, k, place_of(l, k))) continue;
        peaks_shift(&l->peaks, k, &l->shift[k], &l->shift[N + k]);
        any = any || l->shift[k] != 0.0 || l->shift[N + k] != 0.0;
        l->several = l->several || has_others(l, k);
    }
    return any;
}

/* The path through the modes of one side; whether there are any. */
static bool find_start(struct line *l, const double *time, size_t side)
{
    size_t N = l->g->pace.nodes, D = l->g->swarm.D;
    double *shift = l->shift + side * N;
    bool any = false;
    peaks_fill(N, time, shift);
    for (size_t k = 0; k < N; k++) {
        any = any || shift[k] != 0.0;
        for (size_t i = 0; i < D; i++)
            l->start[k * D + i] = element(l, k, i, place_of(l, k) + shift[k]);
    }
    return any;
}

/* --- The paths that starts lead to ---------------------------------------- */

/* How far apart two points are where the line leads. */
static double distance(const struct line *l, const double *x, const double *y)
{
    size_t d = l->g->swarm.course->d, i = l->axis;
    double square = 0.0;
    if (i < d) return fabs(x[i] - y[i]);
    for (i = 0; i < d; i++)
        square += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(square);
}

/* From a scout's path: further away than particles are from each other. */
static bool is_spread(const struct line *l, const double *new, size_t j,
                      size_t k)
{
    const struct guide *g = l->g;
    size_t D = g->swarm.D;
    for (size_t i = 0; i < g->swarm.course->d; i++) {
        double off = fabs(new[k * D + i] - g->ahead[j].mu[k * D + i]);
        double wide = l->spread[k * D + i];
        if (wide > 0.0 && off > wide) return true;
    }
    return false;
}

/* Whether the path of the new psi is not that of number j at node k: further
 * from it than half of what the start was from where it began. */
static bool is_apart(const struct line *l, const double *new, size_t j,
                     size_t k)
{
    size_t D = l->g->swarm.D;
    if (l->spread) return is_spread(l, new, j, k);
    double way = distance(l, l->start + k * D, l->path + k * D);
    const double *mu = l->g->ahead[j].mu + k * D;
    return way > 0.0 && distance(l, new + k *D, mu) > 0.5 * way;
}

/* Whether it is a new one at node k; psi together follow paths that change from
 * one to another. */
static bool is_new_at(const struct line *l, const double *new, size_t k)
{
    if (!pace_is_row(&l->g->pace, k)) return false;
    for (size_t j = 0; j < l->g->aheads; j++)
        if (!is_apart(l, new, j, k)) return false;
    return true;
}

static bool is_new(const struct line *l, const double *new)
{
    size_t k = 0;
    while (k < l->g->pace.nodes && !is_new_at(l, new, k))
        k++;
    return k < l->g->pace.nodes;
}

/* psi that are far less likely than the best go to the end, and are no longer
 * counted; whether there were any. */
static bool drop_unlikely(struct guide *g)
{
    double best = -INFINITY;
    size_t kept = 0, before = g->aheads;
    for (size_t j = 0; j < g->aheads; j++)
        best = fmax(best, g->ahead[j].likely);
    for (size_t j = 0; j < before; j++) {
        struct ahead one = g->ahead[j];
        if (one.likely < best - MOST_WORSE) continue;
        g->ahead[j] = g->ahead[kept];
        g->ahead[kept++] = one;
    }
    g->aheads = kept;
    return kept < before;
}

/* There is one too many: the least likely, which may be the last one. */
static void leave_least(struct line *l, bool *changed)
{
    struct guide *g = l->g;
    size_t least = AHEAD_MOST;
    for (size_t j = 0; j < AHEAD_MOST; j++)
        if (g->ahead[j].likely < g->ahead[least].likely) least = j;
    struct ahead left = g->ahead[least];
    g->ahead[least] = g->ahead[AHEAD_MOST];
    g->ahead[AHEAD_MOST] = left;
    g->aheads = AHEAD_MOST;
    *changed = *changed || least < AHEAD_MOST;
    for (size_t k = 0; k < g->pace.nodes; k++)
        if (is_new_at(l, left.mu, k)) g->crowded[k] = true;
}

/* The psi that a start leads to: it is kept while there is room. *changed: the
 * others have other places now. */
static int try_start(struct line *l, bool *changed)
{
    struct guide *g = l->g;
    struct ahead *new = &g->ahead[g->aheads];
    if (halt_asked()) return halt_status();
    if (!new->course &&
        ahead_init(new, g->swarm.course, g->pace.capacity, g->movers))
        return GSV_NO_MEMORY;
    if (ahead_seek(new, &g->mover[0], &g->pace, l->start) ||
        !is_new(l, new->mu))
        return 0;
    g->aheads++;
    g->found = true;
    *changed = drop_unlikely(g);
    if (g->aheads > AHEAD_MOST) leave_least(l, changed);
    return 0;
}

/* Starts from one of the paths, until the others have other places. */
static int search_from(struct line *l, const double *time, size_t from,
                       bool *changed)
{
    const struct course *f = l->g->swarm.course;
    size_t lines = f->d == 1 ? 1 : f->d + 1;
    l->path = l->g->ahead[from].mu;
    for (l->axis = 0; l->axis < lines; l->axis++) {
        if (l->axis < f->d && !f->model->spec->latent[l->axis]) continue;
        if (!find_shifts(l)) continue;
        for (size_t side = 0; side < 2; side++) {
            int status = find_start(l, time, side) ? try_start(l, changed) : 0;
            if (status || *changed) return status;
        }
    }
    return 0;
}

/* From all that were found, and again where these have changed. */
static int search(struct line *l, const double *time)
{
    size_t from = 0;
    for (int i = 0; from < l->g->aheads && i < MOST_SEARCHES; i++) {
        bool changed = false;
        int status = search_from(l, time, from, &changed);
        if (status) return status;
        from = changed ? 0 : from + 1;
    }
    return 0;
}

/* From where scouts went; and from the paths that these lead to. */
static int follow_scouts(struct line *l, const double *time)
{
    struct guide *g = l->g;
    size_t size = g->pace.nodes * g->swarm.D, kept = g->aheads;
    struct scouts s;
    bool changed = false;
    int status = scouts_send(&s, g, &g->ahead[g->aheads]);
    for (size_t i = 0; !status && i < s.paths; i++) {
        memcpy(l->start, s.path + i * size, size * sizeof *l->start);
        l->spread = s.spread;
        status = try_start(l, &changed);
        l->spread = NULL;
    }
    scouts_free(&s);
    if (status || (g->aheads == kept && !changed)) return status;
    return search(l, time);
}

int others_find(struct guide *g)
{
    size_t N = g->pace.nodes, D = g->swarm.D;
    struct arena arena = {0};
    double *time = NULL;
    struct line l = {.g = g};
    const struct arena_part part[] = {{&l.shift, 2 * N},
                                      {&l.start, N * D},
                                      {&l.points, PEAKS_GRID * D},
                                      {&time, N}};
    g->aheads = 1;
    g->found = false;
    memset(g->crowded, 0, N * sizeof *g->crowded);
    if (!g->swarm.course->curved) return 0;
    if (arena_lay(&arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    for (size_t k = 0; k < N; k++)
        time[k] = pace_stop(&g->pace, k)->time;
    l.peaks = (struct peaks){.user = &l, .look = look_at};
    int status = search(&l, time);
    if (!status && l.several) status = follow_scouts(&l, time);
    arena_free(&arena);
    return status;
}
