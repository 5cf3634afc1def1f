/* SPDX-License-Identifier: MIT */
/* The estimate: over all gaps, log |det dT/dx| + log p_ref(y'|y) + the log of
 * the mean weight of K bridges, and its gradient in one backward pass.
 *
 * A group is what one mean is taken over: a gap, or with joint a whole track.
 * An item is work for one thread at a time: some small groups, or a chunk of
 * the paths of a large one; lanes share the items. Inside an item, batches of
 * gaps are made ready together (context.c), and blocks of as many points as
 * stay in the cache are walked together (walk.c), so memory does not depend on
 * K, M or N. */
#ifndef BRIDGE_ESTIMATE_H
#define BRIDGE_ESTIMATE_H

#include "base/memory.h"
#include "bridge/draw.h"
#include "bridge/tally.h"
#include "bridge/weigh.h"
#include "graph/program.h"
#include "model/gaps.h"

struct item {
    size_t group0, group1; /* groups [group0, group1)         */
    size_t k0, k1;         /* paths [k0, k1) of each of them  */
};

/* What the items find out about a group, kept for the result. */
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

/* What e->unit computes at a point: f~ first. */
struct drift_outputs {
    node node[4];
    size_t count;
};

struct estimate;
struct scratch;
struct block;

/* How the weights of a gap come about: one row for each way, chosen once. */
struct weigher {
    /* Whether these options make sense for the model; else it says why not. */
    int (*check)(const struct estimate *e);
    /* What e->unit computes, in e->graph where the model's has not all of it;
     * and what the way keeps for all gaps. */
    int (*build)(struct estimate *e, struct drift_outputs *out);
    /* Points of a path of M steps. */
    size_t (*columns)(const struct estimate *e, size_t M);
    /* Points that a block has room for at least, and doubles of a context; NULL
     * for none. */
    size_t (*least)(const struct estimate *e);
    size_t (*context_size)(const struct estimate *e);
    /* The references of all contexts. */
    void (*refer)(const struct estimate *e, struct scratch *s);
    /* Samples a block, runs the drift and adds to S and S2 (NULL: nothing);
     * after it, from S_bar and S2_bar to the uniforms and the contexts. */
    void (*forward)(const struct estimate *e, struct scratch *s,
                    const struct uniforms *u, const struct block *b, double *S,
                    double *S2);
    void (*backward)(const struct estimate *e, struct scratch *s,
                     const struct block *b);
    bool gaussian; /* a Gaussian reference's density is part of the value */
    bool sliced;   /* a path may be cut into slices of steps              */
    bool one_step; /* a gap is one step, whatever the options say         */
};

/* Everything that the threads read. */
struct estimate {
    const gsv_model *model;
    const gsv_options *options;
    const struct weigher *weigher;
    struct gaps gaps;
    size_t d, inputs, K;
    uint32_t iteration; /* of the random numbers */
    bool halved;        /* whether l(2 dt) is wanted */
    bool known;         /* whether all ranks hear what is found about a group */
    enum gsv_form form; /* the options', or chosen for the whole model */
    bool potential;     /* int f~ dY is known from its ends: potential.c */
    struct bound_rule *bound; /* of the form bound: bound.h; else NULL */

    struct graph *graph;   /* the model's with more nodes, or NULL     */
    struct program *unit;  /* f~, and with stratonovich its divergence; */
                           /* distance and steepness of boundaries      */
    size_t barriers;       /* boundaries that are looked at             */
    struct program *step;  /* of a bridged model, whose unit is not f~  */
                           /* alone: see modified.h; else NULL          */
    struct program *map;   /* the model's forth: T, log |det dT/dx|, T'v */
    struct program *back;  /* the model's back: T^-1, (T^-1)'w         */
    struct program *range; /* of T^-1, or NULL where it is all of space */
    struct uniforms unit_uniforms, step_uniforms;
    struct uniforms map_uniforms, back_uniforms, range_uniforms;
    /* References are made from these values: the same, or frozen ones. */
    struct uniforms frozen_unit, frozen_map, frozen_back, frozen_range;
    const struct uniforms *guide_unit, *guide_map;
    bool frozen;

    /* All groups, of which some are chosen; their gaps are gaps.gap. */
    size_t *every_first; /* (every group + 1): gaps; NULL: one each      */
    size_t every_group, every_gap;
    size_t most;          /* groups that are chosen at once, at most      */
    size_t *group_first;  /* (most + 1): gaps of a chosen group           */
    const size_t *chosen; /* (groups) borrowed; NULL: the first of all    */
    size_t *window;       /* (most) those of a window of all, or NULL     */
    double *window_bar;   /* (values) the gradient of a window, or NULL   */
    size_t groups, chunks;
    size_t filled, filled_end; /* of gaps.gap: those of this rank         */
    const double *weight; /* (groups) in the gradient, or NULL for 1 each */
    struct item *item;
    size_t items, item_capacity;
    size_t longest;  /* steps of the longest gap          */
    size_t capacity; /* points of a block                 */
    size_t batch;    /* gaps made ready together, at most */

    struct scratch *scratch; /* (threads) */
    size_t threads;

