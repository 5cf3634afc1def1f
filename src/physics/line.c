/* SPDX-License-Identifier: MIT */
#include "physics/line.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/memory.h"

/* Exponents beyond this one are as good as infinite. */
static const double MOST_EXPONENT = 600.0;

static size_t points(const struct line *l)
{
    return 2 * l->cells + 1;
}

/* The integral over a cell, or over its first half, of a function with values
 * at both ends and in the middle. */
static double whole(double h, const double *v)
{
    return h / 6.0 * (v[0] + 4.0 * v[1] + v[2]);
}

static double half(double h, const double *v)
{
    return h / 24.0 * (5.0 * v[0] + 8.0 * v[1] - v[2]);
}

/* sum (points) = int v from the first point on. */
static void accumulate(const struct line *l, const double *v, double *sum)
{
    sum[0] = 0.0;
    for (size_t i = 0; i < l->cells; i++) {
        sum[2 * i + 1] = sum[2 * i] + half(l->h, v + 2 * i);
        sum[2 * i + 2] = sum[2 * i] + whole(l->h, v + 2 * i);
    }
}

/* --- Setting up ----------------------------------------------------------- */

static double largest(size_t n, const double *v)
{
    double best = -(double)INFINITY;
    for (size_t k = 0; k < n; k++)
        best = fmax(best, v[k]);
    return best;
}

/* From the drift f_s and a_s: phi, m, s. rate (points) is room. */
static int integrate(struct line *l, const double *f, const double *a,
                     double *rate)
{
    size_t n = points(l);
    for (size_t k = 0; k < n; k++) {
        rate[k] = 2.0 * f[k] / a[k];
        if (!isfinite(rate[k]))
            return fail(GSV_NUMERICAL,
                        "the noise is 0, or the drift is not finite, at %g; "
                        "give --range without this place",
                        l->x[k]);
    }
    accumulate(l, rate, l->phi);
    double top = largest(n, l->phi);
    for (size_t k = 0; k < n; k++) {
        l->phi[k] -= top;
        double e = fmax(l->phi[k], -MOST_EXPONENT);
        l->m[k] = 2.0 * exp(e) / a[k];
        l->s[k] = exp(-e);
    }
    for (size_t i = 0; i < l->cells; i++)
        l->mass += whole(l->h, l->m + 2 * i);
    /* From the coordinate s to x: phi_x = phi_s + log dx/ds. */
    for (size_t k = 0; k < n; k++)
        l->phi[k] +=
            log(axis_slope(l->axis, l->axis->end[0] + 0.5 * l->h * (double)k));
    return 0;
}

static void set_potential(struct line *l, double s0, double *rate)
{
    size_t n = points(l);
    double low = (double)INFINITY;
    for (size_t k = 0; k < n; k++)
        rate[k] = -l->f[k] * axis_slope(l->axis, s0 + 0.5 * l->h * (double)k);
    accumulate(l, rate, l->U);
    for (size_t k = 0; k < n; k++)
        if (axis_reached(l->axis, l->x[k])) low = fmin(low, l->U[k]);
    for (size_t k = 0; k < n && isfinite(low); k++)
        l->U[k] -= low;
}

int line_init(struct line *l, const struct scene *c, size_t cells)
{
    const struct axis *axis = &c->axis[0];
    *l = (struct line){.axis = axis, .cells = cells};
    size_t n = points(l);
    l->h = (axis->end[1] - axis->end[0]) / (double)cells;
    l->x = NEW(double, 10 * n);
    if (!l->x) return GSV_NO_MEMORY;
    double **part[] = {&l->f, &l->a, &l->phi, &l->m, &l->s, &l->U};
    for (size_t i = 0; i < 6; i++)
        *part[i] = l->x + (i + 1) * n;
    double *s = l->x + 7 * n, *f = s + n, *a = f + n;
    for (size_t k = 0; k < n; k++)
        s[k] = axis->end[0] + 0.5 * l->h * (double)k;
    int status = scene_local(c, n, s, l->x, f, a);
    for (size_t k = 0; !status && k < n; k++) {
        double slope = axis_slope(axis, s[k]);
        l->a[k] = a[k] * slope * slope;
        l->f[k] = slope * (f[k] + 0.5 * a[k] * axis_bend(axis, s[k]) / slope);
    }
    if (!status) status = integrate(l, f, a, s);
    if (!status) set_potential(l, axis->end[0], s);
    return status;
}

void line_free(struct line *l)
{
    mem_free(l->x);
    *l = (struct line){0};
}

