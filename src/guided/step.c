/* SPDX-License-Identifier: MIT */
#include "guided/step_parts.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fast.h"

int mover_init(struct mover *s, const struct course *f)
{
    size_t D = f->D, P = COURSE_BLOCK;
    *s = (struct mover){.course = f};
    const struct arena_part part[] = {
        {&s->from, D * P},     {&s->middle, D * P},      {&s->a, D * P},
        {&s->arrived, D * P},  {&s->jumped, D * P},      {&s->B, D * f->m * P},
        {&s->A, D * D * P},    {&s->dot, D * P},         {&s->log_g, P},
        {&s->gradient, D * P}, {&s->hessian, D * D * P}, {&s->power, D * P},
        {&s->first, D * P},    {&s->end, D * P},         {&s->h, P}};
    int status = course_room_init(&s->room, f);
    if (status) return status;
    return arena_lay(&s->arena, sizeof part / sizeof *part, part);
}

void mover_free(struct mover *s)
{
    course_room_free(&s->room);
    arena_free(&s->arena);
}

/* --- Points --------------------------------------------------------------- */

struct points mover_points_at(struct mover *s, const struct pace *p,
                              struct nodes n, bool middle, size_t P,
                              const double *x)
{
    struct course_room *r = &s->room;
    size_t inputs = s->course->model->spec->inputs;
    for (size_t j = 0; j < P; j++) {
        size_t k = node_of(n, j);
        double half = middle ? 0.5 * pace_length(p, k) : 0.0;
        r->time[j] = pace_stop(p, k)->time + half;
        for (size_t i = 0; i < inputs; i++) {
            r->input[i * P + j] = p->input[middle][k * inputs + i];
            r->slope[i * P + j] = p->slope[middle][k * inputs + i];
        }
    }
    return (struct points){.P = P,
                           .state = x,
                           .time = r->time,
                           .input = r->input,
                           .slope = r->slope};
}

struct points mover_points(struct mover *s, const struct pace *p, size_t k,
                           size_t P, const double *x)
{
    return mover_points_at(s, p, (struct nodes){.first = k}, false, P, x);
}

struct points mover_listed(struct mover *s, const struct pace *p,
                           const size_t *list, bool middle, size_t P,
                           const double *x)
{
    return mover_points_at(s, p, (struct nodes){.list = list}, middle, P, x);
}

struct points mover_with_values(struct mover *s, const struct pace *p,
                                struct nodes n, size_t P, const double *x)
{
    const struct spec *spec = s->course->model->spec;
    struct points in = mover_points_at(s, p, n, false, P, x);
    for (size_t i = 0; i < spec->values; i++)
        for (size_t j = 0; j < P; j++) {
            double v = p->value[node_of(n, j) * spec->values + i];
            s->room.input[(spec->inputs + i) * P + j] = isnan(v) ? 1.0 : v;
        }
    return in;
}

struct points mover_observed(struct mover *s, const struct pace *p,
                             const size_t *list, size_t P, const double *x)
{
    return mover_with_values(s, p, (struct nodes){.list = list}, P, x);
}

/* --- Steps ---------------------------------------------------------------- */

/* Whether an event happens at a node. */
static bool happens(const struct pace *p, size_t k, size_t event)
{
    const struct spec *spec = p->course->model->spec;
    return !isnan(p->value[k * spec->values + spec->event[event].value]);
}

static bool any_happens(const struct pace *p, struct nodes n, size_t P)
{
    for (size_t e = 0; e < p->course->model->spec->events; e++)
        for (size_t j = 0; j < (n.each || n.list ? P : 1); j++)
            if (happens(p, node_of(n, j), e)) return true;
    return false;
}

/* z after the events of points x, or how it moves, to (d, P). */
static void add_events(const struct mover *s, const struct pace *p,
                       struct nodes n, size_t P, bool moves, double *z)
{
    const struct spec *spec = s->course->model->spec;
    const double *(*part)(const struct mover *s, enum course_part part,
                          size_t P, size_t i) = moves ? moved : output;
    memcpy(z, part(s, COURSE_DEPART, P, 0), spec->dim * P * sizeof *z);
    for (size_t e = 0; e < spec->events; e++) {
        const double *jump = part(s, COURSE_DEPART, P, 1 + e);
        for (size_t j = 0; j < P; j++)
            for (size_t i = 0; happens(p, node_of(n, j), e) && i < spec->dim;
                 i++)
                z[i * P + j] += jump[i * P + j];
    }
}

