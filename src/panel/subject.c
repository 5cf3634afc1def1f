/* SPDX-License-Identifier: MIT */
#include "panel/subject.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/memory.h"

uint64_t track_seed(uint64_t seed, size_t track)
{
    uint64_t h = seed + UINT64_C(0x9e3779b97f4a7c15) * (track + 1);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 27;
}

/* Whether a column says something about the states. */
static bool is_input(const struct spec *s, const char *name)
{
    for (size_t i = 0; i < s->inputs; i++)
        if (!strcmp(s->input[i].name, name)) return true;
    return false;
}

bool track_is_silent(const struct task *t, size_t track)
{
    const gsv_series *s = t->series;
    size_t needed = spec_is_latent(t->model->spec) ? 1 : 2, found = 0;
    for (size_t row = s->start[track]; row < s->start[track + 1]; row++) {
        bool any = false;
        for (size_t c = 0; c < s->columns; c++)
            any = any || (!isnan(s->value[c * s->rows + row]) &&
                          !is_input(t->model->spec, s->name[c]));
        found += any;
    }
    return found < needed;
}

gsv_series series_of_track(const gsv_series *all, size_t track, double *cell,
                           size_t start[2], char *label[1])
{
    size_t first = all->start[track], rows = all->start[track + 1] - first;
    gsv_series s = *all;
    for (size_t c = 0; c < all->columns; c++)
        memcpy(cell + c * rows, all->value + c * all->rows + first,
               rows * sizeof *cell);
    start[0] = 0;
    start[1] = rows;
    label[0] = all->label[track];
    s.rows = rows;
    s.tracks = 1;
    s.time = all->time + first;
    s.value = cell;
    s.start = start;
    s.label = label;
    s.line = all->line + first;
    s.borrowed = true;
    s.file = NULL;
    return s;
}

int subject_init(struct subject *s, const struct method *inner,
                 const struct task *t)
{
    size_t n = t->model->spec->parameters;
    *s = (struct subject){.inner = inner,
                          .options = *t->options,
                          .value = NEW(double, n),
                          .held = NEW(double, n),
                          .machine = mem_new(1, inner->size)};
    s->options.threads = 1;
    s->options.ranks = NULL;
    return s->value && s->held && s->machine ? 0 : GSV_NO_MEMORY;
}

void subject_free(struct subject *s)
{
    subject_end(s);
    MEM_FREE(s->value, s->held, s->cell, s->machine);
    *s = (struct subject){0};
}

int subject_begin(struct subject *s, const struct task *t, size_t track,
                  const double *values, const double *held)
{
    const gsv_series *all = t->series;
    size_t rows = all->start[track + 1] - all->start[track];
    size_t bytes = t->model->spec->parameters * sizeof *values;
    if (rows * all->columns > s->cells) {
        mem_free(s->cell);
        s->cells = rows * all->columns;
        s->cell = NEW(double, s->cells);
        if (!s->cell) s->cells = 0;
        if (!s->cell) return GSV_NO_MEMORY;
    }
    s->series = series_of_track(all, track, s->cell, s->start, s->label);
    s->model = *t->model;
    s->model.value = s->value;
    memcpy(s->value, values, bytes);
    s->holds = held != NULL;
    if (s->holds) memcpy(s->held, held, bytes);
    s->options.seed = track_seed(t->options->seed, track);
    s->task = *t;
    s->task.model = &s->model;
    s->task.series = &s->series;
    s->task.options = &s->options;
    s->task.given_effects = true;
    s->task.most = 0;
    s->task.by_group = false;
    memset(s->machine, 0, s->inner->size);
    s->begun = true;
    return s->inner->init(s->inner, s->machine, &s->task);
}

void subject_end(struct subject *s)
{
    if (s->begun) s->inner->free(s->machine);
    s->begun = false;
}

static struct request request_at(struct subject *s, const double *u,
                                 double *gradient)
{
    effects_put(s->model.spec, u, s->value);
    if (s->holds) effects_put(s->model.spec, u, s->held);
    return (struct request){.reference_values = s->holds ? s->held : NULL,
                            .iteration = s->iteration,
                            .gradient = gradient,
                            .trial = s->trial};
}

int subject_at(struct subject *s, const double *u, double *value,
               double *gradient)
{
    const struct request q = request_at(s, u, gradient);
    struct score score = {0};
    int status =
        halt_asked() ? halt_status() : s->inner->run(s->machine, &q, &score);
    *value = -INFINITY;
    if (status == GSV_NUMERICAL) return 0;
    if (status) return status;
    s->gaps = score.gaps;
    double sum = score.mean * (double)score.gaps;
    if (isfinite(sum)) *value = sum;
    return 0;
}

int subject_units(struct subject *s, const double *u, const uint32_t *stream,
                  double *unit)
{
    effects_put(s->model.spec, u, s->value);
    return s->inner->units(s->machine, stream, unit);
}

int subject_fill(struct subject *s, const double *u, gsv_result *r)
{
    const struct request q = request_at(s, u, NULL);
    return s->inner->fill(s->machine, &q, true, r);
}