/* --- The range ------------------------------------------------------------ */

enum { MARCH = 32, MOST_MARCH = 20000 };
static const double NEGLIGIBLE = 34.0; /* in the log of the density */
static const double SMALL = 5.0; /* the same, where x has no digits left */

/* phi and log m at a place, from those of the place before. */
struct march {
    double s, rate, phi, log_m;
};

static int march_to(const struct scene *c, double s, struct march *at)
{
    double x, f, a;
    int status = scene_local(c, 1, &s, &x, &f, &a);
    double rate = 2.0 * f / a;
    at->phi += 0.5 * (rate + at->rate) * (s - at->s);
    at->rate = rate;
    at->s = s;
    at->log_m = at->phi - log(a);
    return status;
}

/* How far s goes: to 1e17 widths, or to where a bounded x has few digits. */
static double farthest(const struct axis *a, int side)
{
    double bound = side ? a->high : a->low;
    if (!isfinite(bound)) return 40.0;
    double width = a->map == AXIS_BETWEEN ? a->high - a->low : a->width;
    return log(width / fmax(1e-12 * fabs(bound), 1e-250 * width));
}

/* From the data's middle to one side: past the data, and until the density is
 * negligible. *end is NaN where it never is. */
static int march_side(const struct scene *c, int side, double from, double past,
                      double step, double *end)
{
    struct march at = {.s = from};
    double best = -(double)INFINITY, far = farthest(&c->axis[0], side);
    double log_m = best;
    int status = march_to(c, from, &at);
    at.phi = 0.0;
    *end = (double)NAN;
    for (size_t k = 0; !status && k < MOST_MARCH; k++) {
        double before = at.s;
        if (halt_asked()) return halt_status();
        status = march_to(c, at.s + step, &at);
        if (status || !isfinite(at.log_m) || fabs(at.s) > far) {
            if (log_m < best - SMALL) *end = before;
            return status;
        }
        log_m = at.log_m;
        best = fmax(best, log_m);
        if ((side ? at.s >= past : at.s <= past) && log_m < best - NEGLIGIBLE) {
            *end = at.s;
            return status;
        }
    }
    return status;
}

/* The data's range in s, inside the domain. */
static void data_span(const struct axis *a, double span[2])
{
    double w = 1e-3 * (a->data[1] - a->data[0]);
    double low = isfinite(a->low) ? fmax(a->data[0], a->low + w) : a->data[0];
    double high =
        isfinite(a->high) ? fmin(a->data[1], a->high - w) : a->data[1];
    span[0] = axis_s(a, low);
    span[1] = axis_s(a, high);
}

int line_range(struct scene *c, bool *stationary)
{
    struct axis *a = &c->axis[0];
    double span[2];
    *stationary = true;
    if (a->given || a->map == AXIS_RING) return 0;
    data_span(a, span);
    double middle = 0.5 * (span[0] + span[1]), step = (span[1] - span[0]);
    int status = 0;
    for (int side = 0; !status && side < 2; side++) {
        status = march_side(c, side, middle, span[side],
                            (side ? step : -step) / MARCH, &a->end[side]);
        if (isnan(a->end[side])) {
            *stationary = false;
            a->end[side] = span[side] + (side ? 0.1 : -0.1) * step;
        }
    }
    return status;
}

/* --- Between points ------------------------------------------------------- */

/* The point left of s, and the share of the distance to the next one. */
static size_t locate(const struct line *l, double s, double *share)
{
    double u = (s - l->axis->end[0]) / (0.5 * l->h);
    double last = (double)(2 * l->cells - 1);
    double at = fmin(fmax(floor(u), 0.0), last);
    *share = u - at;
    return (size_t)at;
}

static double between(const struct line *l, const double *v, double s)
{
    double share;
    size_t k = locate(l, s, &share);
    return v[k] + share * (v[k + 1] - v[k]);
}

double line_log_density(const struct line *l, double s)
{
    double share;
    size_t k = locate(l, s, &share);
    if (!(share >= 0.0 && share <= 1.0)) return -(double)INFINITY;
    double p = log(l->m[k]), q = log(l->m[k + 1]);
    return p + share * (q - p) - log(l->mass * axis_slope(l->axis, s));
}

double line_potential(const struct line *l, double s)
{
    return between(l, l->U, s);
}

double line_phi(const struct line *l, double s)
{
    return between(l, l->phi, s);
}

