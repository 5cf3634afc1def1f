/* SPDX-License-Identifier: MIT */
/* Between reactions a state stands still. With rates that do not depend on time
 * the waiting time is exponential with the sum of the rates, and reaction j is
 * the next one with a probability that is proportional to its rate. Rates that
 * depend on time are thinned: candidates come with a constant rate, twice that
 * at the present or at the end of the step, whichever is larger, and each is a
 * reaction with probability (sum of the rates then) / (that rate). This is
 * exact as long as rates stay below it; where one is found above, the track is
 * given up.
 *
 * A reaction that would make a state negative does not happen, whatever its
 * rate is.
 *
 * All tracks of a block go on by one candidate at a time, so that their rates
 * are evaluated together; those that have reached the end drop out. */
#include "simulate/reactor.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static const double HEADROOM = 2.0;

/* Points are filled up to whole vectors: see tracks.c. */
enum { VECTOR = 8 };

/* --- Making --------------------------------------------------------------- */

static size_t count_changes(const struct spec *s)
{
    size_t n = 0;
    for (size_t r = 0; r < s->reactions; r++)
        for (size_t i = 0; i < s->dim; i++)
            n += s->reaction[r].change[i] != 0.0;
    return n;
}

static void list_changes(struct reactor *e, const struct spec *s)
{
    size_t n = 0;
    for (size_t r = 0; r < s->reactions; r++) {
        e->first[r] = n;
        for (size_t i = 0; i < s->dim; i++) {
            if (s->reaction[r].change[i] == 0.0) continue;
            e->row[n] = i;
            e->by[n++] = s->reaction[r].change[i];
        }
    }
    e->first[s->reactions] = n;
}

int reactor_init(struct reactor *e, const struct field *f, size_t P)
{
    const struct spec *s = f->spec;
    size_t changes = count_changes(s);
    *e = (struct reactor){.field = f,
                          .sampler = NEW(struct sampler, P),
                          .track = NEW(size_t, P),
                          .first = NEW(size_t, s->reactions + 1),
                          .row = NEW(size_t, changes)};
    const struct arena_part part[] = {{&e->by, changes},
                                      {&e->now, P},
                                      {&e->next, P},
                                      {&e->z, s->dim * P},
                                      {&e->a, s->reactions * P},
                                      {&e->total, P},
                                      {&e->bound, P},
                                      {&e->time, P},
                                      {&e->input, s->inputs * P},
                                      {&e->slope, s->inputs * P}};
    if (!e->sampler || !e->track || !e->first || !e->row ||
        arena_lay(&e->arena, sizeof part / sizeof *part, part) ||
        workspace_init(&e->rate, f->rates.program, P, false, false))
        return GSV_NO_MEMORY;
    list_changes(e, s);
    return 0;
}

void reactor_free(struct reactor *e)
{
    workspace_free(&e->rate);
    arena_free(&e->arena);
    MEM_FREE(e->sampler, e->track, e->first, e->row);
    *e = (struct reactor){0};
}

void reactor_begin(struct reactor *e, uint64_t seed, size_t first, size_t P)
{
    const struct random_key key = {.seed = seed, .purpose = RANDOM_REACTION};
    for (size_t p = 0; p < P; p++)
        sampler_start(&e->sampler[p], &key, first + p);
    e->outrun = false;
}

/* --- Rates ---------------------------------------------------------------- */

/* Whether a reaction leaves all states at 0 or above; x is strided. */
static bool is_possible(const struct reactor *e, size_t r, const double *x,
                        size_t stride)
{
    for (size_t k = e->first[r]; k < e->first[r + 1]; k++)
        if (e->by[k] < 0.0 && x[e->row[k] * stride] + e->by[k] < 0.0)
            return false;
    return true;
}

/* The rates of point q of Q to column q of a, and their sum: not finite where
 * one of them is not. */
static double keep_rates(struct reactor *e, const double *rate, size_t q,
                         size_t Q)
{
    size_t R = e->field->spec->reactions;
    double sum = 0.0;
    for (size_t r = 0; r < R; r++) {
        double a = rate[r * Q + q];
        if (a <= 0.0 || !is_possible(e, r, e->z + q, Q)) a = 0.0;
        e->a[r * Q + q] = a;
        sum += a;
    }
    return sum;
}

/* Of the list's Q points, at the times of each track: to a and total. */
static void evaluate(struct reactor *e, const struct stepper *s, size_t Q,
                     const double *when, bool before)
{
    const struct function *f = &e->field->rates;
    size_t inputs = e->field->spec->inputs;
    for (size_t q = 0; q < Q; q++) {
        e->time[q] = when[q];
        if (inputs)
            gap_inputs(&e->field->inputs, s->track, when[q], before,
                       e->input + q, e->slope + q, Q);
    }
    const struct points in = {.P = Q,
                              .state = e->z,
                              .time = e->time,
                              .input = e->input,
                              .slope = e->slope,
                              .own = s->own,
                              .own_first = s->own_first,
                              .own_stride = s->own_stride};
    program_forward(f->program, &f->uniforms, &e->rate, &in);
    const double *rate = program_output(f->program, &e->rate, Q, 0);
    for (size_t q = 0; q < Q; q++)
        e->total[q] = keep_rates(e, rate, q, Q);
}

/* --- Exactly -------------------------------------------------------------- */

/* The states of the n tracks of the list, filled up with the last one. Returns
 * the number of points. Numbers of gps belong to points, so that the list must
 * then be that of all tracks. */
