/* SPDX-License-Identifier: MIT */
/* What all estimators with noisy observations share. A stop is a row in which
 * anything was observed. At stops stand points x, drawn from a density q that a
 * linearised smoother gives (smooth.h), and between the points of neighbouring
 * stops densities are estimated by bridges. The estimators differ in how they
 * average: scan.h, particle.h, joint.h; observer.h has them all. */
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

/* After it: makes the deviations of all laws so many times as large. */
void support_widen(struct support *s, double factor);

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

#endif
