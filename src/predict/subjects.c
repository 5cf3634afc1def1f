/* SPDX-License-Identifier: MIT */
#include "predict/subjects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/memory.h"
#include "base/sample_stats.h"
#include "data/series_join.h"
#include "model/effects.h"
#include "panel/subject.h"
#include "predict/effects.h"
#include "predict/predict.h"

/* --- One series at a time ------------------------------------------------- */

struct one {
    gsv_model model; /* with values of its own */
    double *value;   /* (values)               */
    double *cell;    /* (columns, rows)        */
    size_t start[2];
    char *label[1];
    gsv_series series;
};

static int one_init(struct one *a, const gsv_model *m, const gsv_series *s)
{
    size_t n = m->spec->parameters, longest = 0;
    for (size_t r = 0; r < s->tracks; r++) {
        size_t rows = s->start[r + 1] - s->start[r];
        if (rows > longest) longest = rows;
    }
    *a = (struct one){.model = *m,
                      .value = NEW(double, n),
                      .cell = NEW(double, longest * s->columns)};
    if (!a->value || !a->cell) return GSV_NO_MEMORY;
    memcpy(a->value, m->value, n * sizeof *a->value);
    a->model.value = a->value;
    return 0;
}

static void one_free(struct one *a)
{
    MEM_FREE(a->value, a->cell);
}

static void one_set(struct one *a, const gsv_series *s, size_t track,
                    const double *u)
{
    a->series = series_of_track(s, track, a->cell, a->start, a->label);
    effects_put(a->model.spec, u, a->value);
}

int subjects_visit(const gsv_model *m, const gsv_series *s,
                   const gsv_options *o, void *user,
                   int (*visit)(void *user, const struct known_subject *k))
{
    struct one a;
    size_t n = m->spec->effect_size;
    double *mean = NEW(double, 2 * s->tracks * n);
    int status = one_init(&a, m, s);
    if (!mean) status = GSV_NO_MEMORY;
    if (!status)
        status = effects_estimate(m, s, o, NULL, mean, mean + s->tracks * n);
    for (size_t r = 0; !status && r < s->tracks; r++) {
        one_set(&a, s, r, mean + r * n);
        const struct known_subject k = {r, s->start[r], &a.model, &a.series};
        status = halt_asked() ? halt_status() : visit(user, &k);
    }
    one_free(&a);
    mem_free(mean);
    return status;
}

/* --- Forecasts ------------------------------------------------------------ */

/* The forecasts of one track among all. */
static int copy_rows(gsv_prediction *out, const gsv_prediction *one,
                     size_t track, size_t at)
{
    for (size_t k = 0; k < one->rows; k++) {
        out->track[at + k] = track;
        out->time[at + k] = one->time[k];
    }
    for (size_t c = 0; c < one->columns; c++) {
        size_t to = c * out->rows + at, from = c * one->rows;
        size_t bytes = one->rows * sizeof *one->mean;
        memcpy(out->mean + to, one->mean + from, bytes);
        memcpy(out->sd + to, one->sd + from, bytes);
        memcpy(out->actual + to, one->actual + from, bytes);
        for (size_t q = 0; q < one->quantiles; q++)
            memcpy(out->quantile + (c * one->quantiles + q) * out->rows + at,
                   one->quantile + (c * one->quantiles + q) * one->rows, bytes);
    }
    return 0;
}

static void add_score(gsv_prediction *out, const gsv_score *s)
{
    gsv_score *to = out->score;
    while (to < out->score + out->scores &&
           (to->column != s->column || to->lead != s->lead))
        to++;
    if (to == out->score + out->scores) {
        *to = *s;
        out->scores++;
        return;
    }
    double a = (double)to->rows, b = (double)s->rows, all = a + b;
    to->crps = (a * to->crps + b * s->crps) / all;
    to->climatology = (a * to->climatology + b * s->climatology) / all;
    to->cover50 = (a * to->cover50 + b * s->cover50) / all;
    to->cover90 = (a * to->cover90 + b * s->cover90) / all;
    to->rows += s->rows;
}

