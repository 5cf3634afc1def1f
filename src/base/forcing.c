/* SPDX-License-Identifier: MIT */
/* Parts are the time h halved n times, level n. With the nodes x_k and weights
 * w_k of Gauss and Legendre on (0, 1), and the polynomials l_k that are 1 at
 * one of them, a part of length s adds
 *
 *     sum_k W_k b_k,    W_k = int_0^s e^{A (s - u)} l_k(u / s) du.
 *
 * Where |A| s is small, W_k = s w_k e^{A s (1 - x_k)}, by a power series. A
 * part of twice the length has b at the nodes of its halves by the polynomial,
 * so
 *
 *     W_k(2s) = e^{A s} sum_m W_m l_k(x_m / 2) + sum_m W_m l_k(1/2 + x_m / 2),
 *     E(2s) = 2 E + E E,    E = e^{A s} - I. */
#include "base/forcing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/quadrature.h"
#include "base/small.h"

enum { NODES = FORCING_NODES, TRIALS = FORCING_TRIALS };

/* |A| s <= SHORT at the shortest parts; terms of the series there. */
static const double SHORT = 0.25;
enum { TERMS = 14 };

/* Levels of parts, and in all; parts in a time. */
enum { MOST_HALVINGS = 40, LEVELS = 80, MOST_PARTS = 1 << 14 };

/* Pages of parts that are never made are never touched. */
enum { PARTS = MOST_PARTS + MOST_HALVINGS + 1 };

/* What a polynomial may miss, as a share of the largest force, and more where
 * times are rounded to so much of themselves; and where the
 * ends are tried, as a share of a part: jumps are where rows are. */
static const double MISSED = 1e-11, ROUNDED = 8.0 * DBL_EPSILON, END = 1e-7;

struct forcing_part {
    unsigned level;
    size_t number; /* among those of its level */
};

/* --- Memory --------------------------------------------------------------- */

/* The polynomials of all nodes at x. */
static void polynomials(const struct forcing *f, double x, double *value)
{
    for (size_t k = 0; k < NODES; k++) {
        value[k] = 1.0;
        for (size_t j = 0; j < NODES; j++)
            if (j != k)
                value[k] *= (x - f->node[j]) / (f->node[k] - f->node[j]);
    }
}

/* Points by the golden ratio are nowhere near a regular grid. */
static double trial_at(size_t j)
{
    const double golden = 0.61803398874989485;
    if (j == 0) return END;
    return j == 1 ? 1.0 - END : fmod((double)j * golden, 1.0);
}

static void make_rule(struct forcing *f)
{
    quadrature_interval(NODES, f->node, f->weight);
    for (size_t k = 0; k < NODES; k++) {
        f->point[k] = f->node[k];
        for (size_t side = 0; side < 2; side++)
            polynomials(f, 0.5 * ((double)side + f->node[k]),
                        f->half[side] + k * NODES);
    }
    for (size_t j = 0; j < TRIALS; j++) {
        f->point[NODES + j] = trial_at(j);
        polynomials(f, f->point[NODES + j], f->trial + j * NODES);
    }
}

static size_t level_size(size_t d)
{
    return (NODES + 1) * d * d;
}

int forcing_init(struct forcing *f, size_t d, bool gradient)
{
    size_t dd = d * d, bars = gradient ? 1 : 0;
    *f = (struct forcing){.d = d};
    const struct arena_part part[] = {
        {&f->power, TERMS * dd},
        {&f->level, LEVELS * level_size(d)},
        {&f->bar, bars * LEVELS * level_size(d)},
        {&f->b, PARTS * d * NODES},
        {&f->state, (PARTS + 1) * d},
        {&f->room, FORCING_POINTS * (d + 1) + 2 * NODES * dd + TERMS * dd}};
    make_rule(f);
    f->part = NEW(struct forcing_part, PARTS);
    return f->part ? arena_lay(&f->arena, sizeof part / sizeof *part, part)
                   : GSV_NO_MEMORY;
}

void forcing_free(struct forcing *f)
{
    arena_free(&f->arena);
    mem_free(f->part);
}

/* E of a level, then its W. */
static double *E_of(const struct forcing *f, unsigned level)
{
    return f->level + level * level_size(f->d);
}