static size_t gather(struct reactor *e, const struct stepper *s, size_t n)
{
    size_t P = s->P, Q = (n + VECTOR - 1) / VECTOR * VECTOR;
    for (size_t i = 0; i < e->field->spec->dim; i++)
        for (size_t q = 0; q < Q; q++)
            e->z[i * Q + q] = s->x[i * P + e->track[q < n ? q : n - 1]];
    return Q;
}

/* Candidates for the next reactions, at `next`, with the rates then. */
static void find_candidates(struct reactor *e, const struct stepper *s,
                            size_t n, size_t Q, double end)
{
    bool moves = e->field->rates_move;
    for (size_t q = 0; q < Q; q++)
        e->next[q] = moves ? end : e->now[e->track[q < n ? q : n - 1]];
    evaluate(e, s, Q, e->next, moves);
    for (size_t q = 0; q < Q; q++)
        e->bound[q] = e->total[q];
    if (moves) {
        for (size_t q = 0; q < Q; q++)
            e->next[q] = e->now[e->track[q < n ? q : n - 1]];
        evaluate(e, s, Q, e->next, false);
        for (size_t q = 0; q < Q; q++)
            e->bound[q] = HEADROOM * fmax(e->bound[q], e->total[q]);
    }
    for (size_t q = 0; q < n; q++) {
        struct sampler *u = &e->sampler[e->track[q]];
        double wait = e->bound[q] > 0.0 && e->next[q] < end
                          ? -log(sampler_uniform(u)) / e->bound[q]
                          : INFINITY;
        e->next[q] = fmin(e->next[q] + wait, end);
    }
    for (size_t q = n; q < Q; q++)
        e->next[q] = e->next[n - 1];
    if (moves) evaluate(e, s, Q, e->next, false);
}

/* The reaction that a candidate is, or how many there are if it is none. */
static size_t choose(const struct reactor *e, size_t q, size_t Q, double u)
{
    size_t R = e->field->spec->reactions, last = R;
    double left = u * e->bound[q];
    for (size_t r = 0; r < R; r++) {
        double a = e->a[r * Q + q];
        if (a > 0.0) last = r;
        left -= a;
        if (left < 0.0) return r;
    }
    /* Without thinning, only rounding comes here. */
    return e->field->rates_move ? R : last;
}

static void apply(const struct reactor *e, size_t r, double times, double *x,
                  size_t stride)
{
    for (size_t k = e->first[r]; k < e->first[r + 1]; k++)
        x[e->row[k] * stride] += times * e->by[k];
}

/* Track q of the list to its candidate. False where it is lost. */
static bool advance(struct reactor *e, struct stepper *s, size_t q, size_t Q,
                    double end)
{
    size_t p = e->track[q], R = e->field->spec->reactions;
    double before = e->now[p];
    e->now[p] = e->next[q];
    if (before >= end) return true;
    if (!isfinite(e->total[q]) || !isfinite(e->bound[q])) return false;
    if (e->next[q] >= end) return true;
    e->outrun = e->total[q] > e->bound[q] * (1.0 + 1e-12);
    /* Reactions without end: each is nearer than a double can say. */
    if (e->outrun || !(e->next[q] > before)) return false;
    size_t r = choose(e, q, Q, sampler_uniform(&e->sampler[p]));
    if (r < R) apply(e, r, 1.0, s->x + p, s->P);
    return true;
}

/* Those that have not reached the end. */
static size_t list_tracks(struct reactor *e, const struct stepper *s,
                          size_t tracks, double end)
{
    size_t n = 0;
    for (size_t p = 0; p < tracks; p++)
        if (e->now[p] < end) e->track[n++] = p;
    if (!n || !s->own) return n;
    for (size_t p = 0; p < tracks; p++)
        e->track[p] = p;
    return tracks;
}

bool reactor_exact(struct reactor *e, struct stepper *s,
                   const struct step *step, size_t tracks, size_t *lost)
{
    for (size_t p = 0; p < s->P; p++)
        e->now[p] = step->t;
    for (size_t n; (n = list_tracks(e, s, tracks, step->end)) > 0;) {
        size_t Q = gather(e, s, n);
        find_candidates(e, s, n, Q, step->end);
        for (size_t q = 0; q < n; q++)
            if (!advance(e, s, q, Q, step->end)) {
                *lost = e->track[q];
                return false;
            }
    }
    return true;
}

/* --- In leaps ------------------------------------------------------------- */

/* How often a reaction can happen before a state is negative. */
static double most_times(const struct reactor *e, size_t r, const double *x,
                         size_t stride)
{
    double most = INFINITY;
    for (size_t k = e->first[r]; k < e->first[r + 1]; k++)
        if (e->by[k] < 0.0)
            most = fmin(most, floor(x[e->row[k] * stride] / -e->by[k]));
    return fmax(most, 0.0);
}

/* Poisson numbers of reactions with the rates at the states of the left end and
 * the time of the middle. No more happen than the states allow, those that come
 * first in the model first. */
bool reactor_leap(struct reactor *e, struct stepper *s, const struct step *step,
                  size_t tracks, size_t *lost)
{
    size_t P = s->P, R = e->field->spec->reactions;
    const double *rate = stepper_run(s, &e->field->rates, &e->rate,
                                     step->t + 0.5 * step->h, false, s->x);
    for (size_t p = 0; p < tracks; p++)
        for (size_t r = 0; r < R; r++) {
            double mean = step->h * rate[r * P + p];
            if (!isfinite(mean)) {
                *lost = p;
                return false;
            }
            if (mean <= 0.0) continue;
            double times = sampler_poisson(&e->sampler[p], mean);
            double most = most_times(e, r, s->x + p, P);
            apply(e, r, fmin(times, most), s->x + p, P);
        }
    return true;
}