static int by_column(const void *a, const void *b)
{
    const gsv_score *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return x->lead < y->lead ? -1 : x->lead > y->lead;
}

static int make_joined(gsv_prediction *out, const gsv_prediction *first,
                       size_t scores)
{
    size_t cells = out->rows * first->columns;
    out->columns = first->columns;
    out->states = first->states;
    out->quantiles = first->quantiles;
    out->name = NEW(const char *, first->columns);
    out->track = NEW(size_t, out->rows);
    out->time = NEW(double, out->rows);
    out->mean = NEW(double, cells);
    out->sd = NEW(double, cells);
    out->actual = NEW(double, cells);
    out->level = NEW(double, first->quantiles);
    out->quantile = NEW(double, cells * first->quantiles);
    out->score = NEW(gsv_score, scores);
    if (!out->name || !out->track || !out->time || !out->mean || !out->sd ||
        !out->actual || !out->level || !out->quantile || !out->score)
        return GSV_NO_MEMORY;
    memcpy(out->name, first->name, first->columns * sizeof *out->name);
    if (first->quantiles)
        memcpy(out->level, first->level, first->quantiles * sizeof *out->level);
    return 0;
}

/* The forecasts of all tracks below each other, and their scores. */
static int join(size_t tracks, const gsv_prediction *one, gsv_prediction *out)
{
    size_t scores = 0, at = 0;
    const gsv_prediction *first = NULL;
    for (size_t r = 0; r < tracks; r++) {
        out->rows += one[r].rows;
        scores += one[r].scores;
        if (!first && (one[r].rows || one[r].scores)) first = &one[r];
        out->held = out->held || one[r].held;
    }
    if (!first)
        return fail(GSV_BAD_INPUT,
                    "there is nothing to forecast: no requested time, and no "
                    "row held out, comes after the end of a series");
    int status = make_joined(out, first, scores);
    out->draws = first->draws;
    for (size_t r = 0; !status && r < tracks; r++) {
        status = copy_rows(out, &one[r], r, at);
        at += one[r].rows;
        for (size_t i = 0; i < one[r].scores; i++)
            add_score(out, &one[r].score[i]);
    }
    if (!status) qsort(out->score, out->scores, sizeof *out->score, by_column);
    return status;
}

/* Sets of parameters with the effects of one track. */
static void fill_sets(const gsv_model *m, const double *drawn, const double *u,
                      double *sets)
{
    size_t n = m->spec->parameters;
    for (size_t k = 0; k < VALUE_SETS; k++) {
        memcpy(sets + k * n, drawn ? drawn + k * n : m->value,
               n * sizeof *sets);
        effects_put(m->spec, u + k * m->spec->effect_size, sets + k * n);
    }
}

/* u (tracks, VALUE_SETS, n), given what is known of each track. */
static int draw_effects(const gsv_model *m, const gsv_series *s,
                        const gsv_predict_options *o, double *u)
{
    gsv_options e = predict_estimator(o);
    gsv_series *cut = NULL;
    if (o->until && !o->rolling) {
        cut = series_until(s, o->until);
        if (!cut) return (int)gsv_last_status();
    }
    int status = effects_sample(m, cut ? cut : s, &e, VALUE_SETS, u);
    gsv_series_free(cut);
    return status;
}

struct forecasts {
    const gsv_model *m;
    const gsv_series *s;
    const gsv_predict_options *o;
    struct one one;
    double *u, *drawn, *sets;
    gsv_prediction *each; /* (tracks) */
};

static int forecast_track(struct forecasts *f, size_t track)
{
    size_t n = f->m->spec->effect_size;
    const double *u = f->u + track * VALUE_SETS * n;
    gsv_predict_options o = *f->o;
    o.seed = track_seed(f->o->seed, track);
    o.parameters = false;
    if (o.until) o.until += track;
    one_set(&f->one, f->s, track, u);
    if (!f->one.series.rows) return 0;
    fill_sets(f->m, f->drawn, u, f->sets);
    return predict_given(&f->one.model, &f->one.series, &o,
                         o.rolling ? NULL : f->sets, &f->each[track]);
}