    /* What the items write; an item writes to its own places only. */
    struct tally *tally, *tally2; /* (groups, chunks): dt and 2 dt     */
    double *base;                 /* (groups, chunks): log p_ref + log |det| */
    struct finding *finding;      /* (groups)                          */
    double *S, *S2;               /* (groups, K) where chunks > 1      */
    struct moments *lane;         /* (MOST_LANES), where chunks is 1   */
    struct moments all;           /* of all groups                     */
    double *unit_bar, *map_bar;   /* summed over lanes: the first of    */
    size_t slots;                 /* these vectors of all_bars()       */
};

/* A gap made ready: its ends in unit diffusion, and its reference. */
struct context {
    const struct gap *gap;
    size_t group, M;
    double dt, base;
    double energy; /* int |f|^2 dt / d on the chord: drift against noise */
    enum gsv_form form;
    struct reference reference;
    struct reference_bar reference_bar;
    double *y0, *y1; /* (d)        */
    double *bars;    /* all of these: */
    double *y_bar;   /* (2, d)     */
    double *k_bar;   /* (d)        */
    double *lambda;  /* (M + 1, d) */
    double *bound;   /* bound_size() */
    bool whole;      /* whether what is there exists */
};

/* Somebody who wants to see the paths themselves: told of every block after it
 * was walked, with the left ends of its first piece (d; steps, K), rows b->P
 * apart. scratch->at is where the paths are then. */
struct looker {
    void *user;
    void (*look)(void *user, const struct scratch *s, const struct block *b,
                 const double *left);
};

/* A thread's own memory. P is the capacity of a block. */
struct scratch {
    struct looker looker;
    struct workspace unit, step, map, back, range;
    bool *outside;                   /* (P) points beyond T's range */
    struct arena block, batch, bars; /* what scratch.c lays out */
    struct draw draw;
    struct context *context; /* (batch) */
    size_t contexts;
    double *context_memory;
    struct piece *piece;          /* (batch) */
    double *xi, *at, *Y, *Z, *dY; /* (d, P); bridged: Z (2 d, P) */
    double *f_bar, *div_bar, *dY_bar, *Y_bar, *Z_bar;
    double *distance_bar, *steepness_bar; /* (barriers, P)      */
    double *time, *input, *slope;         /* (P), (inputs, P)          */
    double *alive; /* (P) of a bridged model, as these: */
    double *step_time, *step_input, *step_slope; /* (P/2), (inputs, P/2) */
    double *weigh;                               /* weigh_scratch()           */
    double *S, *S2, *S_bar, *S2_bar; /* (groups of an item, paths) */
    double *pilot, *pilot2;          /* (batch, PILOTS)           */
    double *x;                       /* (2 d, 2 batch)            */
    double *y_bar, *end_time;        /* (d, 2 batch), (2 batch)   */
    double *end_input, *end_slope;   /* (inputs, 2 batch)         */
    double *dot, *small;             /* (d, P), (4 d)             */
    double *unit_bar, *map_bar;      /* of the uniforms, see all_bars() */
    double *unit_part, *map_part;    /* the same of one group     */
    double *group_S;                 /* (K) of one group          */
    double *sorted;                  /* (K) for k-hat             */
    double *single;                  /* single_size()             */
};

enum { PILOTS = 64, LANES = 64, MOST_LANES = 16 * LANES };

/* What a group's log-likelihood counts in the gradient. */
static inline double group_weight(const struct estimate *e, size_t group)
{
    return e->weight ? e->weight[group] : 1.0;
}

/* Which way a model and its options get. */
const struct weigher *weigher_choose(const gsv_model *m, const gsv_options *o);

/* The number of steps of a gap. */
size_t estimate_steps(const struct estimate *e, const struct gap *gap);

/* Gap i of those that are chosen, whoever's it is; and its steps. */
struct gap estimate_gap(const struct estimate *e, size_t i);
size_t gap_steps(const struct estimate *e, size_t i);

/* The length of unit_bar: unit's uniforms, and after them step's. map_bar comes
 * behind it: all_bars() is the length of both. */
size_t unit_bars(const struct estimate *e);
size_t all_bars(const struct estimate *e);

/* --- items.c ------------------------------------------------------------ */

/* All gaps and the groups that they form. The gaps of those that are chosen
 * follow each other in a list: room for that, and n of the groups in it, the
 * first ones where group is NULL. Then, with items made, the list is filled:
 * where ranks share it, with what this one needs. */
int groups_make(struct estimate *e);
int groups_room(struct estimate *e);
void groups_take(struct estimate *e, size_t n, const size_t *group);
void groups_fill(struct estimate *e);

/* Those that this rank runs, or of a group in chunks the first chunk. */
void groups_own(const struct estimate *e, size_t *first, size_t *end);

/* Paths, chunks, and what a block has room for; check says so where a block
 * that is not cut into slices would be too large. */
void items_sizes(struct estimate *e);
int items_check(const struct estimate *e);

/* The items of the groups that are chosen. */
int items_make(struct estimate *e);

/* The lanes that share the items: of some each, so that merging them costs
 * little, and enough for many ranks where there are many items. */