/* Where points x (D, P) begin their steps: to s->from. */
static void depart(struct mover *s, const struct pace *p, struct nodes n,
                   size_t P, const double *x)
{
    const struct course *f = s->course;
    memcpy(s->from, x, f->D * P * sizeof *x);
    for (size_t j = 0; j < P; j++)
        s->h[j] = pace_length(p, node_of(n, j));
    for (size_t i = f->d; i < f->D; i++)
        for (size_t j = 0; j < P; j++)
            if (pace_is_row(p, node_of(n, j))) s->from[i * P + j] = 0.0;
    if (!any_happens(p, n, P)) return;
    memcpy(s->arrived, x, f->D * P * sizeof *x);
    struct points in = mover_with_values(s, p, n, P, s->arrived);
    forward(s, COURSE_DEPART, &in);
    add_events(s, p, n, P, false, s->from);
    if (!f->stretched) return;
    memcpy(s->middle, s->from, f->d * P * sizeof *s->from);
    in.state = s->middle;
    forward(s, COURSE_START, &in);
    memcpy(s->from, output(s, COURSE_START, P, 2), f->d * P * sizeof *s->from);
}

/* How they move there when x moves by dot, in place. After depart(). */
static void depart_along(struct mover *s, const struct pace *p, struct nodes n,
                         size_t P, double *dot)
{
    const struct course *f = s->course;
    for (size_t i = f->d; i < f->D; i++)
        for (size_t j = 0; j < P; j++)
            if (pace_is_row(p, node_of(n, j))) dot[i * P + j] = 0.0;
    if (!any_happens(p, n, P)) return;
    struct points in = mover_with_values(s, p, n, P, s->arrived);
    forward(s, COURSE_DEPART, &in);
    along(s, COURSE_DEPART, &in, dot);
    add_events(s, p, n, P, true, dot);
    if (!f->stretched) return;
    add_events(s, p, n, P, false, s->jumped);
    in.state = s->jumped;
    forward(s, COURSE_START, &in);
    along(s, COURSE_START, &in, dot);
    memcpy(dot, moved(s, COURSE_START, P, 2), f->d * P * sizeof *dot);
}

/* Column c of G in the middle, to v (D, P). */
INLINE void noise_column(const struct mover *s, size_t P, size_t c, double *v)
{
    size_t D = s->course->D, m = s->course->noises;
    const double *G = output(s, COURSE_MIDDLE, P, MIDDLE_NOISE);
    for (size_t i = 0; i < D; i++)
        memcpy(v + i * P, G + (i * m + c) * P, P * sizeof *G);
}

/* v = F'v in the middle. Where F has no network, its slopes are those of
 * COURSE_SLOPE, which were evaluated there. */
FAST static void turn(struct mover *s, const struct points *in, double *v)
{
    size_t D = s->course->D, P = in->P;
    if (!s->course->open) {
        along(s, COURSE_MIDDLE, in, v);
        memcpy(v, moved(s, COURSE_MIDDLE, P, MIDDLE_DRIFT), D * P * sizeof *v);
        return;
    }
    const double *J = output(s, COURSE_SLOPE, P, 0);
    memcpy(s->power, v, D * P * sizeof *v);
    memset(v, 0, D * P * sizeof *v);
    for (size_t i = 0; i < D; i++)
        for (size_t l = 0; l < D; l++)
            for (size_t j = 0; j < P; j++)
                v[i * P + j] += J[(i * D + l) * P + j] * s->power[l * P + j];
}

/* v times h, or its root. */
INLINE void stretch(const struct mover *s, size_t P, bool whole, double *v)
{
    for (size_t i = 0; i < s->course->D; i++, v += P)
        for (size_t j = 0; j < P; j++)
            v[j] *= whole ? s->h[j] : sqrt(s->h[j]);
}

double step_legendre(size_t j, size_t k)
{
    double c = sqrt(2.0 * (double)k + 1.0);
    for (size_t i = j - k + 1; i <= j; i++)
        c *= (double)i;
    for (size_t i = 2; i <= j + k + 1; i++)
        c /= (double)i;
    return c;
}

