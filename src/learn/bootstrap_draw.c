/* SPDX-License-Identifier: MIT */
/* A data set of the bootstrap. A track starts in its first row in which all
 * exactly observed states are known; that row and those before it stay as they
 * are. Hidden states start from their init law. Cells that are missing in the
 * data are missing here. Tracks with the same times are simulated together,
 * unless they have inputs of their own. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/series_join.h"
#include "learn/bootstrap.h"
#include "model/gaps.h"
#include "simulate/first.h"

struct drawing {
    const gsv_model *m;
    const gsv_series *s;
    struct gaps gaps;
    uint64_t seed;
    size_t steps;
    size_t *first;        /* (tracks) rows where they start             */
    double *start;        /* (dim, tracks) of some tracks               */
    struct first law;     /* of hidden first states                     */
    double *value;        /* (columns, rows) of the result              */
    bool *drawn;          /* (columns) simulated, neither input nor new */
    bool alone, law_only; /* inputs; all states are hidden              */
};

/* --- Where tracks start --------------------------------------------------- */

static bool is_start(const struct drawing *d, size_t row)
{
    const struct spec *spec = d->m->spec;
    for (size_t i = 0; i < spec->dim; i++)
        if (!spec->latent[i] && isnan(gaps_state(&d->gaps, i, row)))
            return false;
    return true;
}

static void find_starts(struct drawing *d)
{
    const gsv_series *s = d->s;
    for (size_t r = 0; r < s->tracks; r++) {
        size_t row = s->start[r];
        while (row < s->start[r + 1] && !is_start(d, row))
            row++;
        d->first[r] = row;
    }
}

/* The first states of tracks from r on: rows of the data, and draws of hidden
 * ones, whose law is that of track r. */
static int place_starts(struct drawing *d, size_t r, size_t tracks)
{
    const struct spec *spec = d->m->spec;
    double time = spec->init_timed ? spec->init_time : d->s->time[d->first[r]];
    int status = spec_is_latent(spec)
                     ? first_of_model(&d->law, d->m, &d->gaps, r, time)
                     : 0;
    if (status) return status;
    const struct random_key key = {
        .seed = d->seed, .purpose = RANDOM_START, .item = r};
    for (size_t i = 0; i < spec->dim; i++)
        for (size_t k = 0; k < tracks; k++) {
            double z, *to = &d->start[i * tracks + k];
            random_normals(&key, i, 1, k, 1, &z);
            *to = spec->latent[i] ? first_draw(&d->law, &key, i, r + k, z)
                                  : gaps_state(&d->gaps, i, d->first[r + k]);
        }
    first_free(&d->law);
    return 0;
}

/* --- Simulation ----------------------------------------------------------- */

static size_t rows_of(const struct drawing *d, size_t r)
{
    return d->s->start[r + 1] - d->first[r];
}

/* Tracks from r on that can be simulated together. */
static size_t count_alike(const struct drawing *d, size_t r)
{
    const double *time = d->s->time;
    size_t n = rows_of(d, r), end = r + 1;
    while (!d->alone && end < d->s->tracks && rows_of(d, end) == n &&
           !memcmp(time + d->first[r], time + d->first[end], n * sizeof *time))
        end++;
    return end - r;
}

/* Short gaps among long ones do not make all steps short. */
static double step_of(const struct drawing *d, size_t r)
{
    enum { SHORTER = 8 };
    size_t n = rows_of(d, r);
    const double *time = d->s->time + d->first[r];
    double mean = (time[n - 1] - time[0]) / (double)(n - 1), least = mean;
    for (size_t i = 1; i < n; i++)
        least = fmin(least, time[i] - time[i - 1]);
    return fmax(least, mean / SHORTER) / (double)d->steps;
}

/* Values that the data have are replaced. The start is a row of the data, but
 * for noisy observations. */
