/* SPDX-License-Identifier: MIT */
/* The guided filter (swarm.h) over all tracks, as an estimator. Its gradient is
 * made of differences with the same random numbers, psi made again at all
 * parameters. Tracks, and parameters of a gradient, go to threads; with a
 * single one of them, blocks of particles. */
#ifndef GUIDED_GUIDED_H
#define GUIDED_GUIDED_H

#include "guided/swarm.h"
#include "observe/observe.h"

/* Defaults: particles, and steps between two rows. */
enum { GUIDED_PARTICLES = 256, GUIDED_MOST = 1 << 16, GUIDED_STEPS = 4 };
/* Particles that choose the steps. */
enum { GUIDED_PILOTS = 512 };

/* What a thread needs to run a track. */
struct guide {
    double *parameters;
    struct course_values values;
    struct pace pace;
    struct ahead ahead;
    struct swarm swarm;
    struct swarm pilots; /* of control.h; made when they are needed */
    double *history;
    struct mover *mover;
    size_t movers;
};

struct guided {
    ROWS_FIRST;
    struct course course;
    size_t K, threads;
    struct guide *guide; /* (threads)                              */
    double *path;        /* (stops, D) mu of the last run          */
    bool *controlled;    /* (tracks) whether it has a better psi   */
    double *ess, *error; /* (stops)                                */
    size_t drawn;        /* times that particles were drawn again  */
    struct arena arena;
};

/* also: times of their own where there are to be stops, or NULL. */
int guided_make(struct guided *a, const gsv_model *m, const gsv_series *series,
                const gsv_options *o, const struct drawn_paths *also);
void guided_free(struct guided *a);

/* Track by track on the calling thread, with particles on all: blind as in
 * ahead_make(). */
int guided_walk(struct guided *a, bool blind, const struct swarm_observer *o);

/* --- guided_states.c ------------------------------------------------------ */

int guided_filter(const struct task *t, const struct filter_visitor *v);
int guided_drawn(const struct task *t, const struct drawn_paths *p);

extern const struct method METHOD_GUIDED;

#endif