/* Adds what v = F'^j G_c is to all parts of the noise. */
FAST static void add_power(struct mover *s, size_t P, size_t c, size_t j,
                           const double *v)
{
    const struct course *f = s->course;
    for (size_t k = 0; k <= j && k <= f->orders; k++) {
        double factor = step_legendre(j, k);
        for (size_t i = 0; i < f->D; i++, v += P) {
            double *to = s->B + (i * f->m + k * f->noises + c) * P;
            for (size_t q = 0; q < P; q++)
                to[q] += factor * v[q];
        }
        v -= f->D * P;
    }
}

/* B with integrals of the noise. */
FAST static void spread_integrals(struct mover *s, const struct points *in)
{
    const struct course *f = s->course;
    memset(s->B, 0, f->D * f->m * in->P * sizeof *s->B);
    if (f->open) forward(s, COURSE_SLOPE, in);
    for (size_t c = 0; c < f->noises; c++) {
        noise_column(s, in->P, c, s->dot);
        stretch(s, in->P, false, s->dot);
        for (size_t j = 0; j <= f->orders + 1; j++) {
            if (j) turn(s, in, s->dot);
            if (j) stretch(s, in->P, true, s->dot);
            add_power(s, in->P, c, j, s->dot);
        }
    }
}

/* B from G and F'G in the middle. */
FAST static void spread(struct mover *s, const struct points *in)
{
    size_t D = s->course->D, m = s->course->noises, P = in->P;
    if (s->course->orders) {
        spread_integrals(s, in);
        return;
    }
    const double *G = output(s, COURSE_MIDDLE, P, MIDDLE_NOISE);
    const double *FG = output(s, COURSE_MIDDLE, P, MIDDLE_SLOPE);
    for (size_t c = 0; c < m; c++) {
        if (!s->course->open) {
            noise_column(s, P, c, s->dot);
            along(s, COURSE_MIDDLE, in, s->dot);
            FG = moved(s, COURSE_MIDDLE, P, MIDDLE_DRIFT);
        }
        for (size_t i = 0; i < D; i++) {
            const double *g = G + (i * m + c) * P;
            const double *fg = FG + (s->course->open ? i * m + c : i) * P;
            double *to = s->B + (i * m + c) * P;
            for (size_t j = 0; j < P; j++) {
                double h = s->h[j];
                to[j] = sqrt(h) * (g[j] + 0.5 * h * fg[j]);
            }
        }
    }
}

/* Those of linear courses. */
static void go_straight(struct mover *s, const struct pace *p, struct nodes n,
                        size_t P)
{
    size_t D = s->course->D;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++) {
            size_t k = node_of(n, j);
            const double *Phi = p->Phi + (k * D + i) * D;
            double sum = p->c[k * D + i];
            for (size_t l = 0; l < D; l++)
                sum += Phi[l] * s->from[l * P + j];
            s->a[i * P + j] = sum;
            for (size_t l = 0; l < D; l++)
                s->B[(i * D + l) * P + j] = p->B[(k * D + i) * D + l];
        }
}

/* Time and inputs at the ends of the steps: as far from the middle as it is
 * from their beginning, so that held inputs keep their values. */
struct points mover_points_at_end(struct mover *s, const struct pace *p,
                                  struct nodes n, size_t P, const double *x)
{
    struct points in = mover_points_at(s, p, n, true, P, x);
    size_t inputs = s->course->model->spec->inputs;
    for (size_t j = 0; j < P; j++) {
        size_t k = node_of(n, j);
        s->room.time[j] += 0.5 * pace_length(p, k);
        for (size_t i = 0; i < inputs; i++)
            s->room.input[i * P + j] +=
                s->room.input[i * P + j] - p->input[0][k * inputs + i];
    }
    return in;
}

/* to = a + h b, all (D, P). */
INLINE void ahead_by(const struct mover *s, size_t P, const double *a,
                     const double *b, double by, double *to)
{
    for (size_t i = 0; i < s->course->D; i++)
        for (size_t j = 0; j < P; j++)
            to[i * P + j] = a[i * P + j] + by * s->h[j] * b[i * P + j];
}

/* From a of order 2 to one of order 3: adds h/6 (F(x) - 2 F(x~) + F(end)). F(x)
 * is in s->first; F(x~) and the curvature are those of the last points. */
