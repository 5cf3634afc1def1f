/* SPDX-License-Identifier: MIT */
/* What the files of the smoother share. */
#ifndef OBSERVE_SMOOTH_PARTS_H
#define OBSERVE_SMOOTH_PARTS_H

#include "observe/smooth.h"

/* Points of a block; small matrices and vectors of scratch. */
enum { SMOOTH_BLOCK = 256, SMOOTH_MATRICES = 12, SMOOTH_VECTORS = 10 };

/* Scratch number i. A function that calls others says which ones it uses. */
static inline double *matrix_of(const struct smoother *s, size_t i)
{
    return s->matrix + i * s->d * s->d;
}

static inline double *vector_of(const struct smoother *s, size_t i)
{
    return s->vector + i * s->d;
}

/* --- smooth_ask.c: values of the model ------------------------------------ */

/* f (d) and A = df/dy (d, d) at y in the middle of the gap that ends at stop
 * n; false where they are not finite. */
bool smooth_drift(struct smoother *s, const struct smooth_track *track,
                  size_t n, double time, const double *y, double *f, double *A);

/* The same for stops [from, from + count), count <= SMOOTH_BLOCK, at the
 * middles of the chords of a path (stops, d): f (count, d), A (count, d, d). */
void smooth_drifts(struct smoother *s, const struct smooth_track *track,
                   size_t from, size_t count, const double *path, double *f,
                   double *A);

/* The log density of what was observed at the stops [from, from + count) and
 * its derivatives at a path's points y (count, d), to value (count), g (count,
 * d) and H (count, d, d). An obs that is not finite there is left out, at the
 * price of SMOOTH_BAD. */
void smooth_densities(struct smoother *s, const struct smooth_track *track,
                      size_t from, size_t count, const double *y, double *value,
                      double *g, double *H);

extern const double SMOOTH_BAD;

/* The log density alone of what was observed at stop n, at P <= SMOOTH_BLOCK
 * points y (P, d), to value (P): -INFINITY where it is not finite, or outside
 * of T's range. false where nothing was observed. */
bool smooth_values(struct smoother *s, const struct smooth_track *track,
                   size_t n, size_t P, const double *y, double *value);

/* Moves points of y (count, d) that are beyond T's range towards those of
 * inside (count, d) until they are not. */
void smooth_confine(struct smoother *s, const struct smooth_track *track,
                    size_t from, size_t count, const double *inside, double *y);

/* Whether y is inside of T's range at stop n. */
bool smooth_inside(struct smoother *s, const struct smooth_track *track,
                   size_t n, const double *y);

/* The first state's law in y. */
int smooth_first(struct smoother *s, const struct smooth_track *track);

/* States that are observed without noise: each fixes one row of sigma y = u.
 */
void smooth_fix(struct smoother *s, const struct smooth_track *track);

/* --- smooth_kalman.c: Gaussian laws --------------------------------------- */

/* The transition over dt with slope A and drift f at place, to Phi, c, Q, which
 * may stand where A and f do. With less and less of the slope where it blows
 * up; false and Brownian where A or f are not finite. Uses matrices 0 to 6,
 * vectors 0 and 1. */
bool smooth_transition(struct smoother *s, double dt, const double *A,
                       const double *f, const double *place, double *Phi,
                       double *c, double *Q);

/* The transition to stop n goes on to the coordinates after it, where T jumps
 * there. Uses matrices 0 and 1, vector 0. */
void smooth_jump(struct smoother *s, const struct smooth_track *track,
                 size_t n);

/* The middle of y0 at stop n - 1 and y1 at stop n, in the coordinates between
 * them. */
void smooth_middle(const struct smoother *s, const struct smooth_track *track,
                   size_t n, const double *y0, const double *y1,
                   double *middle);

/* mean, cov of the filter from the stop before to stop n. Uses matrices 0 and
 * 1, vector 0. */
void smooth_predict(struct smoother *s, size_t n);

/* They given the states that are fixed at stop n. Uses matrices 0 to 4 and
 * vector 0. */
void smooth_pin(struct smoother *s, size_t n);

/* K' = (I + H P H')^-1 H P and P+ = (P^-1 + H'H)^-1 = (I - K H) P, for any
 * P = cov >= 0, to matrices 0 and 1. Uses 0 to 5. Adds 1/2 log |I + H P H'| to
 * log_gain. false where they cannot be factored. */
bool smooth_gain(struct smoother *s, const double *H);

/* mean, cov times exp(g'(y - mu) - |H (y - mu)|^2 / 2). Uses matrices 0 to 5,
 * vectors 0 and 1. */
void smooth_update(struct smoother *s, const double *mu, const double *g,
                   const double *H);

/* log N(y1; Phi y0 + c, Q) of the gap that ends at stop n, without 2 pi. */
double smooth_step_density(struct smoother *s, size_t n, const double *y0,
                           const double *y1);

/* -1/2 |y - first_mean|^2 in the first law's metric. */
double smooth_first_density(struct smoother *s, const double *y);

/* From filtered laws in target and law->cov to smoothed ones. */
void smooth_backward(struct smoother *s, size_t stops,
                     const struct smooth_law *law);

/* --- smooth_guess.c: the first path --------------------------------------- */

/* An extended Kalman filter with Newton's method at each stop, then backward.
 * The path goes to stop.trial, inside of T's range. moving: with the drift;
 * else the state is a Brownian motion, which is never led astray. */
void smooth_guess(struct smoother *s, const struct smooth_track *track,
                  const struct smooth_law *law, bool moving);

#endif
