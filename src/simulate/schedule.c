/* SPDX-License-Identifier: MIT */
#include "simulate/schedule.h"

#include "base/error.h"
#include "base/memory.h"

/* Where the model's init has a time, tracks begin there, unless first states
 * were given, which are those of the first row. */
static int set_begin(struct schedule *s, const gsv_simulate_options *o,
                     const struct spec *spec, bool own)
{
    s->begin = o->time[0];
    if (!own || !spec->init_timed) return 0;
    if (spec->init_time > o->time[0])
        return fail(GSV_BAD_INPUT,
                    "the times begin at %g, before the time %g of the model's "
                    "init; give later --times, or an --x0",
                    o->time[0], spec->init_time);
    s->begin = spec->init_time;
    return 0;
}

/* A row of the inputs in which an event acts, from the start on and before the
 * last time: the state does not show what comes later. */
static bool is_event(const struct schedule *s, const gsv_simulate_options *o,
                     const struct gaps *g, size_t row)
{
    double time = g->series->time[row];
    return time >= s->begin && time <= o->time[o->times - 1] &&
           gaps_states_jump(g, row);
}

static void add_time(struct schedule *s, double time, bool asked)
{
    s->time[s->times] = time;
    s->asked[s->times++] = asked;
}

int schedule_init(struct schedule *s, const gsv_simulate_options *o,
                  const struct gaps *inputs, bool own)
{
    const gsv_series *data = inputs->series;
    size_t k = 0, end = inputs->spec->events ? data->start[1] : 0;
    *s = (struct schedule){.time = NEW(double, o->times + end),
                           .asked = NEW(bool, o->times + end)};
    if (!s->time || !s->asked) return GSV_NO_MEMORY;
    int status = set_begin(s, o, inputs->spec, own);
    for (size_t row = 0; !status && row < end; row++) {
        if (!is_event(s, o, inputs, row)) continue;
        for (; k < o->times && o->time[k] <= data->time[row]; k++)
            add_time(s, o->time[k], true);
        bool there =
            (k && gaps_event_at(inputs, 0, o->time[k - 1]) == row) ||
            (k < o->times && gaps_event_at(inputs, 0, o->time[k]) == row);
        if (!there) add_time(s, data->time[row], false);
    }
    for (; !status && k < o->times; k++)
        add_time(s, o->time[k], true);
    return status;
}

void schedule_free(struct schedule *s)
{
    MEM_FREE(s->time, s->asked);
    *s = (struct schedule){0};
}
