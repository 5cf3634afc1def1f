/* SPDX-License-Identifier: MIT */
/* The guided filter (swarm.h) over all tracks, as an estimator. Its gradient is
 * made of differences with the same random numbers, psi made again at all
 * parameters. Tracks, and parameters of a gradient, go to threads; with a
 * single one of them, blocks of particles. */
#ifndef GUIDED_GUIDED_H
#define GUIDED_GUIDED_H

#include "guided/score.h"
#include "guided/swarm.h"
#include "observe/observe.h"

/* Defaults: particles, and steps between two rows; where steps integrate noise
 * (course.h) they are of a higher order, and fewer do. */
enum {
    GUIDED_PARTICLES = 256,
    GUIDED_MOST = 1 << 16,
    GUIDED_STEPS = 4,
    INERT_PARTICLES = 64,
    INERT_STEPS = 2,
    GUIDED_PILOTS = 512 /* choose the steps */
};
#define GUIDED_CHANGE 0.02 /* by more steps, in nats of a pilot */

/* Models with more numbers than differences are for, and those with networks
 * that scores are made for, have scores of so many paths of every track
 * (score.h). */
enum { SCORED_PATHS = 16 };

/* What particles that are not guided say of log p (scout.h); -INFINITY where
 * there were none. */
struct scouted {
    double log_z, error;
};

/* What a thread needs to run a track. */
struct guide {
    double *parameters;
    struct course_values values;
    struct pace pace;
    struct ahead ahead[AHEAD_MOST + 1]; /* more than one: see others.h */
    size_t aheads;
    bool found;    /* these were found by others.h        */
    bool *crowded; /* (nodes) see others.h                */
    struct scouted scouted;
    bool careful; /* the value is a result */
    struct swarm swarm;
    struct swarm pilots; /* of control.h; made when they are needed */
    double *history;
    struct mover *mover;
    size_t movers;
    struct guide_score *score; /* made when it is needed */
};

/* What psi is made of: all data to come by the linearised model, the same with
 * a correction (control.h), only those of the next row, all again but along one
 * path where there are several (others.h), or nothing. */
enum look_kind {
    LOOK_AHEAD,
    LOOK_CONTROLLED,
    LOOK_NEXT,
    LOOK_ALONE,
    LOOK_NOWHERE,
    LOOK_KINDS
};
struct look {
    enum look_kind kind;
    size_t aheads;
    bool fresh; /* with other random numbers than those that chose it */
};

struct guided {
    ROWS_FIRST;
    struct course course;
    size_t K, threads;
    struct guide *guide; /* (threads)                              */
    double *path;        /* (paths, stops, D) mu of the last run   */
    size_t paths;        /* AHEAD_MOST where there may be so many  */
    struct look *look;   /* (tracks) what psi it has               */
    bool *crowded;       /* (stops) see others.h                   */
    double *ess, *error; /* (stops)                                */
    bool scored;         /* gradients are scores                   */
    bool by_track;       /* runs are of some tracks                */
    bool fine;           /* the value is a result: with less error */
    size_t *tracks;      /* (walked) those that have stops         */
    size_t walked;
    bool *known;         /* (tracks) path is that of an earlier run */
    struct visit *visit; /* (tracks of the last run) see guided_score.c */
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

/* --- look.c --------------------------------------------------------------- */

/* A track at the guide's parameters. */
struct walk {
    size_t track;
    struct look look;
    bool fine, searched; /* whether the paths of g->ahead are known */
    bool made;           /* whether all psi along them are          */
    const double *from;  /* (nodes, D) of every psi; or NULL: they are sought */
    size_t apart;        /* from one of these to the next */
    const struct swarm_observer *observer;
};

/* With the psi of t->look. */
int walk_run(struct guide *g, struct walk *t);

/* With another psi than that of the linearised model only where it is needed
 * and helps; the linearised model may lead astray where noise ends, as at the
 * end of an epidemic. */
int walk_best(struct guide *g, struct walk *t);

/* --- fold.c --------------------------------------------------------------- */

/* Fails where exact data go through a point at which the rate of a state
 * without noise turns. */
int fold_refuse(struct guided *a);

/* --- guided_score.c ------------------------------------------------------- */

/* Whether a model's gradients are scores. */
bool guided_is_scored(const gsv_model *m);

/* A run over some of the tracks (q->group), or all, with its gradient. */
int guided_scores(struct guided *a, const struct request *q,
                  struct score *score);

/* The mean of a row in track number i of the last of these runs, and the
 * standard error of all of the track. */
gsv_gap guided_visited(const struct guided *a, size_t i);

void guide_score_free(struct guide_score *g);

/* --- guided_states.c ------------------------------------------------------ */

int guided_filter(const struct task *t, const struct filter_visitor *v);
int guided_drawn(const struct task *t, const struct drawn_paths *p);

extern const struct method METHOD_GUIDED;

#endif
