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

/* Draws of a block, filled up to whole vectors. */
enum { BLOCK = FUNCTIONS_BLOCK, VECTOR = 8 };

/* Rows of normal numbers that are drawn at once, or one step's. */
enum { DRAWN_ROWS = 32 };

/* Steps to each time; a time that is far away has more of them, so many for
 * each of the data's own gaps. */
enum { STEPS = 32, FAR_STEPS = 4 };

static const double MOST_STEPS = 1e9;

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
    size_t whole = (f->o.draws + VECTOR - 1) / VECTOR * VECTOR;
    size_t P = whole < BLOCK ? whole : BLOCK, rows = 2 * f->noises;
    f->drawn = rows < DRAWN_ROWS ? DRAWN_ROWS / rows : 1;
    f->threads = lanes_threads(f->o.threads);
    f->worker = NEW(struct forecast_worker, f->threads);
    if (!f->worker) return GSV_NO_MEMORY;
    for (size_t i = 0; i < f->threads; i++) {
        struct forecast_worker *w = &f->worker[i];
        w->z = NEW(double, f->drawn *rows *P);
        w->total = NEW(double, f->field.spec->observations);
        if (!w->z || !w->total || stepper_init(&w->stepper, &f->field, P) ||
            (f->field.state_noise &&
             guard_init(&w->guard, &f->field, &SCHEME_TABLE[GSV_SRK], P)) ||
            emission_init(&w->emission, &f->emitter, P))
            return GSV_NO_MEMORY;
    }
    return 0;
}

int forecast_init(struct forecast *f, const gsv_model *m,
                  const gsv_series *series, const struct forecast_options *o,
                  size_t times)
{
    *f = (struct forecast){.series = series,
                           .o = *o,
                           .d = m->spec->dim,
                           .noises = m->spec->noises,
                           .columns = m->spec->dim + m->spec->values,
                           .times = times,
                           .typical = typical_gap(series)};
    f->blocks = (o->draws + BLOCK - 1) / BLOCK;
    int status = field_init(&f->field, m, series);
    if (!status) status = emitter_init(&f->emitter, m, series, 0, NULL);
    f->emitter.times = times + 1; /* totals are given row by row */
    return status ? status : make_workers(f);
}

