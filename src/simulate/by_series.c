/* SPDX-License-Identifier: MIT */
#include "simulate/by_series.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/series_join.h"
#include "model/levels.h"

bool simulate_has_inputs(const gsv_simulate_options *o)
{
    return o->input && o->tracks > 1 && o->input->tracks == o->tracks;
}

static bool has_numbers(const gsv_model *m)
{
    return spec_category(m->spec, SERIES_NAME) < m->spec->categories;
}

bool simulates_by_series(const gsv_model *m, const gsv_simulate_options *o)
{
    return has_numbers(m) || simulate_has_inputs(o);
}

static bool is_level(const struct category_spec *c, const char *label)
{
    for (size_t i = 0; i < c->levels; i++)
        if (!strcmp(c->label[i], label)) return true;
    return false;
}

/* Tracks are the series of the input, or else the first levels. */
static const char *label_of(const gsv_model *m, const gsv_simulate_options *o,
                            size_t r)
{
    const struct spec *spec = m->spec;
    const gsv_series *s = o->input;
    if (!has_numbers(m)) return s->label[r];
    const struct category_spec *c =
        &spec->category[spec_category(spec, SERIES_NAME)];
    bool own = s && s->tracks == o->tracks;
    if (own && (s->tracks > 1 || is_level(c, s->label[r]))) return s->label[r];
    if (r < c->levels) return c->label[r];
    return fail_null(GSV_BAD_INPUT,
                     "the model has numbers for %zu series; simulate at most "
                     "so many tracks",
                     c->levels);
}

/* The inputs of one track, and its label, which is an input as well. */
static gsv_series *input_of(const gsv_simulate_options *o, size_t r,
                            const char *label)
{
    static const size_t START[] = {0, 1};
    const gsv_series *s = o->input;
    if (s) return series_track(s, s->tracks == o->tracks ? r : 0, label);
    gsv_series *none = gsv_series_new(1, START, 0, NULL, o->time, NULL);
    gsv_series *named = none ? series_track(none, 0, label) : NULL;
    gsv_series_free(none);
    return named;
}

static gsv_series *one_track(const gsv_model *m, const gsv_simulate_options *o,
                             simulate_tracks *simulate, size_t r)
{
    gsv_simulate_options one = *o;
    size_t d = m->spec->dim;
    const char *label = label_of(m, o, r);
    gsv_series *input = label ? input_of(o, r, label) : NULL, *made = NULL;
    double *start = input ? NEW(double, d) : NULL;
    for (size_t i = 0; start && o->start && i < d; i++)
        start[i] = o->start[i * o->tracks + r];
    one.tracks = 1;
    one.input = input;
    if (o->start) one.start = start;
    one.seed = o->seed + 0x9e3779b97f4a7c15u * (uint64_t)r;
    if (start) made = simulate(m, &one);
    gsv_series *named = made ? series_track(made, 0, label) : NULL;
    gsv_series_free(made);
    gsv_series_free(input);
    mem_free(start);
    return named;
}

gsv_series *simulate_by_series(const gsv_model *m,
                               const gsv_simulate_options *o,
                               simulate_tracks *simulate)
{
    if (levels_check(m) || externals_refuse(m->spec)) return NULL;
    gsv_series **track = NEW(gsv_series *, o->tracks), *all = NULL;
    size_t n = 0;
    while (track && n < o->tracks) {
        track[n] = one_track(m, o, simulate, n);
        if (!track[n]) break;
        n++;
    }
    if (track && n == o->tracks) all = series_below(n, track);
    for (size_t r = 0; r < n; r++)
        gsv_series_free(track[r]);
    mem_free(track);
    return all;
}
