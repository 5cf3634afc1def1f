/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "sde/observe.h"

/* Whether anything was observed in a row. */
static bool is_stop(const struct stops *s, size_t row)
{
    const struct spec *spec = s->gaps.spec;
    for (size_t i = 0; i < spec->dim; i++)
        if (!isnan(gaps_state(&s->gaps, i, row))) return true;
    for (size_t k = 0; k < spec->values; k++)
        if (!isnan(gaps_value(&s->gaps, k, row))) return true;
    return false;
}

static int add_track(struct stops *s, size_t track)
{
    const gsv_series *series = s->gaps.series;
    size_t before = s->count;
    for (size_t row = series->start[track]; row < series->start[track + 1];
         row++) {
        double time = series->time[row];
        if (!is_stop(s, row)) continue;
        if (MEM_ROOM(s->stop, s->count, s->capacity)) return GSV_NO_MEMORY;
        if (s->count > before)
            s->longest = fmax(s->longest, time - s->stop[s->count - 1].time);
        s->stop[s->count++] =
            (struct stop){.track = track, .row = row, .time = time};
    }
    s->first[track + 1] = s->count;
    return 0;
}

int stops_init(struct stops *s, const gsv_model *m, const gsv_series *series)
{
    *s = (struct stops){0};
    int status = gaps_init(&s->gaps, m, series);
    if (status) return status;
    s->first = NEW(size_t, series->tracks + 1);
    if (!s->first) return GSV_NO_MEMORY;
    for (size_t r = 0; !status && r < series->tracks; r++)
        status = add_track(s, r);
    if (!status && !s->count)
        status = fail(GSV_BAD_INPUT, "%s: nothing is observed in any row",
                      series->source);
    return status;
}

void stops_free(struct stops *s)
{
    gaps_free(&s->gaps);
    mem_free(s->stop);
    mem_free(s->first);
    *s = (struct stops){0};
}

bool stop_is_first(const struct stops *s, size_t n)
{
    return !n || s->stop[n].track != s->stop[n - 1].track;
}
