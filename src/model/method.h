/* SPDX-License-Identifier: MIT */
/* The interface of estimators: every way to a log-likelihood, or to another
 * objective of a fit, is one row of functions. Who uses one knows this file and
 * estimator/estimator.h, where a row is chosen; a new method is a file with its
 * functions and its row, and a line in the table there.
 *
 * Data fall into units, whose log-likelihoods add up: gaps, or with joint and
 * with hidden states whole tracks; some estimators can be asked for a choice of
 * them (groups). */
#ifndef MODEL_METHOD_H
#define MODEL_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "girsanov.h"

/* The steps of a gap where the options leave them open, to begin with. */
enum { FIRST_STEPS = 8 };

/* What an estimator is made for. All of it is borrowed. */
struct task {
    const gsv_model *model;
    const gsv_series *series;
    const gsv_options *options;
    size_t most;                  /* groups at once; 0: all              */
    bool by_group;                /* every rank is told of every group   */
    bool halved;                  /* l(2 dt) is looked at                */
    bool values_alone;            /* neither gradients nor diagnostics   */
    enum gsv_objective objective; /* of squared errors, with their scheme */
    enum gsv_scheme scheme;
};

/* One run, at the model's present values. */
struct request {
    const double *guide; /* values that references are made from; NULL: those */
    uint32_t iteration;  /* of the random numbers                        */
    size_t n;            /* of groups, where some are chosen             */
    const size_t *group; /* (n); NULL: all                               */
    double *gradient;    /* (values) of the sum over gaps; or NULL       */
};

/* Slots have random numbers of their own, one for each part of a unit. */
struct slots {
    size_t slots, units;
    bool random; /* whether there are random numbers at all */
};

struct score {
    double mean;  /* of a gap's log-likelihood         */
    double error; /* standard error of that, over gaps */
    size_t gaps;
};

struct method {
    const char *name;
    const void *inner; /* by which the functions tell their rows apart */
    bool shares;       /* ranks share the work                         */
    bool holds;        /* a fit may hold its references for a while    */
    size_t size;       /* bytes of a machine, all zero to begin with   */
    /* 0, or a sentence why it cannot take this model with these options. */
    int (*accept)(const struct method *row, const struct task *t);
    /* A machine, which stays where it is; to be freed after a failure, too. */
    int (*init)(const struct method *row, void *machine, const struct task *t);
    void (*free)(void *machine);
    /* Fails with GSV_NUMERICAL where anything is not finite. */
    int (*run)(void *machine, const struct request *q, struct score *score);
    /* The same to all of a result that is zero; its list of gaps where that is
     * asked for, and its gradient where there is room for one. */
    int (*fill)(void *machine, const struct request *q, bool list,
                gsv_result *r);
    /* After a run or a result of one window of gaps: the mean of a gap. NULL
     * where all data hang together. */
    struct score (*score)(const void *machine);
    /* After a run by group: how many, and what was found about one. */
    size_t (*groups)(const void *machine);
    gsv_gap (*group)(const void *machine, size_t g);
    /* By how much the mean of a gap may be off, in nats; NULL: not known. */
    double (*doubt)(const void *machine);
    /* Whether the value jumps where parameters move, as it does where particles
     * are resampled: its gradient does not say so. NULL: never. */
    bool (*rough)(const void *machine);
    /* Slots and the unit of each (slots), which may be NULL. Then the
     * log-likelihood of every unit with other numbers for some slots: turn
     * (slots) is added to the iteration. What is not finite is -INFINITY. */
    struct slots (*slots)(const void *machine, size_t *unit);
    int (*units)(void *machine, const uint32_t *turn, double *unit);
};

#endif
