/* SPDX-License-Identifier: MIT */
/* The Kalman filter as an estimator: memory, the tracks forward and, for the
 * gradient, backward. */
#include "kalman/kalman.h"

#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/lanes.h"
#include "base/small.h"

/* Steps of a gap in which coefficients change in any way. */
enum { USUAL_STEPS = 8 };

/* Lanes of tracks. */
enum { SHARES = 64 };

/* The deviation of a law that says nothing, in deviations of the data. */
static const double FLAT = 1e4;

/* --- How coefficients change ---------------------------------------------- */

static int find_motion(const gsv_model *m, enum motion *motion)
{
    const node part[] = {m->linear.A, m->linear.G, m->linear.b};
    bool moves[3] = {0}, straight = false;
    int status = 0;
    for (size_t i = 0; !status && i < 3; i++)
        status = spec_moves(m->spec, part[i], &moves[i], &straight);
    *motion = moves[0] || moves[1] ? MOTION_ANY
              : !moves[2]          ? MOTION_NONE
              : straight           ? MOTION_DRIFT
                                   : MOTION_FORCE;
    return status;
}

bool kalman_is_exact(const gsv_model *m)
{
    enum motion motion;
    return !find_motion(m, &motion) && motion != MOTION_ANY;
}

/* --- Setting up ----------------------------------------------------------- */

static int formula_init(struct formula *f, const struct kalman *k,
                        size_t outputs, const node *output)
{
    const struct spec *s = k->model->spec;
    f->program =
        program_new(s->graph, outputs, output, s->parameters, k->options.wide);
    if (!f->program || uniforms_init(&f->uniforms, f->program))
        return GSV_NO_MEMORY;
    f->bar = NEW(double, program_uniforms(f->program));
    return f->bar ? 0 : GSV_NO_MEMORY;
}

static void formula_free(struct formula *f)
{
    uniforms_free(&f->uniforms);
    program_free(f->program);
    mem_free(f->bar);
}

static int make_formulas(struct kalman *k)
{
    const struct spec *s = k->model->spec;
    const struct linear_form *l = &k->model->linear;
    const node dynamics[] = {l->A, l->b, l->G};
    const node seen[] = {l->H, l->offset, l->deviation};
    const node first[] = {s->init_mean, s->init_deviation};
    int status = formula_init(&k->dynamics, k, 3, dynamics);
    if (!status && k->p) status = formula_init(&k->seen, k, 3, seen);
    const node leap[] = {l->J, l->j};
    if (!status && s->events) status = formula_init(&k->leap, k, 2, leap);
    if (!status) status = formula_init(&k->first, k, 2, first);
    if (status) return status;
    k->first_moves =
        graph_moves(s->graph, first[0]) || graph_moves(s->graph, first[1]);
    return workspace_init(&k->first_space, k->first.program, 1,
                          k->options.gradient, false);
}

static size_t stop_bars(const struct kalman *k)
{
    return 2 * k->d * k->d + k->d + k->p * (k->d + 2);
}

