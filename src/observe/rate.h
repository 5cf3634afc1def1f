/* SPDX-License-Identifier: MIT */
/* Counts of events since the row before, obs n ~ poisson(integral(r)): what a
 * step of length h from y0 to y1 adds to its log density,
 *
 *     log p(n | y0, y1) = n log L - L - log n!,
 *     L = h/6 (r(y0, t0) + 4 E r(Y, t0 + h/2) + r(y1, t1)),
 *
 * by Simpson's rule. Between its ends Y is taken for a Brownian bridge, in the
 * middle N((y0 + y1)/2, h/4), whose mean of r is that over 2d points
 * (y0 + y1)/2 +- sqrt(d h)/2 e_k: right for cubic r, and never negative. What L
 * itself varies by along the bridge, h^3/12 |dr/dy|^2, is left out. */
#ifndef OBSERVE_RATE_H
#define OBSERVE_RATE_H

#include "base/memory.h"
#include "observe/observe.h"

/* What all threads read. Without any such counts, all that follows does
 * nothing. */
struct rates {
    const gsv_model *model;
    const struct stops *stops;
    size_t d, count; /* of states, of rates */
    struct graph *graph;
    struct program *program; /* over y: all rates, (count, 1) */
    struct uniforms uniforms;
    size_t *value; /* (count) the number of the column of each */
};

/* Model and stops are borrowed. use_double: networks in double. */
int rates_init(struct rates *r, const gsv_model *m, const struct stops *stops,
               bool use_double);
void rates_free(struct rates *r);

/* At the model's present values. */
void rates_prepare(struct rates *r);

/* The length of rater's bar. */
size_t rates_uniforms(const struct rates *r);

/* Steps to a stop from the one before it: from all of I points to all of J, a
 * pair's number being i J + j; or, where each is set, I = J and from point i
 * to point i. */
struct rate_step {
    size_t stop, I, J;
    bool each;
    size_t ld;             /* rows of y are so far apart */
    const double *y0, *y1; /* (d; I), (d; J)             */
};

/* One thread's memory. */
struct rater {
    const struct rates *rates;
    size_t most, block; /* points of a stop, pairs of a block */
    struct workspace space;
    double *state, *time, *input, *slope; /* of a block's points             */
    double *state_bar, *output_bar;       /* (d, points), (count, points)    */
    double *end[2], *end_bar[2]; /* (count; most) rates at both ends         */
    double *mean, *mean_bar;     /* (count, pairs of a block): L             */
    double *events, *constant;   /* (count): n, NaN where missing; -log n!   */
    double *bar;                 /* of the uniforms                          */
    struct arena arena;
};

/* For stops of at most `most` points. gradient: whether the bars are needed. */
int rater_init(struct rater *w, const struct rates *r, size_t most,
               bool gradient);
void rater_free(struct rater *w);

/* Adds to log_p of all pairs. Where a rate is negative or not finite it becomes
 * -inf; as it does where no event can be and some were. */
void rater_add(struct rater *w, const struct rate_step *step, double *log_p);

/* With weights of all pairs, adds to y0_bar (d; I), y1_bar (d; J), and bar. */
void rater_add_vjp(struct rater *w, const struct rate_step *step,
                   const double *weight, double *y0_bar, double *y1_bar);

/* Brings bars, merged from all raters, to the parameters: added to the
 * gradient. */
void rates_gradient(const struct rates *r, double *bar, double *gradient);

#endif
