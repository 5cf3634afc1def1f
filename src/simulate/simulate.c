/* SPDX-License-Identifier: MIT */
/* Tracks of a model: blocks of tracks (tracks.h) go from one output time to the
 * next in equal steps, in the coordinates of the equations; the result is in
 * those of the data. A seed gives the same bits on any number of threads, and a
 * track is the same however many others there are. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/linalg.h"
#include "base/option_rules.h"
#include "base/random.h"
#include "data/series.h"
#include "model/levels.h"
#include "simulate/by_series.h"
#include "simulate/first.h"
#include "simulate/outcome.h"
#include "simulate/schedule.h"
#include "simulate/simulate.h"
#include "simulate/tracks.h"

/* How often a start outside of the domain is drawn again. */
enum { MOST_DRAWS = 1000 };

/* What ended a block before its time. */
enum loss_kind {
    LOST_NOTHING,
    LOST_START, /* began outside of the domain              */
    LOST_JUMP,  /* left the domain by an event              */
    LOST_TRACK, /* is not finite                            */
    LOST_RATE,  /* a rate grew too much within a step       */
    LOST_LAW    /* an observation's law has no such argument */
};

struct loss {
    enum loss_kind kind;
    size_t track, obs;
    double time;
};

struct simulation {
    gsv_simulate_options all;      /* with the times of events as well */
    const gsv_simulate_options *o; /* these                            */
    struct schedule schedule;      /* their times                      */
    const struct scheme *scheme;
    struct field field;
    struct emitter emitter;
    struct ensemble ensemble; /* a block of functions for each thread */
    size_t d;
    struct first first; /* their law, where none are given */
    bool random_start;  /* whether they are drawn          */
    bool *counts;  /* (dim) which states are whole numbers in this scheme */
    bool one_step; /* whether steps change nothing: one in each gap       */
    double step;
    size_t blocks, threads;
    struct tracks *worker; /* (threads)                                 */
    struct loss *loss;     /* (blocks)                                  */
    struct outcome outcome;
};

/* --- Options ------------------------------------------------------------ */

static int check_times(const gsv_simulate_options *o)
{
    if (o->times < 1 || !o->time)
        return fail(GSV_BAD_INPUT,
                    "there are no times to simulate at; give at least one");
    for (size_t k = 0; k < o->times; k++) {
        if (!isfinite(o->time[k]))
            return fail(GSV_BAD_INPUT, "time %zu is %g, but must be finite",
                        k + 1, o->time[k]);
        if (k && !(o->time[k] > o->time[k - 1]))
            return fail(GSV_BAD_INPUT,
                        "time %zu is %.17g, which is not after time %zu, "
                        "%.17g; times must increase",
                        k + 1, o->time[k], k, o->time[k - 1]);
    }
    return 0;
}

static int check_start(const gsv_simulate_options *o, const struct spec *spec)
{
    for (size_t i = 0; o->start && i < spec->dim; i++)
        for (size_t r = 0; r < o->tracks; r++)
            if (!isfinite(o->start[i * o->tracks + r]))
                return fail(GSV_BAD_INPUT,
                            "'%s' starts at %g in track %zu, but must be "
                            "finite",
                            spec->column[i], o->start[i * o->tracks + r],
                            r + 1);
    return 0;
}

/* --- Steps -------------------------------------------------------------- */

/* Steps of a gap, as a double: there may be too many. A gap that is a whole
 * number of steps but for rounding is not given one more. */
static double gap_steps(const struct simulation *s, double from, double to)
{
    if (s->one_step) return 1.0;
    double steps = ceil((to - from) / s->step * (1.0 - 1e-9));
    return steps < 1.0 ? 1.0 : steps;
}

/* The times that were asked for say what is short, not those of events. */
static double default_step(const struct simulation *s,
                           const gsv_simulate_options *asked)
{
    double before = asked->time[0] - s->schedule.begin;
    double shortest = before > 0.0 ? before : INFINITY;
    for (size_t k = 1; k < asked->times; k++)
        shortest = fmin(shortest, asked->time[k] - asked->time[k - 1]);
    return shortest / 32.0;
}

