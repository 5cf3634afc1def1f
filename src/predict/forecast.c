/* SPDX-License-Identifier: MIT */
/* Blocks of draws of one origin walk from time to time, as tracks of a
 * simulation do (simulate.c), by the scheme srk. Draws begin at the points of
 * their origin, by systematic resampling: a point of weight w is the start of
 * w draws' share, rounded up or down. */
#include "predict/forecast.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/random.h"

/* Steps to each time; a time that is far away has more of them, so many for
 * each of the data's own gaps. */
enum { STEPS = 32, FAR_STEPS = 4 };

/* --- Memory --------------------------------------------------------------- */

static double typical_gap(const gsv_series *s)
{
    double sum = 0.0, count = 0.0;
    for (size_t r = 0; r < s->tracks; r++) {
        size_t first = s->start[r], end = s->start[r + 1];
        if (end < first + 2) continue;
        sum += s->time[end - 1] - s->time[first];
        count += (double)(end - first - 1);
    }
    return count > 0.0 ? sum / count : INFINITY;
}

static int make_workers(struct forecast *f)
{
    f->threads = lanes_threads(f->o.threads);
    f->worker = NEW(struct forecast_worker, f->threads);
    if (!f->worker) return GSV_NO_MEMORY;
    int status = 0;
    for (size_t i = 0; !status && i < f->threads; i++) {
        struct forecast_worker *w = &f->worker[i];
        w->total = NEW(double, f->field.spec->observations);
        status = w->total ? tracks_init(&w->tracks, &f->field, &f->emitter,
                                        &SCHEME_TABLE[GSV_SRK], f->o.draws)
                          : GSV_NO_MEMORY;
    }
    return status;
}

int forecast_init(struct forecast *f, const gsv_model *m,
                  const gsv_series *series, const struct forecast_options *o,
                  size_t times)
{
    *f = (struct forecast){.series = series,
                           .o = *o,
                           .d = m->spec->dim,
                           .columns = m->spec->dim + m->spec->values,
                           .times = times,
                           .typical = typical_gap(series)};
    f->blocks = (o->draws + TRACKS_BLOCK - 1) / TRACKS_BLOCK;
    int status = field_init(&f->field, m, series);
    if (!status) status = emitter_init(&f->emitter, m, series, 0, NULL);
    f->emitter.times = times + 1; /* totals are given row by row */
    return status ? status : make_workers(f);
}

void forecast_free(struct forecast *f)
{
    for (size_t i = 0; f->worker && i < f->threads; i++) {
        tracks_free(&f->worker[i].tracks);
        mem_free(f->worker[i].total);
    }
    MEM_FREE(f->worker, f->loss);
    emitter_free(&f->emitter);
    field_free(&f->field);
    *f = (struct forecast){0};
}

size_t forecast_size(const struct forecast *f)
{
    return f->columns * f->o.draws * (f->times + 1);
}

void forecast_copy(const struct forecast *f, const double *value, size_t origin,
                   size_t column, size_t time, double *draw)
{
    size_t times = f->times + 1, rows = f->o.draws * times;
    const double *from = value + origin * forecast_size(f) + column * rows;
    for (size_t i = 0; i < f->o.draws; i++)
        draw[i] = from[i * times + time + 1];
}

/* --- A block of draws ----------------------------------------------------- */

struct block {
    const struct forecast *f;
    struct tracks *w;
    double *total; /* (observations) trials                     */
    const struct origin *origin;
    struct forecast_loss *loss;
    double *value; /* (columns, draws, times + 1) of the origin */
};