static double *W_of(const struct forcing *f, unsigned level)
{
    return E_of(f, level) + f->d * f->d;
}

static double *E_bar_of(const struct forcing *f, unsigned level)
{
    return f->bar + level * level_size(f->d);
}

static double *W_bar_of(const struct forcing *f, unsigned level)
{
    return E_bar_of(f, level) + f->d * f->d;
}

/* --- Parts ---------------------------------------------------------------- */

static double length_of(double h, unsigned level)
{
    return ldexp(h, -(int)level);
}

static void times_of(const struct forcing *f, double h, struct forcing_part at,
                     size_t n, double *time)
{
    double length = length_of(h, at.level);
    for (size_t j = 0; j < n; j++)
        time[j] = length * ((double)at.number + f->point[j]);
}

/* Whether the polynomials through the nodes have what b has elsewhere; a part
 * of a force weighs as much as it is long. b (d, FORCING_POINTS). */
static bool is_seen(const struct forcing *f, struct forcing_part at,
                    const double *b, double *most)
{
    double weight = length_of(1.0, at.level);
    bool seen = true;
    for (size_t i = 0; i < f->d; i++, b += FORCING_POINTS) {
        for (size_t j = 0; j < FORCING_POINTS; j++)
            most[i] = fmax(most[i], fabs(b[j]));
        for (size_t j = 0; seen && j < TRIALS; j++) {
            double off = b[NODES + j];
            for (size_t k = 0; k < NODES; k++)
                off -= f->trial[j * NODES + k] * b[k];
            if (weight * fabs(off) > f->missed * most[i]) seen = false;
        }
    }
    return seen;
}

static void keep(struct forcing *f, struct forcing_part at, const double *b)
{
    size_t each = f->d * NODES;
    for (size_t i = 0; i < f->d; i++)
        memcpy(f->b + f->parts * each + i * NODES, b + i * FORCING_POINTS,
               NODES * sizeof *b);
    f->part[f->parts++] = at;
}

/* From left to right. */
static void find_parts(struct forcing *f, double h, const struct force *force)
{
    double *time = f->room, *b = time + FORCING_POINTS;
    double *most = b + f->d * FORCING_POINTS;
    struct forcing_part at = {0, 0};
    memset(most, 0, f->d * sizeof *most);
    f->parts = 0;
    f->missed = fmax(MISSED, ROUNDED * fabs(force->start) / h);
    do {
        times_of(f, h, at, FORCING_POINTS, time);
        force->value(force->user, FORCING_POINTS, time, b);
        if (!is_seen(f, at, b, most) && at.level < MOST_HALVINGS &&
            f->parts < MOST_PARTS) {
            at = (struct forcing_part){at.level + 1, 2 * at.number};
            continue;
        }
        keep(f, at, b);
        at.number++;
        for (; at.level && at.number % 2 == 0; at.level--)
            at.number /= 2;
    } while (at.level || !at.number);
}

/* --- Levels --------------------------------------------------------------- */

/* The longest and the shortest parts that are needed. */
struct span {
    unsigned first, last;
};

static bool find_span(const struct forcing *f, double h, const double *A,
                      struct span *s)
{
    double size = small_norm(f->d, A) * h;
    *s = (struct span){LEVELS, 0};
    for (size_t p = 0; p < f->parts; p++) {
        if (f->part[p].level < s->first) s->first = f->part[p].level;
        if (f->part[p].level > s->last) s->last = f->part[p].level;
    }
    if (!(size < ldexp(SHORT, LEVELS - 1))) return false;
    while (size > ldexp(SHORT, (int)s->last))
        s->last++;
    return true;
}

/* (1 - x)^n / n!, n to TERMS. */
static void tapers(double x, double *taper)
{
    taper[0] = 1.0;
    for (size_t n = 1; n < TERMS; n++)
        taper[n] = taper[n - 1] * (1.0 - x) / (double)n;
}