static int set_step(struct simulation *s, const gsv_simulate_options *asked)
{
    const gsv_simulate_options *o = s->o;
    s->step = o->step > 0.0 ? o->step : default_step(s, asked);
    double steps = gap_steps(s, s->schedule.begin, o->time[0]);
    for (size_t k = 1; k < o->times; k++)
        steps += gap_steps(s, o->time[k - 1], o->time[k]);
    if (steps <= TRACKS_MOST_STEPS) return 0;
    return fail(GSV_BAD_INPUT,
                "a step of %g%s takes %g steps from time %g to %g, but %g is "
                "the most; give a longer --step",
                s->step, o->step > 0.0 ? "" : " (1/32 of the shortest gap)",
                steps, s->schedule.begin, o->time[o->times - 1],
                TRACKS_MOST_STEPS);
}

/* --- Memory ------------------------------------------------------------- */

static int make_workers(struct simulation *s, const gsv_model *m)
{
    s->blocks = (s->o->tracks + TRACKS_BLOCK - 1) / TRACKS_BLOCK;
    s->threads = lanes_threads(s->o->threads);
    if (s->threads > s->blocks) s->threads = s->blocks;
    s->loss = NEW(struct loss, s->blocks);
    s->worker = NEW(struct tracks, s->threads);
    if (!s->loss || !s->worker) return GSV_NO_MEMORY;
    int status = ensemble_init(&s->ensemble, m, s->o->mean, s->o->seed,
                               s->threads * TRACKS_BLOCK, s->threads);
    for (size_t i = 0; !status && i < s->threads; i++)
        status = tracks_init(&s->worker[i], &s->field, &s->emitter, s->scheme,
                             s->o->tracks);
    return status;
}

/* The first states' law: what the options say; of latent states, where they
 * say nothing, that of the model. */
static int set_start(struct simulation *s, const gsv_model *m)
{
    const gsv_simulate_options *o = s->o;
    const struct spec *spec = m->spec;
    bool silent = !o->start && o->start_mean == 0.0 && o->start_sd == 0.0;
    double time = spec->init_timed ? spec->init_time : o->time[0];
    int status = silent && spec_is_latent(spec)
                     ? first_of_model(&s->first, m, &s->field.inputs, 0, time)
                     : first_normal(&s->first, m, o->start_mean, o->start_sd);
    s->random_start = !status && !o->start && first_is_random(&s->first);
    return status;
}

static bool is_count(double x)
{
    return x > -0.5 && fabs(x - rint(x)) <= 1e-9 * fmax(1.0, fabs(x));
}

/* Which states are counts: those that reactions change. They start from whole
 * numbers; what is drawn is rounded. */
static int set_counts(struct simulation *s, const struct spec *spec)
{
    const gsv_simulate_options *o = s->o;
    s->counts = NEW(bool, s->d);
    if (!s->counts) return GSV_NO_MEMORY;
    for (size_t i = 0; i < s->d; i++) {
        for (size_t j = 0; j < spec->reactions; j++)
            if (spec->reaction[j].change[i] != 0.0) s->counts[i] = true;
        for (size_t r = 0; s->counts[i] && r < o->tracks; r++) {
            double x =
                o->start ? o->start[i * o->tracks + r] : s->first.mean[i];
            if (is_count(x) || (!o->start && s->first.deviation[i] > 0.0))
                continue;
            return fail(GSV_BAD_INPUT,
                        "'%s' starts at %g in track %zu, but the scheme %s "
                        "needs whole numbers from 0 on: give another --x0",
                        spec->column[i], x, r + 1, s->scheme->name);
        }
    }
    return 0;
}

static int set_times(struct simulation *s)
{
    bool own = s->first.argument != NULL;
    int status = schedule_init(&s->schedule, s->o, &s->field.inputs, own);
    s->all = *s->o;
    s->all.time = s->schedule.time;
    s->all.times = s->schedule.times;
    s->o = &s->all;
    return status;
}

