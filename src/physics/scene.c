/* SPDX-License-Identifier: MIT */
#include "physics/scene.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* What a point needs beside its state, for n points. */
struct around {
    double *time, *input, *g;
};

static int around_init(struct around *r, const struct scene *c, size_t n)
{
    size_t inputs = gsv_model_inputs(c->model);
    *r = (struct around){NEW(double, n), NEW(double, n *inputs),
                         NEW(double, n * c->dim * gsv_model_noises(c->model))};
    if (!r->time || !r->input || !r->g) return GSV_NO_MEMORY;
    for (size_t k = 0; k < n; k++)
        r->time[k] = c->time;
    for (size_t i = 0; i < inputs; i++)
        for (size_t k = 0; k < n; k++)
            r->input[i * n + k] = c->input[i];
    return 0;
}

static void around_free(struct around *r)
{
    MEM_FREE(r->time, r->input, r->g);
}

/* a = g g' at n points. */
static void square(size_t dim, size_t noises, size_t n, const double *g,
                   double *a)
{
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++) {
            double *to = a + (i * dim + j) * n;
            memset(to, 0, n * sizeof *to);
            for (size_t w = 0; w < noises; w++) {
                const double *p = g + (i * noises + w) * n;
                const double *q = g + (j * noises + w) * n;
                for (size_t k = 0; k < n; k++)
                    to[k] += p[k] * q[k];
            }
        }
}

int scene_flow(const struct scene *c, size_t n, const double *x, double *f,
               double *a)
{
    struct around r;
    const gsv_model *m = c->model;
    int status = around_init(&r, c, n);
    const double *input = gsv_model_inputs(m) ? r.input : NULL;
    if (!status && f) status = (int)gsv_model_drift(m, n, r.time, x, input, f);
    if (!status && a)
        status = (int)gsv_model_diffusion(m, n, r.time, x, input, r.g);
    if (!status && a) square(c->dim, gsv_model_noises(m), n, r.g, a);
    around_free(&r);
    return status;
}

static void to_local(const struct scene *c, size_t n, const double *s,
                     double *f, double *a)
{
    for (size_t i = 0; i < c->dim; i++)
        for (size_t k = 0; k < n; k++) {
            double slope = axis_slope(&c->axis[i], s[i * n + k]);
            double bend = axis_bend(&c->axis[i], s[i * n + k]);
            double aii = a[(i * c->dim + i) * n + k];
            f[i * n + k] = f[i * n + k] / slope -
                           0.5 * aii / (slope * slope) * (bend / slope);
        }
    for (size_t i = 0; i < c->dim; i++)
        for (size_t j = 0; j < c->dim; j++)
            for (size_t k = 0; k < n; k++)
                a[(i * c->dim + j) * n + k] /=
                    axis_slope(&c->axis[i], s[i * n + k]) *
                    axis_slope(&c->axis[j], s[j * n + k]);
}

int scene_local(const struct scene *c, size_t n, const double *s, double *x,
                double *f, double *a)
{
    for (size_t i = 0; i < c->dim; i++)
        for (size_t k = 0; k < n; k++)
            x[i * n + k] = axis_x(&c->axis[i], s[i * n + k]);
    int status = scene_flow(c, n, x, f, a);
    if (!status) to_local(c, n, s, f, a);
    return status;
}

int scene_jacobian(const struct scene *c, const double *x, double *J)
{
    size_t d = c->dim, n = 2 * d;
    double *at = NEW(double, 2 * n * d);
    if (!at) return GSV_NO_MEMORY;
    double *f = at + n * d;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < n; k++) {
            double step =
                cbrt(DBL_EPSILON) * (fabs(x[i]) + 1e-3 * c->axis[i].width);
            at[i * n + k] = x[i] + (k / 2 != i ? 0.0 : k % 2 ? -step : step);
        }
    int status = scene_flow(c, n, at, f, NULL);
    for (size_t i = 0; !status && i < d; i++)
        for (size_t j = 0; j < d; j++)
            J[i * d + j] = (f[i * n + 2 * j] - f[i * n + 2 * j + 1]) /
                           (at[j * n + 2 * j] - at[j * n + 2 * j + 1]);
    mem_free(at);
    return status;
}