static void make_shortest(struct forcing *f, double s, const double *A,
                          unsigned level)
{
    size_t d = f->d, dd = d * d;
    double *E = E_of(f, level), *W = W_of(f, level), *P = f->power;
    double taper[TERMS], *As = f->room;
    for (size_t e = 0; e < dd; e++) {
        As[e] = s * A[e];
        P[e] = (double)(e % (d + 1) == 0);
    }
    for (size_t n = 1; n < TERMS; n++)
        small_product(d, P + (n - 1) * dd, false, As, false, P + n * dd);
    memset(E, 0, level_size(d) * sizeof *E);
    tapers(0.0, taper);
    for (size_t n = 1; n < TERMS; n++)
        for (size_t e = 0; e < dd; e++)
            E[e] += taper[n] * P[n * dd + e];
    for (size_t k = 0; k < NODES; k++, W += dd) {
        tapers(f->node[k], taper);
        for (size_t n = 0; n < TERMS; n++)
            for (size_t e = 0; e < dd; e++)
                W[e] += s * f->weight[k] * taper[n] * P[n * dd + e];
    }
}

/* out_k = sum_m half[m][k] in_m, or with m and k in each other's place. */
static void mix(size_t dd, const double *half, bool back, const double *in,
                double *out)
{
    memset(out, 0, NODES * dd * sizeof *out);
    for (size_t m = 0; m < NODES; m++)
        for (size_t k = 0; k < NODES; k++) {
            double w = half[back ? k * NODES + m : m * NODES + k];
            for (size_t e = 0; e < dd; e++)
                out[k * dd + e] += w * in[m * dd + e];
        }
}

/* A level from the one below it, whose parts are halves. */
static void double_level(struct forcing *f, unsigned level)
{
    size_t d = f->d, dd = d * d;
    const double *E = E_of(f, level + 1), *W = W_of(f, level + 1);
    double *E2 = E_of(f, level), *W2 = W_of(f, level);
    double *X = f->room, *Y = X + NODES * dd;
    mix(dd, f->half[1], false, W, W2);
    mix(dd, f->half[0], false, W, X);
    for (size_t k = 0; k < NODES; k++) {
        small_product(d, E, false, X + k * dd, false, Y);
        for (size_t e = 0; e < dd; e++)
            W2[k * dd + e] += X[k * dd + e] + Y[e];
    }
    small_product(d, E, false, E, false, E2);
    for (size_t e = 0; e < dd; e++)
        E2[e] += 2.0 * E[e];
}

/* --- The sum -------------------------------------------------------------- */

/* e^{A s} c and what part number p adds. */
static void add_part(const struct forcing *f, size_t p, const double *c,
                     double *to)
{
    size_t d = f->d, dd = d * d;
    unsigned level = f->part[p].level;
    const double *W = W_of(f, level), *b = f->b + p * d * NODES;
    memcpy(to, c, d * sizeof *c);
    small_add(d, 1.0, E_of(f, level), false, c, to);
    for (size_t k = 0; k < NODES; k++)
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++)
                to[i] += W[k * dd + i * d + j] * b[j * NODES + k];
}

bool forcing_make(struct forcing *f, double h, const double *A,
                  const struct force *force, double *c)
{
    size_t d = f->d;
    struct span s;
    find_parts(f, h, force);
    if (!find_span(f, h, A, &s)) return false;
    make_shortest(f, length_of(h, s.last), A, s.last);
    for (unsigned l = s.last; l-- > s.first;)
        double_level(f, l);
    memset(f->state, 0, d * sizeof *f->state);
    for (size_t p = 0; p < f->parts; p++)
        add_part(f, p, f->state + p * d, f->state + (p + 1) * d);
    for (size_t i = 0; i < d; i++)
        c[i] += f->state[f->parts * d + i];
    return all_finite(d, c);
}

/* --- Backward ------------------------------------------------------------- */

