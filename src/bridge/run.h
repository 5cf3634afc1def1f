/* SPDX-License-Identifier: MIT */
/* A run of a plan: the groups that it selects, and what it writes about them.
 *
 * An item is work for one thread at a time: some small groups, or a chunk of
 * the paths of a large one. A lane is a fixed share of the items. Items and
 * lanes depend on the problem alone, never on the number of threads. */
#ifndef BRIDGE_RUN_H
#define BRIDGE_RUN_H

#include "bridge/plan.h"
#include "bridge/tally.h"

struct item {
    size_t group0, group1; /* groups [group0, group1)         */
    size_t k0, k1;         /* paths [k0, k1) of each of them  */
};

/* What an item finds out about a group, kept for the result. */
struct finding {
    enum gsv_reference reference;
    enum gsv_form form;
    double khat;
    double energy; /* of the drift, see struct context              */
    double error;  /* of an extrapolated value, else NaN            */
};

/* The log-likelihoods of some groups, summed up. */
struct moments {
    size_t groups;
    double sum, squares; /* squares: of the distances from their mean   */
    size_t lost;         /* the first that is not finite, or NO_GROUP   */
};
#define NO_GROUP SIZE_MAX

enum { LANES = 64, MOST_LANES = 16 * LANES };

struct run {
    const struct plan *plan;

    /* Set before a run and read by all threads. */
    struct values values, frozen;
    const struct values *reference; /* references are made from these: values */
                                    /* or frozen                              */
    uint32_t iteration;             /* of the random numbers                  */
    const double *weight; /* (groups) in the gradient, or NULL for 1 each     */

    /* The selected groups; gaps is a view of the plan's with a list. */
    struct gaps gaps;
    size_t groups;
    size_t *group_first;     /* (most + 1): gaps of a selected group         */
    const size_t *selected;  /* (groups) borrowed; NULL: the first of all    */
    size_t listed, list_end; /* the part of gaps.gap that this rank has made */
    struct item *item;
    size_t items, item_capacity;

    /* What the items write; an item writes to its own places only. */
    struct tally *tally, *tally2; /* (groups, chunks): dt and 2 dt            */
    double *base;                 /* (groups, chunks): log p_ref + log |det|  */
    struct finding *finding;      /* (groups)                                 */
    double *S, *S2;               /* (groups, K) where chunks > 1             */
    struct moments *lane;         /* (MOST_LANES), where chunks is 1          */
    struct moments all;           /* of all groups                            */
    double *unit_bar, *map_bar;   /* the sums over lanes: the first of        */
    size_t slots;                 /* `slots` vectors of all_bars()            */

    size_t *window;          /* (most) a window of all groups, or NULL */
    double *window_bar;      /* (values) its gradient, or NULL         */
    struct scratch *scratch; /* (threads)                         */
    size_t threads;
};

/* A run that has selected the first groups. run_free() also after a failure. */
int run_init(struct run *r, const struct plan *p);
void run_free(struct run *r);

/* The model's present values, and those that references are made from; NULL for
 * the model's own. */
void run_set_values(struct run *r, const double *reference);

/* Selects the groups with these numbers, n of them at most plan->most; the list
 * is borrowed until the next selection. A plan with room for all groups stays
 * with all. */
int run_select(struct run *r, size_t n, const size_t *group);

/* Selects pairs of points: the caller has written gaps.gap[i], whose from and
 * to are columns of point (dim, points). */
int run_select_pairs(struct run *r, size_t pairs, size_t points,
                     const double *point);

/* Selected gap i, on whatever rank, and its steps. */
struct gap run_gap(const struct run *r, size_t i);
size_t run_gap_steps(const struct run *r, size_t i);

/* The points of one path through all gaps of a selected group. */
size_t run_columns(const struct run *r, size_t group);

/* Lanes, where the items of a lane begin, and its groups: a group that is cut
 * into chunks belongs to the lane of its first chunk. */
size_t run_lanes(const struct run *r);
size_t lane_item(const struct run *r, size_t lane);
size_t lane_group(const struct run *r, size_t lane);

/* The groups of this rank. */
void groups_own(const struct run *r, size_t *first, size_t *end);

/* The factor of a group's log-likelihood in the gradient. */
static inline double group_weight(const struct run *r, size_t group)
{
    return r->weight ? r->weight[group] : 1.0;
}

#endif
