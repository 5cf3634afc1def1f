/* SPDX-License-Identifier: MIT */
/* The states themselves: their laws given the data so far, and given all data.
 * In the coordinates of S, z = mean + S eps, a draw of eps given all data goes
 * backward as its mean zeta does (filter.h):
 *
 *     eps_1 = tau eps_1 + sigma v / s through an update, then turned back,
 *     eps = [a, c] (eps, e) over a gap with the turn [a, c], e ~ N(0, I). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/small.h"
#include "kalman/kalman.h"
#include "model/states.h"

/* --- Given the data so far ------------------------------------------------ */

static int visit_rows(const struct kalman *k, const struct filter_visitor *v)
{
    size_t rows = stops_rows(&k->stops), at = 0, n2 = k->states * k->states;
    struct state_law *law = NEW(struct state_law, rows + 1);
    double *root = NEW(double, rows *n2 + 1), *room = NEW(double, k->d * k->d);
    if (!law || !root || !room) {
        MEM_FREE(law, root, room);
        return GSV_NO_MEMORY;
    }
    for (size_t n = 0; n < k->stops.count; n++) {
        const struct stop *stop = &k->stops.stop[n];
        if (stop->row == NO_ROW) continue;
        struct record r = kalman_record(k, n, 0);
        filter_marginal(k->d, k->states, r.S, root + at * n2, room);
        law[at] = (struct state_law){.track = stop->track,
                                     .row = stop->row,
                                     .time = stop->time,
                                     .points = 1,
                                     .stride = 1,
                                     .x = r.mean,
                                     .root = root + at * n2};
        at++;
    }
    int status = v->visit(v->user, at, law);
    MEM_FREE(law, root, room);
    return status;
}

/* Runs the filter and keeps all laws. stops: see kalman_make(). */
static int run(struct kalman *k, const struct task *t, struct stops *stops)
{
    gsv_options o = *t->options;
    o.gradient = false;
    int status = METHOD_KALMAN.accept(&METHOD_KALMAN, t);
    if (!status) status = kalman_make(k, t->model, t->series, &o, true, stops);
    return status ? status : kalman_forward(k);
}

int kalman_filter(const struct task *t, const struct filter_visitor *v)
{
    struct kalman k = {0};
    int status = run(&k, t, NULL);
    if (!status) status = visit_rows(&k, v);
    kalman_free(&k);
    return status;
}

/* --- One row ahead -------------------------------------------------------- */

/* Laws of the columns (dim + values) from that of the states. */
static void put_columns(const struct kalman *k, size_t stop,
                        const struct record *r, double *mean, double *sd,
                        double *room)
{
    const struct spec *s = k->model->spec;
    size_t d = k->d, n = k->states;
    for (size_t i = 0; i < n; i++) {
        mean[i] = r->mean[i];
        sd[i] = sqrt(small_dot(d, r->S + i * d, r->S + i * d));
    }
    for (size_t i = 0; i < s->values; i++)
        mean[n + i] = sd[n + i] = NAN;
    for (size_t j = 0; j < k->p; j++) {
        size_t at = k->view[stop] * k->p + j, to = n + s->obs[j].value;
        const double *h = k->H + at * d;
        memset(room, 0, d * sizeof *room);
        small_add(d, 1.0, r->S, true, h, room);
        mean[to] = k->offset[at] + small_dot(d, h, r->mean);
        sd[to] = hypot(sqrt(small_dot(d, room, room)), k->deviation[at]);
    }
}

