/* SPDX-License-Identifier: MIT */
/* Simulated tracks of a model with random effects: each has its own, given or
 * drawn from their law, and is simulated by itself. */
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "base/random.h"
#include "data/series.h"
#include "model/effects.h"
#include "simulate/simulate.h"

struct subjects {
    const gsv_model *given;
    const gsv_simulate_options *o;
    gsv_model model; /* with values of its own */
    struct effect_law law;
    double *value; /* (values) of the model   */
    double *start; /* (dim) of one track      */
    double *u, *z; /* (effects)               */
    gsv_series *all;
};

static int subjects_init(struct subjects *s, const gsv_model *m,
                         const gsv_simulate_options *o)
{
    size_t values = m->spec->parameters, n = m->spec->effect_size;
    *s = (struct subjects){.given = m,
                           .o = o,
                           .model = *m,
                           .value = NEW(double, values),
                           .start = NEW(double, m->spec->dim),
                           .u = NEW(double, n),
                           .z = NEW(double, n)};
    if (!s->value || !s->start || !s->u || !s->z) return GSV_NO_MEMORY;
    memcpy(s->value, m->value, values * sizeof *s->value);
    s->model.value = s->value;
    int status = effect_law_init(&s->law, m);
    return status ? status : effect_law_set(&s->law, m->value);
}

static void subjects_free(struct subjects *s)
{
    effect_law_free(&s->law);
    MEM_FREE(s->value, s->start, s->u, s->z);
}

static void set_effects(struct subjects *s, size_t track)
{
    size_t n = s->law.n;
    const struct random_key key = {
        .seed = s->o->seed, .purpose = RANDOM_EFFECT, .item = track};
    random_normals(&key, 0, n, 0, 1, s->z);
    effect_draw(&s->law, s->z, s->u);
    if (s->o->effect) memcpy(s->u, s->o->effect + track * n, n * sizeof *s->u);
    effects_put(s->given->spec, s->u, s->value);
}

/* Track by track, with a seed of its own. */
static gsv_series *simulate_track(struct subjects *s, size_t track)
{
    gsv_simulate_options o = *s->o;
    const struct random_key key = {
        .seed = o.seed, .purpose = RANDOM_EFFECT, .item = track};
    double seed;
    set_effects(s, track);
    random_uniforms(&key, s->law.n, 1, 0, 1, &seed);
    o.seed ^= (uint64_t)(seed * 0x1p53);
    o.tracks = 1;
    for (size_t i = 0; o.start && i < s->given->spec->dim; i++)
        s->start[i] = s->o->start[i * s->o->tracks + track];
    if (o.start) o.start = s->start;
    return simulate_given(&s->model, &o);
}

/* All tracks have the times of the first one. */
static int make_all(struct subjects *s, const gsv_series *one)
{
    size_t tracks = s->o->tracks, rows = one->rows * tracks;
    size_t *start = NEW(size_t, tracks + 1);
    double *time = NEW(double, rows), *value = NEW(double, rows * one->columns);
    for (size_t r = 0; start && time && r < tracks; r++) {
        start[r + 1] = (r + 1) * one->rows;
        memcpy(time + r * one->rows, one->time, one->rows * sizeof *time);
    }
    if (start && time && value)
        s->all = gsv_series_new(tracks, start, one->columns,
                                (const char *const *)(const void *)one->name,
                                time, value);
    MEM_FREE(start, time, value);
    return s->all ? 0 : GSV_NO_MEMORY;
}

static int add_track(struct subjects *s, size_t track)
{
    gsv_series *one = simulate_track(s, track);
    int status = one ? 0 : (int)gsv_last_status();
    if (!status && !s->all) status = make_all(s, one);
    for (size_t c = 0; !status && c < one->columns; c++)
        memcpy(s->all->value + c * s->all->rows + track * one->rows,
               one->value + c * one->rows, one->rows * sizeof *one->value);
    gsv_series_free(one);
    return status;
}

static gsv_series *simulate_subjects(const gsv_model *m,
                                     const gsv_simulate_options *o)
{
    struct subjects s;
    int status = subjects_init(&s, m, o);
    for (size_t r = 0; !status && r < o->tracks; r++)
        status = halt_asked() ? halt_status() : add_track(&s, r);
    if (status) gsv_series_free(s.all);
    gsv_series *all = status ? NULL : s.all;
    subjects_free(&s);
    return all;
}

gsv_series *gsv_simulate(const gsv_model *m, const gsv_simulate_options *o)
{
    if (ANY_NULL(m, o)) return NULL;
    if (option_check(GSV_OF_SIMULATE, o) ||
        (o->input && series_check(o->input)))
        return NULL;
    return m->spec->effects ? simulate_subjects(m, o) : simulate_given(m, o);
}
