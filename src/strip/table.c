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

bool strip_is_near(const struct strip_table *t)
{
    static const double INSIDE = 3.0;
    return !(t->mean > t->end + INSIDE * (double)t->stride * t->step);
}

/* Around a narrow first law the lattice has a point in its middle; otherwise,
 * and near the end of the range, that is half a stride before the first point.
 */
static void place(struct strip_table *t)
{
    static const double NARROW = 0.75;
    double apart = (double)t->stride * t->step, most = 0.5 * STRIP_POINTS;
    bool inside = isfinite(t->mean) && t->mean > t->end;
    if (!inside) t->mean = isfinite(t->end) ? t->end + 0.5 * apart : 0.0;
    bool narrow = inside && t->deviation < NARROW * apart;
    double below = isfinite(t->end) ? (t->mean - t->end) / t->step : INFINITY;
    if ((narrow && !strip_is_near(t)) || !(below < most)) {
        t->origin = 2 * (size_t)floor(0.5 * fmin(below - 0.5, most));
        t->base = t->mean - t->step * (double)t->origin;
    } else {
        t->origin = t->stride / 2 - 1;
        t->base = t->end + t->step;
    }
    if (!narrow) t->deviation = INFINITY;
}

/* Hurwitz's zeta function, continued to s < 1 by Euler and Maclaurin. */
static double zeta(double s, double x)
{
    enum { TERMS = 8, BERNOULLI = 6 };
    static const double B[BERNOULLI] = {
        1.0 / 12.0,       -1.0 / 720.0,     1.0 / 30240.0,
        -1.0 / 1209600.0, 1.0 / 47900160.0, -691.0 / 1307674368000.0};
    double sum = 0.0, y = x + TERMS, term = s * pow(y, -s - 1.0);
    for (int k = 0; k < TERMS; k++)
        sum += pow(x + k, -s);
    sum += pow(y, -s) * (y / (s - 1.0) + 0.5);
    for (int k = 0; k < BERNOULLI; k++) {
        sum += B[k] * term;
        term *= (s + 2 * k + 1) * (s + 2 * k + 2) / (y * y);
    }
    return sum;
}

/* The sum over points d = (x + k) space of space d^b is the integral and
 * zeta(-b, x) space^(1 + b). Corrections c_k to the first weights take this out
 * for d^b, d^(b + 2) and d^(b + 4): densities are d^b times a smooth function
 * of d^2. With y_k = (x + k)^2 and c_k (x + k)^b = u_k, sum u_k y_k^m = r_m. */
void strip_weigh(const struct strip_table *t, double b, size_t stride,
                 size_t first, double *weight)
{
    static const double SMOOTH = 4.0;
    double space = (double)stride * t->step, y[STRIP_EDGE], r[STRIP_EDGE];
    double x = (strip_w(t, first) - t->end) / space;
    bool is = t->a != 0.0 && b < SMOOTH && x < 2.0;
    for (size_t k = 0; k < STRIP_EDGE; k++) {
        weight[k] = 1.0;
        y[k] = (x + (double)k) * (x + (double)k);
        r[k] = is ? -zeta(-b - 2.0 * (double)k, x) : 0.0;
    }
    for (size_t k = 0; is && k < STRIP_EDGE; k++) {
        size_t i = (k + 1) % STRIP_EDGE, j = (k + 2) % STRIP_EDGE;
        double u = (r[2] - (y[i] + y[j]) * r[1] + y[i] * y[j] * r[0]) /
                   ((y[k] - y[i]) * (y[k] - y[j]));
        weight[k] += u / pow(x + (double)k, b);
    }
}

double strip_spread(const struct strip_table *t, double h)
{
    double pull = 2.0 * t->pull * h;
    return pull > 1e-8 ? sqrt(-expm1(-pull) / pull) : 1.0;
}

/* The strongest pull that w meets on its way without noise. */
static double find_pull(struct strip_table *t, double at, double h)
{
    enum { P = 3, WAY = 60 };
    static const double AWAY = 1e-3, MOST = 0.5;
    double pull = 0.0, end = isfinite(t->end) ? t->end : 0.0;
    for (size_t i = 0; i < WAY; i++) {
        double by = AWAY * fmax(fabs(at - end), AWAY);
        const double w[P] = {at - by, at, at + by};
        const double *f = strip_ask(t, STRIP_TABLE, LONE_F, P, w, t->u);
        double slope = (f[2] - f[0]) / (2.0 * by);
        if (!isfinite(slope) || !isfinite(f[1])) break;
        pull = fmax(pull, -slope);
        at += f[1] * fmin(h, MOST / fmax(fabs(slope), 1e-300));
        if (!(at > t->end + AWAY)) break;
    }
    return pull;
}

/* Where w comes to the end of its range points are closer, by up to these
 * factors: those of steps, and of rows. */
static const double STEEP = 0.75, FINER = 0.6, CLOSER = 0.75;

static double closer(const struct strip_table *t)
{
    double away = t->a == 0.0 ? 1.0 : fmax(fmin(t->a + 0.5 - STEEP, 1.0), 0.0);
    return CLOSER + (1.0 - CLOSER) * away;
}

/* Given what u moves by, w has sqrt(V / (V + S^2)) of its deviation: points
 * must see that, too. */
static void look_around(struct strip_table *t, const struct strip_apart *apart)
{
    static const double LEAST = 0.3, AT_ROWS = 0.65, BEHIND = 1.05;
    double at = isfinite(t->mean) && t->mean > t->end ? t->mean : 1.0 + t->end;
    if (!isfinite(at)) at = 0.0;
    const double *V = strip_ask(t, STRIP_TABLE, LONE_V, 1, &at, t->u);
    const double *S = output_of(t, STRIP_TABLE, LONE_S, 1);
    double share = sqrt(V[0] / (V[0] + S[0] * S[0]));
    if (!(share > LEAST)) share = LEAST;
    t->pull = find_pull(t, at, apart->shortest);
    t->step = apart->gap * closer(t) * strip_spread(t, apart->shortest) *
              fmin(AT_ROWS, BEHIND * share);
    double most = apart->step * (t->a != 0.0 && t->a < STEEP ? FINER : 1.0);
    for (t->stride = 2; t->step > most * (1.0 + 1e-9); t->stride *= 3)
        t->step /= 3.0;
}

int strip_table_prepare(struct strip_table *t, const double *parameters,
                        const struct strip_apart *apart)
{
    for (size_t i = 0; i < STRIP_PARTS; i++)
        if (t->course->part[i])
            program_prepare(t->course->part[i], parameters, &t->uniforms[i]);
    t->u = 1.0;
    t->low = t->high = 0;
    t->mean = strip_ask(t, STRIP_START, 0, 1, NULL, t->u)[0];
    t->deviation = fabs(output_of(t, STRIP_START, 1, 1)[0]);
    int status = find_end(t);
    look_around(t, apart);
    place(t);
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