/* c_bar after a part becomes that before it. */
static void add_part_vjp(const struct forcing *f, size_t p, double h,
                         const struct force *force, double *c_bar)
{
    size_t d = f->d, dd = d * d;
    unsigned level = f->part[p].level;
    const double *W = W_of(f, level), *b = f->b + p * d * NODES;
    double *W_bar = W_bar_of(f, level), *time = f->room;
    double *b_bar = time + FORCING_POINTS, *after = b_bar + d * NODES;
    memcpy(after, c_bar, d * sizeof *after);
    memset(b_bar, 0, d * NODES * sizeof *b_bar);
    for (size_t k = 0; k < NODES; k++)
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                size_t e = k * dd + i * d + j;
                W_bar[e] += after[i] * b[j * NODES + k];
                b_bar[j * NODES + k] += W[e] * after[i];
            }
    small_outer(d, 1.0, after, f->state + p * d, E_bar_of(f, level));
    small_add(d, 1.0, E_of(f, level), true, after, c_bar);
    times_of(f, h, f->part[p], NODES, time);
    force->bar(force->user, NODES, time, b_bar);
}

static void double_level_vjp(struct forcing *f, unsigned level)
{
    size_t d = f->d, dd = d * d;
    const double *E = E_of(f, level + 1), *W = W_of(f, level + 1);
    const double *E2_bar = E_bar_of(f, level), *W2_bar = W_bar_of(f, level);
    double *E_bar = E_bar_of(f, level + 1), *W_bar = W_bar_of(f, level + 1);
    double *X = f->room, *Y = X + NODES * dd;
    mix(dd, f->half[1], true, W2_bar, X);
    for (size_t e = 0; e < NODES * dd; e++)
        W_bar[e] += X[e];
    mix(dd, f->half[0], true, W2_bar, X);
    for (size_t m = 0; m < NODES; m++) {
        small_product(d, E, true, X + m * dd, false, Y);
        for (size_t e = 0; e < dd; e++)
            W_bar[m * dd + e] += X[m * dd + e] + Y[e];
        small_product(d, X + m * dd, false, W + m * dd, true, Y);
        for (size_t e = 0; e < dd; e++)
            E_bar[e] += Y[e];
    }
    small_product(d, E2_bar, false, E, true, X);
    small_product(d, E, true, E2_bar, false, Y);
    for (size_t e = 0; e < dd; e++)
        E_bar[e] += 2.0 * E2_bar[e] + X[e] + Y[e];
}

static void make_shortest_vjp(struct forcing *f, double s, const double *A,
                              unsigned level, double *A_bar)
{
    size_t d = f->d, dd = d * d;
    const double *E_bar = E_bar_of(f, level), *W_bar = W_bar_of(f, level);
    double *P_bar = f->room, *As = P_bar + TERMS * dd, *X = As + dd;
    double taper[TERMS], *P = f->power;
    memset(P_bar, 0, TERMS * dd * sizeof *P_bar);
    tapers(0.0, taper);
    for (size_t n = 1; n < TERMS; n++)
        for (size_t e = 0; e < dd; e++)
            P_bar[n * dd + e] += taper[n] * E_bar[e];
    for (size_t k = 0; k < NODES; k++, W_bar += dd) {
        tapers(f->node[k], taper);
        for (size_t n = 1; n < TERMS; n++)
            for (size_t e = 0; e < dd; e++)
                P_bar[n * dd + e] += s * f->weight[k] * taper[n] * W_bar[e];
    }
    for (size_t e = 0; e < dd; e++)
        As[e] = s * A[e];
    for (size_t n = TERMS - 1; n > 0; n--) {
        small_product(d, P + (n - 1) * dd, true, P_bar + n * dd, false, X);
        for (size_t e = 0; e < dd; e++)
            A_bar[e] += s * X[e];
        small_product(d, P_bar + n * dd, false, As, true, X);
        for (size_t e = 0; e < dd; e++)
            P_bar[(n - 1) * dd + e] += X[e];
    }
}

void forcing_vjp(struct forcing *f, double h, const double *A,
                 const struct force *force, double *c_bar, double *A_bar)
{
    struct span s;
    if (!find_span(f, h, A, &s)) return;
    size_t levels = s.last - s.first + 1;
    memset(E_bar_of(f, s.first), 0, levels * level_size(f->d) * sizeof *f->bar);
    for (size_t p = f->parts; p-- > 0;)
        add_part_vjp(f, p, h, force, c_bar);
    for (unsigned l = s.first; l < s.last; l++)
        double_level_vjp(f, l);
    make_shortest_vjp(f, length_of(h, s.last), A, s.last, A_bar);
}
