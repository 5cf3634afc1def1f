/* SPDX-License-Identifier: MIT */
/* The density of what the exact state moves by, and a gap by it. Where its
 * variance V varies it has a gamma law if w's range has an end, near which V is
 * an integral of squares, and a lognormal one otherwise. The laws of such
 * integrals lie between the two, so that the other one measures the error. */
#include <math.h>

#include "base/constant.h"
#include "base/fast.h"
#include "base/vector_math.h"
#include "strip/strip.h"

/* Beyond this square densities are nothing: vector loops slow down where exp()
 * is 0. */
static const double FARTHEST = 1400.0;

/* Of the variance of V / V among bridges: below, one law is enough. */
static const double LITTLE = 4e-3;

/* The series in z stays above the last one. */
static const double MOST_FOURTH = 0.1, MOST_THIRD = 0.1, LEAST_BEND = 0.1;

/* A normal law with the mean A and the variance V. */
static void set_law(struct strip_kernel *k, size_t law, size_t i, double p,
                    double A, double V)
{
    double sharp = 1.0 / sqrt(V);
    bool is = p > 0.0 && isfinite(sharp);
    k->mean[law][i] = A;
    k->sharp[law][i] = is ? sharp : 0.0;
    k->factor[law][i] = is ? p * sharp * exp(-0.5 * LOG_TWO_PI) : 0.0;
}

/* By d/dV = d^2/dA^2 / 2 of a normal density. */
static void make_one(struct strip_kernel *k, size_t i)
{
    double *const *v = k->value;
    set_law(k, 0, i, v[MOVE_P][i], v[MOVE_A][i], v[MOVE_V][i] + v[MOVE_AA][i]);
    double sharp = k->sharp[0][i], square = sharp * sharp;
    double third = 0.5 * v[MOVE_AV][i] * sharp * square;
    k->third[i] = fmax(fmin(third, MOST_THIRD), -MOST_THIRD);
    k->fourth[i] = fmin(0.125 * v[MOVE_VV][i] * square * square, MOST_FOURTH);
}

/* A law of V / (mean of V) at three points, by its variance. */
struct three {
    double at[3], mass[3];
};

/* Lognormal: Gauss's points for log V. */
static struct three by_lognormal(double variance)
{
    const double far = exp(sqrt(3.0 * log1p(variance)));
    const double sum = (far + 4.0 + 1.0 / far) / 6.0;
    return (struct three){{1.0 / far / sum, 1.0 / sum, far / sum},
                          {1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0}};
}

/* Gamma, of shape a: the roots a + 2 + y of Laguerre's third polynomial, y^3 -
 * 3 (a + 2) y - 2 (a + 2) = 0. */
static struct three by_gamma(double variance)
{
    static const double TURN = 2.0943951023931954923;
    double a = 1.0 / variance, root = sqrt(a + 2.0);
    double angle = acos(1.0 / root) / 3.0;
    struct three g;
    for (size_t k = 0; k < 3; k++)
        g.at[k] = (a + 2.0 + 2.0 * root * cos(angle + (double)k * TURN)) / a;
    for (size_t k = 0; k < 3; k++) {
        double x = g.at[k], y = g.at[(k + 1) % 3], z = g.at[(k + 2) % 3];
        g.mass[k] = (1.0 + variance - y - z + y * z) / ((x - y) * (x - z));
    }
    return g;
}

/* A goes along with V as far as it does so. */
static void make_three(struct strip_kernel *k, size_t i, bool gamma)
{
    double p = k->value[MOVE_P][i], V = k->value[MOVE_V][i];
    double VV = k->value[MOVE_VV][i], AV = k->value[MOVE_AV][i];
    double along = VV > 0.0 ? AV / VV : 0.0;
    double rest = fmax(k->value[MOVE_AA][i] - along * AV, 0.0);
    double variance = p > 0.0 && V > 0.0 ? VV / (V * V) : 0.0;
    struct three g =
        gamma && variance > 1e-9 ? by_gamma(variance) : by_lognormal(variance);
    for (size_t law = 0; law < 3; law++) {
        double there = V * g.at[law];
        set_law(k, law, i, p * g.mass[law],
                k->value[MOVE_A][i] + along * (there - V), there + rest);
    }
}

static bool is_bent(const struct strip_kernel *k, size_t i)
{
    double V = k->value[MOVE_V][i];
    return k->value[MOVE_P][i] > 0.0 &&
           !(k->value[MOVE_VV][i] < LITTLE * V * V);
}

