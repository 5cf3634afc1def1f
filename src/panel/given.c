/* SPDX-License-Identifier: MIT */
#include "panel/given.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "base/memory.h"
#include "base/spread.h"

/* Tracks are shared by so many lanes at most. Estimators of so many tracks are
 * kept from run to run: making one takes longer than a short series does. */
enum { GIVEN_LANES = 256, MOST_KEPT = 64 };

/* --- Setting up ----------------------------------------------------------- */

/* The subject of a track that says something, else NULL. */
static struct subject *subject_of(struct given *g, size_t track, size_t thread)
{
    if (track_is_silent(&g->task, track)) return NULL;
    return &g->subject[g->kept ? track : thread];
}

static int begin(struct given *g, struct subject *s, size_t track)
{
    const double *values = g->task.model->value;
    if (!g->kept || !s->begun)
        return subject_begin(s, &g->task, track, values, NULL);
    memcpy(s->value, values, s->model.spec->parameters * sizeof *values);
    return 0;
}

static void end(struct given *g, struct subject *s, int status)
{
    if (!g->kept || status) subject_end(s);
}

static int count_track(struct given *g, size_t track)
{
    struct subject *s = subject_of(g, track, 0);
    struct slots slots = {0};
    int status = s ? begin(g, s, track) : 0;
    if (!status && s) slots = s->inner->slots(s->machine, NULL);
    if (s) end(g, s, status);
    g->slot[track + 1] = g->slot[track] + slots.slots;
    g->unit[track + 1] = g->unit[track] + slots.units;
    g->random = g->random || slots.random;
    return status;
}

int given_init(struct given *g, const struct method *inner,
               const struct task *t)
{
    size_t tracks = t->series->tracks;
    *g = (struct given){.task = *t,
                        .options = *t->options,
                        .n = t->model->spec->effect_size,
                        .tracks = tracks,
                        .lanes = tracks < GIVEN_LANES ? tracks : GIVEN_LANES,
                        .threads = lanes_threads(t->options->threads),
                        .slot = NEW(size_t, tracks + 1),
                        .unit = NEW(size_t, tracks + 1),
                        .status = NEW(double, tracks)};
    g->task.options = &g->options;
    g->kept = tracks <= MOST_KEPT;
    g->subjects = g->kept ? tracks : g->threads;
    g->subject = NEW(struct subject, g->subjects);
    int status = GSV_NO_MEMORY;
    if (g->subject && g->slot && g->unit && g->status) status = 0;
    for (size_t i = 0; !status && i < g->subjects; i++)
        status = subject_init(&g->subject[i], inner, &g->task);
    for (size_t i = 0; !status && i < tracks; i++)
        status = halt_asked() ? halt_status() : count_track(g, i);
    return status;
}

void given_free(struct given *g)
{
    for (size_t i = 0; g->subject && i < g->subjects; i++)
        subject_free(&g->subject[i]);
    MEM_FREE(g->subject, g->slot, g->unit, g->status);
    *g = (struct given){0};
}

int given_slots(struct given *g, size_t *unit)
{
    int status = 0;
    for (size_t i = 0; !status && i < g->tracks; i++) {
        struct subject *s = subject_of(g, i, 0);
        status = s ? begin(g, s, i) : 0;
        if (!status && s) s->inner->slots(s->machine, unit + g->slot[i]);
        if (s) end(g, s, status);
        for (size_t k = g->slot[i]; k < g->slot[i + 1]; k++)
            unit[k] += g->unit[i];
    }
    return status;
}

/* --- A run ---------------------------------------------------------------- */

static int run_track(struct given *g, size_t track, size_t thread)
{
    struct subject *s = subject_of(g, track, thread);
    if (!s) return 0;
    int status = begin(g, s, track);
    if (!status)
        status =
            subject_units(s, g->u + track * g->n, g->stream + g->slot[track],
                          g->value + g->unit[track]);
    end(g, s, status);
    if (status != GSV_NUMERICAL) return status;
    for (size_t i = g->unit[track]; i < g->unit[track + 1]; i++)
        g->value[i] = -INFINITY;
    return 0;
}

static size_t first_track(const void *context, size_t lane)
{
    const struct given *g = context;
    return lanes_first(lane, g->lanes, g->tracks);
}

static size_t first_unit(const void *context, size_t lane)
{
    return ((const struct given *)context)->unit[first_track(context, lane)];
}

static void work(void *context, size_t lane, size_t thread)
{
    struct given *g = context;
    size_t end = first_track(g, lane + 1);
    for (size_t i = first_track(g, lane); i < end && !halt_asked(); i++)
        g->status[i] = (double)run_track(g, i, thread);
}

/* The first track that failed, once more for a message in this thread. */
static int check_tracks(struct given *g)
{
    for (size_t i = 0; i < g->tracks; i++) {
        if (g->status[i] == 0.0) continue;
        int status = run_track(g, i, 0);
        if (status) return status;
    }
    return 0;
}

int given_run(struct given *g, const double *u, const uint32_t *stream,
              double *value)
{
    const struct spread_share share[] = {
        {g->status, sizeof *g->status, first_track},
        {value, sizeof *value, first_unit}};
    const struct spread s = {.ranks = g->options.ranks,
                             .lanes = g->lanes,
                             .threads = g->threads,
                             .context = g,
                             .work = work,
                             .shares = 2,
                             .share = share};
    g->u = u;
    g->stream = stream;
    g->value = value;
    int status = spread_run(&s);
    return status ? status : check_tracks(g);
}