/* --- The domain ----------------------------------------------------------- */

/* Whether the model is defined where state i is x and the others are in the
 * middle of the data; *noise is a_ii there. */
static int probe(const struct scene *c, size_t i, double x, bool *is,
                 double *noise)
{
    const gsv_model *m = c->model;
    size_t d = c->dim,
           conditions = m->domain ? graph_size(m->spec->graph, m->domain) : 0;
    double *at = NEW(double, 2 * d + d * d + conditions);
    if (!at) return GSV_NO_MEMORY;
    double *f = at + d, *a = f + d, *domain = a + d * d;
    for (size_t j = 0; j < d; j++)
        at[j] = j == i ? x : 0.5 * (c->axis[j].data[0] + c->axis[j].data[1]);
    int status = scene_flow(c, 1, at, f, a);
    struct points in = {
        .P = 1, .state = at, .time = &c->time, .input = c->input};
    if (!status && conditions)
        status = model_evaluate(m, m->domain, &in, true, domain);
    *is = !status;
    for (size_t j = 0; !status && j < conditions; j++)
        *is = *is && domain[j] > 0.0;
    *noise = a[i * d + i];
    *is = *is && isfinite(f[i]) && isfinite(*noise) && *noise >= 0.0;
    mem_free(at);
    return status;
}

/* From x inside towards `out` outside: the last place inside. */
static int bisect(const struct scene *c, size_t i, double in, double out,
                  double *edge)
{
    int status = 0;
    double noise;
    for (int k = 0; !status && k < 200 && in != out; k++) {
        double middle = 0.5 * (in + out);
        bool is = false;
        if (middle == in || middle == out) break;
        status = probe(c, i, middle, &is, &noise);
        if (is) in = middle;
        else out = middle;
    }
    /* A bound is nearly always a short number, such as 0 or 1. */
    double width = c->axis[i].data[1] - c->axis[i].data[0];
    double round = nearbyint(out * 1e6) / 1e6;
    *edge = fabs(round - out) < 1e-9 * width ? round : out;
    return status;
}

enum { PROBES = 40 };

/* The end of the domain on one side of the data, or infinite. */
static int find_end(const struct scene *c, size_t i, int side, double *end)
{
    const struct axis *a = &c->axis[i];
    double from = a->data[side > 0], step = 0.05 * (a->data[1] - a->data[0]);
    double noise;
    bool is = true;
    int status = 0;
    *end = side * (double)INFINITY;
    for (int k = 0; !status && k < PROBES; k++, step *= 1.5) {
        double to = from + side * step;
        status = probe(c, i, to, &is, &noise);
        if (!status && !is) return bisect(c, i, from, to, end);
        from = to;
    }
    return status;
}

static void choose_map(struct axis *a)
{
    bool below = isfinite(a->low), above = isfinite(a->high);
    double middle = 0.5 * (a->data[0] + a->data[1]);
    a->centre = middle;
    a->width = 0.5 * (a->data[1] - a->data[0]);
    a->map = below && above ? AXIS_BETWEEN
             : below        ? AXIS_ABOVE
             : above        ? AXIS_BELOW
                            : AXIS_ALL;
    if (a->map == AXIS_ABOVE) a->width = middle - a->low;
    if (a->map == AXIS_BELOW) a->width = a->high - middle;
}

int scene_chart(struct scene *c)
{
    int status = 0;
    for (size_t i = 0; !status && i < c->dim; i++) {
        struct axis *a = &c->axis[i];
        if (a->map == AXIS_RING) continue;
        status = find_end(c, i, -1, &a->low);
        if (!status) status = find_end(c, i, 1, &a->high);
        if (!status) choose_map(a);
    }
    return status;
}