void strip_kernel_laws(struct strip_kernel *k, bool gamma)
{
    size_t n = strip_width(k);
    for (size_t o = 0; o <= 2 * k->band; o++) {
        size_t three = n, cell = o * n;
        while (three && !is_bent(k, cell + three - 1))
            three--;
        k->three[o] = (double)three;
        for (size_t i = 0; i < n; i++) {
            if (i < three) make_three(k, cell + i, gamma);
            else make_one(k, cell + i);
        }
    }
}

/* --- To the next row ------------------------------------------------------ */

/* Of one offset: n points, from i to j, by one law and its series. */
struct offset {
    size_t n;
    double r;
    const double *pull, *pull_to, *from;
    const double *mean, *sharp, *factor, *third, *fourth;
    double *next;
};

/* z, and exp(-z^2/2); apart, so that GCC sees a vector loop. */
enum { BLOCK = 256 };
struct room {
    double z[BLOCK], power[BLOCK];
};

INLINE void find_powers(const struct offset *o, size_t from, size_t n,
                        struct room *w)
{
    const double *pull = o->pull + from, *pull_to = o->pull_to + from;
    const double *mean = o->mean + from, *sharp = o->sharp + from, r = o->r;
    for (size_t i = 0; i < n; i++) {
        double z = (r - pull[i] - pull_to[i] - mean[i]) * sharp[i];
        w->z[i] = z;
        double square = z * z;
        w->power[i] = square < FARTHEST ? square : FARTHEST;
    }
    for (size_t i = 0; i < n; i++)
        w->power[i] = exp(-0.5 * w->power[i]);
}

INLINE void move_bent(const struct offset *o, size_t from, size_t n,
                      struct room *w)
{
    const double *mass = o->from + from, *factor = o->factor + from;
    const double *third = o->third + from, *fourth = o->fourth + from;
    double *next = o->next + from;
    for (size_t i = 0; i < n; i++) {
        double z = w->z[i], q = z * z;
        double bend =
            1.0 + third[i] * z * (q - 3.0) + fourth[i] * ((q - 6.0) * q + 3.0);
        w->z[i] = bend > LEAST_BEND ? bend : LEAST_BEND;
    }
    for (size_t i = 0; i < n; i++)
        next[i] += mass[i] * factor[i] * w->z[i] * w->power[i];
}

INLINE void move_plain(const struct offset *o, size_t from, size_t n,
                       const struct room *w)
{
    const double *mass = o->from + from, *factor = o->factor + from;
    double *next = o->next + from;
    for (size_t i = 0; i < n; i++)
        next[i] += mass[i] * factor[i] * w->power[i];
}

FAST static void move(const struct offset *o, bool bent)
{
    struct room w;
    for (size_t from = 0; from < o->n; from += BLOCK) {
        size_t n = o->n - from < BLOCK ? o->n - from : BLOCK;
        find_powers(o, from, n, &w);
        if (bent) move_bent(o, from, n, &w);
        else move_plain(o, from, n, &w);
    }
}

/* Points [begin, end) by an offset, by one law of several or by the only one.
 */
static void move_part(const struct strip_kernel *k, struct offset *work,
                      size_t o, size_t begin, size_t end, bool bent)
{
    size_t cell = o * strip_width(k) + begin - k->low, to = begin + o - k->band;
    if (begin >= end) return;
    struct offset part = *work;
    part.n = end - begin;
    part.pull += begin;
    part.pull_to += to;
    part.from += begin;
    part.next += to;
    part.third = k->third + cell;
    part.fourth = k->fourth + cell;
    for (size_t law = 0; law < (bent ? 1 : 3); law++) {
        part.mean = k->mean[law] + cell;
        part.sharp = k->sharp[law] + cell;
        part.factor = k->factor[law] + cell;
        move(&part, bent);
    }
}

void strip_kernel_apply(const struct strip_kernel *k, size_t low, size_t high,
                        double r, const double *pull, const double *from,
                        double *next)
{
    struct offset work = {
        .r = r, .pull = pull, .pull_to = pull, .from = from, .next = next};
    for (size_t o = 0; o <= 2 * k->band; o++) {
        size_t begin = low, end = high;
        /* j = i + o - band stays within the kernel's points. */
        if (begin + o < k->low + k->band) begin = k->low + k->band - o;
        if (end + o > k->high + k->band) end = k->high + k->band - o;
        if (begin >= end) continue;
        size_t split = k->low + (size_t)k->three[o];
        split = split < begin ? begin : split < end ? split : end;
        move_part(k, &work, o, begin, split, false);
        move_part(k, &work, o, split, end, true);
    }
}
