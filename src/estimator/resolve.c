/* SPDX-License-Identifier: MIT */
#include "estimator/resolve.h"

#include <math.h>

#include "base/memory.h"
#include "graph/graph.h"
#include "model/gaps.h"

/* Irregular times in a gap; points that are evaluated together, about. */
enum { PROBES = 48, POINTS = 1 << 14 };

/* What straight lines may miss of the changes, as a share of their squares:
 * that of a sine with six steps a period. */
static const double MISSED = 0.02;

/* (golden ratio) times j, modulo 1, is nowhere near a regular grid. */
static const double GOLDEN = 0.61803398874989485;

struct probe {
    const gsv_model *model;
    struct gaps gaps;
    size_t d, inputs;
    double *x, *time, *input, *slope, *f; /* (d, P), (P), (inputs, P) */
    double *end;                          /* (d, 2)                   */
    struct arena arena;
};

static double share_of(size_t j, size_t steps)
{
    if (j > steps) return fmod((double)(j - steps) * GOLDEN, 1.0);
    return (double)j / (double)steps;
}

/* Hidden states are anywhere: any value shows a force. */
static const double ANYWHERE = 0.5;

/* The gap, and the states at its ends; of hidden states from a row on. */
static struct gap find(struct probe *p, size_t number)
{
    const gsv_series *s = p->gaps.series;
    size_t track = 0;
    if (!spec_is_latent(p->model->spec)) {
        struct gap gap = gaps_at(&p->gaps, number);
        gap_ends(&p->gaps, &gap, p->end, 2);
        return gap;
    }
    while (s->start[track + 1] <= number)
        track++;
    for (size_t i = 0; i < 2 * p->d; i++)
        p->end[i] = ANYWHERE;
    size_t next = number + 1 < s->start[track + 1] ? number + 1 : number;
    return (struct gap){.track = track,
                        .from = number,
                        .to = next,
                        .start = s->time[number],
                        .length = s->time[next] - s->time[number]};
}

/* Points of one gap: the ends of its steps, then the irregular ones. */
static void place(struct probe *p, size_t number, size_t steps, size_t at,
                  size_t P)
{
    struct gap gap = find(p, number);
    for (size_t j = 0; j <= steps + PROBES; j++) {
        double share = share_of(j, steps), t = gap.start + share * gap.length;
        for (size_t i = 0; i < p->d; i++)
            p->x[i * P + at + j] =
                p->end[2 * i] + share * (p->end[2 * i + 1] - p->end[2 * i]);
        p->time[at + j] = t;
        if (p->inputs)
            gap_inputs(&p->gaps, gap.track, t, j == steps, p->input + at + j,
                       p->slope + at + j, P);
    }
}

/* Whether straight lines between the steps see most of the changes. */
static bool is_seen(const struct probe *p, size_t steps, size_t at, size_t P)
{
    for (size_t i = 0; i < p->d; i++) {
        const double *f = p->f + i * P + at;
        double mean = 0.0, changes = 0.0, missed = 0.0, size = 0.0;
        for (size_t j = steps + 1; j <= steps + PROBES; j++)
            mean += f[j] / PROBES;
        for (size_t j = steps + 1; j <= steps + PROBES; j++) {
            double place = share_of(j, steps) * (double)steps;
            size_t left = (size_t)place < steps ? (size_t)place : steps - 1;
            double off = place - (double)left;
            double line = f[left] + off * (f[left + 1] - f[left]);
            changes += (f[j] - mean) * (f[j] - mean);
            missed += (f[j] - line) * (f[j] - line);
            size += f[j] * f[j];
        }
        if (missed > MISSED * changes && missed > 1e-12 * size) return false;
    }
    return true;
}

/* Gaps pick[0..n) with so many steps: those that need more are kept in pick.
 * Returns how many, or SIZE_MAX after a failure. */
