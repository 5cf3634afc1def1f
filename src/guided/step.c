/* SPDX-License-Identifier: MIT */
#include "guided/step.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

int mover_init(struct mover *s, const struct course *f)
{
    size_t D = f->D, P = COURSE_BLOCK;
    *s = (struct mover){.course = f};
    const struct arena_part part[] = {
        {&s->from, D * P},     {&s->middle, D * P},     {&s->a, D * P},
        {&s->arrived, D * P},  {&s->jumped, D * P},     {&s->B, D * f->m * P},
        {&s->A, D * D * P},    {&s->dot, D * P},        {&s->log_g, P},
        {&s->gradient, D * P}, {&s->hessian, D * D * P}};
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

/* Which nodes points belong to: all to one, each to the next, or as listed. */
struct nodes {
    size_t first;
    bool each;
    const size_t *list;
};

static size_t node_of(struct nodes n, size_t point)
{
    if (n.list) return n.list[point];
    return n.each ? n.first + point : n.first;
}

/* Time and inputs of P points at their nodes, or in the middles after them. */
static struct points points_at(struct mover *s, const struct pace *p,
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
    return points_at(s, p, (struct nodes){.first = k}, false, P, x);
}

struct points mover_listed(struct mover *s, const struct pace *p,
                           const size_t *list, bool middle, size_t P,
                           const double *x)
{
    return points_at(s, p, (struct nodes){.list = list}, middle, P, x);
}

static void forward(struct mover *s, enum course_part part,
                    const struct points *in)
{
    program_forward(s->course->part[part], &s->values->part[part],
                    &s->room.part[part], in);
}

static const double *output(const struct mover *s, enum course_part part,
                            size_t P, size_t i)
{
    return program_output(s->course->part[part], &s->room.part[part], P, i);
}

static void along(struct mover *s, enum course_part part,
                  const struct points *in, const double *dot)
{
    program_jvp(s->course->part[part], &s->values->part[part],
                &s->room.part[part], in, dot);
}

static const double *moved(const struct mover *s, enum course_part part,
                           size_t P, size_t i)
{
    return program_output_dot(s->course->part[part], &s->room.part[part], P, i);
}

/* Values of the observations, 1 where they are missing. */
static struct points with_values(struct mover *s, const struct pace *p,
                                 struct nodes n, size_t P, const double *x)
{
    const struct spec *spec = s->course->model->spec;
    struct points in = points_at(s, p, n, false, P, x);
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
    return with_values(s, p, (struct nodes){.list = list}, P, x);
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
    for (size_t i = f->d; i < f->D; i++)
        for (size_t j = 0; j < P; j++)
            if (pace_is_row(p, node_of(n, j))) s->from[i * P + j] = 0.0;
    if (!any_happens(p, n, P)) return;
    memcpy(s->arrived, x, f->D * P * sizeof *x);
    struct points in = with_values(s, p, n, P, s->arrived);
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
    struct points in = with_values(s, p, n, P, s->arrived);
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

/* B from G and F'G in the middle. */
static void spread(struct mover *s, const struct pace *p, struct nodes n,
                   const struct points *in)
{
    size_t D = s->course->D, m = s->course->noises, P = in->P;
    const double *G = output(s, COURSE_MIDDLE, P, MIDDLE_NOISE);
    const double *FG = output(s, COURSE_MIDDLE, P, MIDDLE_SLOPE);
    for (size_t c = 0; c < m; c++) {
        if (!s->course->open) {
            for (size_t i = 0; i < D; i++)
                memcpy(s->dot + i * P, G + (i * m + c) * P, P * sizeof *G);
            along(s, COURSE_MIDDLE, in, s->dot);
            FG = moved(s, COURSE_MIDDLE, P, MIDDLE_DRIFT);
        }
        for (size_t i = 0; i < D; i++) {
            const double *g = G + (i * m + c) * P;
            const double *fg = FG + (s->course->open ? i * m + c : i) * P;
            double *to = s->B + (i * m + c) * P;
            for (size_t j = 0; j < P; j++) {
                double h = pace_length(p, node_of(n, j));
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

/* From s->from, to a and B. */
static void go(struct mover *s, const struct pace *p, struct nodes n, size_t P)
{
    size_t D = s->course->D;
    if (s->course->linear) {
        go_straight(s, p, n, P);
        return;
    }
    struct points in = points_at(s, p, n, false, P, s->from);
    forward(s, COURSE_DRIFT, &in);
    const double *F = output(s, COURSE_DRIFT, P, 0);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++)
            s->middle[i * P + j] =
                s->from[i * P + j] +
                0.5 * pace_length(p, node_of(n, j)) * F[i * P + j];
    in = points_at(s, p, n, true, P, s->middle);
    forward(s, COURSE_MIDDLE, &in);
    F = output(s, COURSE_MIDDLE, P, MIDDLE_DRIFT);
    const double *curve = output(s, COURSE_MIDDLE, P, MIDDLE_CURVATURE);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++) {
            double h = pace_length(p, node_of(n, j));
            double bend = s->course->open ? curve[i * P + j] : 0.0;
            s->a[i * P + j] =
                s->from[i * P + j] + h * (F[i * P + j] + 0.25 * h * bend);
        }
    spread(s, p, n, &in);
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
    struct points in = points_at(s, p, n, false, P, s->from);
    along(s, COURSE_DRIFT, &in, start_dot);
    const double *F = moved(s, COURSE_DRIFT, P, 0);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++)
            s->dot[i * P + j] =
                start_dot[i * P + j] +
                0.5 * pace_length(p, node_of(n, j)) * F[i * P + j];
    in = points_at(s, p, n, true, P, s->middle);
    along(s, COURSE_MIDDLE, &in, s->dot);
    F = moved(s, COURSE_MIDDLE, P, MIDDLE_DRIFT);
    const double *curve = moved(s, COURSE_MIDDLE, P, MIDDLE_CURVATURE);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++) {
            double h = pace_length(p, node_of(n, j));
            double bend = s->course->open ? curve[i * P + j] : 0.0;
            s->A[(i * D + c) * P + j] =
                start_dot[i * P + j] + h * (F[i * P + j] + 0.25 * h * bend);
        }
}

/* A = dx~/dx of a step without its curvature, I + h J(x~)(I + h/2 J(x)), by
 * the slopes of F at both points. */
static void chain(struct mover *s, const struct pace *p, struct nodes n,
                  size_t P)
{
    size_t D = s->course->D;
    struct points in = points_at(s, p, n, false, P, s->from);
    forward(s, COURSE_SLOPE, &in);
    memcpy(s->hessian, output(s, COURSE_SLOPE, P, 0), D * D * P * sizeof *s->A);
    in = points_at(s, p, n, true, P, s->middle);
    forward(s, COURSE_SLOPE, &in);
    const double *J = output(s, COURSE_SLOPE, P, 0);
    for (size_t i = 0; i < D; i++)
        for (size_t c = 0; c < D; c++)
            for (size_t j = 0; j < P; j++) {
                double h = pace_length(p, node_of(n, j)), sum = 0.0;
                for (size_t l = 0; l < D; l++)
                    sum += J[(i * D + l) * P + j] *
                           s->hessian[(l * D + c) * P + j];
                s->A[(i * D + c) * P + j] =
                    (i == c ? 1.0 : 0.0) +
                    h * (J[(i * D + c) * P + j] + 0.5 * h * sum);
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

/* --- Observations --------------------------------------------------------- */

/* Whether an obs has all of its values at a node; what happened since the row
 * before cannot be known at the first. */
bool pace_sees(const struct pace *p, size_t k, size_t obs)
{
    const struct spec *spec = p->course->model->spec;
    const struct obs_spec *o = &spec->obs[obs];
    if (!pace_is_row(p, k) || (o->integrated && !k && !spec->init_timed))
        return false;
    for (size_t i = 0; i < o->values; i++)
        if (isnan(p->value[k * spec->values + o->value + i])) return false;
    return true;
}

bool mover_density(struct mover *s, const struct pace *p, size_t k, size_t P,
                   const double *x)
{
    struct nodes n = {.first = k};
    size_t observations = s->course->model->spec->observations;
    bool any = false;
    for (size_t o = 0; o < observations; o++) {
        if (!pace_sees(p, k, o)) continue;
        if (!any) {
            struct points in = with_values(s, p, n, P, x);
            forward(s, COURSE_VALUE, &in);
            memset(s->log_g, 0, P * sizeof *s->log_g);
        }
        any = true;
        const double *value = output(s, COURSE_VALUE, P, o);
        for (size_t j = 0; j < P; j++)
            s->log_g[j] += value[j];
    }
    for (size_t j = 0; any && j < P; j++)
        if (!isfinite(s->log_g[j])) s->log_g[j] = -INFINITY;
    return any;
}

/* Adds what obs number o says at point j; whether it is finite. */
static bool use(struct mover *s, size_t o, size_t P, size_t j)
{
    double value = output(s, COURSE_DENSITY, P, 2 * o)[j];
    const double *g = output(s, COURSE_DENSITY, P, 2 * o + 1);
    bool fine = isfinite(value);
    for (size_t i = 0; i < s->course->D; i++)
        fine = fine && isfinite(g[i * P + j]);
    if (!fine) return false;
    s->log_g[j] += value;
    for (size_t i = 0; i < s->course->D; i++)
        s->gradient[i * P + j] += g[i * P + j];
    return true;
}

/* Column c of minus the Hessians. */
static void curve_along(struct mover *s, const struct pace *p,
                        const struct points *in, struct nodes n, size_t c)
{
    size_t D = s->course->D, P = in->P;
    memset(s->dot, 0, D * P * sizeof *s->dot);
    for (size_t j = 0; j < P; j++)
        s->dot[c * P + j] = 1.0;
    along(s, COURSE_DENSITY, in, s->dot);
    for (size_t o = 0; o < s->course->model->spec->observations; o++) {
        const double *g = moved(s, COURSE_DENSITY, P, 2 * o + 1);
        for (size_t j = 0; j < P; j++) {
            if (!pace_sees(p, node_of(n, j), o)) continue;
            for (size_t i = 0; i < D; i++)
                if (isfinite(g[i * P + j]))
                    s->hessian[(i * D + c) * P + j] -= g[i * P + j];
        }
    }
}

void mover_expand(struct mover *s, const struct pace *p, size_t P,
                  const size_t *node_list, const double *x)
{
    struct nodes n = {.list = node_list};
    size_t D = s->course->D;
    memset(s->log_g, 0, P * sizeof *s->log_g);
    memset(s->gradient, 0, D * P * sizeof *s->gradient);
    memset(s->hessian, 0, D * D * P * sizeof *s->hessian);
    if (!s->course->part[COURSE_DENSITY]) return;
    for (size_t j = 0; j < P; j++)
        for (size_t i = 0; i < D; i++)
            s->from[i * P + j] = x[node_list[j] * D + i];
    struct points in = with_values(s, p, n, P, s->from);
    forward(s, COURSE_DENSITY, &in);
    for (size_t o = 0; o < s->course->model->spec->observations; o++)
        for (size_t j = 0; j < P; j++)
            if (pace_sees(p, node_of(n, j), o)) use(s, o, P, j);
    for (size_t c = 0; c < D; c++)
        curve_along(s, p, &in, n, c);
}
