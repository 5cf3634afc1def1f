/* SPDX-License-Identifier: MIT */
/* Corrected slopes: a fast objective for learning a drift, with one step for
 * each gap and no Jacobian. For a gap from x to x' of length h,
 *
 *     z = x + h/2 f(x + h/4 f(x))                  a forecast of its middle
 *     m = (x + x')/2 + h/8 (f(x) - f(x'))          the middle of a cubic
 *     D = (f(x) + 4 f(m) + f(x')) / 6 - f(z)       the mean drift less f(z)
 *
 * and the slope (x' - x)/h - D is compared with f(z) as a normal variable with
 * the covariance sigma sigma'(z) / h. z and D are constants in the gradient,
 * and z does not depend on x': what the gradient needs is one evaluation of the
 * drift at a known point. Moves and D are limited by sizes of the data, so that
 * no network can make them large.
 *
 * This is an estimating equation and no log-likelihood: a density whose mean
 * depends on x' rewards flat drifts. Runs without a gradient therefore give the
 * log density of the forecast, N(x + h F, h sigma sigma'(z)), by which states
 * of a fit can be compared; F is the mean drift of a step of Runge and Kutta
 * from x, and z the second of its middles.
 *
 * The residuals e are those of a drift that was learned from the same gaps:
 * they are too small where it follows the noise, and too large where it misses
 * the truth. Both are nearly the same in two neighbouring gaps, 1 and 2, and
 * leave their difference alone. So numbers of the noise are found from the
 * gradient of
 *
 *     - log |det sigma| - 1/2 (1/2 |u1 - u2|^2 - h |sigma^-1 w|^2)
 *     u = sqrt(h) sigma^-1 e,   w = f(z + h e' / sqrt(12)) - f(z)
 *
 * for both gaps, with e' the residual of the other gap. A path deviates from
 * the cubic by a bridge whose mean has the covariance h sigma sigma' / 12, so
 * that e has the covariance sigma sigma'/h and that of w, for which e' stands
 * in. */
#ifndef SLOPE_SLOPE_H
#define SLOPE_SLOPE_H

#include "base/comm.h"
#include "base/memory.h"
#include "graph/program.h"
#include "model/gaps.h"
#include "model/method.h"

struct slope_scratch;

struct slopes {
    const gsv_model *m;
    const gsv_options *o;
    struct gaps gaps; /* without a list */
    size_t d;
    struct graph *graph;   /* the model's and sigma^-1 v               */
    struct program *drift; /* f over x                                 */
    struct program *white; /* sigma^-1 v and log |det sigma| over x, v */
    struct uniforms f, inverse;
    double *reach; /* (d) the longest move from the data               */
    double *most;  /* (d) the largest correction D                     */
    size_t block;  /* gaps that are evaluated together                 */
    size_t room;   /* gaps that a run may have                         */

    size_t n;            /* gaps of this run                           */
    const size_t *group; /* (n) their numbers; NULL: all               */
    bool gradient;
    bool paired;     /* groups 2i and 2i + 1 are neighbours            */
    double *value;   /* (room) log densities                           */
    double *limited; /* (room) 1 where D was limited, else 0           */
    double *sum;     /* (slots, bars)                                  */
    size_t slots, threads;
    struct slope_scratch *scratch; /* (threads) */
};

/* Fails with a reason where it cannot take the model. */
int slopes_accept(const gsv_model *m);

int slopes_init(struct slopes *s, const struct task *t);
void slopes_free(struct slopes *s);

/* At the model's values: the score, and unless value_bar (values) is NULL the
 * gradient of the sum. */
int slopes_run(struct slopes *s, size_t n, const size_t *group,
               double *value_bar, struct score *score);

/* The gradient of the sum above by the numbers of the noise, over n / 2 pairs
 * of neighbouring gaps, one after the other in group. */
int slopes_noise(struct slopes *s, size_t n, const size_t *group,
                 double *value_bar, struct score *score);

/* The share of the gaps of the last run whose D was limited. */
double slopes_limited(const struct slopes *s);

/* At the model's values of the last run: rows of a gap's Jacobian by some
 * values, sqrt(h) sigma^-1 df(z) of every state and then, where n is d + 1,
 * sqrt(2/d) d log |det sigma|, whose sum of squares is the information of the
 * gap. rows is (n, columns). residual (n) times these rows is the gradient of
 * the gap's value: u = sqrt(h) sigma^-1 e, then sqrt(d/2) (|u|^2 / d - 1).
 * Threads must not call it at the same time. */
void slopes_rows(struct slopes *s, size_t thread, size_t gap, size_t n,
                 size_t columns, const size_t *column, float *rows,
                 double *residual);

/* --- slope_block.c -------------------------------------------------------- */

/* What one thread needs to evaluate a block of gaps. */
struct slope_scratch {
    struct workspace f, inverse;
    double *length;              /* (P) of the gaps                        */
    double *end;                 /* (d, 2P) x, then x'                     */
    double *there;               /* (d, 2P) other points                   */
    double *at;                  /* (2d, P) z and the residual             */
    double *drift;               /* (d, 2P) f(x), f(x')                    */
    double *slope;               /* (d, P) (x' - x)/h, then less D         */
    double *time, *input, *rate; /* of 2P points: t, inputs, their slopes  */
    double *bar, *state_bar;     /* (bars); (2d, P)                        */
    double *r_bar, *log_bar;     /* (d, P); (P)                            */
    double *missed;              /* (2d, P) z and w                        */
    struct gap *gap;             /* (P) */
    struct points middle;        /* z, at the middles of the gaps          */
    struct arena arena;
};

/* The numbers in the gradient of both programs. */
size_t slopes_bars(const struct slopes *s);

int slope_scratch_init(struct slope_scratch *c, const struct slopes *s);
void slope_scratch_free(struct slope_scratch *c);

/* Gaps [first, end) of the run: their values, and their gradient to c->bar. */
void slope_block(struct slopes *s, struct slope_scratch *c, size_t first,
                 size_t end);

#endif
