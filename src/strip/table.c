/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "bridge/barrier.h"
#include "strip/strip.h"

/* --- Programs ------------------------------------------------------------- */

static int make(struct strip_course *c, enum strip_part part, size_t n,
                const node *output, bool wide)
{
    if (c->graph->failed) return GSV_NO_MEMORY;
    c->part[part] =
        program_new(c->graph, n, output, c->model->spec->parameters, wide);
    return c->part[part] ? 0 : GSV_NO_MEMORY;
}

static int make_densities(struct strip_course *c, bool wide)
{
    const struct spec *s = c->model->spec;
    if (!s->observations) return 0;
    node *output = NEW(node, s->observations);
    if (!output) return GSV_NO_MEMORY;
    for (size_t i = 0; i < s->observations; i++)
        output[i] = graph_substitute(c->graph, s->obs[i].log_density,
                                     c->model->lone.state);
    int status = make(c, STRIP_DENSITY, s->observations, output, wide);
    mem_free(output);
    return status;
}

int strip_course_init(struct strip_course *c, const gsv_model *m, bool wide)
{
    const struct lone_form *l = &m->lone;
    *c = (struct strip_course){.model = m, .graph = graph_copy(m->spec->graph)};
    if (!c->graph) return GSV_NO_MEMORY;
    int status = make(c, STRIP_TABLE, LONES, l->table, wide);
    if (!status) status = make(c, STRIP_FIRST, 1, &l->first, wide);
    if (!status) status = make(c, STRIP_ENTER, 2, l->enter, wide);
    if (!status) status = make(c, STRIP_START, 2, l->start, wide);
    if (!status && l->range) status = make(c, STRIP_RANGE, 1, &l->range, wide);
    return status ? status : make_densities(c, wide);
}

void strip_course_free(struct strip_course *c)
{
    for (size_t i = 0; i < STRIP_PARTS; i++)
        if (c->part[i]) program_free(c->part[i]);
    if (c->graph) graph_free(c->graph);
    *c = (struct strip_course){0};
}

int strip_table_init(struct strip_table *t, const struct strip_course *c)
{
    size_t P = STRIP_BLOCK, N = STRIP_POINTS, values = c->model->spec->values;
    *t = (struct strip_table){.course = c};
    for (size_t i = 0; i < STRIP_PARTS; i++)
        if (c->part[i] &&
            (uniforms_init(&t->uniforms[i], c->part[i]) ||
             workspace_init(&t->space[i], c->part[i], P, false, false)))
            return GSV_NO_MEMORY;
    const struct arena_part part[] = {{&t->state, 2 * P},
                                      {&t->time, P},
                                      {&t->input, values * P},
                                      {&t->slope, values * P},
                                      {&t->cell, values},
                                      {&t->value[LONE_F], N},
                                      {&t->value[LONE_PHI], N},
                                      {&t->value[LONE_D], N},
                                      {&t->value[LONE_S], N},
                                      {&t->value[LONE_V], N},
                                      {&t->Phi, N},
                                      {&t->Psi, N}};
    return arena_lay(&t->arena, sizeof part / sizeof *part, part);
}

void strip_table_free(struct strip_table *t)
{
    for (size_t i = 0; i < STRIP_PARTS; i++) {
        uniforms_free(&t->uniforms[i]);
        workspace_free(&t->space[i]);
    }
    arena_free(&t->arena);
}

const double *strip_ask(struct strip_table *t, enum strip_part part,
                        size_t output, size_t P, const double *w, double u)
{
    const struct strip_course *c = t->course;
    const struct lone_form *l = &c->model->lone;
    const struct points in = {.P = P,
                              .state = t->state,
                              .time = t->time,
                              .input = t->input,
                              .slope = t->slope};
    for (size_t p = 0; p < P; p++) {
        t->state[l->latent * P + p] = w ? w[p] : 1.0;
        t->state[l->exact * P + p] = u;
        t->time[p] = t->now;
    }
    for (size_t i = 0; i < c->model->spec->values * P; i++)
        t->input[i] = t->cell[i / P];
    program_forward(c->part[part], &t->uniforms[part], &t->space[part], &in);
    return program_output(c->part[part], &t->space[part], P, output);
}

