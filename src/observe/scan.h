/* SPDX-License-Identifier: MIT */
/* The scan: J support points at every stop, densities between all points of
 * neighbouring stops (jump.h). Long gaps have stops in between, where nothing
 * was observed. With g the density of what was observed,
 *
 *     a_1(j) = init(x^j) g_1 / q_1,
 *     a_n(j) = g_n / q_n  mean_i a_(n-1)(i) p(x_n^j | x_(n-1)^i),
 *     p(data) = mean_j a_N(j):
 *
 * unbiased for any q. Events that were counted since the row before are part of
 * p (rate.h). Where all states were observed exactly a stop has one
 * point, and q = 1. Points are constants under differentiation, so that
 *
 *     d log p(data) = sum over stops and pairs of w_ij d log p(x^j | x^i)
 *                   + sum over stops of w_j d log g,
 *
 * w their posterior weights, from a pass backward. */
#ifndef OBSERVE_SCAN_H
#define OBSERVE_SCAN_H

#include "observe/jump.h"
#include "observe/observe.h"
#include "observe/rate.h"

/* Default numbers of points of a stop, with one latent state and with more; and
 * the largest number. */
enum { SCAN_POINTS = 32, SCAN_POINTS_MORE = 64, SCAN_MOST = 1024 };

struct scan;

/* Called with every chunk of the pass backward, from the last to the first. */
struct scan_observer {
    void *user;
    int (*observe)(void *user, const struct scan *s, size_t chunk);
};

struct scan {
    ROWS_FIRST; /* stops also between rows: see stops_divide() */
    struct scan_observer observer;
    bool diagnosed; /* errors and effective numbers of points are needed */
    struct support support;
    struct jumps jumps;
    struct jumper *jumper; /* (threads)                                   */
    struct rates rates;
    struct rater *rater; /* (threads)                                     */
    size_t threads;
    size_t J, chunk, chunks; /* stops of a chunk, and their number          */
    size_t most;             /* points of a stop with several modes         */
    size_t loaded;           /* the chunk whose densities are at hand       */
    size_t now;              /* the chunk that threads are at               */
    size_t *at;              /* (chunk + 2) first points, from the stop
                                before the chunk on                         */
    size_t *pair;            /* (chunk + 1) first pairs, of stop after stop */
    double *y, *log_det;     /* (d, points), (points) of a chunk            */
    double *y_end;           /* the same at the end of a step: y itself,
                                but where T jumps (model_map_jumps())       */
    double *y_bar;           /* (2, d, points): of a step's end, its start  */
    double *log_p;           /* (pairs), the later point the faster index   */
    double *weight;          /* (pairs) in the gradient                     */
    double *a, *b;           /* (points of a chunk) log a_n(j), log b_n(j)  */
    double *some;            /* log a of some points by themselves          */
    double *posterior;       /* (points of a chunk)                         */
    double *keep; /* (chunks, most) a at the last stop before       */
    double *keep_even, *keep_odd, *keep_fourth; /* the same of some points   */
    double *total;        /* (tracks) log p of a track                   */
    double *ahead;        /* (most) log b of the stop before the next chunk */
    double *ess;          /* (stops)                                     */
    double *error;        /* (stops) increment less that of half the points */
    double *odd, *fourth; /* (stops) sums up to each of the other half, and
                             of a quarter                                   */
    double *left;         /* (tracks) what is still missed: see find_left() */
    double *drift_bar, *map_bar; /* merged from the threads, in order       */
    double *rate_bar;
    struct arena arena;
};

/* The fewest steps of a fit, and the change by twice as many that is left: of
 * the second order, so that a third of it is their error. */
#define SCAN_STEPS 4
#define SCAN_CHANGE 0.3

extern const struct method METHOD_SCAN;

/* Model and series are borrowed; the options are copied. */
int scan_init(struct scan *s, const gsv_model *m, const gsv_series *series,
              const gsv_options *o);
void scan_free(struct scan *s);

/* At the model's present values; reference: values that points and references
 * are made from, or NULL for the same. gradient (values): set, or NULL. */
int scan_run(struct scan *s, const double *reference, uint32_t iteration,
             double *gradient);

/* The parts of a run: laws and programs at the model's values; log a of a
 * chunk's points, chunks in their order; what each stop adds, checked. */
int scan_prepare(struct scan *s, const double *reference);
void scan_forward(struct scan *s, size_t chunk, uint32_t iteration);
int scan_close(struct scan *s);

/* The stops of a chunk are [scan_first(chunk), scan_first(chunk + 1)); points
 * at hand begin with the stop before them. */
size_t scan_first(const struct scan *s, size_t chunk);

/* --- scan_method.c: see model/states.h ------------------------------------ */

int scan_filter(const struct task *t, const struct filter_visitor *v);
int scan_paths(const struct task *t, const struct path_visitor *v);

#endif