static int look(struct probe *p, size_t steps, const size_t *number,
                size_t *pick, size_t *n)
{
    size_t each = steps + 1 + PROBES, batch = POINTS / each, kept = 0;
    if (!batch) batch = 1;
    for (size_t first = 0; first < *n; first += batch) {
        size_t count = *n - first < batch ? *n - first : batch;
        size_t P = count * each;
        for (size_t i = 0; i < count; i++) {
            size_t at = pick[first + i];
            place(p, number ? number[at] : at, steps, i * each, P);
        }
        const struct points in = {.P = P,
                                  .state = p->x,
                                  .time = p->time,
                                  .input = p->input,
                                  .slope = p->slope};
        int status =
            model_evaluate(p->model, p->model->data_drift, &in, true, p->f);
        if (status) return status;
        for (size_t i = 0; i < count; i++)
            if (!is_seen(p, steps, i * each, P)) pick[kept++] = pick[first + i];
    }
    *n = kept;
    return 0;
}

static int probe_init(struct probe *p, const gsv_model *m, const gsv_series *s,
                      size_t most)
{
    size_t each = most + 1 + PROBES, P = POINTS > each ? POINTS : each;
    size_t d = m->spec->dim, inputs = m->spec->inputs;
    *p = (struct probe){.model = m, .d = d, .inputs = inputs};
    const struct arena_part part[] = {
        {&p->x, d * P},          {&p->time, P},  {&p->input, inputs * P},
        {&p->slope, inputs * P}, {&p->f, d * P}, {&p->end, 2 * d}};
    if (arena_lay(&p->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    return gaps_find(&p->gaps, m, s);
}

int resolve_time(const gsv_model *m, const gsv_series *s, size_t n,
                 const size_t *number, size_t steps, unsigned most,
                 unsigned char *level)
{
    struct probe p;
    size_t *pick = NEW(size_t, n), left = n;
    int status = pick ? probe_init(&p, m, s, steps << most) : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++) {
        pick[i] = i;
        level[i] = 0;
    }
    for (unsigned l = 0; !status && left && l < most; l++) {
        status = look(&p, steps << l, number, pick, &left);
        for (size_t i = 0; !status && i < left; i++)
            level[pick[i]] = (unsigned char)(l + 1);
    }
    if (pick) {
        gaps_free(&p.gaps);
        arena_free(&p.arena);
    }
    mem_free(pick);
    return status;
}

/* Gaps that are looked at, and how many in ten must see it: for a jump in one
 * gap all the others would pay. */
enum { LOOKS = 128, OF_TEN = 9 };

static unsigned enough(size_t n, const unsigned char *level, unsigned most)
{
    for (unsigned l = 0; l < most; l++) {
        size_t met = 0;
        for (size_t i = 0; i < n; i++)
            met += level[i] <= l;
        if (10 * met >= OF_TEN * n) return l;
    }
    return most;
}

/* Gaps that resolve_time() knows by their numbers. */
static int count(const gsv_model *m, const gsv_series *s, size_t *all)
{
    struct gaps gaps;
    int status = gaps_find(&gaps, m, s);
    if (status) return status;
    *all = spec_is_latent(m->spec) ? s->rows : gaps.count;
    gaps_free(&gaps);
    return 0;
}

int resolve_steps(const gsv_model *m, const gsv_series *s, size_t first,
                  unsigned most, size_t *steps)
{
    size_t number[LOOKS], all;
    unsigned char level[LOOKS];
    *steps = first;
    if (!graph_moves(m->spec->graph, m->spec->drift)) return 0;
    int status = count(m, s, &all);
    if (status || !all) return status;
    size_t n = all < LOOKS ? all : LOOKS;
    for (size_t i = 0; i < n; i++)
        number[i] = i * all / n;
    status = resolve_time(m, s, n, number, first, most, level);
    if (!status) *steps = first << enough(n, level, most);
    /* Where the drift has no value, nothing is known of it. */
    return status == GSV_NUMERICAL ? 0 : status;
}