static int simulation_init(struct simulation *s, const gsv_model *m,
                           const gsv_simulate_options *o)
{
    *s = (struct simulation){.o = o, .d = m->spec->dim};
    int status = check_times(o);
    if (!status) status = check_start(o, m->spec);
    if (status) return status;
    s->scheme = &SCHEME_TABLE[o->scheme];
    if (s->scheme->react) status = refuse_equations(m, s->scheme->name);
    if (!status) status = field_init(&s->field, m, o->input);
    s->one_step = o->scheme == GSV_GILLESPIE && !s->field.rates_move &&
                  !m->spec->integrals;
    if (!status) status = set_start(s, m);
    if (!status && s->scheme->react) status = set_counts(s, m->spec);
    if (!status) status = set_times(s);
    if (!status) status = set_step(s, o);
    if (!status)
        status =
            emitter_init(&s->emitter, m, o->input, s->o->times, s->o->time);
    if (!status)
        status = outcome_init(&s->outcome, &s->field, s->o->tracks, s->o->times,
                              s->o->time);
    if (!status) status = make_workers(s, m);
    return status;
}

static void simulation_free(struct simulation *s)
{
    for (size_t i = 0; s->worker && i < s->threads; i++)
        tracks_free(&s->worker[i]);
    MEM_FREE(s->worker, s->loss, s->counts);
    outcome_free(&s->outcome);
    first_free(&s->first);
    schedule_free(&s->schedule);
    ensemble_free(&s->ensemble);
    emitter_free(&s->emitter);
    field_free(&s->field);
}

/* --- A block of tracks -------------------------------------------------- */

struct block {
    struct simulation *s;
    struct tracks *w;
    struct loss *loss;
};

static void lose(struct block *b, size_t p, double time, enum loss_kind kind)
{
    *b->loss =
        (struct loss){.kind = kind, .track = b->w->first + p, .time = time};
}

/* Attempt a of drawing starts: for the tracks that are not yet inside. */
static void draw_starts(struct block *b, uint32_t attempt, double *z)
{
    const struct simulation *s = b->s;
    struct stepper *x = &b->w->stepper;
    size_t P = x->P;
    const struct random_key key = {
        .seed = s->o->seed, .purpose = RANDOM_START, .iteration = attempt};
    random_normals(&key, 0, s->d, b->w->first, P, z);
    for (size_t i = 0; i < s->d * P; i++)
        if (!attempt || !x->arrived[i % P])
            x->x[i] =
                first_draw(&s->first, &key, i / P, b->w->first + i % P, z[i]);
}

/* Given starts are those of the data; the others are of the equations' state.
 * Tracks that only fill vectors start where the last one does. */
static void place_tracks(struct block *b)
{
    const gsv_simulate_options *o = b->s->o;
    struct stepper *s = &b->w->stepper;
    const struct field *f = &b->s->field;
    const struct random_key none = {0};
    size_t P = s->P, d = b->s->d;
    if (b->s->random_start) {
        draw_starts(b, 0, s->stage);
        return;
    }
    for (size_t i = 0; i < d * P; i++) {
        size_t p = i % P;
        size_t track = b->w->first + (p < b->w->count ? p : b->w->count - 1);
        s->x[i] = o->start ? o->start[i / P * o->tracks + track]
                           : first_draw(&b->s->first, &none, i / P, track, 0.0);
    }
    if (o->start && f->to_state.program)
        memcpy(
            s->x,
            stepper_run(s, &f->to_state, &s->to_state, o->time[0], false, s->x),
            d * P * sizeof *s->x);
}

/* A start of a scheme in whole numbers. */
static void round_starts(struct block *b)
{
    struct stepper *s = &b->w->stepper;
    for (size_t i = 0; b->s->counts && i < b->s->d * s->P; i++)
        if (b->s->counts[i / s->P]) s->x[i] = fmax(0.0, rint(s->x[i]));
}

