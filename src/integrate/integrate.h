/* SPDX-License-Identifier: MIT */
/* Learning by an integrator: K paths of
 *
 *     dX = f(X, t) dt + g(X, t) dW
 *
 * from the first observation of every track on, in the data's coordinates, and
 * their mean squared distance from the later observations, with its gradient
 * by backpropagation through all steps, whose states are kept; by the
 * stochastic adjoint, which solves the path and its adjoint backward in time
 * and keeps the states at the observations alone; or forward, by the equation
 * of the path's derivatives J by the parameters theta,
 *
 *     dJ = (f_x J + f_theta) dt + (g_x J + g_theta) dW,
 *
 * beside the path, which keeps nothing but takes a path's work once more for
 * every parameter. The Brownian increments are functions of (seed, iteration,
 * track, step, path) and are made again wherever they are needed. */
#ifndef INTEGRATE_INTEGRATE_H
#define INTEGRATE_INTEGRATE_H

#include "base/comm.h"
#include "base/memory.h"
#include "integrate/rhs.h"
#include "model/gaps.h"

/* How the gradient is found. */
enum sensitivity { BY_BACKPROP, BY_ADJOINT, BY_FORWARD };

struct integrate_options {
    size_t paths;           /* K; 0: 16                                   */
    size_t steps;           /* of every gap; 0: 8                         */
    double step;            /* longest step; where positive, instead      */
    enum gsv_scheme scheme; /* euler, or heun by Stratonovich's equations */
    enum sensitivity by;    /* the gradient                               */
    bool gradient;
    bool use_double; /* networks in double */
    uint64_t seed;
    size_t threads;   /* 0 for all       */
    gsv_ranks *ranks; /* NULL: one alone */
};

/* A track with observations to come. Those of the same course, which is the
 * numbers of steps of all their gaps, may walk in one block. */
struct course {
    size_t first, gaps;  /* in the list of all gaps              */
    size_t steps;        /* of all gaps                          */
    const size_t *step;  /* (gaps) of each                       */
    size_t rank, number; /* rank: the same for all of one course */
};

/* What one thread walks at a time: some paths of some tracks. */
struct parcel {
    size_t first, tracks; /* in the integrator's order      */
    size_t path, paths;
    size_t part; /* where the tracks' sums are kept */
};

struct walker;

struct integrator {
    struct integrate_options o;
    const gsv_model *m;
    struct gaps gaps;
    struct rhs there, own; /* forward; and backward where that is another */
    const struct rhs *back;
    bool heun_back;        /* the adjoint's steps are Heun's               */
    size_t *step;          /* (gaps)                                       */
    struct course *course; /* (groups) in the order of the tracks          */
    size_t groups;
    size_t *order; /* (chosen) groups, equal courses together */
    size_t chosen;
    struct parcel *item;
    size_t items, item_room;
    double *part; /* (parts) sums of squares of a track in an item */
    size_t parts, part_room;
    size_t P, longest, most_gaps; /* that walkers have room for */
    uint32_t iteration;
    size_t threads;
    struct walker *walker; /* (threads) */
    double *loss;          /* (groups) a track's sum over its gaps of the mean
                            * squared distance; of those that were chosen      */
    double *uniform_bar;   /* of back's program: the first of these vectors   */
    size_t slots;          /* that items are summed up in                     */
};

/* Whether a model and a scheme can be taken; else it says why not. */
int integrator_check(const gsv_model *m, enum gsv_scheme scheme);

/* Model and series are borrowed. */
int integrator_init(struct integrator *i, const gsv_model *m,
                    const gsv_series *s, const struct integrate_options *o);
void integrator_free(struct integrator *i);

/* The loss of every chosen group (NULL: of all) at the model's values, and
 * unless value_bar (values) is NULL the gradient of minus the sum of them.
 * Fails with GSV_NUMERICAL where a path is not finite. */
int integrator_run(struct integrator *i, uint32_t iteration, size_t groups,
                   const size_t *group, double *value_bar);

/* Bytes that paths keep, of all threads. */
size_t integrator_kept_bytes(const struct integrator *i);

#endif
