/* SPDX-License-Identifier: MIT */
/* A particle filter with a look-ahead function psi: K particles go from stop to
 * stop, drawn from the smoother's law of a state given the one before and all
 * data, r (links.h). With g the density of what was observed, and p that of
 * steps (jump.h) with the events that were counted on their way (rate.h); long
 * gaps have stops in between,
 *
 *     W_n = W_(n-1) p(x_n | x_(n-1)) g_n / r(x_n | x_(n-1)).
 *
 * What counts is W psi, where psi says what the data after the stop make of its
 * state. Where its effective number falls below K / 2 the particles are drawn
 * again from it, and the mean of W psi becomes a factor of p(data),
 *
 *     Z <- Z mean(W psi),   W <- 1 / psi of the survivors;   p(data) = Z mean W
 *
 * at the last stop. This is unbiased for any r and psi. Where the model is
 * linear and all laws are normal, all W psi are the same, and Z mean(W psi) is
 * p of the data up to the stop.
 *
 * The gradient follows the particles' ancestors: the pair that leads to a
 * particle counts as much as all that have come from it LAG stops later, or at
 * the track's end. Without resampling it is that of the value, points held;
 * with it, an estimate of the exact one. */
#ifndef OBSERVE_PARTICLE_H
#define OBSERVE_PARTICLE_H

#include "observe/jump.h"
#include "observe/links.h"
#include "observe/rate.h"

/* The default number of particles, and the largest; stops that a gradient
 * looks ahead. */
enum { PARTICLES = 256, PARTICLES_MOST = 1 << 16, PARTICLE_LAG = 64 };

struct particle {
    ROWS_FIRST;
    struct support support;
    struct links links;
    struct jumps jumps;
    struct jumper jumper;
    struct rates rates;
    struct rater rater;
    size_t d, K; /* K is a power of two */

    /* The last stops, at stop % slots. */
    size_t slots;
    double *x;      /* (slots, d, K)                                  */
    size_t *parent; /* (slots, K) among the particles of the stop before */

    double *y0, *y1; /* (d, K): ends of steps                    */
    double *y0_bar, *y1_bar;
    double *log_det;      /* (K) of dT/dx at y1                       */
    double *from;         /* (d, K) u of the parents                  */
    double *z, *flip;     /* (d, K), (K) random numbers               */
    double *log_w;        /* (K) log W                                */
    double *log_psi;      /* (K)                                      */
    double *log_p;        /* (K)                                      */
    double *share;        /* (K) of W psi, adds up to 1               */
    double *line, *line2; /* (K) the same, of ancestors               */
    double log_z, before; /* log Z; log of Z mean(W psi) one stop ago */
    size_t *next;         /* (K) parents of the next stop             */
    size_t resampled;     /* times in the last run                    */
    struct rank *rank;    /* (K) */
    double *ess, *error;  /* (stops)                                   */
    struct arena arena;
};

extern const struct method METHOD_PARTICLE;

#endif
