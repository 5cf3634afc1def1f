/* SPDX-License-Identifier: MIT */
/* The scan: J support points at every stop, bridges between all points of
 * neighbouring stops (pairs of estimate.c). With g the density of what was
 * observed,
 *
 *     a_1(j) = init(x^j) g_1 / q_1,
 *     a_n(j) = g_n / q_n  mean_i a_(n-1)(i) p(x_n^j | x_(n-1)^i),
 *     p(data) = mean_j a_N(j):
 *
 * unbiased for any q. Where all states were observed exactly a stop has one
 * point, and q = 1. Points are constants under differentiation, so that
 *
 *     d log p(data) = sum over stops and pairs of w_ij d log p(x^j | x^i)
 *                   + sum over stops of w_j d log g,
 *
 * w their posterior weights, from a pass backward. */
#ifndef SDE_SCAN_H
#define SDE_SCAN_H

#include "sde/observe.h"

/* Points of a stop where the options do not say; and at most. */
enum { SCAN_POINTS = 32, SCAN_MOST = 1024 };

struct scan;

/* Somebody who wants to see points and weights: told of every chunk from the
 * last to the first in the pass backward. */
struct scan_looker {
    void *user;
    int (*look)(void *user, const struct scan *s, size_t chunk);
};

struct scan {
    struct scan_looker looker;
    const gsv_model *model;
    gsv_options options; /* of the pairs */
    struct stops stops;
    struct support support;
    struct estimate pairs;
    size_t J, chunk, chunks; /* stops of a chunk, and their number          */
    size_t loaded;           /* the chunk whose densities are at hand       */
    size_t *at;              /* (chunk + 2) first points, from the stop
                                before the chunk on                         */
    double *log_p;           /* (pairs), the later point the faster index   */
    double *weight;          /* (pairs) in the gradient                     */
    double *a, *b;           /* (points of a chunk) log a_n(j), log b_n(j)  */
    double *posterior;       /* (points of a chunk)                         */
    double *keep;            /* (chunks, J) log a at the last stop before   */
    double *total;           /* (tracks) log p of a track                   */
    double *ahead;           /* (J) log b of the stop before the next chunk */
    double *increment, *ess; /* (stops)                                     */
    struct arena arena;
};

/* Model and series are borrowed; the options are copied. */
int scan_init(struct scan *s, const gsv_model *m, const gsv_series *series,
              const gsv_options *o);
void scan_free(struct scan *s);

/* At the model's present values; guide: values that points and references are
 * made from, or NULL for the same. gradient (values): set, or NULL. */
int scan_run(struct scan *s, const double *guide, uint32_t iteration,
             double *gradient);

/* The stops of a chunk are [scan_first(chunk), scan_first(chunk + 1)); points
 * at hand begin with the stop before them. */
size_t scan_first(const struct scan *s, size_t chunk);

/* After it: all of a result that is zero but its gradient. */
int scan_fill(const struct scan *s, gsv_result *r);

#endif