void forecast_free(struct forecast *f)
{
    for (size_t i = 0; f->worker && i < f->threads; i++) {
        stepper_free(&f->worker[i].stepper);
        guard_free(&f->worker[i].guard);
        emission_free(&f->worker[i].emission);
        MEM_FREE(f->worker[i].z, f->worker[i].total);
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

void forecast_take(const struct forecast *f, const double *value, size_t origin,
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
    struct forecast_worker *w;
    const struct origin *origin;
    struct forecast_loss *loss;
    double *value; /* (columns, draws, times + 1) of the origin */
    uint64_t seed; /* of the origin                             */
    size_t first, draws;
    uint64_t step;
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
    size_t origin = lane / f->blocks, first = lane % f->blocks * BLOCK;
    size_t left = f->o.draws - first;
    struct block b = {.f = f,
                      .w = &f->worker[thread],
                      .origin = &f->origin[origin],
                      .loss = &f->loss[lane],
                      .value = f->value + origin * forecast_size(f),
                      .first = first,
                      .draws = left < BLOCK ? left : BLOCK};
    b.seed = mix(f->o.seed, b.origin->number);
    b.w->stepper.P = (b.draws + VECTOR - 1) / VECTOR * VECTOR;
    b.w->stepper.track = b.origin->from.track;
    if (f->o.ensemble && f->o.ensemble->rows)
        ensemble_lend(f->o.ensemble,
                      (f->o.function + first) % f->o.ensemble->rows,
                      &b.w->stepper);
    return b;
}

static double weight_of(const struct state_law *o, size_t point, double most)
{
    return o->log_weight ? exp(o->log_weight[point] - most) : 1.0;
}

/* Draw i stands at the share (i + v) / draws of the weights. */
static void place_draws(struct block *b)
{
    const struct state_law *o = &b->origin->from;
    struct stepper *s = &b->w->stepper;
    const struct random_key key = {.seed = b->seed, .purpose = RANDOM_START};
    double v, most = -INFINITY, sum = 0.0, passed;
    size_t point = 0;
    random_uniforms(&key, 0, 1, 0, 1, &v);
    for (size_t j = 0; o->log_weight && j < o->points; j++)
        most = fmax(most, o->log_weight[j]);
    for (size_t j = 0; j < o->points; j++)
        sum += weight_of(o, j, most);
    passed = weight_of(o, 0, most);
    for (size_t p = 0; p < s->P; p++) {
        size_t draw = b->first + (p < b->draws ? p : b->draws - 1);
        double at = ((double)draw + v) / (double)b->f->o.draws * sum;
        while (passed <= at && point + 1 < o->points)
            passed += weight_of(o, ++point, most);
        for (size_t i = 0; i < b->f->d; i++)
            s->x[i * s->P + p] = o->x[i * o->stride + point];
    }
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

static bool draws_are_finite(const struct block *b, const double *x)
{
    size_t P = b->w->stepper.P;
    for (size_t p = 0; p < b->draws; p++)
        for (size_t i = 0; i < b->f->d; i++)
            if (!isfinite(x[i * P + p])) return false;
    return true;
}

static bool start(struct block *b)
{
    struct stepper *s = &b->w->stepper;
    bool inside = true;
    place_draws(b);
    if (b->f->field.state_noise) stepper_enter(s, b->origin->from.time);
    for (size_t p = 0; b->f->field.state_noise && p < b->draws; p++)
        inside = inside && s->arrived[p];
    return inside && draws_are_finite(b, s->x) ? true
                                               : lose(b, b->origin->from.time);
}

/* The numbers of the next step, (2 noises, P): dW, then zeta. */
static double *next_numbers(struct block *b, double h)
{
    const struct forecast *f = b->f;
    size_t P = b->w->stepper.P, rows = 2 * f->noises;
    size_t at = (size_t)(b->step % f->drawn);
    const struct random_key key = {.seed = b->seed, .purpose = RANDOM_SIMULATE};
    if (!at)
        random_normals(&key, b->step * rows, f->drawn * rows, b->first, P,
                       b->w->z);
    double *z = b->w->z + at * rows * P, root = sqrt(h);
    for (size_t i = 0; i < f->noises * P; i++)
        z[i] *= root;
    b->step++;
    return z;
}

static bool take_step(struct block *b, const struct step *step)
{
    struct stepper *x = &b->w->stepper;
    size_t lost;
    if (b->f->field.state_noise) {
        struct address from = {b->seed, b->first, b->step - 1};
        if (guard_step(&b->w->guard, x, step, b->draws, &from, &lost))
            return true;
    } else {
        SCHEME_TABLE[GSV_SRK].step(x, step);
        if (draws_are_finite(b, x->x)) return true;
    }
    return lose(b, step->end);
}

static size_t steps_of(const struct forecast *f, double gap)
{
    double n = fmax(STEPS, ceil(FAR_STEPS * gap / f->typical));
    if (f->o.step > 0.0) n = ceil(gap / f->o.step * (1.0 - 1e-9));
    return (size_t)fmin(fmax(n, 1.0), MOST_STEPS);
}

/* Over a time in which no input turns. */
static bool walk_piece(struct block *b, double from, double to)
{
    struct stepper *x = &b->w->stepper;
    size_t n = steps_of(b->f, to - from);
    double h = (to - from) / (double)n;
    for (size_t j = 0; j < n; j++) {
        const double *z = next_numbers(b, h);
        struct step step = {.t = from + h * (double)j,
                            .h = h,
                            .end = j + 1 < n ? from + h * (double)(j + 1) : to,
                            .dW = z,
                            .zeta = z + b->f->noises * x->P};
        emission_enter(&b->w->emission, x, step.t);
        if (!take_step(b, &step)) return false;
        emission_leave(&b->w->emission, x, &step);
    }
    return true;
}

static bool walk(struct block *b, double from, double to)
{
    const struct forecast *f = b->f;
    size_t row;
    emission_begin(&b->w->emission, b->w->stepper.P);
    for (; (row = gaps_next_turn(&f->field.inputs, b->origin->from.track, from,
                                 to)) != NO_ROW;
         from = f->series->time[row])
        if (!walk_piece(b, from, f->series->time[row])) return false;
    return walk_piece(b, from, to);
}

static bool keep_states(struct block *b, size_t k)
{
    const struct forecast *f = b->f;
    struct stepper *x = &b->w->stepper;
    const double *now = x->x;
    size_t times = f->times + 1;
    double time = b->origin->at[k - 1];
    if (f->field.to_data.program)
        now = stepper_run(x, &f->field.to_data, &x->to_data, time, false, x->x);
    if (!draws_are_finite(b, now)) return lose(b, time);
    for (size_t i = 0; i < f->d; i++)
        for (size_t p = 0; p < b->draws; p++)
            b->value[(i * f->o.draws + b->first + p) * times + k] =
                now[i * x->P + p];
    return true;
}

static bool keep_values(struct block *b, size_t k)
{
    const struct forecast *f = b->f;
    size_t lost, obs, rows = f->o.draws * (f->times + 1);
    const struct emission_row row = {.seed = b->seed,
                                     .time = b->origin->at[k - 1],
                                     .k = k,
                                     .first = b->first,
                                     .tracks = b->draws,
                                     .rows = rows,
                                     .total = b->w->total,
                                     .value = b->value + f->d * rows};
    emitter_totals(&f->emitter, f->series, b->origin->from.track, row.time,
                   b->w->total);
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
                "a forecast of series '%s' from time %g leaves the finite "
                "numbers at time %g: give a smaller --step, or check the "
                "model's formula and its parameters",
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
