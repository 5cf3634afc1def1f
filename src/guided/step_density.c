/* SPDX-License-Identifier: MIT */
/* What was observed at a node, as a density of the points there. */
#include <math.h>
#include <string.h>

#include "guided/step_parts.h"

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
            struct points in = mover_with_values(s, p, n, P, x);
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

/* The gradient of log g at s->from, to (D, P): all directions one by one. */
static void slope_of_value(struct mover *s, const struct pace *p,
                           struct nodes n, size_t P, double *gradient)
{
    size_t D = s->course->D;
    struct points in = mover_with_values(s, p, n, P, s->from);
    forward(s, COURSE_VALUE, &in);
    memset(gradient, 0, D * P * sizeof *gradient);
    for (size_t c = 0; c < D; c++) {
        memset(s->dot, 0, D * P * sizeof *s->dot);
        for (size_t j = 0; j < P; j++)
            s->dot[c * P + j] = 1.0;
        along(s, COURSE_VALUE, &in, s->dot);
        for (size_t o = 0; o < s->course->model->spec->observations; o++) {
            const double *g = moved(s, COURSE_VALUE, P, o);
            for (size_t j = 0; j < P; j++)
                if (pace_sees(p, node_of(n, j), o) && isfinite(g[j]))
                    gradient[c * P + j] += g[j];
        }
    }
}

/* How far points move for differences of that gradient: networks are of single
 * precision, and psi need not be exact. */
static double reach_of(double x)
{
    return 1e-2 * fmax(0.1, fabs(x));
}

/* Column c of minus the Hessian, by these. */
static void bend_of_value(struct mover *s, const struct pace *p, struct nodes n,
                          size_t P, size_t c)
{
    size_t D = s->course->D;
    for (int side = 1; side > -2; side -= 2) {
        memcpy(s->from, s->middle, D * P * sizeof *s->from);
        for (size_t j = 0; j < P; j++)
            s->from[c * P + j] += side * reach_of(s->middle[c * P + j]);
        slope_of_value(s, p, n, P, s->arrived);
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < P; j++) {
                double bend = side * s->arrived[i * P + j] /
                              (4.0 * reach_of(s->middle[c * P + j]));
                s->hessian[(i * D + c) * P + j] -= bend;
                s->hessian[(c * D + i) * P + j] -= bend;
            }
    }
}

/* Observations by networks, at s->from. */
static void expand_values(struct mover *s, const struct pace *p, struct nodes n,
                          size_t P)
{
    size_t D = s->course->D;
    slope_of_value(s, p, n, P, s->gradient);
    for (size_t o = 0; o < s->course->model->spec->observations; o++) {
        const double *value = output(s, COURSE_VALUE, P, o);
        for (size_t j = 0; j < P; j++)
            if (pace_sees(p, node_of(n, j), o) && isfinite(value[j]))
                s->log_g[j] += value[j];
    }
    memcpy(s->middle, s->from, D * P * sizeof *s->from);
    for (size_t c = 0; c < D; c++)
        bend_of_value(s, p, n, P, c);
}

void mover_expand(struct mover *s, const struct pace *p, size_t P,
                  const size_t *node_list, const double *x)
{
    struct nodes n = {.list = node_list};
    size_t D = s->course->D;
    memset(s->log_g, 0, P * sizeof *s->log_g);
    memset(s->gradient, 0, D * P * sizeof *s->gradient);
    memset(s->hessian, 0, D * D * P * sizeof *s->hessian);
    if (!s->course->part[COURSE_VALUE]) return;
    for (size_t j = 0; j < P; j++)
        for (size_t i = 0; i < D; i++)
            s->from[i * P + j] = x[node_list[j] * D + i];
    if (!s->course->part[COURSE_DENSITY]) {
        expand_values(s, p, n, P);
        return;
    }
    struct points in = mover_with_values(s, p, n, P, s->from);
    forward(s, COURSE_DENSITY, &in);
    for (size_t o = 0; o < s->course->model->spec->observations; o++)
        for (size_t j = 0; j < P; j++)
            if (pace_sees(p, node_of(n, j), o)) use(s, o, P, j);
    for (size_t c = 0; c < D; c++)
        curve_along(s, p, &in, n, c);
}
