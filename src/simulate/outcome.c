/* SPDX-License-Identifier: MIT */
#include "simulate/outcome.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "model/gaps.h"

int outcome_init(struct outcome *o, const struct field *f, size_t tracks,
                 size_t times, const double *time)
{
    const struct spec *spec = f->spec;
    size_t columns = spec->dim + spec->inputs + spec->values, count;
    *o = (struct outcome){
        .field = f, .time = time, .tracks = tracks, .times = times};
    if (__builtin_mul_overflow(tracks, times, &o->rows) ||
        __builtin_mul_overflow(o->rows, columns, &count))
        return fail(GSV_NO_MEMORY,
                    "%zu tracks at %zu times are more than fit into memory",
                    tracks, times);
    o->value = NEW(double, count);
    return o->value ? 0 : GSV_NO_MEMORY;
}

void outcome_free(struct outcome *o)
{
    MEM_FREE(o->value);
}

void outcome_skip(struct outcome *o, size_t first, size_t count, size_t k)
{
    const struct spec *spec = o->field->spec;
    size_t d = spec->dim, inputs = d + spec->inputs;
    for (size_t c = 0; c < inputs + spec->obs_values; c++)
        for (size_t p = 0; (c < d || c >= inputs) && p < count; p++)
            o->value[c * o->rows + (first + p) * o->times + k] = NAN;
}

/* What the columns of events have at the output times, after those of
 * observations. */
static void keep_events(struct outcome *o)
{
    const struct spec *spec = o->field->spec;
    const struct gaps *g = &o->field->inputs;
    size_t times = o->times, before = spec->dim + spec->inputs;
    for (size_t k = 0; spec->events && k < times; k++) {
        size_t row = gaps_event_at(g, 0, o->time[k]);
        for (size_t i = spec->obs_values; i < spec->values; i++)
            for (size_t r = 0; r < o->tracks; r++)
                o->value[(before + i) * o->rows + r * times + k] =
                    gaps_value(g, i, row);
    }
}

/* The inputs at the output times are the columns after the states. */
static int keep_inputs(struct outcome *o)
{
    const struct spec *spec = o->field->spec;
    size_t n = spec->inputs, times = o->times;
    double *now = NEW(double, 2 * n);
    if (!now) return GSV_NO_MEMORY;
    for (size_t k = 0; n && k < times; k++) {
        gap_inputs(&o->field->inputs, 0, o->time[k], false, now, now + n, 1);
        for (size_t i = 0; i < n; i++) {
            double *column = o->value + (spec->dim + i) * o->rows;
            for (size_t r = 0; r < o->tracks; r++)
                column[r * times + k] = now[i];
        }
    }
    mem_free(now);
    return 0;
}

/* States, inputs and values by name. Trials may be there again: that column is
 * left out, and the others move up. Returns how many there are. */
static size_t name_columns(struct outcome *o, const char **name)
{
    const struct spec *spec = o->field->spec;
    size_t n = 0, first = spec->dim + spec->inputs;
    for (size_t i = 0; i < spec->dim; i++)
        name[n++] = spec->column[i];
    for (size_t i = 0; i < spec->inputs; i++) {
        if (!strcmp(spec->input[i].name, SERIES_NAME)) continue;
        if (n < spec->dim + i)
            memmove(o->value + n * o->rows,
                    o->value + (spec->dim + i) * o->rows,
                    o->rows * sizeof *o->value);
        name[n++] = spec->input[i].name;
    }
    size_t values = n;
    for (size_t i = 0; i < spec->values; i++) {
        size_t at = values;
        while (at < n && strcmp(name[at], spec->value_column[i]))
            at++;
        if (at < n) continue;
        name[n] = spec->value_column[i];
        memmove(o->value + n * o->rows, o->value + (first + i) * o->rows,
                o->rows * sizeof *o->value);
        n++;
    }
    return n;
}

static gsv_series *make_series(struct outcome *o)
{
    size_t tracks = o->tracks, times = o->times;
    const struct spec *spec = o->field->spec;
    gsv_series *series = NULL;
    size_t *start = NEW(size_t, tracks + 1);
    double *time = NEW(double, o->rows);
    const char **name =
        NEW(const char *, spec->dim + spec->inputs + spec->values);
    if (start && time && name) {
        size_t columns = name_columns(o, name);
        for (size_t r = 0; r < tracks; r++) {
            start[r + 1] = (r + 1) * times;
            memcpy(time + r * times, o->time, times * sizeof *time);
        }
        series = gsv_series_new(tracks, start, columns, name, time, o->value);
    }
    MEM_FREE(start, time, name);
    return series;
}

gsv_series *outcome_series(struct outcome *o)
{
    if (keep_inputs(o)) return NULL;
    keep_events(o);
    return make_series(o);
}