/* False where a track begins outside of the domain. */
static bool start_tracks(struct block *b)
{
    double begin = b->s->schedule.begin;
    struct stepper *s = &b->w->stepper;
    bool inside = true;
    size_t lost;
    place_tracks(b);
    round_starts(b);
    if (b->s->field.state_noise) inside = stepper_enter(s, begin);
    for (uint32_t i = 1; b->s->random_start && !inside && i < MOST_DRAWS; i++) {
        draw_starts(b, i, s->stage);
        round_starts(b);
        inside = stepper_enter(s, begin);
    }
    for (size_t p = 0; !inside && p < b->w->count; p++)
        if (!s->arrived[p]) {
            lose(b, p, begin, LOST_START);
            return false;
        }
    if (!tracks_find_lost(b->w, s->x, &lost)) return true;
    lose(b, lost, begin, LOST_START);
    return false;
}

/* Over a time in which no input turns. */
static bool walk_piece(struct block *b, double from, double to)
{
    size_t n = (size_t)gap_steps(b->s, from, to), lost;
    double time;
    if (tracks_walk(b->w, from, to, n, &lost, &time)) return true;
    lose(b, lost, time, b->w->reactor.outrun ? LOST_RATE : LOST_TRACK);
    return false;
}

/* To time k from the one before, where events act first. No step goes across a
 * change of an input, which may be shorter than the step. */
static bool walk_gap(struct block *b, size_t k)
{
    const struct simulation *s = b->s;
    const struct gaps *g = &s->field.inputs;
    double from = k ? s->o->time[k - 1] : s->schedule.begin, to = s->o->time[k];
    size_t lost, row;
    if (!k && from == to) return true;
    emission_begin(&b->w->emission, b->w->stepper.P);
    if (k && !tracks_jump(b->w, from, &lost)) {
        lose(b, lost, from, LOST_JUMP);
        return false;
    }
    for (; (row = gaps_next_change(g, 0, from, to)) != NO_ROW;
         from = g->series->time[row])
        if (!walk_piece(b, from, g->series->time[row])) return false;
    return walk_piece(b, from, to);
}

/* The states at time k, in the data's coordinates. A start that was given is
 * kept as it is. False where the map is not finite. */
static bool keep_states(struct block *b, size_t k)
{
    const struct simulation *s = b->s;
    const gsv_simulate_options *o = s->o;
    struct stepper *x = &b->w->stepper;
    const double *now = x->x;
    size_t lost;
    if (s->field.to_data.program)
        now = stepper_run(x, &s->field.to_data, &x->to_data, o->time[k], false,
                          x->x);
    if (s->field.to_data.program && tracks_find_lost(b->w, now, &lost)) {
        lose(b, lost, o->time[k], k ? LOST_TRACK : LOST_START);
        return false;
    }
    for (size_t i = 0; i < s->d; i++) {
        double *to =
            s->outcome.value + i * s->outcome.rows + b->w->first * o->times + k;
        for (size_t p = 0; p < b->w->count; p++)
            to[p * o->times] = !k && o->start
                                   ? o->start[i * o->tracks + b->w->first + p]
                                   : now[i * x->P + p];
    }
    return true;
}

/* The observations of time k. */
static bool keep_values(struct block *b, size_t k)
{
    const struct simulation *s = b->s;
    size_t before = s->d + s->field.spec->inputs, lost, obs;
    const struct emission_row row = {.seed = s->o->seed,
                                     .time = s->o->time[k],
                                     .k = k,
                                     .first = b->w->first,
                                     .tracks = b->w->count,
                                     .rows = s->outcome.rows,
                                     .value = s->outcome.value +
                                              before * s->outcome.rows};
    if (emission_draw(&b->w->emission, &b->w->stepper, &row, &lost, &obs))
        return true;
    lose(b, lost, row.time, LOST_LAW);
    b->loss->obs = obs;
    return false;
}

static struct block block_of(struct simulation *s, size_t block, size_t thread)
{
    tracks_begin(&s->worker[thread], s->o->seed, block, s->o->tracks);
    return (struct block){
        .s = s, .w = &s->worker[thread], .loss = &s->loss[block]};
}