static int visit_ahead(const struct kalman *k, const struct ahead_visitor *v)
{
    size_t d = k->d, all = k->states + k->model->spec->values;
    size_t size = record_size(d, 0);
    double *memory = NEW(double, size + 4 * d * d + 2 * all);
    if (!memory) return GSV_NO_MEMORY;
    double *room = memory + size, *mean = room + 4 * d * d, *sd = mean + all;
    struct record next = record_at(d, 0, memory, NULL);
    next.turn = NULL;
    for (size_t n = 0; n < k->stops.count; n++) {
        size_t j = k->transition[n], row = k->stops.stop[n].row;
        if (stop_is_first(&k->stops, n) || row == NO_ROW) continue;
        struct record before = kalman_record(k, n - 1, 0);
        filter_predict(d, k->Phi + j * d * d, k->c + j * d, k->root + j * d * d,
                       &before, &next, room);
        put_columns(k, n, &next, mean, sd, room);
        v->visit(v->user, row, mean, sd);
    }
    mem_free(memory);
    return 0;
}

int kalman_ahead(const struct task *t, const struct ahead_visitor *v)
{
    struct kalman k = {0};
    int status = run(&k, t, NULL);
    if (!status) status = visit_ahead(&k, v);
    kalman_free(&k);
    return status;
}

/* --- Stops at the requested times ----------------------------------------- */

static bool is_same(double a, double b)
{
    return fabs(a - b) <= 16.0 * DBL_EPSILON * fmax(fabs(a), fabs(b));
}

static int add_stop(struct stops *s, struct stop stop)
{
    if (MEM_ROOM(s->stop, s->count, s->capacity)) return GSV_NO_MEMORY;
    s->stop[s->count++] = stop;
    return 0;
}

/* Requested times of a track up to a stop, and the stop. */
static int add_until(struct stops *s, const struct normal_paths *p,
                     const struct stop *stop, size_t *row)
{
    int status = 0;
    for (; !status && *row < p->rows && p->track[*row] == stop->track; ++*row) {
        double time = p->time[*row];
        if (is_same(time, stop->time)) continue;
        if (time > stop->time) break;
        status = add_stop(s, (struct stop){.track = stop->track,
                                           .row = NO_ROW,
                                           .event = NO_ROW,
                                           .time = time});
    }
    return status ? status : add_stop(s, *stop);
}

/* The data's stops, and between them the requested times. */
static int merge_stops(struct stops *s, const struct normal_paths *p)
{
    struct stop *old = s->stop;
    size_t count = s->count, tracks = s->gaps.series->tracks, row = 0, n = 0;
    int status = 0;
    s->stop = NULL;
    s->count = s->capacity = 0;
    for (size_t r = 0; !status && r < tracks; r++) {
        while (row < p->rows && p->track[row] < r)
            row++;
        for (; !status && n < count && old[n].track == r; n++)
            status = add_until(s, p, &old[n], &row);
        s->first[r + 1] = s->count;
    }
    mem_free(old);
    return status;
}

/* --- Draws ---------------------------------------------------------------- */

struct drawer {
    const struct kalman *k;
    const struct normal_paths *p;
    const struct task *task;
    struct adjoint a;
    double *room;       /* (4 d^2 + 2 d) */
    double *eps, *next; /* (d, draws)    */
    size_t row;         /* the last of p that is not done, and one more */
    struct arena arena;
};

static void draw_normals(const struct drawer *w, size_t stop, double *z)
{
    const struct random_key key = {.seed = w->task->options->seed,
                                   .purpose = RANDOM_PATHS,
                                   .iteration = w->task->options->iteration,
                                   .item = stop};
    if (w->p->draws) random_normals(&key, 0, w->k->d, 0, w->p->draws, z);
}

/* Column of draw n in eps, to and from one vector. */
static void update_draws(struct drawer *w, const struct update *u)
{
    size_t d = w->k->d, D = w->p->draws;
    for (size_t n = 0; n < D; n++) {
        double part = 0.0, *eps = w->eps + n;
        eps[0] = u->tau * eps[0] + u->sigma * u->v / u->s;
        for (size_t i = 0; i < d; i++)
            part += u->u[i] * eps[i * D];
        for (size_t i = 0; i < d; i++)
            eps[i * D] -= part * u->u[i];
    }
}

