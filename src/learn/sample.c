/* SPDX-License-Identifier: MIT */
#include "learn/sample.h"

#include <math.h>

#include "base/memory.h"

/* All of them; or by the golden ratio, which matches no period of the data and
 * no length of a track. */
static size_t choice(const struct sample *a, size_t i)
{
    double place = 0.6180339887498949 * (double)i;
    if (a->count == a->gaps.count) return i;
    return (size_t)((place - floor(place)) * (double)a->gaps.count);
}

static void fill(struct sample *a, size_t inputs)
{
    size_t P = 2 * a->count;
    for (size_t i = 0; i < a->count; i++) {
        struct gap *gap = &a->gap[i];
        *gap = gaps_at(&a->gaps, choice(a, i));
        gap_ends(&a->gaps, gap, a->state + 2 * i, P);
        a->time[2 * i] = gap->start;
        a->time[2 * i + 1] = gap->start + gap->length;
        for (size_t j = 0; inputs && j < 2; j++)
            gap_inputs(&a->gaps, gap->track, a->time[2 * i + j], j,
                       a->input + 2 * i + j, a->slope + 2 * i + j, P);
    }
    a->ends = (struct points){.P = P,
                              .state = a->state,
                              .time = a->time,
                              .input = a->input,
                              .slope = a->slope};
}

int sample_init(struct sample *a, const gsv_model *m, const gsv_series *s,
                size_t most)
{
    *a = (struct sample){0};
    int status = gaps_find(&a->gaps, m, s);
    if (status) return status;
    a->count = a->gaps.count < most ? a->gaps.count : most;
    size_t P = 2 * a->count, n = m->spec->inputs;
    a->gap = NEW(struct gap, a->count);
    const struct arena_part part[] = {{&a->state, m->spec->dim * P},
                                      {&a->time, P},
                                      {&a->input, n * P},
                                      {&a->slope, n * P}};
    if (!a->gap || arena_lay(&a->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    fill(a, n);
    return 0;
}

void sample_free(struct sample *a)
{
    gaps_free(&a->gaps);
    mem_free(a->gap);
    arena_free(&a->arena);
    *a = (struct sample){0};
}