void line_moments(const struct line *l, double *mean, double *sd)
{
    double sum[2] = {0.0, 0.0};
    for (int order = 0; order < 2; order++)
        for (size_t i = 0; i < l->cells; i++) {
            double v[3];
            for (size_t k = 0; k < 3; k++) {
                double x = l->x[2 * i + k] - l->axis->centre;
                if (order) x -= sum[0];
                v[k] = l->m[2 * i + k] / l->mass * (order ? x * x : x);
            }
            sum[order] += whole(l->h, v);
        }
    *mean = l->axis->centre + sum[0];
    *sd = sqrt(sum[1]);
}

/* --- First passages ------------------------------------------------------- */

/* Upwards along the line, or along its mirror image: m and s in this order,
 * and M = int m, g = s M, G = int g, Q = int m G. */
struct climb {
    double *m, *s, *M, *g, *G, *Q; /* (points) */
};

static int climb_init(struct climb *c, const struct line *l, bool mirror)
{
    size_t n = points(l);
    *c = (struct climb){.m = NEW(double, 7 * n)};
    if (!c->m) return GSV_NO_MEMORY;
    double **part[] = {&c->s, &c->M, &c->g, &c->G, &c->Q};
    for (size_t i = 0; i < 5; i++)
        *part[i] = c->m + (i + 1) * n;
    double *room = c->m + 6 * n;
    for (size_t k = 0; k < n; k++) {
        c->m[k] = l->m[mirror ? n - 1 - k : k];
        c->s[k] = l->s[mirror ? n - 1 - k : k];
    }
    accumulate(l, c->m, c->M);
    for (size_t k = 0; k < n; k++)
        c->g[k] = c->s[k] * c->M[k];
    accumulate(l, c->g, c->G);
    for (size_t k = 0; k < n; k++)
        room[k] = c->m[k] * c->G[k];
    accumulate(l, room, c->Q);
    return 0;
}

/* v at u, a distance from the start, where v' = d: a cubic. */
static double cubic(const struct line *l, const double *v, const double *d,
                    double u)
{
    double h = 0.5 * l->h, last = (double)(2 * l->cells - 1);
    double at = fmin(fmax(floor(u / h), 0.0), last);
    double t = fmin(fmax(u / h - at, 0.0), 1.0);
    size_t k = (size_t)at;
    double rise = v[k + 1] - v[k];
    double p = h * d[k] - rise, q = rise - h * d[k + 1];
    return v[k] + t * rise + t * (1.0 - t) * ((1.0 - t) * p + t * q);
}

int line_passage(const struct line *l, struct span from, struct span to,
                 double *time)
{
    bool mirror = to.high <= from.low;
    double start = l->axis->end[0], end = l->axis->end[1];
    struct climb c;
    *time = (double)NAN;
    if (!mirror && !(from.high <= to.low)) return 0;
    int status = climb_init(&c, l, mirror);
    if (!status) {
        double goal = mirror ? end - to.high : to.low - start;
        double low = mirror ? end - from.high : from.low - start;
        double high = mirror ? end - from.low : from.high - start;
        double G = cubic(l, c.G, c.g, low);
        double mass = cubic(l, c.M, c.m, high) - cubic(l, c.M, c.m, low);
        if (high > low && mass > 0.0) {
            for (size_t k = 0; k < points(l); k++)
                c.s[k] = c.m[k] * c.G[k];
            G = (cubic(l, c.Q, c.s, high) - cubic(l, c.Q, c.s, low)) / mass;
        }
        *time = cubic(l, c.G, c.g, goal) - G;
    }
    mem_free(c.m);
    return status;
}

int line_committor(const struct line *l, struct span from, struct span to,
                   size_t n, const double *s, double *q)
{
    bool mirror = to.high <= from.low;
    double low = mirror ? to.high : from.high;
    double high = mirror ? from.low : to.low, share;
    double *S = NEW(double, points(l));
    if (!S) return GSV_NO_MEMORY;
    size_t first = locate(l, low, &share) & ~(size_t)1;
    /* From the lower region on: the tail below it is huge. */
    for (size_t k = first; k + 2 < points(l); k += 2) {
        S[k + 1] = S[k] + half(l->h, l->s + k);
        S[k + 2] = S[k] + whole(l->h, l->s + k);
    }
    double bottom = between(l, S, low), top = between(l, S, high);
    for (size_t k = 0; k < n; k++) {
        double at = s[k] <= low ? 0.0
                    : s[k] >= high
                        ? 1.0
                        : (between(l, S, s[k]) - bottom) / (top - bottom);
        q[k] = mirror ? 1.0 - at : at;
    }
    mem_free(S);
    return 0;
}