FAST static void add_third(struct mover *s, const struct pace *p,
                           struct nodes n, size_t P)
{
    const double *F = output(s, COURSE_MIDDLE, P, MIDDLE_DRIFT);
    const double *curve = output(s, COURSE_MIDDLE, P, MIDDLE_CURVATURE);
    ahead_by(s, P, s->a, s->first, 1.0 / 6.0, s->a);
    ahead_by(s, P, s->a, F, -1.0 / 3.0, s->a);
    ahead_by(s, P, s->from, s->first, -1.0, s->end);
    ahead_by(s, P, s->end, F, 2.0, s->end);
    for (size_t i = 0; s->course->open && i < s->course->D; i++)
        for (size_t j = 0; j < P; j++)
            s->end[i * P + j] += 0.5 * s->h[j] * s->h[j] * curve[i * P + j];
    struct points in = mover_points_at_end(s, p, n, P, s->end);
    forward(s, COURSE_DRIFT, &in);
    ahead_by(s, P, s->a, output(s, COURSE_DRIFT, P, 0), 1.0 / 6.0, s->a);
}

/* From s->from, to a and B. */
FAST static void go(struct mover *s, const struct pace *p, struct nodes n,
                    size_t P)
{
    size_t D = s->course->D;
    if (s->course->linear) {
        go_straight(s, p, n, P);
        return;
    }
    struct points in = mover_points_at(s, p, n, false, P, s->from);
    forward(s, COURSE_DRIFT, &in);
    memcpy(s->first, output(s, COURSE_DRIFT, P, 0), D * P * sizeof *s->first);
    ahead_by(s, P, s->from, s->first, 0.5, s->middle);
    in = mover_points_at(s, p, n, true, P, s->middle);
    forward(s, COURSE_MIDDLE, &in);
    const double *F = output(s, COURSE_MIDDLE, P, MIDDLE_DRIFT);
    const double *curve = output(s, COURSE_MIDDLE, P, MIDDLE_CURVATURE);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++) {
            double h = s->h[j], bend = s->course->open ? curve[i * P + j] : 0.0;
            s->a[i * P + j] =
                s->from[i * P + j] + h * (F[i * P + j] + 0.25 * h * bend);
        }
    spread(s, &in);
    if (s->course->orders) add_third(s, p, n, P);
}

void mover_go(struct mover *s, const struct pace *p, size_t k, size_t P,
              const double *x)
{
    struct nodes n = {.first = k};
    depart(s, p, n, P, x);
    go(s, p, n, P);
}

/* (P, D) to (D, P). */
static void transpose(size_t P, size_t D, const double *from, double *to)
{
    for (size_t j = 0; j < P; j++)
        for (size_t i = 0; i < D; i++)
            to[i * P + j] = from[j * D + i];
}

/* Column c of da/dx of linear courses. */
static void push(struct mover *s, const struct pace *p, struct nodes n,
                 size_t P, size_t c, const double *start_dot)
{
    size_t D = s->course->D;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++) {
            const double *Phi = p->Phi + (node_of(n, j) * D + i) * D;
            double sum = 0.0;
            for (size_t l = 0; l < D; l++)
                sum += Phi[l] * start_dot[l * P + j];
            s->A[(i * D + c) * P + j] = sum;
        }
}

/* How add_third() moves with x: F(x) moves by s->power, F(x~) and the curvature
 * as they were asked last; to column c of A. */
static void third_along(struct mover *s, const struct pace *p, struct nodes n,
                        size_t P, size_t c, const double *start_dot)
{
    size_t D = s->course->D;
    const double *F = moved(s, COURSE_MIDDLE, P, MIDDLE_DRIFT);
    const double *curve = moved(s, COURSE_MIDDLE, P, MIDDLE_CURVATURE);
    ahead_by(s, P, start_dot, s->power, -1.0, s->dot);
    ahead_by(s, P, s->dot, F, 2.0, s->dot);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++) {
            double h = s->h[j], bend = s->course->open ? curve[i * P + j] : 0.0;
            s->dot[i * P + j] += 0.5 * h * h * bend;
            s->A[(i * D + c) * P + j] +=
                h / 6.0 * (s->power[i * P + j] - 2.0 * F[i * P + j]);
        }
    struct points in = mover_points_at_end(s, p, n, P, s->end);
    forward(s, COURSE_DRIFT, &in);
    along(s, COURSE_DRIFT, &in, s->dot);
    F = moved(s, COURSE_DRIFT, P, 0);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++)
            s->A[(i * D + c) * P + j] += s->h[j] / 6.0 * F[i * P + j];
}