/* Rolling forecasts are at the means. */
static void to_means(struct forecasts *f)
{
    size_t n = f->m->spec->effect_size;
    for (size_t r = 0; r < f->s->tracks; r++)
        for (size_t i = 0; i < n; i++) {
            double *u = f->u + r * VALUE_SETS * n, sum = 0.0;
            for (size_t k = 0; k < VALUE_SETS; k++)
                sum += u[k * n + i];
            u[i] = sum / VALUE_SETS;
        }
}

int predict_subjects(const gsv_model *m, const gsv_series *s,
                     const gsv_predict_options *o, gsv_prediction *result)
{
    size_t n = m->spec->effect_size, values = m->spec->parameters;
    struct forecasts f = {.m = m,
                          .s = s,
                          .o = o,
                          .u = NEW(double, s->tracks *VALUE_SETS *n),
                          .sets = NEW(double, VALUE_SETS *values),
                          .each = NEW(gsv_prediction, s->tracks)};
    int status = one_init(&f.one, m, s);
    if (!f.u || !f.sets || !f.each) status = GSV_NO_MEMORY;
    if (!status) status = draw_effects(m, s, o, f.u);
    if (!status && o->rolling) to_means(&f);
    if (!status && o->parameters) {
        f.drawn = predict_values(m, VALUE_SETS, o->seed);
        if (!f.drawn) status = (int)gsv_last_status();
    }
    for (size_t r = 0; !status && r < s->tracks; r++)
        status = halt_asked() ? halt_status() : forecast_track(&f, r);
    if (!status) status = join(s->tracks, f.each, result);
    for (size_t r = 0; f.each && r < s->tracks; r++)
        gsv_prediction_free(&f.each[r]);
    one_free(&f.one);
    MEM_FREE(f.u, f.drawn, f.sets, f.each);
    if (status) gsv_prediction_free(result);
    return status;
}

/* --- Paths ---------------------------------------------------------------- */

/* Draws of the effects, each with some paths. */
enum { EFFECT_SETS = 16, SET_PATHS = 32 };

struct bundle {
    const gsv_model *m;
    const gsv_series *s;
    const gsv_paths_options *o;
    struct one one;
    double *u;      /* (tracks, EFFECT_SETS, n)           */
    double *sample; /* all draws of one number            */
    size_t each;    /* paths of a set                     */
    gsv_smoothed set[EFFECT_SETS];
    gsv_smoothed *out;
};

/* Room for n more rows; rows are the last index of all arrays. */
static int widen(gsv_smoothed *out, const gsv_smoothed *one, size_t draws)
{
    size_t rows = out->rows + one->rows, old = out->rows;
    size_t blocks[] = {one->dim, one->dim, one->dim * one->quantiles,
                       one->dim * draws};
    double **array[] = {&out->mean, &out->sd, &out->quantile, &out->draw};
    for (size_t a = 0; a < 4; a++) {
        if (!blocks[a]) continue;
        double *more = NEW(double, blocks[a] * rows);
        if (!more) return GSV_NO_MEMORY;
        for (size_t b = 0; *array[a] && b < blocks[a]; b++)
            memcpy(more + b * rows, *array[a] + b * old, old * sizeof *more);
        mem_free(*array[a]);
        *array[a] = more;
    }
    size_t *track = mem_grow(out->track, old, rows, sizeof *track);
    if (track) out->track = track;
    double *time = mem_grow(out->time, old, rows, sizeof *time);
    if (time) out->time = time;
    if (!track || !time) return GSV_NO_MEMORY;
    out->rows = rows;
    return 0;
}