static void keep(struct drawing *d, size_t r, size_t tracks,
                 const gsv_series *from)
{
    const gsv_series *s = d->s;
    size_t n = rows_of(d, r);
    for (size_t j = 0; j < from->columns; j++)
        for (size_t c = 0; c < s->columns; c++) {
            if (!d->drawn[c] || strcmp(s->name[c], from->name[j]) != 0)
                continue;
            for (size_t k = 0; k < tracks * n; k++) {
                size_t row = d->first[r + k / n] + k % n;
                double *to = &d->value[c * s->rows + row];
                if (!isnan(*to)) *to = from->value[j * from->rows + k];
            }
        }
}

/* Where a path is not finite, once more in shorter steps. */
static int draw_tracks(struct drawing *d, size_t r, size_t tracks)
{
    enum { TRIES = 3, SHORTER = 8 };
    gsv_simulate_options o = gsv_simulate_options_default();
    gsv_series *drawn = NULL;
    gsv_series *input = d->alone ? series_track(d->s, r, d->s->label[r]) : NULL;
    if (d->alone && !input) return (int)gsv_last_status();
    int status = place_starts(d, r, tracks);
    o.times = rows_of(d, r);
    o.time = d->s->time + d->first[r];
    o.tracks = tracks;
    o.start = d->law_only ? NULL : d->start;
    o.step = step_of(d, r);
    o.input = input;
    o.seed = d->seed + 0x9e3779b97f4a7c15u * (uint64_t)(r + 1);
    o.threads = 1;
    for (int tries = 0; !status && !drawn && tries < TRIES;
         tries++, o.step /= SHORTER) {
        drawn = gsv_simulate(d->m, &o);
        if (!drawn && gsv_last_status() != GSV_NUMERICAL) break;
    }
    if (drawn) keep(d, r, tracks, drawn);
    gsv_series_free(input);
    if (!drawn) return status ? status : (int)gsv_last_status();
    gsv_series_free(drawn);
    return 0;
}

/* --- All of it ------------------------------------------------------------ */

static void find_drawn(struct drawing *d)
{
    const struct spec *spec = d->m->spec;
    for (size_t c = 0; c < d->s->columns; c++) {
        d->drawn[c] = true;
        for (size_t i = 0; i < spec->inputs; i++)
            if (!strcmp(d->s->name[c], spec->input[i].name))
                d->drawn[c] = false;
    }
}

static int drawing_init(struct drawing *d)
{
    const gsv_series *s = d->s;
    const struct spec *spec = d->m->spec;
    size_t count = s->columns * s->rows;
    d->first = NEW(size_t, s->tracks);
    d->start = NEW(double, spec->dim * s->tracks);
    d->value = NEW(double, count);
    d->drawn = NEW(bool, s->columns);
    if (!d->first || !d->start || !d->value || !d->drawn) return GSV_NO_MEMORY;
    int status = gaps_find(&d->gaps, d->m, s);
    if (status) return status;
    memcpy(d->value, s->value, count * sizeof *d->value);
    d->alone = spec->inputs > 0 || gsv_model_given(d->m, 0, NULL) > 0;
    d->law_only = spec_latent(spec) == spec->dim;
    find_drawn(d);
    find_starts(d);
    return 0;
}

static void drawing_free(struct drawing *d)
{
    gaps_free(&d->gaps);
    first_free(&d->law);
    MEM_FREE(d->first, d->start, d->value, d->drawn);
}

gsv_series *bootstrap_draw(const gsv_model *m, const gsv_series *s,
                           uint64_t seed, size_t set, size_t steps)
{
    struct drawing d = {.m = m, .s = s, .steps = steps};
    gsv_series *result = NULL;
    /* Far apart, also from the seeds that users give. */
    d.seed = seed ^ (0xbf58476d1ce4e5b9u * (uint64_t)(set + 1));
    int status = drawing_init(&d);
    for (size_t r = 0; !status && r < s->tracks;) {
        size_t tracks = count_alike(&d, r);
        if (rows_of(&d, r) > 1) status = draw_tracks(&d, r, tracks);
        r += tracks;
    }
    if (!status) result = series_with(s, d.value);
    drawing_free(&d);
    return result;
}
