/* SPDX-License-Identifier: MIT */
/* What precedes a gap: events act after what was observed in a row, all of them
 * on the state before, and integrals begin again at a row. With x' = Phi x + c
 * over the gap alone,
 *
 *     x' = Phi (E x + e) + c,   E = I + sum J_e,   e = sum j_e:
 *
 * E has zeros for integrals after a row. */
#include <math.h>
#include <string.h>

#include "base/small.h"
#include "kalman/kalman.h"

int leap_init(struct leap *l, const struct kalman *k)
{
    const struct spec *s = k->model->spec;
    const struct program *f = k->leap.program;
    size_t d = k->d, n = k->states, inputs = s->inputs + s->values;
    bool bars = k->options.gradient;
    const struct arena_part part[] = {
        {&l->time, 1},
        {&l->input, inputs},
        {&l->slope, inputs},
        {&l->E, d * d},
        {&l->e, d},
        {&l->bar, bars ? s->events * n * (n + 1) : 0},
        {&l->formula_bar, bars && f ? program_uniforms(f) : 0},
        {&l->room, d * d}};
    if (arena_lay(&l->arena, sizeof part / sizeof *part, part) ||
        (f && workspace_init(&l->space, f, 1, bars, false)))
        return GSV_NO_MEMORY;
    return 0;
}

void leap_free(struct leap *l)
{
    workspace_free(&l->space);
    arena_free(&l->arena);
}

bool leap_is(const struct kalman *k, size_t stop, bool *event)
{
    const struct stop *from = &k->stops.stop[stop - 1];
    *event = k->leap.program && from->event != NO_ROW;
    return *event || (k->d > k->states && from->row != NO_ROW);
}

/* The formula where a gap begins; the state is not looked at. */
static struct points run_formula(const struct kalman *k, struct leap *l,
                                 size_t stop)
{
    const struct spec *s = k->model->spec;
    const struct stop *from = &k->stops.stop[stop - 1];
    const struct gaps *g = &k->stops.gaps;
    struct points in = gaps_points(g, from->track, from->time, false, 1, l->e,
                                   l->time, l->input, l->slope);
    for (size_t i = 0; i < s->values; i++) {
        double v = gaps_value(g, i, from->event);
        l->input[s->inputs + i] = isnan(v) ? 1.0 : v;
    }
    in.input = l->input;
    in.slope = l->slope;
    program_forward(k->leap.program, &k->leap.uniforms, &l->space, &in);
    return in;
}

/* Adds the events to E and e. */
static void add_events(const struct kalman *k, struct leap *l, size_t stop)
{
    size_t d = k->d, n = k->states;
    const double *J = program_output(k->leap.program, &l->space, 1, 0);
    const double *j = program_output(k->leap.program, &l->space, 1, 1);
    for (size_t m = 0; m < k->model->spec->events; m++, J += n * n, j += n) {
        if (isnan(stop_event_value(&k->stops, stop - 1, m))) continue;
        for (size_t i = 0; i < n; i++) {
            l->e[i] += j[i];
            for (size_t h = 0; h < n; h++)
                l->E[i * d + h] += J[i * n + h];
        }
    }
}

static void make_leap(const struct kalman *k, struct leap *l, size_t stop,
                      bool event)
{
    size_t d = k->d;
    bool row = k->stops.stop[stop - 1].row != NO_ROW;
    memset(l->E, 0, d * d * sizeof *l->E);
    memset(l->e, 0, d * sizeof *l->e);
    for (size_t i = 0; i < d; i++)
        l->E[i * (d + 1)] = i < k->states || !row ? 1.0 : 0.0;
    if (!event) return;
    run_formula(k, l, stop);
    add_events(k, l, stop);
}

void leap_apply(const struct kalman *k, struct leap *l, size_t stop,
                double *Phi, double *c)
{
    size_t d = k->d;
    bool event;
    if (!leap_is(k, stop, &event)) return;
    make_leap(k, l, stop, event);
    small_add(d, 1.0, Phi, false, l->e, c);
    small_product(d, Phi, false, l->E, false, l->room);
    memcpy(Phi, l->room, d * d * sizeof *Phi);
}

/* From the bars of E and e. */
static void formula_vjp(const struct kalman *k, struct leap *l, size_t stop,
                        const double *E_bar, const double *e_bar)
{
    size_t d = k->d, n = k->states, events = k->model->spec->events;
    double *J_bar = l->bar, *j_bar = l->bar + events * n * n;
    const double *const output_bar[] = {J_bar, j_bar};
    for (size_t m = 0; m < events; m++) {
        bool acts = !isnan(stop_event_value(&k->stops, stop - 1, m));
        for (size_t i = 0; i < n; i++, j_bar++) {
            *j_bar = acts ? e_bar[i] : 0.0;
            for (size_t h = 0; h < n; h++)
                *J_bar++ = acts ? E_bar[i * d + h] : 0.0;
        }
    }
    struct points in = run_formula(k, l, stop);
    program_vjp(k->leap.program, &k->leap.uniforms, &l->space, &in, output_bar,
                NULL, l->formula_bar);
}

void leap_vjp(const struct kalman *k, struct leap *l, size_t stop,
              const double *Phi, double *Phi_bar, const double *c_bar)
{
    size_t d = k->d;
    bool event;
    double *X = l->room;
    if (!leap_is(k, stop, &event)) return;
    make_leap(k, l, stop, event);
    small_product(d, Phi_bar, false, l->E, true, X);
    small_outer(d, 1.0, c_bar, l->e, X);
    if (event) {
        small_product(d, Phi, true, Phi_bar, false, l->E);
        memset(l->e, 0, d * sizeof *l->e);
        small_add(d, 1.0, Phi, true, c_bar, l->e);
        formula_vjp(k, l, stop, l->E, l->e);
    }
    memcpy(Phi_bar, X, d * d * sizeof *X);
}
