/* SPDX-License-Identifier: MIT */
/* Densities of short steps in closed form. From y the drift is linearised, with
 * what its curvature adds by Ito's formula,
 *
 *     dY = (f + A (Y - y) + g t) dt + dW,   A = df/dy,  g = trace(d2f/dy2) / 2,
 *
 * f at the middle of the step in time, so that Y ~ N(y + Gamma f + Psi g, Q)
 * (stride.h). Exact for linear drifts; else the error of n steps of length h is
 * of order n h^3. Nothing is drawn, f is needed once for every y however many
 * places the steps end at, and the gradient is exact. */
#ifndef OBSERVE_JUMP_H
#define OBSERVE_JUMP_H

#include "base/memory.h"
#include "observe/observe.h"
#include "observe/stride.h"

/* What all threads read. */
struct jumps {
    const gsv_model *model;
    const struct gaps *gaps; /* for inputs */
    size_t d;
    struct graph *graph;
    struct program *drift; /* over y: f, A and g (curved) */
    struct program *map;   /* over x: T, log |det dT/dx|  */
    bool curved, sloped;   /* whether there are g and A   */
    struct uniforms drift_uniforms, map_uniforms;
};

/* gaps are borrowed. use_double: networks in double. */
int jumps_init(struct jumps *j, const gsv_model *m, const struct gaps *gaps,
               bool use_double);
void jumps_free(struct jumps *j);

/* At the model's present values. */
void jumps_prepare(struct jumps *j);

/* Whether the drift f~ is linear in the state. */
int drift_is_linear(const gsv_model *m, bool *linear);

/* Whether it is, and whether it also does not change in time except where held
 * inputs change, so that a step from one stop to the next may have any length.
 * Else stops are needed between rows: as many as the options say, or 8 steps a
 * gap. */
int jumps_are_exact(const gsv_model *m, bool *linear, bool *exact);
size_t jumps_steps(const gsv_options *o);
int jumps_divide(const gsv_model *m, struct stops *s, const gsv_options *o);

/* One thread's memory, for steps from at most `most` points. */
struct jumper {
    const struct jumps *jumps;
    size_t most, I;
    struct workspace drift, map;
    struct stride stride;
    double *time, *input, *slope;
    double *place;    /* (d; I) where steps begin                   */
    double *A;        /* (d, d; I)                                  */
    double *mu;       /* (d; I) means                               */
    double *inverse;  /* (d, d; I) of the lower root of Q           */
    double *log_norm; /* (I); -inf where the drift is not finite    */
    double *bar;      /* the bars of all these                      */
    double *drift_bar, *map_bar; /* of the uniforms */
    struct arena arena;
};

/* gradient: whether the bars are needed. */
int jumper_init(struct jumper *w, const struct jumps *j, size_t most,
                bool gradient);
void jumper_free(struct jumper *w);

/* y = T(x) (d; ld apart) of n points at a moment, and log |det dT/dx| (n). */
void jumper_map(struct jumper *w, const struct moment *at, size_t n, size_t ld,
                const double *x, double *y, double *log_det);

/* Adds to map_bar. */
void jumper_map_vjp(struct jumper *w, const struct moment *at, size_t n,
                    size_t ld, const double *x, const double *y_bar,
                    const double *log_det_bar);

/* The laws of steps of length h from I points y (d; ld apart). */
void jumper_start(struct jumper *w, const struct moment *from, double h,
                  size_t I, size_t ld, const double *y);

/* After it: log_p[i J + j] of the step from point i to y1 number j, of J. */
void jumper_all(const struct jumper *w, size_t J, size_t ld, const double *y1,
                double *log_p);

/* After jumper_start(): with weights of all pairs (I, J), y0_bar and y1_bar
 * (d; ld apart) are set, and the drift's part is added to drift_bar. */
void jumper_all_vjp(struct jumper *w, const struct moment *from, double h,
                    size_t ld, size_t J, const double *y1, const double *weight,
                    double *y0_bar, double *y1_bar);

/* Brings bars, merged from all jumpers, to the parameters: added to the
 * gradient. */
void jumps_gradient(const struct jumps *j, double *drift_bar, double *map_bar,
                    double *gradient);

#endif
