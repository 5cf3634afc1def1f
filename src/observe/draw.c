/* SPDX-License-Identifier: MIT */
/* The points of one stop, from its law or from the laws of several modes. */
#include <math.h>

#include "base/constant.h"
#include "base/lattice.h"
#include "base/linalg.h"
#include "observe/observe.h"

/* q is wider than the smoother's law, so that what is averaged vanishes where
 * the points end: then a lattice is a trapezoidal rule, and with 32 points of
 * one state errors are of 1e-4 where they would be of 1e-2. With more states
 * most of a wide law is empty. Its tails are heavier, too: of a normal number
 * z, sinh(TAIL z) / TAIL is taken. */
static const double TAIL = 0.15;
static const double WIDTH[] = {1.0, 2.0, 2.0, 1.5, 1.25, 1.1};

static double width_of(size_t states)
{
    size_t most = sizeof WIDTH / sizeof *WIDTH - 1;
    return WIDTH[states < most ? states : most];
}

/* A law that points of a stop are drawn from, so many of them. */
struct part {
    const double *mean, *root;
    double log_root;
    size_t points;
};

/* The laws of a stop. Each has at least 4 points, and a number that 4 divides:
 * so have halves and quarters of all points their shares of each. */
static size_t parts_of(const struct support *s, size_t stop,
                       struct part part[LAWS_OTHERS + 1])
{
    enum { LEAST = 4 };
    size_t d = s->d, all = support_points(s, stop), count = 1;
    part[0] = (struct part){s->laws.mean + stop * d, s->root + stop * d * d,
                            s->log_root[stop], all};
    for (size_t k = 0; k < LAWS_OTHERS; k++) {
        const struct other_law *o = &s->laws.other[k];
        if (!o->there || !o->there[stop]) continue;
        if ((count + 1) * LEAST > all) break;
        part[count++] =
            (struct part){o->mean + stop * d, s->other[k].root + stop * d * d,
                          s->other[k].log_root[stop], 0};
    }
    for (size_t k = 1; k < count; k++) {
        part[k].points = all / count / LEAST * LEAST;
        part[0].points -= part[k].points;
    }
    return count;
}

/* u = mean + root z, z from a lattice, and log q of u. */
static void draw_part(struct support *s, size_t stop, const struct part *part,
                      size_t generator, const struct random_key *key, size_t at,
                      size_t P)
{
    size_t d = s->d, J = part->points, n = d - laws_exact(&s->laws, stop);
    const double *L = part->root;
    double width = width_of(n);
    for (size_t j = 0; j < J; j++)
        s->log_q[at + j] =
            -part->log_root - (double)n * (0.5 * LOG_TWO_PI + log(width));
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < J; j++)
            s->u[i * P + at + j] = part->mean[i];
    for (size_t k = 0; k < n; k++) {
        double *z = s->z;
        lattice_normals(key, generator, k, J, z);
        for (size_t j = 0; j < J; j++) {
            s->log_q[at + j] -= 0.5 * z[j] * z[j] + log(cosh(TAIL * z[j]));
            z[j] = width * sinh(TAIL * z[j]) / TAIL;
        }
        for (size_t i = 0, row = 0; i < d; i++) {
            if (!isnan(laws_state(&s->laws, stop, i))) continue;
            for (size_t j = 0; row >= k && j < J; j++)
                s->u[i * P + at + j] += L[row * n + k] * z[j];
            row++;
        }
    }
}

/* log q of one part at point p: draw_part() backward. */
static double part_density(const struct support *s, size_t stop,
                           const struct part *part, size_t p, size_t P)
{
    size_t d = s->d, n = 0;
    double z[64]; /* check_points() */
    for (size_t i = 0; i < d; i++)
        if (isnan(laws_state(&s->laws, stop, i)))
            z[n++] = s->u[i * P + p] - part->mean[i];
    double width = width_of(n), log_q = -part->log_root;
    linalg_lower_solve(n, 1, part->root, false, z);
    for (size_t k = 0; k < n; k++) {
        double x = asinh(TAIL * z[k] / width) / TAIL;
        log_q -=
            0.5 * LOG_TWO_PI + log(width) + 0.5 * x * x + log(cosh(TAIL * x));
    }
    return log_q;
}

/* log q of the mixture of all parts. */
static void mix(struct support *s, size_t stop, size_t count,
                const struct part *part, size_t at, size_t P)
{
    size_t J = support_points(s, stop);
    for (size_t j = at; j < at + J; j++) {
        double term[LAWS_OTHERS + 1] = {0}, most = -INFINITY, sum;
        for (size_t k = 0; k < count; k++) {
            double share = (double)part[k].points / (double)J;
            term[k] = log(share) + part_density(s, stop, &part[k], j, P);
            most = fmax(most, term[k]);
        }
        sum = exp(term[0] - most);
        for (size_t k = 1; k < count; k++)
            sum += exp(term[k] - most);
        s->log_q[j] = most + log(sum);
    }
}

/* Of several laws each has a lattice of its own. */
void support_draw_stop(struct support *s, size_t stop, uint32_t iteration,
                       size_t at, size_t P)
{
    struct part part[LAWS_OTHERS + 1];
    size_t count = parts_of(s, stop, part), to = at;
    struct random_key key = {.seed = s->options->seed,
                             .purpose = RANDOM_SUPPORT,
                             .iteration =
                                 iteration + s->stops->stop[stop].stream,
                             .item = stop};
    for (size_t k = 0; k < count; k++) {
        size_t generator = part[k].points == s->J
                               ? s->generator
                               : lattice_generator(part[k].points, s->d);
        draw_part(s, stop, &part[k], generator, &key, to, P);
        to += part[k].points;
    }
    if (count > 1) mix(s, stop, count, part, at, P);
}
