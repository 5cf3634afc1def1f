/* SPDX-License-Identifier: MIT */
/* The plan of an estimate: over all gaps, log |det dT/dx| + log p_ref(y'|y) +
 * the log of the mean weight of K bridges, and its gradient in one backward
 * pass. A plan is made once and then only read. What a run writes is in run.h,
 * what a thread writes in scratch.h; driver.c runs a plan.
 *
 * A group is what one mean is taken over: a gap, or with joint a whole track.
 * Several gaps are prepared together (a batch), and their paths are evaluated
 * in blocks of as many points as stay in the cache. Memory therefore does not
 * depend on K, M or N. */
#ifndef BRIDGE_PLAN_H
#define BRIDGE_PLAN_H

#include "base/memory.h"
#include "graph/program.h"
#include "model/gaps.h"
#include "model/method.h"

struct plan;
struct scratch;
struct block;

/* Values of the model, as each program of the plan uses them. */
struct values {
    struct uniforms unit, step, map, back, range;
};

/* The outputs of plan->unit at a point: f~ is the first. */
struct drift_outputs {
    node node[4];
    size_t count;
};

/* How the weights of a gap are computed: one row for each way. */
struct weigher {
    /* Fails with a reason where the options do not suit the model. */
    int (*check)(const struct plan *p);
    /* Adds outputs to those of plan->unit, in plan->graph where the model's
     * graph lacks them; and makes what the row needs for all gaps. */
    int (*build)(struct plan *p, struct drift_outputs *out);
    /* The number of points of a path of M steps. */
    size_t (*columns)(const struct plan *p, size_t M);
    /* The least number of points of a block, and the doubles that a context
     * needs in addition; NULL for none. */
    size_t (*least)(const struct plan *p);
    size_t (*context_size)(const struct plan *p);
    /* Memory of a thread, or NULL; end() also after a failure. */
    int (*start)(const struct plan *p, struct scratch *s);
    void (*end)(struct scratch *s);
    /* Samples a block, evaluates the drift and adds to S and S2 (both may be
     * NULL); then, from S_bar and S2_bar to the values and the contexts. */
    void (*forward)(const struct plan *p, const struct values *v,
                    struct scratch *s, const struct block *b, double *S,
                    double *S2);
    void (*backward)(const struct plan *p, const struct values *v,
                     struct scratch *s, const struct block *b);
    bool gaussian; /* the density of a Gaussian reference is in the value */
    bool sliced;   /* a path may be cut into slices of steps              */
    bool one_step; /* a gap is one step, whatever the options say         */
    bool one_path; /* a gap is one number, without paths and references    */
};

/* The nodes of the form bound (bound.c): times on (0, 1) with weights, and
 * points z (d, points) with theirs. */
struct bound_rule {
    size_t times, points;
    double *time, *time_weight, *z, *weight;
    struct arena arena;
};

struct plan {
    const gsv_model *model;
    const gsv_options *options;
    const struct weigher *weigher;
    struct gaps gaps;   /* all gaps, made from their numbers              */
    size_t pairs;       /* where gaps are pairs of any points: the number */
    double pair_length; /* of them at most, and their longest time        */
    size_t d, inputs;
    size_t K;           /* paths of a gap                                 */
    bool halved;        /* whether l(2 dt) is needed in results            */
    bool is_shared;     /* whether all ranks need the findings of a group */
    enum gsv_form form; /* the options', or chosen for the whole model    */
    bool potential;     /* int f~ dY depends on the ends alone: context.c */
    struct bound_rule bound;
    size_t parts; /* of the form exact (exact.c): of a gap at most, and */
    bool moves;   /* whether b changes within them                      */

    struct graph *graph;   /* a copy of the model's with more nodes, or NULL */
    struct program *unit;  /* f~; its divergence for stratonovich; distance  */
                           /* and steepness of boundaries                    */
    size_t barriers;       /* boundaries that stratonovich corrects for      */
    struct program *step;  /* sigma v of modified bridges (modified.c), NULL */
    struct program *map;   /* the model's forth: T, log |det dT/dx|, T'v     */
    struct program *back;  /* the model's back: T^-1, (T^-1)'w               */
    struct program *range; /* of T^-1, or NULL where it is all of space      */

    size_t *first_gap; /* (all_groups + 1) of all groups; NULL: a gap each  */
    size_t all_groups;
    size_t most;     /* groups that a run selects, at most                 */
    size_t chunks;   /* parts into which the paths of a group are cut      */
    size_t longest;  /* steps of the longest gap                           */
    size_t capacity; /* points of a block                                  */
    size_t batch;    /* gaps that are prepared together, at most           */
};

/* All gaps of a series; or, where pairs > 0, pairs of any points: at most so
 * many in a run, and no further apart in time than `longest`. Model, series and
 * options of the task are borrowed. plan_free() also after a failure. */
int plan_init(struct plan *p, const struct weigher *w, const struct task *t,
              size_t pairs, double longest);
void plan_free(struct plan *p);

/* The programs at the values of the model's parameters. */
int values_init(const struct plan *p, struct values *v);
void values_set(const struct plan *p, const double *value, struct values *v);
void values_free(struct values *v);

/* Whether weights with steps twice as long are computed, too. */
bool plan_has_pairs(const struct plan *p);

/* The number of steps of a gap. */
size_t plan_steps(const struct plan *p, const struct gap *gap);

/* The gaps [group_begin(g), group_begin(g + 1)) are those of group g. */
size_t group_begin(const struct plan *p, size_t group);
size_t group_gaps(const struct plan *p, size_t group);

/* The points of one path through all gaps of a group. */
size_t group_columns(const struct plan *p, size_t group);

/* The first path of a chunk: a multiple of 8, for whole vectors. */
size_t chunk_first(const struct plan *p, size_t chunk);

/* The length of the gradient by all values: unit_bars() by those of unit and
 * step, then those of map. */
size_t unit_bars(const struct plan *p);
size_t all_bars(const struct plan *p);

/* Doubles of a context. Brownian bridges need no matrices, and their memory
 * must not grow with those. */
bool has_matrices(const struct plan *p);
size_t bars_size(const struct plan *p);
size_t context_size(const struct plan *p);

/* Fails where data are outside the domain of T (domain.c). */
int domain_check(const struct plan *p);

#endif
