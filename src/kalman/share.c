/* SPDX-License-Identifier: MIT */
/* Which gaps share a transition, and which rows a view. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kalman/kalman.h"

struct key {
    const double *number;
    size_t n, stop;
};

static int compare(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    for (size_t i = 0; i < x->n; i++)
        if (x->number[i] != y->number[i])
            return x->number[i] < y->number[i] ? -1 : 1;
    return (x->stop > y->stop) - (x->stop < y->stop);
}

static bool is_same(const struct key *a, const struct key *b)
{
    return !memcmp(a->number, b->number, a->n * sizeof *a->number);
}

/* Numbers that make a gap the same as another: its length, what precedes it,
 * and the inputs where they are used. Where coefficients change within it, or
 * an event precedes it, it is the only one. */
static size_t key_size(const struct kalman *k)
{
    size_t inputs = k->model->spec->inputs;
    bool used = program_uses(k->dynamics.program, OP_INPUT) ||
                program_uses(k->dynamics.program, OP_SLOPE);
    return used && k->motion == MOTION_NONE ? 2 + 2 * inputs : 2;
}

static void fill_key(const struct kalman *k, size_t stop, size_t n, double *to)
{
    const struct stop *here = &k->stops.stop[stop];
    size_t inputs = k->model->spec->inputs;
    bool event, leaps = leap_is(k, stop, &event);
    to[0] = here->time - here[-1].time;
    to[1] = event || k->motion != MOTION_NONE ? (double)stop + 2.0
            : leaps                           ? 1.0
                                              : 0.0;
    if (n > 2)
        gap_inputs(&k->stops.gaps, here->track, here[-1].time, false, to + 2,
                   to + 2 + inputs, 1);
}

static void number_gaps(struct kalman *k, size_t count, struct key *key)
{
    qsort(key, count, sizeof *key, compare);
    for (size_t i = 0; i < count; i++) {
        if (!i || !is_same(&key[i - 1], &key[i]))
            k->gap_of[k->transitions++] = key[i].stop;
        k->transition[key[i].stop] = k->transitions - 1;
    }
}

static void number_rows(struct kalman *k)
{
    const struct program *p = k->seen.program;
    bool each = p && (program_uses(p, OP_TIME) || program_uses(p, OP_INPUT) ||
                      program_uses(p, OP_SLOPE));
    k->views = p && !each ? 1 : 0;
    for (size_t n = 0; each && n < k->stops.count; n++) {
        if (k->stops.stop[n].row == NO_ROW) continue;
        k->view[n] = k->views;
        k->row_of[k->views++] = n;
    }
}

int coefficients_share(struct kalman *k)
{
    size_t n = k->stops.count, size = key_size(k), count = 0;
    double *number = NEW(double, n *size);
    struct key *key = NEW(struct key, n);
    k->transition = NEW(size_t, n);
    k->view = NEW(size_t, n);
    k->gap_of = NEW(size_t, n);
    k->row_of = NEW(size_t, n);
    bool room =
        number && key && k->transition && k->view && k->gap_of && k->row_of;
    for (size_t i = 0; room && i < n; i++) {
        if (stop_is_first(&k->stops, i)) continue;
        key[count] = (struct key){number + i * size, size, i};
        fill_key(k, i, size, number + i * size);
        count++;
    }
    if (room) number_gaps(k, count, key);
    if (room) number_rows(k);
    MEM_FREE(number, key);
    return room ? 0 : GSV_NO_MEMORY;
}