static const double *output_of(struct strip_table *t, enum strip_part part,
                               size_t output, size_t P)
{
    return program_output(t->course->part[part], &t->space[part], P, output);
}

/* --- Where the lattice is ------------------------------------------------- */

/* The end of the range of w and the drift near it. */
static int find_end(struct strip_table *t)
{
    static const double NEAR = 1e-4;
    t->end = -INFINITY;
    t->a = 0.0;
    if (!t->course->part[STRIP_RANGE]) return 0;
    const double at[3] = {1.0, 2.0, 3.0};
    const double *d = strip_ask(t, STRIP_RANGE, 0, 3, at, t->u);
    double slope = d[1] - d[0], bent = d[2] - d[1] - slope;
    double end = 1.0 - d[0] / slope;
    if (!(slope > 0.0) || !(fabs(bent) < 1e-9 * slope))
        return fail(GSV_NUMERICAL, "the latent state has an upper end, which "
                                   "the scan on a lattice does not know");
    t->end = end;
    double w = end + NEAR;
    double a = NEAR * strip_ask(t, STRIP_TABLE, LONE_F, 1, &w, t->u)[0];
    if (barrier_exists(a)) t->a = a;
    else if (!(a > 0.0))
        return fail(GSV_NUMERICAL, "the latent state does not leave the end of "
                                   "its range at these parameters");
    return 0;
}

/* Two points are a step of the lattice. Around a narrow first law it has a
 * point in its middle, otherwise no point at the end of the range. */
static void place(struct strip_table *t)
{
    bool inside = isfinite(t->mean) && t->mean > t->end + 2.0 * t->step;
    if (!inside) t->mean = isfinite(t->end) ? t->end + t->step : 0.0;
    bool narrow = inside && t->deviation < 2.0 * t->step;
    double below = isfinite(t->end) ? (t->mean - t->end) / t->step : INFINITY;
    double most = 0.5 * STRIP_POINTS;
    if (narrow || !(below < most))
        t->base =
            t->mean - t->step * 2.0 * floor(0.5 * fmin(below - 0.5, most));
    else t->base = t->end + t->step;
    if (!(t->base > t->end)) t->base = t->mean;
    if (!narrow) t->deviation = INFINITY;
}

/* Hurwitz's zeta function, continued to s < 1 by Euler and Maclaurin. */
static double zeta(double s, double x)
{
    enum { TERMS = 20 };
    double sum = 0.0, y = x + TERMS;
    for (int k = 0; k < TERMS; k++)
        sum += pow(x + k, -s);
    return sum + pow(y, -s) * (y / (s - 1.0) + 0.5 + s / (12.0 * y) -
                               s * (s + 1.0) * (s + 2.0) / (720.0 * y * y * y));
}

/* At the end of the range densities are like d^b, b = 2 a, d the distance from
 * it. The sum over points d = (x + k) space then is the integral and zeta(-b,
 * x) space^(1 + b): the first point's weight takes this out. */
static void weigh_first(struct strip_table *t)
{
    static const double SMOOTH = 4.0;
    double b = 2.0 * t->a, space = 2.0 * t->step;
    for (size_t parity = 0; parity < 2; parity++) {
        double x = (strip_w(t, parity) - t->end) / space;
        t->weight[parity] = 1.0;
        if (t->a != 0.0 && b < SMOOTH && x < 2.0)
            t->weight[parity] -= zeta(-b, x) / pow(x, b);
    }
}

/* Given what u moves by, w has sqrt(V / (V + S^2)) of its deviation: points
 * must see that, too. */