static void block_run(void *context, size_t block, size_t thread)
{
    struct simulation *s = context;
    struct block b = block_of(s, block, thread);
    ensemble_draw(&s->ensemble, b.w->first, thread * TRACKS_BLOCK, thread);
    ensemble_lend(&s->ensemble, thread * TRACKS_BLOCK, &b.w->stepper);
    bool alive = start_tracks(&b);
    for (size_t k = 0; alive && k < s->o->times; k++) {
        alive = walk_gap(&b, k);
        if (!s->schedule.asked[k])
            outcome_skip(&s->outcome, b.w->first, b.w->count, k);
        else alive = alive && keep_states(&b, k) && keep_values(&b, k);
    }
}

/* Milstein's step is wrong where noises do not commute. Looked at where the
 * first tracks start and at random points around: what holds at several random
 * points holds everywhere. */
static int check_milstein(struct simulation *s)
{
    const struct field *f = &s->field;
    if (s->o->scheme != GSV_MILSTEIN || !f->state_noise || f->own) return 0;
    struct block b = block_of(s, 0, 0);
    struct stepper *x = &b.w->stepper;
    const struct random_key key = {.seed = 1, .purpose = RANDOM_PILOT};
    place_tracks(&b);
    random_normals(&key, 0, s->d, 0, x->P, x->stage);
    for (size_t i = 0; i < s->d * x->P; i++)
        if (i % x->P) x->x[i] += 0.2 * (1.0 + fabs(x->x[i])) * x->stage[i];
    if (stepper_commutes(x, s->schedule.begin)) return 0;
    return fail(GSV_BAD_INPUT,
                "the scheme milstein needs noises that commute, but those of "
                "this model do not: one moves the factor of another; use srk, "
                "heun or euler");
}

/* --- The result --------------------------------------------------------- */

static int check_loss(const struct simulation *s, const struct loss *l)
{
    switch (l->kind) {
    case LOST_NOTHING: break;
    case LOST_START:
        return fail(GSV_BAD_INPUT,
                    "track %zu starts outside of the model's domain, where "
                    "its drift, its noise or its map is not defined: give "
                    "another --x0",
                    l->track + 1);
    case LOST_JUMP:
        return fail(GSV_NUMERICAL,
                    "the event at time %g takes track %zu out of the model's "
                    "domain, or its jump is not finite: check its formula and "
                    "its column",
                    l->time, l->track + 1);
    case LOST_TRACK:
        return fail(GSV_NUMERICAL,
                    "track %zu is not finite at time %g with steps of %g: "
                    "give a smaller --step, or check the "
                    "model's formula and its parameters",
                    l->track + 1, l->time, s->step);
    case LOST_RATE:
        return fail(GSV_NUMERICAL,
                    "the rates of track %zu grow to more than twice in a step "
                    "that ends at time %g: give a smaller --step",
                    l->track + 1, l->time);
    case LOST_LAW:
        return fail(GSV_NUMERICAL,
                    "the law of '%s' has arguments that it cannot have, or no "
                    "finite number, at time %g of track %zu: check its "
                    "formula and the parameters",
                    emitter_name(&s->emitter, l->obs), l->time, l->track + 1);
    }
    return 0;
}

static int check_losses(const struct simulation *s)
{
    int status = 0;
    for (size_t i = 0; !status && i < s->blocks; i++)
        status = check_loss(s, &s->loss[i]);
    return status;
}

/* Tracks that all have the same inputs. */
static gsv_series *simulate_alike(const gsv_model *m,
                                  const gsv_simulate_options *o)
{
    struct simulation s;
    gsv_series *series = NULL;
    int status = simulation_init(&s, m, o);
    if (!status) status = check_milstein(&s);
    if (!status) {
        struct lanes_job job = {.context = &s, .work = block_run};
        status = lanes_run(s.blocks, s.threads, &job);
        if (!status) status = check_losses(&s);
    }
    if (!status) series = outcome_series(&s.outcome);
    if (series && levels_decode(m, series)) {
        gsv_series_free(series);
        series = NULL;
    }
    simulation_free(&s);
    return series;
}

gsv_series *simulate_given(const gsv_model *m, const gsv_simulate_options *o)
{
    return simulates_by_series(m, o) ? simulate_by_series(m, o, simulate_alike)
                                     : simulate_alike(m, o);
}