/* Column c of da/dx. */
static void slope_along(struct mover *s, const struct pace *p, struct nodes n,
                        size_t P, size_t c, double *start_dot)
{
    size_t D = s->course->D;
    for (size_t e = 0; e < D * P; e++)
        start_dot[e] = e / P == c ? 1.0 : 0.0;
    depart_along(s, p, n, P, start_dot);
    if (s->course->linear) {
        push(s, p, n, P, c, start_dot);
        return;
    }
    struct points in = mover_points_at(s, p, n, false, P, s->from);
    if (s->course->orders) forward(s, COURSE_DRIFT, &in);
    along(s, COURSE_DRIFT, &in, start_dot);
    memcpy(s->power, moved(s, COURSE_DRIFT, P, 0), D * P * sizeof *s->power);
    ahead_by(s, P, start_dot, s->power, 0.5, s->dot);
    in = mover_points_at(s, p, n, true, P, s->middle);
    along(s, COURSE_MIDDLE, &in, s->dot);
    const double *F = moved(s, COURSE_MIDDLE, P, MIDDLE_DRIFT);
    const double *curve = moved(s, COURSE_MIDDLE, P, MIDDLE_CURVATURE);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++) {
            double h = s->h[j], bend = s->course->open ? curve[i * P + j] : 0.0;
            s->A[(i * D + c) * P + j] =
                start_dot[i * P + j] + h * (F[i * P + j] + 0.25 * h * bend);
        }
    if (s->course->orders) third_along(s, p, n, P, c, start_dot);
}

/* A = dx~/dx of a step without its curvature, I + h J(x~)(I + h/2 J(x)), by
 * the slopes of F at both points; of order 3 with h^3/6 J(x~)^2 J(x). */
static void chain(struct mover *s, const struct pace *p, struct nodes n,
                  size_t P)
{
    size_t D = s->course->D;
    struct points in = mover_points_at(s, p, n, false, P, s->from);
    forward(s, COURSE_SLOPE, &in);
    memcpy(s->hessian, output(s, COURSE_SLOPE, P, 0), D * D * P * sizeof *s->A);
    in = mover_points_at(s, p, n, true, P, s->middle);
    forward(s, COURSE_SLOPE, &in);
    const double *J = output(s, COURSE_SLOPE, P, 0);
    for (size_t c = 0; c < D; c++) {
        for (size_t i = 0; i < D; i++)
            memcpy(s->dot + i * P, s->hessian + (i * D + c) * P, P * sizeof *J);
        turn(s, &in, s->dot);
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < P; j++)
                s->A[(i * D + c) * P + j] =
                    (i == c ? 1.0 : 0.0) +
                    s->h[j] * (J[(i * D + c) * P + j] +
                               0.5 * s->h[j] * s->dot[i * P + j]);
        if (!s->course->orders) continue;
        turn(s, &in, s->dot);
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < P; j++)
                s->A[(i * D + c) * P + j] +=
                    s->h[j] * s->h[j] * s->h[j] / 6.0 * s->dot[i * P + j];
    }
    for (size_t c = s->course->d; c < D; c++)
        for (size_t j = 0; j < P; j++)
            for (size_t i = 0; pace_is_row(p, node_of(n, j)) && i < D; i++)
                s->A[(i * D + c) * P + j] = 0.0;
}

void mover_slopes(struct mover *s, const struct pace *p, size_t k, size_t P,
                  const double *x)
{
    struct nodes n = {.first = k, .each = true};
    size_t D = s->course->D;
    transpose(P, D, x, s->gradient);
    depart(s, p, n, P, s->gradient);
    go(s, p, n, P);
    bool straight = s->course->linear || any_happens(p, n, P);
    if (s->course->open && !straight) {
        chain(s, p, n, P);
        return;
    }
    for (size_t c = 0; c < D; c++)
        slope_along(s, p, n, P, c, s->gradient);
}