/* What all draws of a state say of one row. */
static void describe(struct bundle *b, size_t i, size_t row, size_t to)
{
    gsv_smoothed *out = b->out;
    size_t n = EFFECT_SETS * b->each, rows = out->rows;
    for (size_t k = 0; k < n; k++) {
        const gsv_smoothed *from = &b->set[k % EFFECT_SETS];
        b->sample[k] =
            from->draw[(k / EFFECT_SETS * from->dim + i) * from->rows + row];
    }
    for (size_t k = 0; k < out->draws; k++)
        out->draw[(k * out->dim + i) * rows + to] = b->sample[k];
    out->mean[i * rows + to] = sample_mean(n, b->sample);
    out->sd[i * rows + to] = sample_deviation(n, b->sample);
    sample_sort(n, b->sample);
    for (size_t q = 0; q < out->quantiles; q++)
        out->quantile[(q * out->dim + i) * rows + to] =
            sample_quantile(n, b->sample, out->probability[q]);
}

/* The facts that all tracks share. */
static int begin(struct bundle *b, const gsv_smoothed *one)
{
    gsv_smoothed *out = b->out;
    out->dim = one->dim;
    out->quantiles = one->quantiles;
    out->draws = b->o->draws;
    out->ess_min = INFINITY;
    out->probability = NEW(double, one->quantiles);
    out->seen = NEW(size_t, one->dim);
    if (!out->probability || !out->seen) return GSV_NO_MEMORY;
    memcpy(out->probability, one->probability,
           one->quantiles * sizeof *one->probability);
    memcpy(out->seen, one->seen, one->dim * sizeof *one->seen);
    return 0;
}

static int add_bundle(struct bundle *b, size_t track)
{
    const gsv_smoothed *one = &b->set[0];
    gsv_smoothed *out = b->out;
    size_t first = out->rows;
    int status = out->probability ? 0 : begin(b, one);
    if (!status) status = widen(out, one, b->o->draws);
    if (status) return status;
    for (size_t k = 0; k < one->rows; k++) {
        out->track[first + k] = track;
        out->time[first + k] = one->time[k];
        for (size_t i = 0; i < one->dim; i++)
            describe(b, i, k, first + k);
    }
    out->paths = EFFECT_SETS * b->each;
    /* Of normal laws there is one path, which is all. */
    for (size_t k = 0; k < EFFECT_SETS; k++)
        out->ess_min =
            fmin(out->ess_min, b->set[k].ess_min * (double)out->paths /
                                   (double)b->set[k].paths);
    return 0;
}

static int bundle_track(struct bundle *b, size_t track)
{
    gsv_paths_options o = *b->o;
    size_t n = b->m->spec->effect_size;
    int status = 0;
    o.draws = b->each;
    if (b->s->start[track] == b->s->start[track + 1]) return 0;
    for (size_t k = 0; !status && k < EFFECT_SETS; k++) {
        one_set(&b->one, b->s, track, b->u + (track * EFFECT_SETS + k) * n);
        o.estimator.seed =
            track_seed(b->o->estimator.seed, track * EFFECT_SETS + k);
        status = paths_given(&b->one.model, &b->one.series, &o, &b->set[k]);
    }
    if (!status) status = add_bundle(b, track);
    for (size_t k = 0; k < EFFECT_SETS; k++)
        gsv_smoothed_free(&b->set[k]);
    return status;
}

int paths_subjects(const gsv_model *m, const gsv_series *s,
                   const gsv_paths_options *o, gsv_smoothed *result)
{
    size_t n = m->spec->effect_size;
    struct bundle b = {.m = m, .s = s, .o = o, .out = result};
    b.each = (o->draws + EFFECT_SETS - 1) / EFFECT_SETS;
    if (b.each < SET_PATHS) b.each = SET_PATHS;
    b.u = NEW(double, s->tracks *EFFECT_SETS *n);
    b.sample = NEW(double, EFFECT_SETS *b.each);
    int status = one_init(&b.one, m, s);
    if (!b.u || !b.sample) status = GSV_NO_MEMORY;
    if (!status) status = effects_sample(m, s, &o->estimator, EFFECT_SETS, b.u);
    for (size_t r = 0; !status && r < s->tracks; r++)
        status = halt_asked() ? halt_status() : bundle_track(&b, r);
    one_free(&b.one);
    MEM_FREE(b.u, b.sample);
    if (status) gsv_smoothed_free(result);
    return status;
}
