/* SPDX-License-Identifier: MIT */
/* Simulated tracks of a model with random effects: each has its own, given or
 * drawn from their law, and is simulated by itself. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "base/random.h"
#include "data/series.h"
#include "data/series_join.h"
#include "model/effects.h"
#include "simulate/by_series.h"
#include "simulate/simulate.h"

struct subjects {
    const gsv_model *given;
    const gsv_simulate_options *o;
    gsv_model model; /* with values of its own */
    struct effect_law law;
    double *value; /* (values) of the model   */
    double *start; /* (dim) of one track      */
    double *u, *z; /* (effects)               */
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
    gsv_series *own = NULL;
    if (simulate_has_inputs(s->o)) {
        o.input = own =
            series_track(s->o->input, track, s->o->input->label[track]);
        if (!own) return NULL;
    }
    gsv_series *one = simulate_given(&s->model, &o);
    gsv_series_free(own);
    return one;
}

/* The same with the label of its inputs, or its number. */
static gsv_series *name_track(struct subjects *s, size_t track)
{
    char number[24];
    const char *label = number;
    snprintf(number, sizeof number, "%zu", track + 1);
    if (simulate_has_inputs(s->o)) label = s->o->input->label[track];
    gsv_series *one = simulate_track(s, track);
    gsv_series *named = one ? series_track(one, 0, label) : NULL;
    gsv_series_free(one);
    return named;
}

static gsv_series *simulate_subjects(const gsv_model *m,
                                     const gsv_simulate_options *o)
{
    struct subjects s;
    gsv_series **track = NEW(gsv_series *, o->tracks), *all = NULL;
    size_t n = 0;
    int status = track ? subjects_init(&s, m, o) : GSV_NO_MEMORY;
    for (; !status && n < o->tracks; n++) {
        status = halt_asked() ? halt_status() : 0;
        if (!status) track[n] = name_track(&s, n);
        if (!status && !track[n]) status = (int)gsv_last_status();
        if (status) break;
    }
    if (!status) all = series_below(n, track);
    for (size_t r = 0; r < n; r++)
        gsv_series_free(track[r]);
    if (track) subjects_free(&s);
    mem_free(track);
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
