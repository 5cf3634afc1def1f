/* SPDX-License-Identifier: MIT */
/* The interface of estimators: every way to a log-likelihood, or to another
 * objective of a fit, is one row of functions. Its users know this file and
 * estimator/estimator.h, which chooses a row. A new method is a file with its
 * functions and its row, and a line in estimator.c.
 *
 * Data fall into units, whose log-likelihoods add up: gaps, or with joint and
 * with hidden states whole tracks. Estimators without hidden states can run
 * some of the units alone; these are their groups. */
#ifndef MODEL_METHOD_H
#define MODEL_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "girsanov.h"

/* Paths and steps of a gap where the options leave them open. */
enum { FIRST_PATHS = 64, FIRST_STEPS = 8 };

static inline bool steps_are_open(const gsv_options *o)
{
    return !o->steps && !(o->step > 0.0);
}

/* What an estimator is made for. All of it is borrowed. */
struct task {
    const gsv_model *model;
    const gsv_series *series;
    const gsv_options *options;
    size_t most;                  /* groups at once; 0: all              */
    bool by_group;                /* all ranks need the result of a group */
    bool halved;                  /* l(2 dt) is needed                   */
    bool values_alone;            /* neither gradients nor diagnostics   */
    bool by_track;                /* groups are tracks, where it can do that */
    bool given_effects;           /* random effects are the model's values */
    enum gsv_objective objective; /* of squared errors, with their scheme */
    enum gsv_scheme scheme;
};

/* One run, at the model's present values. */
struct request {
    const double *reference_values; /* that references are made from; NULL:
                                     * the present values                  */
    uint32_t iteration;  /* of the random numbers                        */
    size_t n;            /* the number of groups, where some are selected */
    const size_t *group; /* (n); NULL: all                               */
    double *gradient;    /* (values) of the sum over gaps; or NULL       */
    bool trial;          /* values are compared: this one is no result   */
};

/* Each part of a unit has random numbers of its own: a slot. */
struct slots {
    size_t slots, units;
    bool random; /* whether there are random numbers at all */
};

struct score {
    double mean;  /* of a gap's log-likelihood         */
    double error; /* standard error of that, over gaps */
    size_t gaps;
};

struct filter_visitor;
struct path_visitor;
struct normal_paths;
struct drawn_paths;
struct ahead_visitor;

struct method {
    const char *name;
    const void *inner; /* what distinguishes rows with the same functions */
    bool shares;       /* ranks share the work                         */
    bool selects;      /* a run may select some groups                  */
    bool holds;        /* it can run with reference_values             */
    size_t fewest;     /* steps, where what more change chooses them; 0: not */
    double change;     /* nats of a pilot's that they may make          */
    size_t pilots;     /* points that this takes; 0: as many as ever   */
    size_t usual;      /* points by default; 0: those of the result    */
    bool jumps;        /* it follows states that jump (event)          */
    bool first_laws;   /* it takes first states that are not normal    */
    size_t size;       /* bytes of a machine, all zero to begin with   */
    /* Fails with a reason where it cannot run this model with these options;
     * called by estimator_accept(). */
    int (*accept)(const struct method *row, const struct task *t);
    /* A machine, which must not be moved; free() also after a failure. */
    int (*init)(const struct method *row, void *machine, const struct task *t);
    void (*free)(void *machine);
    /* Fails with GSV_NUMERICAL where anything is not finite. */
    int (*run)(void *machine, const struct request *q, struct score *score);
    /* A run that fills a zeroed result: the list of gaps where list is set, and
     * the gradient where r->gradient is not NULL. */
    int (*fill)(void *machine, const struct request *q, bool list,
                gsv_result *r);
    /* After a run of one window of gaps: the mean of a gap. NULL where data do
     * not fall into independent gaps. */
    struct score (*score)(const void *machine);
    /* Whether groups of a model can be tracks, with by_track; NULL: no. */
    bool (*tracks)(const gsv_model *m);
    /* After a run with by_group: the number of groups, and one of them. */
    size_t (*groups)(const void *machine);
    gsv_gap (*group)(const void *machine, size_t g);
    /* Without groups, after a run: the log-likelihood of every track. */
    void (*track_logs)(const void *machine, double *log);
    /* How far off the mean of a gap may be, in nats; NULL: not known. */
    double (*doubt)(const void *machine);
    /* Whether the value is a discontinuous function of the parameters, as it is
     * where particles are resampled: its gradient misses the jumps. NULL: no.
     */
    bool (*rough)(const void *machine);
    /* The number of slots, and the unit of each (slots), which may be NULL.
     * Then the log-likelihood of every unit with other random numbers for some
     * slots: turn (slots) is added to the iteration. A value that is not finite
     * becomes -INFINITY. */
    struct slots (*slots)(const void *machine, size_t *unit);
    int (*units)(void *machine, const uint32_t *turn, double *unit);
    /* Of hidden states (model/states.h): their laws row by row given the data
     * so far, and points for paths given all data, or, where all laws are
     * normal, the laws themselves, or whole paths. NULL where states are
     * observed themselves, or where the estimator cannot say. */
    int (*filter)(const struct task *t, const struct filter_visitor *v);
    int (*paths)(const struct task *t, const struct path_visitor *v);
    int (*normal)(const struct task *t, const struct normal_paths *p);
    int (*drawn)(const struct task *t, const struct drawn_paths *p);
    int (*ahead)(const struct task *t, const struct ahead_visitor *v);
};

#endif
