/* SPDX-License-Identifier: MIT */
#include "simulate/tracks.h"

#include <math.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/random.h"

/* Normal numbers come in fours, so those of several steps are drawn at once:
 * this many rows, or those of one step. */
enum { VECTOR = 8, DRAWN_ROWS = 32 };

static size_t fill_vectors(size_t tracks)
{
    return (tracks + VECTOR - 1) / VECTOR * VECTOR;
}

int tracks_init(struct tracks *b, const struct field *f,
                const struct emitter *e, const struct scheme *scheme,
                size_t most)
{
    size_t P = fill_vectors(most), rows = 2 * f->spec->noises;
    if (P > TRACKS_BLOCK) P = TRACKS_BLOCK;
    b->scheme = scheme;
    b->drawn = rows < DRAWN_ROWS ? DRAWN_ROWS / rows : 1;
    b->z = NEW(double, b->drawn *rows *P);
    if (!b->z || stepper_init(&b->stepper, f, P) ||
        (scheme->react
             ? reactor_init(&b->reactor, f, P)
             : f->state_noise && guard_init(&b->guard, f, scheme, P)) ||
        emission_init(&b->emission, e, P))
        return GSV_NO_MEMORY;
    return 0;
}

void tracks_free(struct tracks *b)
{
    stepper_free(&b->stepper);
    guard_free(&b->guard);
    reactor_free(&b->reactor);
    emission_free(&b->emission);
    mem_free(b->z);
}

void tracks_begin(struct tracks *b, uint64_t seed, size_t block, size_t all)
{
    size_t left = all - block * TRACKS_BLOCK;
    b->seed = seed;
    b->first = block * TRACKS_BLOCK;
    b->count = left < TRACKS_BLOCK ? left : TRACKS_BLOCK;
    b->step = 0;
    b->emission.begun = false;
    b->stepper.P = fill_vectors(b->count);
    if (b->scheme->react)
        reactor_begin(&b->reactor, seed, b->first, b->stepper.P);
}

bool tracks_find_lost(const struct tracks *b, const double *x, size_t *lost)
{
    size_t P = b->stepper.P, d = b->stepper.field->spec->dim;
    if (all_finite(d * P, x)) return false;
    for (size_t p = 0; p < b->count; p++)
        for (size_t i = 0; i < d; i++)
            if (!isfinite(x[i * P + p])) {
                *lost = p;
                return true;
            }
    return false;
}

/* The numbers of the next step, (2 noises, P): dW, where z is scaled by
 * sqrt(h), then zeta. A scheme without zeta has its rows all the same, so that
 * every scheme sees the same dW. */
static double *next_numbers(struct tracks *b, double h)
{
    const struct field *f = b->stepper.field;
    size_t P = b->stepper.P, noises = f->spec->noises, rows = 2 * noises;
    size_t at = (size_t)(b->step % b->drawn);
    const struct random_key key = {.seed = b->seed, .purpose = RANDOM_SIMULATE};
    if (!at) {
        size_t unread = b->scheme->zeta || f->state_noise ? 0 : noises;
        random_normals(&key, b->step * rows, b->drawn * rows - unread, b->first,
                       P, b->z);
    }
    double *z = b->z + at * rows * P, root = sqrt(h);
    for (size_t i = 0; i < noises * P; i++)
        z[i] *= root;
    b->step++;
    return z;
}

static bool make_step(struct tracks *b, const struct step *step, size_t *lost)
{
    struct stepper *s = &b->stepper;
    if (b->scheme->react)
        return b->scheme->react(&b->reactor, s, step, b->count, lost);
    if (s->field->state_noise) {
        const struct address from = {b->seed, b->first, b->step - 1};
        return guard_step(&b->guard, s, step, b->count, &from, lost);
    }
    b->scheme->step(s, step);
    return !tracks_find_lost(b, s->x, lost);
}

bool tracks_walk(struct tracks *b, double from, double to, size_t n,
                 size_t *lost, double *time)
{
    struct stepper *s = &b->stepper;
    double h = (to - from) / (double)n;
    for (size_t j = 0; j < n; j++) {
        const double *z = b->scheme->react ? b->z : next_numbers(b, h);
        struct step step = {.t = from + h * (double)j,
                            .h = h,
                            .end = j + 1 < n ? from + h * (double)(j + 1) : to,
                            .dW = z,
                            .zeta = z + s->field->spec->noises * s->P};
        emission_enter(&b->emission, s, step.t);
        *time = step.end;
        if (!make_step(b, &step, lost)) return false;
        emission_leave(&b->emission, s, &step);
    }
    return true;
}

bool tracks_jump(struct tracks *b, double time, size_t *lost)
{
    struct stepper *s = &b->stepper;
    size_t row = gaps_event_at(&s->field->inputs, s->track, time);
    if (row == NO_ROW) return true;
    bool inside = stepper_jump(s, time, row);
    for (size_t p = 0; !inside && p < b->count; p++)
        if (!s->arrived[p]) {
            *lost = p;
            return false;
        }
    return !tracks_find_lost(b, s->x, lost);
}