static void look_around(struct strip_table *t, double wide, double narrow)
{
    enum { P = 3 };
    static const double LEAST = 0.3, AWAY = 1e-3;
    double at = isfinite(t->mean) && t->mean > t->end ? t->mean : 1.0 + t->end;
    if (!isfinite(at)) at = 0.0;
    const double w[P] = {at, at * (1.0 - AWAY), at * (1.0 + AWAY) + 1e-9};
    const double *V = strip_ask(t, STRIP_TABLE, LONE_V, P, w, t->u);
    const double *S = output_of(t, STRIP_TABLE, LONE_S, P);
    double share = sqrt(V[0] / (V[0] + S[0] * S[0]));
    double slope = (V[2] - V[1]) / (w[2] - w[1]) / V[0];
    if (!(share > LEAST)) share = LEAST;
    t->step = fmin(wide, narrow * share);
    t->bent = isfinite(slope) ? slope * slope : 0.0;
}

int strip_table_prepare(struct strip_table *t, const double *parameters,
                        double wide, double narrow)
{
    for (size_t i = 0; i < STRIP_PARTS; i++)
        if (t->course->part[i])
            program_prepare(t->course->part[i], parameters, &t->uniforms[i]);
    t->u = 1.0;
    t->low = t->high = 0;
    t->mean = strip_ask(t, STRIP_START, 0, 1, NULL, t->u)[0];
    t->deviation = fabs(output_of(t, STRIP_START, 1, 1)[0]);
    int status = find_end(t);
    look_around(t, wide, narrow);
    place(t);
    weigh_first(t);
    return status;
}

/* --- Functions ------------------------------------------------------------ */

static void ask_points(struct strip_table *t, size_t low, size_t high)
{
    double w[STRIP_BLOCK];
    for (size_t from = low; from < high; from += STRIP_BLOCK) {
        size_t P = high - from < STRIP_BLOCK ? high - from : STRIP_BLOCK;
        for (size_t p = 0; p < P; p++)
            w[p] = strip_w(t, from + p);
        strip_ask(t, STRIP_TABLE, 0, P, w, t->u);
        for (size_t i = 0; i < LONES; i++)
            memcpy(t->value[i] + from, output_of(t, STRIP_TABLE, i, P),
                   P * sizeof *w);
        for (size_t p = 0; t->a != 0.0 && p < P; p++) {
            double d = w[p] - t->end;
            t->value[LONE_F][from + p] -= t->a / d;
            t->value[LONE_PHI][from + p] -=
                0.5 * (t->a * t->a - t->a) / (d * d);
        }
    }
}

/* The integral over [k, k + 1] of what is known on [low, high), by cubics. */
static double integral(const double *g, size_t k, size_t low, size_t high)
{
    if (high - low < 3) return 0.5 * (g[k] + g[k + 1]);
    if (k == low) return (5.0 * g[k] + 8.0 * g[k + 1] - g[k + 2]) / 12.0;
    if (k + 2 == high) return (5.0 * g[k + 1] + 8.0 * g[k] - g[k - 1]) / 12.0;
    return (13.0 * (g[k] + g[k + 1]) - g[k - 1] - g[k + 2]) / 24.0;
}

static void integrate(struct strip_table *t, double *sum, const double *g,
                      size_t low, size_t high)
{
    if (t->low == t->high) sum[low] = 0.0;
    size_t known_low = t->low == t->high ? low : t->low;
    size_t known_high = t->low == t->high ? low + 1 : t->high;
    for (size_t k = known_high - 1; k + 1 < high; k++)
        sum[k + 1] = sum[k] + t->step * integral(g, k, low, high);
    for (size_t k = known_low; k-- > low;)
        sum[k] = sum[k + 1] - t->step * integral(g, k, low, high);
}

void strip_table_reach(struct strip_table *t, size_t low, size_t high)
{
    /* Some more, so that it is not asked for every row. */
    enum { MORE = 64 };
    if (t->low != t->high && t->low <= low && high <= t->high) return;
    low = low > MORE ? low - MORE : 0;
    high = high + MORE < STRIP_POINTS ? high + MORE : STRIP_POINTS;
    if (t->low == t->high) ask_points(t, low, high);
    else {
        if (t->low < low) low = t->low;
        if (t->high > high) high = t->high;
        ask_points(t, low, t->low);
        ask_points(t, t->high, high);
    }
    integrate(t, t->Phi, t->value[LONE_F], low, high);
    integrate(t, t->Psi, t->value[LONE_S], low, high);
    t->low = low;
    t->high = high;
}