static int make_memory(struct kalman *k)
{
    size_t d = k->d, dd = d * d, n = k->stops.count, T = k->transitions;
    size_t records = k->keep ? n : 2 * k->threads;
    size_t bars = k->options.gradient ? 1 : 0;
    size_t tracks = k->stops.gaps.series->tracks;
    const struct arena_part part[] = {
        {&k->increment, n},
        {&k->nothing, n},
        {&k->Phi, T * dd},
        {&k->c, T * d},
        {&k->root, T * dd},
        {&k->H, k->views * k->p * d},
        {&k->offset, k->views * k->p},
        {&k->deviation, k->views * k->p},
        {&k->first_mean, tracks * d},
        {&k->first_deviation, tracks * d},
        {&k->flat, d},
        {&k->tape, records * record_size(d, k->updates)},
        {&k->stop_bar, bars * n * stop_bars(k)},
        {&k->track_bar, bars * tracks * 2 * d},
        {&k->transition_bar, bars * T * (2 * dd + d)},
        {&k->view_bar, bars * k->views * k->p * (d + 2)}};
    k->bad = NEW(bool, T + 1);
    k->update = NEW(struct update, records * k->updates + 1);
    if (!k->bad || !k->update ||
        arena_lay(&k->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    return 0;
}

/* The spread of a state's column, at least 1 of its size. */
static void measure_flat(struct kalman *k)
{
    const struct stops *s = &k->stops;
    for (size_t i = 0; i < k->states; i++) {
        double most = 1e-300;
        for (size_t n = 0; n < s->count; n++) {
            double x = gaps_state(&s->gaps, i, s->stop[n].row);
            if (!isnan(x)) most = fmax(most, fabs(x));
        }
        k->flat[i] = FLAT * most;
    }
}

int kalman_make(struct kalman *k, const gsv_model *m, const gsv_series *series,
                const gsv_options *o, bool keep, struct stops *stops)
{
    const struct spec *spec = m->spec;
    *k = (struct kalman){
        .model = m,
        .options = *o,
        .d = spec->dim + spec->integrals,
        .states = spec->dim,
        .p = spec->observations,
        .updates = spec->observations + spec->dim - spec_latent(spec),
        .noises = graph_info(spec->graph, m->linear.G)->columns,
        .keep = keep || o->gradient};
    int status = find_motion(m, &k->motion);
    if (stops) k->stops = *stops;
    if (stops) *stops = (struct stops){0};
    else if (!status) status = stops_init(&k->stops, m, series);
    k->stops.cuts_events = true;
    if (!status && k->motion == MOTION_ANY)
        status =
            stops_divide(&k->stops, o->steps ? o->steps : USUAL_STEPS, o->step);
    if (!status) status = make_formulas(k);
    if (!status) status = coefficients_share(k);
    if (!status) status = coefficients_init(k);
    if (!status) status = make_memory(k);
    if (!status) measure_flat(k);
    return status;
}

static int kalman_init(struct kalman *k, const gsv_model *m,
                       const gsv_series *series, const gsv_options *o)
{
    return kalman_make(k, m, series, o, false, NULL);
}

void kalman_free(struct kalman *k)
{
    coefficients_free(k);
    workspace_free(&k->first_space);
    formula_free(&k->dynamics);
    formula_free(&k->seen);
    formula_free(&k->leap);
    formula_free(&k->first);
    stops_free(&k->stops);
    MEM_FREE(k->transition, k->view, k->gap_of, k->row_of, k->bad, k->update);
    arena_free(&k->arena);
}

/* --- Forward -------------------------------------------------------------- */

struct record kalman_record(const struct kalman *k, size_t stop, size_t thread)
{
    size_t at = k->keep ? stop : 2 * thread + stop % 2;
    struct record r = record_at(k->d, k->updates,
                                k->tape + at * record_size(k->d, k->updates),
                                k->update + at * k->updates);
    if (!k->keep) r.turn = NULL;
    return r;
}

/* Updates that were not made have s = 0. */
size_t kalman_updates(const struct kalman *k, const struct record *r)
{
    size_t n = 0;
    while (n < k->updates && r->update[n].s > 0.0)
        n++;
    return n;
}

const double *kalman_row(const struct kalman *k, size_t stop, size_t which,
                         double *unit)
{
    if (which < k->p) return k->H + (k->view[stop] * k->p + which) * k->d;
    memset(unit, 0, k->d * sizeof *unit);
    unit[which - k->p] = 1.0;
    return unit;
}

/* The first law. Of a state that is a column it is what was observed, which has
 * no density here; where that is missing, every value is alike: a wide law,
 * whose density at its middle is taken out again, to *log_flat. */
static void start(const struct kalman *k, size_t stop, struct record *r,
                  double *log_flat)
{
    size_t d = k->d, law = k->stops.stop[stop].track * d;
    memset(r->S, 0, d * d * sizeof *r->S);
    memset(r->mean, 0, d * sizeof *r->mean);
    *log_flat = 0.0;
    for (size_t i = 0; i < k->states; i++) {
        double x = gaps_state(&k->stops.gaps, i, k->stops.stop[stop].row);
        bool latent = k->model->spec->latent[i];
        r->mean[i] = latent ? k->first_mean[law + i] : isnan(x) ? 0.0 : x;
        if (latent) r->S[i * (d + 1)] = k->first_deviation[law + i];
        else if (isnan(x)) {
            r->S[i * (d + 1)] = k->flat[i];
            *log_flat += 0.5 * LOG_TWO_PI + log(k->flat[i]);
        }
    }
    r->updates = 0;
}

/* A state that is a column: its law is a point then. */
static double observe_exact(const struct kalman *k, size_t stop, size_t i,
                            double *unit, struct record *r)
{
    size_t d = k->d;
    double x = gaps_state(&k->stops.gaps, i, k->stops.stop[stop].row);
    if (isnan(x)) return 0.0;
    kalman_row(k, stop, k->p + i, unit);
    double log_p = filter_observe(d, unit, 0.0, x, r, k->p + i);
    r->mean[i] = x;
    memset(r->S + i * d, 0, d * sizeof *r->S);
    return log_p;
}

/* What a row adds. Exact states first: they leave less to be found. */
static double observe(const struct kalman *k, size_t stop, double *unit,
                      struct record *r)
{
    const struct spec *s = k->model->spec;
    const struct stop *here = &k->stops.stop[stop];
    bool begins = stop_is_first(&k->stops, stop);
    double sum = 0.0;
    if (here->row == NO_ROW) return 0.0;
    for (size_t i = 0; !begins && i < k->states; i++)
        if (!s->latent[i]) sum += observe_exact(k, stop, i, unit, r);
    for (size_t j = 0; j < k->p; j++) {
        double y = gaps_value(&k->stops.gaps, s->obs[j].value, here->row);
        size_t at = k->view[stop] * k->p + j;
        if (isnan(y) || (begins && s->obs[j].integrated && !s->init_timed))
            continue;
        sum += filter_observe(k->d, k->H + at * k->d,
                              k->deviation[at] * k->deviation[at],
                              y - k->offset[at], r, j);
    }
    return sum;
}

static void filter_track(struct kalman *k, size_t track, size_t thread)
{
    size_t d = k->d, end = k->stops.first[track + 1];
    double *room = coefficients_room(k, thread), *unit = room + 4 * d * d;
    struct record before = {0};
    for (size_t n = k->stops.first[track]; n < end; n++) {
        struct record r = kalman_record(k, n, thread);
        double flat = 0.0;
        if (n == k->stops.first[track]) start(k, n, &r, &flat);
        else {
            size_t j = k->transition[n];
            filter_predict(d, k->Phi + j * d * d, k->c + j * d,
                           k->root + j * d * d, &before, &r, room);
        }
        k->increment[n] = flat + observe(k, n, unit, &r);
        if (!isfinite(k->increment[n])) break;
        if (k->keep)
            for (size_t i = r.updates; i < k->updates; i++)
                r.update[i].s = 0.0; /* none */
        before = r;
    }
}

/* --- Backward ------------------------------------------------------------- */

static void update_bars(const struct kalman *k, size_t stop,
                        const struct record *r, const struct adjoint *a,
                        double *bar, double *room)
{
    size_t d = k->d, p = k->p;
    double *H_bar = bar, *offset_bar = bar + p * d, *unit = room + d;
    double *deviation_bar = offset_bar + p;
    for (size_t i = kalman_updates(k, r); i-- > 0;) {
        const struct update *u = &r->update[i];
        bool noisy = u->which < p;
        const double *h = kalman_row(k, stop, u->which, unit);
        struct update_bar b = adjoint_update(
            d, a, u, h, noisy ? H_bar + u->which * d : NULL, room);
        if (!noisy) continue;
        offset_bar[u->which] = b.offset;
        deviation_bar[u->which] =
            2.0 * k->deviation[k->view[stop] * p + u->which] * b.rho;
    }
}

static void first_bars(const struct kalman *k, size_t track,
                       const struct adjoint *a)
{
    size_t d = k->d;
    double *mean_bar = k->track_bar + track * 2 * d;
    for (size_t i = 0; i < k->states; i++) {
        bool latent = k->model->spec->latent[i];
        mean_bar[i] = latent ? a->r[i] : 0.0;
        mean_bar[d + i] = latent ? k->first_deviation[track * d + i] *
                                       (a->r[i] * a->r[i] - a->M[i * (d + 1)])
                                 : 0.0;
    }
}

static void return_track(struct kalman *k, size_t track, size_t thread)
{
    size_t d = k->d, dd = d * d, size = stop_bars(k);
    size_t first = k->stops.first[track], end = k->stops.first[track + 1];
    double *room = coefficients_room(k, thread);
    const struct adjoint a = adjoint_at(d, room + 4 * dd + 2 * d);
    adjoint_start(d, &a);
    for (size_t n = end; n-- > first;) {
        struct record r = kalman_record(k, n, thread);
        double *bar = k->stop_bar + n * size, *view = bar + 2 * dd + d;
        memset(bar, 0, size * sizeof *bar);
        if (k->p) adjoint_smooth(d, &a, &r, room);
        update_bars(k, n, &r, &a, view, room);
        if (n == first) break;
        struct record before = kalman_record(k, n - 1, thread);
        adjoint_predict(d, &a, k->Phi + k->transition[n] * dd, &before, &r, bar,
                        bar + dd, bar + dd + d, room);
    }
    if (end > first) first_bars(k, track, &a);
}

/* Sums over stops and tracks, in their order. */
static void add_bars(struct kalman *k)
{
    size_t d = k->d, all = stop_bars(k), step = 2 * d * d + d;
    size_t view = all - step, tracks = k->stops.gaps.series->tracks;
    memset(k->transition_bar, 0,
           k->transitions * step * sizeof *k->transition_bar);
    if (view) memset(k->view_bar, 0, k->views * view * sizeof *k->view_bar);
    for (size_t n = 0; n < k->stops.count; n++) {
        const double *bar = k->stop_bar + n * all;
        double *to = k->transition_bar + k->transition[n] * step;
        for (size_t e = 0; !stop_is_first(&k->stops, n) && e < step; e++)
            to[e] += bar[e];
        if (k->stops.stop[n].row == NO_ROW) continue;
        double *at = k->view_bar + k->view[n] * view;
        for (size_t e = 0; e < view; e++)
            at[e] += bar[step + e];
    }
    for (size_t r = 1; !k->first_moves && r < tracks; r++)
        for (size_t e = 0; e < 2 * d; e++)
            k->track_bar[e] += k->track_bar[r * 2 * d + e];
}

/* --- Runs ----------------------------------------------------------------- */

struct tour {
    struct kalman *k;
    size_t tracks, lanes;
    bool back;
};

static void tour_tracks(void *context, size_t lane, size_t thread)
{
    const struct tour *t = context;
    size_t end = lanes_first(lane + 1, t->lanes, t->tracks);
    for (size_t r = lanes_first(lane, t->lanes, t->tracks);
         r < end && !halt_asked(); r++)
        if (t->back) return_track(t->k, r, thread);
        else filter_track(t->k, r, thread);
}

static int run_tracks(struct kalman *k, bool back)
{
    size_t tracks = k->stops.gaps.series->tracks;
    struct tour t = {k, tracks, tracks < SHARES ? tracks : SHARES, back};
    return lanes_run(t.lanes, k->threads,
                     &(struct lanes_job){.context = &t, .work = tour_tracks});
}

static int check_rows(const struct kalman *k)
{
    const struct stops *s = &k->stops;
    for (size_t n = 0; n < s->count; n++) {
        if (isfinite(k->increment[n])) continue;
        return fail(GSV_NUMERICAL,
                    "the log-likelihood of series '%s' is %g at time %g: the "
                    "law of what was observed there has no variance, or is "
                    "not finite; check the model's noise, its parameters and "
                    "the data",
                    s->gaps.series->label[s->stop[n].track], k->increment[n],
                    s->stop[n].time);
    }
    return 0;
}

int kalman_forward(struct kalman *k)
{
    int status = coefficients_make(k);
    memset(k->increment, 0, k->stops.count * sizeof *k->increment);
    if (!status) status = run_tracks(k, false);
    return status ? status : check_rows(k);
}

static int kalman_run(struct kalman *k, const double *reference,
                      uint32_t iteration, double *gradient)
{
    (void)reference, (void)iteration;
    int status = kalman_forward(k);
    if (status || !gradient) return status;
    memset(k->track_bar, 0,
           2 * k->d * k->stops.gaps.series->tracks * sizeof *k->track_bar);
    status = run_tracks(k, true);
    if (status) return status;
    add_bars(k);
    return coefficients_gradient(k, gradient);
}

static int kalman_fill(const struct kalman *k, gsv_result *r)
{
    r->observe = GSV_OBSERVE_KALMAN;
    r->paths = 1;
    r->drift_evaluations = k->transitions * (k->motion == MOTION_NONE ? 1 : 2);
    for (size_t n = 0; n < k->stops.count; n++)
        k->nothing[n] = 0.0;
    int status =
        stops_fill(&k->stops, k->increment, k->nothing, k->nothing, 0, NULL, r);
    r->ess_min = 1.0;
    for (size_t i = 0; !status && i < r->groups; i++)
        r->gap[i].ess = 1.0;
    return status;
}

/* --- The method ----------------------------------------------------------- */

static int accept(const struct method *row, const struct task *t)
{
    const struct linear_form *l = &t->model->linear;
    int status = rows_accept(row, t);
    if (status || l->is) return status;
    return fail(GSV_BAD_INPUT,
                "the Kalman filter is for linear equations with normal "
                "observations, but %s; choose another estimator (--observe)",
                l->why);
}

ROWS_FUNCTIONS(kalman)

static struct slots slots_of(const void *machine, size_t *unit)
{
    struct slots s = rows_slots(machine, unit);
    s.random = false;
    return s;
}

/* What steps twice as long would change; nothing where they are exact. */
static int look_at_steps(const struct kalman *k, gsv_result *r)
{
    struct kalman half;
    gsv_options o = k->options;
    double sum = 0.0;
    if (k->motion != MOTION_ANY || r->steps < 2) return 0;
    o.gradient = false;
    o.steps = ((o.steps ? o.steps : USUAL_STEPS) + 1) / 2;
    o.step *= 2.0;
    int status = kalman_init(&half, k->model, k->stops.gaps.series, &o);
    if (!status) status = kalman_forward(&half);
    for (size_t n = 0; !status && n < half.stops.count; n++)
        sum += half.increment[n];
    if (!status) r->discretisation = r->loglik - sum;
    kalman_free(&half);
    return status == GSV_NUMERICAL ? 0 : status;
}

static int fill_steps(void *machine, const struct request *q, bool list,
                      gsv_result *r)
{
    int status = method_fill(machine, q, list, r);
    return status || !list ? status : look_at_steps(machine, r);
}

const struct method METHOD_KALMAN = {.name = "kalman",
                                     .size = sizeof(struct kalman),
                                     .jumps = true,
                                     .accept = accept,
                                     .init = method_init,
                                     .free = method_free,
                                     .run = method_run,
                                     .fill = fill_steps,
                                     .slots = slots_of,
                                     .units = rows_units,
                                     .track_logs = rows_track_logs,
                                     .filter = kalman_filter,
                                     .normal = kalman_normal,
                                     .ahead = kalman_ahead};