/* A seed of an origin's own, by the finaliser of splitmix64. */
static uint64_t mix(uint64_t seed, uint64_t number)
{
    uint64_t h = seed + UINT64_C(0x9e3779b97f4a7c15) * (number + 1);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static struct block block_of(struct forecast *f, size_t lane, size_t thread)
{
    size_t origin = lane / f->blocks;
    struct block b = {.f = f,
                      .w = &f->worker[thread].tracks,
                      .total = f->worker[thread].total,
                      .origin = &f->origin[origin],
                      .loss = &f->loss[lane],
                      .value = f->value + origin * forecast_size(f)};
    const struct ensemble *e = f->o.ensemble;
    tracks_begin(b.w, mix(f->o.seed, b.origin->number), lane % f->blocks,
                 f->o.draws);
    b.w->stepper.track = b.origin->from.track;
    if (e && e->rows)
        ensemble_lend(e, (f->o.function + b.w->first) % e->rows, &b.w->stepper);
    return b;
}

static double weight_of(const struct state_law *o, size_t point, double most)
{
    return o->log_weight ? exp(o->log_weight[point] - most) : 1.0;
}

/* Adds root eps to all draws, eps ~ N(0, I) by the number of a draw. */
static void spread_draws(struct block *b, const double *root)
{
    struct stepper *s = &b->w->stepper;
    const struct random_key key = {.seed = b->w->seed, .purpose = RANDOM_START};
    size_t d = b->f->d;
    for (size_t p = 0; p < b->w->count; p++)
        for (size_t j = 0; j < d; j++) {
            double eps;
            random_normals(&key, 1 + j, 1, b->w->first + p, 1, &eps);
            for (size_t i = 0; i < d; i++)
                s->x[i * s->P + p] += root[i * d + j] * eps;
        }
    for (size_t p = b->w->count; p < s->P; p++)
        for (size_t i = 0; i < d; i++)
            s->x[i * s->P + p] = s->x[i * s->P + b->w->count - 1];
}

/* Draw i stands at the share (i + v) / draws of the weights. */
static void place_draws(struct block *b)
{
    const struct state_law *o = &b->origin->from;
    struct stepper *s = &b->w->stepper;
    const struct random_key key = {.seed = b->w->seed, .purpose = RANDOM_START};
    double v, most = -INFINITY, sum = 0.0, passed;
    size_t point = 0;
    random_uniforms(&key, 0, 1, 0, 1, &v);
    for (size_t j = 0; o->log_weight && j < o->points; j++)
        most = fmax(most, o->log_weight[j]);
    for (size_t j = 0; j < o->points; j++)
        sum += weight_of(o, j, most);
    passed = weight_of(o, 0, most);
    for (size_t p = 0; p < s->P; p++) {
        size_t draw = b->w->first + (p < b->w->count ? p : b->w->count - 1);
        double at = ((double)draw + v) / (double)b->f->o.draws * sum;
        while (passed <= at && point + 1 < o->points)
            passed += weight_of(o, ++point, most);
        for (size_t i = 0; i < b->f->d; i++)
            s->x[i * s->P + p] = o->x[i * o->stride + point];
    }
    if (o->root) spread_draws(b, o->root);
    if (b->f->field.to_state.program)
        memcpy(s->x,
               stepper_run(s, &b->f->field.to_state, &s->to_state, o->time,
                           false, s->x),
               b->f->d * s->P * sizeof *s->x);
}

static bool lose(struct block *b, double time)
{
    *b->loss = (struct forecast_loss){.lost = true, .time = time};
    return false;
}

static bool start(struct block *b)
{
    struct stepper *s = &b->w->stepper;
    bool inside = true;
    size_t lost;
    place_draws(b);
    if (b->f->field.state_noise) stepper_enter(s, b->origin->from.time);
    for (size_t p = 0; b->f->field.state_noise && p < b->w->count; p++)
        inside = inside && s->arrived[p];
    if (inside && !tracks_find_lost(b->w, s->x, &lost)) return true;
    return lose(b, b->origin->from.time);
}

static size_t steps_of(const struct forecast *f, double gap)
{
    double n = fmax(STEPS, ceil(FAR_STEPS * gap / f->typical));
    if (f->o.step > 0.0) n = ceil(gap / f->o.step * (1.0 - 1e-9));
    return (size_t)fmin(fmax(n, 1.0), TRACKS_MOST_STEPS);
}

/* Over a time in which no input turns, after the events at its beginning. */
static bool walk_piece(struct block *b, double from, double to)
{
    size_t lost;
    double time;
    if (!tracks_jump(b->w, from, &lost)) return lose(b, from);
    return tracks_walk(b->w, from, to, steps_of(b->f, to - from), &lost, &time)
               ? true
               : lose(b, time);
}

static bool walk(struct block *b, double from, double to)
{
    const struct forecast *f = b->f;
    size_t row;
    emission_begin(&b->w->emission, b->w->stepper.P);
    for (; (row = gaps_next_change(&f->field.inputs, b->origin->from.track,
                                   from, to)) != NO_ROW;
         from = f->series->time[row])
        if (!walk_piece(b, from, f->series->time[row])) return false;
    return walk_piece(b, from, to);
}

static bool keep_states(struct block *b, size_t k)
{
    const struct forecast *f = b->f;
    struct stepper *x = &b->w->stepper;
    const double *now = x->x;
    size_t times = f->times + 1, lost;
    double time = b->origin->at[k - 1];
    if (f->field.to_data.program)
        now = stepper_run(x, &f->field.to_data, &x->to_data, time, false, x->x);
    if (tracks_find_lost(b->w, now, &lost)) return lose(b, time);
    for (size_t i = 0; i < f->d; i++)
        for (size_t p = 0; p < b->w->count; p++)
            b->value[(i * f->o.draws + b->w->first + p) * times + k] =
                now[i * x->P + p];
    return true;
}

static bool keep_values(struct block *b, size_t k)
{
    const struct forecast *f = b->f;
    size_t lost, obs, rows = f->o.draws * (f->times + 1);
    const struct emission_row row = {.seed = b->w->seed,
                                     .time = b->origin->at[k - 1],
                                     .k = k,
                                     .first = b->w->first,
                                     .tracks = b->w->count,
                                     .rows = rows,
                                     .total = b->total,
                                     .value = b->value + f->d * rows};
    emitter_totals(&f->emitter, f->series, b->origin->from.track, row.time,
                   b->total);
    if (emission_draw(&b->w->emission, &b->w->stepper, &row, &lost, &obs))
        return true;
    *b->loss = (struct forecast_loss){
        .lost = true, .unlawful = true, .obs = obs, .time = row.time};
    return false;
}

static void run_block(void *context, size_t lane, size_t thread)
{
    struct block b = block_of(context, lane, thread);
    bool alive = !b.origin->times || start(&b);
    for (size_t k = 1; alive && k <= b.origin->times; k++) {
        double from = k > 1 ? b.origin->at[k - 2] : b.origin->from.time;
        alive = walk(&b, from, b.origin->at[k - 1]) && keep_states(&b, k) &&
                keep_values(&b, k);
    }
}

/* --- All of them ---------------------------------------------------------- */

static int check(const struct forecast *f, size_t lane)
{
    const struct forecast_loss *l = &f->loss[lane];
    const struct origin *o = &f->origin[lane / f->blocks];
    if (!l->lost) return 0;
    if (l->unlawful)
        return fail(GSV_NUMERICAL,
                    "the law of '%s' has arguments that it cannot have at time "
                    "%g of a forecast of series '%s': check its formula and "
                    "the parameters",
                    emitter_name(&f->emitter, l->obs), l->time,
                    f->series->label[o->from.track]);
    if (l->time <= o->from.time)
        return fail(GSV_BAD_INPUT,
                    "series '%s' is outside of the model's domain at time %g, "
                    "so nothing can be forecast from there",
                    f->series->label[o->from.track], o->from.time);
    return fail(GSV_NUMERICAL,
                "a forecast of series '%s' from time %g is not finite at time "
                "%g: give a smaller --step, or check the model's formula and "
                "its parameters",
                f->series->label[o->from.track], o->from.time, l->time);
}

int forecast_run(struct forecast *f, size_t n, const struct origin *origin,
                 double *value)
{
    size_t lanes = n * f->blocks;
    if (lanes > f->loss_capacity) {
        mem_free(f->loss);
        f->loss = NEW(struct forecast_loss, lanes);
        f->loss_capacity = f->loss ? lanes : 0;
        if (!f->loss) return GSV_NO_MEMORY;
    }
    for (size_t i = 0; i < lanes; i++)
        f->loss[i] = (struct forecast_loss){0};
    f->origin = origin;
    f->origins = n;
    f->value = value;
    struct lanes_job job = {.context = f, .work = run_block};
    int status = lanes_run(lanes, f->threads, &job);
    for (size_t i = 0; !status && i < lanes; i++)
        status = check(f, i);
    return status;
}