/* --- Relaxation ----------------------------------------------------------- */

/* Finite volumes around the ends of cells: weight[i] = h m at them. */
struct generator {
    const struct line *line;
    size_t n;
    double *weight; /* (n), of sum 1 */
    double *flux;   /* (n)           */
};

static void remove_mean(const struct generator *g, double *v)
{
    double mean = 0.0;
    for (size_t i = 0; i < g->n; i++)
        mean += g->weight[i] * v[i];
    for (size_t i = 0; i < g->n; i++)
        v[i] -= mean;
}

/* u' = - s int m g. The integral is taken from the side that has less mass. */
static void apply_inverse(void *context, double *v)
{
    struct generator *g = context;
    const struct line *l = g->line;
    double sum = 0.0, mass = 0.0;
    remove_mean(g, v);
    for (size_t i = 0; i + 1 < g->n; i++) {
        sum += g->weight[i] * v[i];
        mass += g->weight[i];
        g->flux[i] = mass < 0.5 ? sum : (double)NAN;
    }
    sum = 0.0;
    for (size_t i = g->n; --i > 0;) {
        sum -= g->weight[i] * v[i];
        if (isnan(g->flux[i - 1])) g->flux[i - 1] = sum;
    }
    v[0] = 0.0;
    for (size_t i = 0; i + 1 < g->n; i++)
        v[i + 1] = v[i] - l->h * l->s[2 * i + 1] * l->mass * g->flux[i];
    remove_mean(g, v);
}

int line_spectrum(const struct line *l, double time[RELAXATIONS],
                  double turn[RELAXATIONS])
{
    struct generator g = {.line = l, .n = l->cells + 1};
    double *room = NEW(double, 3 * g.n), *start = room, sum = 0.0;
    if (!room) return GSV_NO_MEMORY;
    g.weight = room + g.n;
    g.flux = room + 2 * g.n;
    for (size_t i = 0; i < g.n; i++) {
        g.weight[i] = l->m[2 * i] * (i && i < l->cells ? 1.0 : 0.5);
        sum += g.weight[i];
        double u = (l->x[2 * i] - l->axis->centre) / l->axis->width;
        start[i] = tanh(u) + 0.3 / (1.0 + u * u);
    }
    for (size_t i = 0; i < g.n; i++)
        g.weight[i] /= sum;
    struct inverse q = {
        .n = g.n, .weight = g.weight, .context = &g, .apply = apply_inverse};
    int status = spectrum_find(&q, start, time, turn);
    mem_free(room);
    return status;
}

/* --- A ring --------------------------------------------------------------- */

/* exp(Phi) times the integral of exp(-Phi) up to the end, by local differences
 * of Phi, which is linear between points: a steep tilt has exponents of
 * thousands. */
static void integrate_ahead(const struct line *l, const double *phi, double *R)
{
    for (size_t k = 2 * l->cells; k-- > 0;) {
        double rise = phi[k + 1] - phi[k];
        double mean = fabs(rise) < 1e-8 ? 1.0 : -expm1(-rise) / rise;
        R[k] = 0.5 * l->h * mean + exp(-rise) * R[k + 1];
    }
}

/* p = g / a with g' = Phi' g - 1, the same after a turn:
 *
 *     g (1 - e^-turn) = R(x) (1 - e^-turn) + exp(Phi(x) - Phi(end)) R(0). */
int line_ring(const struct line *l, double *density, double *current)
{
    size_t n = points(l);
    double *R = NEW(double, 2 * n), sum = 0.0;
    if (!R) return GSV_NO_MEMORY;
    double *phi = R + n;
    double turn = l->phi[n - 1] - l->phi[0];
    bool mirror = turn < 0.0;
    for (size_t k = 0; k < n; k++)
        phi[k] = l->phi[mirror ? n - 1 - k : k];
    integrate_ahead(l, phi, R);
    double rest = -expm1(-fabs(turn));
    for (size_t k = 0; k < n; k++) {
        size_t at = mirror ? n - 1 - k : k;
        density[at] =
            2.0 / l->a[at] * (R[k] * rest + exp(phi[k] - phi[n - 1]) * R[0]);
    }
    for (size_t i = 0; i < l->cells; i++)
        sum += whole(l->h, density + 2 * i);
    for (size_t k = 0; k < n; k++)
        density[k] /= sum;
    *current = (mirror ? -rest : rest) / sum;
    mem_free(R);
    return 0;
}