static void predict_draws(struct drawer *w, size_t stop, const double *turn)
{
    size_t d = w->k->d, D = w->p->draws;
    double *free = w->next + d * D, *swap = w->eps;
    draw_normals(w, stop, free);
    for (size_t i = 0; i < d; i++)
        for (size_t n = 0; n < D; n++) {
            double sum = 0.0;
            for (size_t j = 0; j < d; j++)
                sum += turn[2 * i * d + j] * w->eps[j * D + n] +
                       turn[2 * i * d + d + j] * free[j * D + n];
            w->next[i * D + n] = sum;
        }
    memcpy(swap, w->next, d * D * sizeof *swap);
}

/* Mean, deviation and draws of a requested time at its stop. */
static void report(const struct drawer *w, const struct record *r, size_t row)
{
    const struct normal_paths *p = w->p;
    size_t d = w->k->d, states = w->k->states;
    adjoint_smooth(d, &w->a, r, w->room);
    for (size_t i = 0; i < states; i++) {
        p->mean[i * p->rows + row] = w->a.mean[i];
        p->sd[i * p->rows + row] = sqrt(fmax(w->a.cov[i * (d + 1)], 0.0));
        for (size_t n = 0; n < p->draws; n++) {
            double z = r->mean[i];
            for (size_t j = 0; j < d; j++)
                z += r->S[i * d + j] * w->eps[j * p->draws + n];
            p->draw[(n * states + i) * p->rows + row] = z;
        }
    }
}

static void report_stop(struct drawer *w, size_t stop, const struct record *r)
{
    const struct stop *here = &w->k->stops.stop[stop];
    const struct normal_paths *p = w->p;
    while (w->row && p->track[w->row - 1] == here->track &&
           (p->time[w->row - 1] >= here->time ||
            is_same(p->time[w->row - 1], here->time)))
        report(w, r, --w->row);
}

static void walk_back(struct drawer *w, size_t track)
{
    const struct kalman *k = w->k;
    size_t d = k->d, first = k->stops.first[track];
    double *unit = w->room + 4 * d * d;
    adjoint_start(d, &w->a);
    for (size_t n = k->stops.first[track + 1]; n-- > first;) {
        struct record r = kalman_record(k, n, 0);
        if (stop_is_last(&k->stops, n))
            draw_normals(w, k->stops.count + n, w->eps);
        report_stop(w, n, &r);
        for (size_t i = kalman_updates(k, &r); i-- > 0;) {
            const struct update *u = &r.update[i];
            adjoint_update(d, &w->a, u, kalman_row(k, n, u->which, unit), NULL,
                           w->room);
            update_draws(w, u);
        }
        if (n == first) break;
        struct record before = kalman_record(k, n - 1, 0);
        adjoint_predict(d, &w->a, k->Phi + k->transition[n] * d * d, &before,
                        &r, NULL, NULL, NULL, w->room);
        predict_draws(w, n, r.turn);
    }
}

static int draw_all(const struct kalman *k, const struct task *t,
                    const struct normal_paths *p)
{
    size_t d = k->d, tracks = k->stops.gaps.series->tracks;
    struct drawer w = {.k = k, .p = p, .task = t, .row = p->rows};
    double *adjoint = NULL;
    const struct arena_part part[] = {{&adjoint, adjoint_size(d)},
                                      {&w.room, 4 * d * d + 2 * d},
                                      {&w.eps, d * p->draws},
                                      {&w.next, 2 * d * p->draws}};
    if (arena_lay(&w.arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    w.a = adjoint_at(d, adjoint);
    for (size_t r = tracks; r-- > 0;)
        walk_back(&w, r);
    arena_free(&w.arena);
    return 0;
}

int kalman_normal(const struct task *t, const struct normal_paths *p)
{
    struct kalman k = {0};
    struct stops stops = {0};
    int status = stops_init(&stops, t->model, t->series);
    if (!status) status = merge_stops(&stops, p);
    if (!status) status = run(&k, t, &stops);
    if (!status) status = draw_all(&k, t, p);
    kalman_free(&k);
    stops_free(&stops);
    return status;
}