size_t estimate_lanes(const struct estimate *e);

/* Where a lane's items begin, and its groups: one that is cut into chunks is
 * the first chunk's. */
size_t lane_item(const struct estimate *e, size_t lane);
size_t lane_group(const struct estimate *e, size_t lane);

/* The points of one path through all gaps of a group. */
size_t group_columns(const struct estimate *e, size_t group);

/* The first path of a chunk: a multiple of 8, for whole vectors. */
size_t chunk_first(const struct estimate *e, size_t chunk);

/* --- scratch.c ---------------------------------------------------------- */

/* A zeroed scratch; a failure leaves what scratch_free() takes. */
int scratch_init(const struct estimate *e, struct scratch *s);
void scratch_free(struct scratch *s);

/* What it takes, programs left out. */
size_t scratch_bytes(const struct scratch *s);

/* --- context.c ---------------------------------------------------------- */

/* Makes gaps [first, first + count) ready in scratch->context. */
void contexts_build(const struct estimate *e, struct scratch *s, size_t first,
                    size_t count);
size_t context_size(const struct estimate *e);

/* Whether a gap's base depends on anything that is learned: on the noise, by
 * its ends and its reference, or on the drift, by a potential. */
bool base_is_learned(const struct estimate *e);

/* Both ends' gradients, the bridges' and once * base's, to the uniforms. */
void contexts_vjp(const struct estimate *e, struct scratch *s, double once);

/* --- choose.c ----------------------------------------------------------- */

/* References and forms of all contexts, as the options ask for. */
void contexts_choose(const struct estimate *e, struct scratch *s);

/* --- range.c ------------------------------------------------------------- */

/* Data where T is not defined are named in an error. */
int domain_check(const struct estimate *e);

/* Fills s->outside for the points; e->range is there. */
void range_look(const struct estimate *e, struct scratch *s,
                const struct uniforms *u, const struct points *in);

/* --- potential.c -------------------------------------------------------- */

/* Evaluations of f~ for a gap. */
enum { POTENTIAL_NODES = 32 };

/* Whether int f~ dY of a path depends on its ends alone. */
bool has_potential(const struct estimate *e);

/* Adds it to the base of all contexts. */
void potentials_add(const struct estimate *e, struct scratch *s);
void potentials_add_vjp(const struct estimate *e, struct scratch *s,
                        double once);

/* --- single.c ----------------------------------------------------------- */

/* Whether items of this estimate are taken by single_item(), and its memory. */
bool single_applies(const struct estimate *e);
size_t single_size(const struct estimate *e);

/* All of an item, with its gradient where it is asked for. False where a gap's
 * linear reference does not exist: then nothing has been added. */
bool single_item(struct estimate *e, struct scratch *s, const struct item *t);

/* --- walk.c ------------------------------------------------------------- */

/* Some paths of some steps of one gap within a block. */
struct piece {
    struct context *context;
    size_t k0, K, first, steps;
    size_t columns; /* points of a path: steps, or one more */
    size_t at;      /* its first point                      */
    size_t slot;    /* of its first path in S               */
};

struct block {
    const struct piece *piece;
    size_t pieces, P;
    enum random_purpose purpose;
};

/* Whether f is evaluated elsewhere than at the left ends. */
static inline bool has_middle(const struct piece *p)
{
    return p->context->form == GSV_FORM_MIDPOINT &&
           p->context->reference.kind != GSV_REFERENCE_BROWNIAN;
}

/* Where the left ends of a piece stand. */
static inline double *left_ends(const struct scratch *s, const struct piece *p)
{
    return (has_middle(p) ? s->Y : s->Z) + p->at;
}

/* Where a block's drift is run. */
static inline struct points block_points(const struct scratch *s,
                                         const struct block *b)
{
    return (struct points){.P = b->P,
                           .state = s->Z,
                           .time = s->time,
                           .input = s->input,
                           .slope = s->slope};
}

/* Starts the random numbers of a piece that begins with its gap. */
void draw_begin(const struct estimate *e, struct scratch *s,
                const struct piece *p, enum random_purpose purpose);

/* Samples, runs the drift and adds to S and S2. */
void block_forward(const struct estimate *e, struct scratch *s,
                   const struct uniforms *u, const struct block *b, double *S,
                   double *S2);

/* The same for paths [k0, k1) of one context, whatever its size. */
void context_walk(const struct estimate *e, struct scratch *s,
                  const struct uniforms *u, struct context *c, size_t k0,
                  size_t k1, enum random_purpose purpose, double *S,
                  double *S2);

/* An item's weights to s->S and s->S2 (group by group), its base to base. */
void item_walk(const struct estimate *e, struct scratch *s,
               const struct item *item, double *base);

/* With S_bar and S2_bar in place: adds to the thread's gradients, and once
 * times the gradient of base. fresh: the item was one block, and that has just
 * been walked. */
void item_walk_back(const struct estimate *e, struct scratch *s,
                    const struct item *item, double once, bool fresh);

/* The gradient of base alone. */
void item_base_back(const struct estimate *e, struct scratch *s,
                    const struct item *item);
bool item_is_one_block(const struct estimate *e, const struct item *item);

#endif
