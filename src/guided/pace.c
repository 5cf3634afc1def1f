/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/transition.h"
#include "guided/step.h"
#include "kalman/filter.h"

int pace_init(struct pace *p, const struct course *f, const struct stops *s)
{
    const struct spec *spec = f->model->spec;
    size_t n = stops_longest(s), inputs = spec->inputs, D = f->D;
    *p = (struct pace){.course = f, .stops = s, .capacity = n};
    const struct arena_part part[] = {
        {&p->input[0], n * inputs},
        {&p->input[1], n * inputs},
        {&p->slope[0], n * inputs},
        {&p->slope[1], n * inputs},
        {&p->value, n * spec->values},
        {&p->exact, n * f->d},
        {&p->log_slope, n},
        {&p->Phi, f->linear ? n * D * D : 0},
        {&p->c, f->linear ? n * D : 0},
        {&p->B, f->linear ? n * D * D : 0},
        {&p->small, 8 * D * (D + 2) + transition_scratch(D)}};
    p->exacts = NEW(bool, n);
    if (!p->exacts || arena_lay(&p->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    return 0;
}

void pace_free(struct pace *p)
{
    mem_free(p->exacts);
    arena_free(&p->arena);
}

/* What was observed at a node, and the columns of events, which act in rows
 * without observations, too. */
static void read_values(struct pace *p, size_t k)
{
    const struct stop *stop = pace_stop(p, k);
    const struct spec *spec = p->course->model->spec;
    double *value = p->value + k * spec->values;
    for (size_t i = 0; i < spec->values; i++)
        value[i] = gaps_value(&p->stops->gaps, i,
                              i < spec->obs_values ? stop->row : stop->event);
}

/* u of the states that were observed exactly at a node. */
static void read_exact(struct pace *p, size_t k, const struct course_values *v,
                       struct course_room *r)
{
    const struct course *f = p->course;
    const struct stop *stop = pace_stop(p, k);
    double *u = p->exact + k * f->d;
    p->exacts[k] = false;
    p->log_slope[k] = 0.0;
    for (size_t i = 0; i < f->d; i++) {
        u[i] = gaps_state(&p->stops->gaps, i, stop->row);
        p->exacts[k] = p->exacts[k] || !isnan(u[i]);
        r->dot[i] = isnan(u[i]) ? 1.0 : u[i];
    }
    if (!p->exacts[k]) return;
    struct points in =
        gaps_points(&p->stops->gaps, stop->track, stop->time, false, 1, r->dot,
                    r->time, r->input, r->slope);
    program_forward(f->part[COURSE_ENTER], &v->part[COURSE_ENTER],
                    &r->part[COURSE_ENTER], &in);
    const double *to =
        program_output(f->part[COURSE_ENTER], &r->part[COURSE_ENTER], 1, 0);
    const double *slope =
        program_output(f->part[COURSE_ENTER], &r->part[COURSE_ENTER], 1, 1);
    for (size_t i = 0; i < f->d; i++) {
        if (isnan(u[i])) continue;
        u[i] = to[i];
        p->log_slope[k] += log(fabs(slope[i]));
    }
}

/* --- Linear courses ------------------------------------------------------- */

/* F at x = 0 in a moment, and where A is not NULL its slope and G G'. */
static void linear_at(const struct pace *p, double time, bool before,
                      const struct course_values *v, struct course_room *r,
                      double *b, double *A, double *q)
{
    const struct course *f = p->course;
    size_t D = f->D, m = f->noises;
    const struct program *middle = f->part[COURSE_MIDDLE];
    struct workspace *room = &r->part[COURSE_MIDDLE];
    memset(r->dot, 0, 2 * D * sizeof *r->dot);
    struct points in = gaps_points(&p->stops->gaps, p->track, time, before, 1,
                                   r->dot, r->time, r->input, r->slope);
    program_forward(middle, &v->part[COURSE_MIDDLE], room, &in);
    memcpy(b, program_output(middle, room, 1, MIDDLE_DRIFT), D * sizeof *b);
    if (!A) return;
    const double *G = program_output(middle, room, 1, MIDDLE_NOISE);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            q[i * D + j] = 0.0;
            for (size_t l = 0; l < m; l++)
                q[i * D + j] += G[i * m + l] * G[j * m + l];
        }
    for (size_t j = 0; j < D; j++) {
        double *dot = r->dot + D;
        memset(dot, 0, D * sizeof *dot);
        dot[j] = 1.0;
        program_jvp(middle, &v->part[COURSE_MIDDLE], room, &in, dot);
        const double *column =
            program_output_dot(middle, room, 1, MIDDLE_DRIFT);
        for (size_t i = 0; i < D; i++)
            A[i * D + j] = column[i];
    }
}

/* The step from node k: exact where A and G stay as they are in its middle and
 * F(0) moves evenly. */
static void read_step(struct pace *p, size_t k, const struct course_values *v,
                      struct course_room *r)
{
    size_t D = p->course->D, DD = D * D;
    double h = pace_length(p, k), start = pace_stop(p, k)->time;
    double *A = p->small, *q = A + DD, *Q = q + DD, *b = Q + DD, *end = b + D;
    double *middle = end + D, *room = middle + D;
    if (k && p->course->steady && h == pace_length(p, k - 1)) {
        memcpy(p->Phi + k * DD, p->Phi + (k - 1) * DD, DD * sizeof *A);
        memcpy(p->c + k * D, p->c + (k - 1) * D, D * sizeof *A);
        memcpy(p->B + k * DD, p->B + (k - 1) * DD, DD * sizeof *A);
        return;
    }
    linear_at(p, start + 0.5 * h, false, v, r, middle, A, q);
    linear_at(p, start, false, v, r, b, NULL, NULL);
    linear_at(p, start + h, true, v, r, end, NULL, NULL);
    for (size_t i = 0; i < D; i++)
        end[i] = (end[i] - b[i]) / h;
    const struct coefficients in = {.A = A, .b = b, .slope = end, .q = q};
    const struct transition out = {
        .Phi = p->Phi + k * DD, .c = p->c + k * D, .Q = Q};
    if (!transition_make(D, h, &in, &out, room))
        memset(out.Phi, 0xff, DD * sizeof *A); /* NaN */
    filter_root(D, Q, p->B + k * DD, room);
}

void pace_set(struct pace *p, size_t track, const struct course_values *v,
              struct course_room *r)
{
    const struct stops *s = p->stops;
    const struct spec *spec = p->course->model->spec;
    size_t inputs = spec->inputs;
    p->track = track;
    p->first = s->first[track];
    p->nodes = s->first[track + 1] - p->first;
    for (size_t k = 0; k < p->nodes; k++) {
        const struct stop *stop = pace_stop(p, k);
        double end = k + 1 < p->nodes ? stop[1].time : stop->time;
        double middle = 0.5 * (stop->time + end);
        if (inputs) {
            gap_inputs(&s->gaps, track, stop->time, false,
                       p->input[0] + k * inputs, p->slope[0] + k * inputs, 1);
            gap_inputs(&s->gaps, track, middle, false, p->input[1] + k * inputs,
                       p->slope[1] + k * inputs, 1);
        }
        read_values(p, k);
        read_exact(p, k, v, r);
    }
    for (size_t k = 0; p->course->linear && k + 1 < p->nodes; k++)
        read_step(p, k, v, r);
}
