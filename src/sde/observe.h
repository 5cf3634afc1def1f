/* SPDX-License-Identifier: MIT */
/* Noisy observations of latent states. A stop is a row in which anything was
 * observed; at every stop stand J support points x^j, drawn from a density q
 * that a linearised smoother gives (smooth.h), and between the points of
 * neighbouring stops densities p(x^j | x^i) are estimated by bridges (pairs of
 * estimate.c). With g the density of what was observed,
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
#ifndef SDE_OBSERVE_H
#define SDE_OBSERVE_H

#include "sde/gaps.h"
#include "sde/result.h"
#include "sde/smooth.h"

/* --- stops.c -------------------------------------------------------------- */

/* All stops of all tracks, one after the other. */
struct stops {
    struct gaps gaps; /* for inputs, states and values */
    struct stop *stop;
    size_t count, capacity;
    size_t *first;  /* (tracks + 1) of each track */
    double longest; /* gap in time               */
};

/* Fails where no track has two stops, or where a value is not one of its law.
 */
int stops_init(struct stops *s, const gsv_model *m, const gsv_series *series);
void stops_free(struct stops *s);

/* Whether stop n is the first of its track. */
bool stop_is_first(const struct stops *s, size_t n);

/* --- support.c ------------------------------------------------------------ */

/* The laws that points are drawn from, of all stops. */
struct support {
    const gsv_model *model;
    const struct stops *stops;
    const gsv_options *options;
    size_t d, J;
    double *mean, *root; /* (stops, d), (stops, d, d): of stretched states u; */
                         /* lower factors, of the states that are not exact   */
    double *log_root;    /* (stops) log |det| of the factor                   */
    struct smoother smoother;
    struct graph *graph; /* the model's, with what follows                    */
    struct program *sigma; /* u = sigma y */
    struct program *place; /* x of u */
    struct program *weigh; /* over x: du/dx, the first state's log density, */
    /* every obs's                                       */
    struct uniforms sigma_uniforms, place_uniforms, weigh_uniforms;
    struct uniforms guide_uniforms; /* of weigh, for q      */
    bool frozen;                    /* whether these differ */
    struct workspace sigma_space, place_space, weigh_space;
    size_t capacity; /* points of a chunk */
    double *u, *x;   /* (d, capacity)     */
    double *small;   /* (2, d, d)         */
    double *time, *input, *slope;
    double *log_g; /* (capacity) of observations and of the first state   */
    double *log_q; /* (capacity)                                          */
    double *z;     /* (J)                                                 */
    double *bar;   /* (outputs, capacity)                                 */
    const double **output_bar; /* (outputs) into bar */
    double *weigh_bar; /* of weigh's uniforms                              */
    struct arena arena;
};

int support_init(struct support *s, const gsv_model *m,
                 const struct stops *stops, const gsv_options *o, size_t J,
                 size_t capacity);
void support_free(struct support *s);

/* Laws by the smoother at these values; then the model's own are prepared. */
int support_prepare(struct support *s, const double *guide);

/* The number of points of a stop. */
size_t support_points(const struct support *s, size_t stop);

/* Draws the points of stops [first, end) to x, with log_g and log_q; returns
 * their number. */
size_t support_draw(struct support *s, size_t first, size_t end,
                    uint32_t iteration);

/* After it: adds sum_j weight_j d log_g_j to weigh_bar. */
void support_vjp(struct support *s, size_t first, size_t end,
                 const double *weight);

/* Brings weigh_bar to the parameters, added to the gradient. */
void support_gradient(struct support *s, double *gradient);

/* --- scan.c --------------------------------------------------------------- */

enum { SCAN_POINTS = 32 };

struct scan {
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

/* After it: log p(data); and all of a result that is zero but its gradient. */
double scan_sum(const struct scan *s);
int scan_fill(const struct scan *s, gsv_result *r);

/* gsv_loglik() of a model with latent states. */
int scan_loglik(const gsv_model *m, const gsv_series *s, const gsv_options *o,
                const double *guide, gsv_result *result);

#endif
