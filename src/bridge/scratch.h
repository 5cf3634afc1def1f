/* SPDX-License-Identifier: MIT */
/* A thread's own memory: the contexts of a batch of gaps, and a block of their
 * paths. It is allocated once, before the first block. */
#ifndef BRIDGE_SCRATCH_H
#define BRIDGE_SCRATCH_H

#include "bridge/draw.h"
#include "bridge/plan.h"
#include "bridge/weigh.h"

/* A gap prepared for its bridges: ends in unit diffusion, and a reference. */
struct context {
    const struct gap *gap;
    size_t group, M;
    double dt, base;
    double energy; /* int |f|^2 dt / d on the chord: drift against noise */
    enum gsv_form form;
    struct reference reference;
    struct reference_bar reference_bar;
    double *y0, *y1; /* (d)                                       */
    double *bars;    /* all of these:                             */
    double *y_bar;   /* (2, d)                                    */
    double *k_bar;   /* (d)                                       */
    double *lambda;  /* (M + 1, d)                                */
    double *bound;   /* weigher->context_size()                   */
    bool valid;      /* whether the matrices in bound are finite  */
};

/* Some paths of some steps of one gap within a block. */
struct piece {
    struct context *context;
    size_t k0, K, first, steps;
    size_t columns; /* points of a path: steps, or one more */
    size_t at;      /* its first point                      */
    size_t slot;    /* of its first path in S               */
};

/* The points of all pieces, which are evaluated together. */
struct block {
    const struct piece *piece;
    size_t pieces, P;
    struct random_key key; /* without the number of the gap */
};

/* An observer callback gets every block after it was walked, with the left ends
 * of its first piece (d; steps, K), rows b->P apart. scratch->at is where the
 * paths are then. */
struct observer {
    void *user;
    void (*observe)(void *user, const struct scratch *s, const struct block *b,
                    const double *left);
};

/* P is the capacity of a block. */
struct scratch {
    struct observer observer;
    struct workspace unit, step, map, back, range;
    bool *outside; /* (P) points beyond the range of T */
    struct arena block, batch, bars;
    struct draw draw;
    struct context *context; /* (batch) */
    size_t contexts;
    double *context_memory;
    struct piece *piece;          /* (batch) */
    double *xi, *at, *Y, *Z, *dY; /* (d, P); modified bridges: Z (2 d, P) */
    double *f_bar, *div_bar, *dY_bar, *Y_bar, *Z_bar;
    double *distance_bar, *steepness_bar; /* (barriers, P)             */
    double *time, *input, *slope;         /* (P), (inputs, P)          */
    double *alive; /* (P) of modified bridges, as the next ones:     */
    double *step_time, *step_input, *step_slope; /* (P/2), (inputs, P/2) */
    double *weigh;                   /* weigh_scratch()            */
    double *S, *S2, *S_bar, *S2_bar; /* (groups of an item, paths) */
    double *pilot, *pilot2;          /* (PILOTS)                   */
    double *x;                       /* (2 d, 2 batch)             */
    double *y_bar, *end_time;        /* (d, 2 batch), (2 batch)    */
    double *end_input, *end_slope;   /* (inputs, 2 batch)          */
    double *dot, *small;             /* (d, P), (4 d + 2 batch)    */
    double *unit_bar, *map_bar;      /* by the values, see all_bars() */
    double *unit_part, *map_part;    /* the same of one group      */
    double *group_S;                 /* (K) of one group           */
    double *sorted;                  /* (K) for k-hat              */
    double *single;                  /* single_size()              */
    struct exact_room *exact;        /* of the form exact, or NULL */
    void (*end)(struct scratch *s);  /* the weigher's              */
};

enum { PILOTS = 64 };

/* A zeroed scratch; scratch_free() also after a failure. */
int scratch_init(const struct plan *p, struct scratch *s);
void scratch_free(struct scratch *s);

/* The bytes of its arenas. */
size_t scratch_bytes(const struct scratch *s);

/* Doubles for gaps of one step (single.c). */
size_t single_size(const struct plan *p);

/* Sets s->outside for points beyond the range of T; plan->range is not NULL. */
void find_outside(const struct plan *p, const struct values *v,
                  struct scratch *s, const struct points *in);

/* The point of the chord from y0 to y1 at this share of the time, which is
 * always inside the range: x (d), elements ld apart. */
void chord_point(const struct context *c, double share, double *x, size_t ld);

/* The time of some points, and the part of the gap that they stand for: inputs
 * that change inside of it have their mean. */
struct instant {
    size_t track;
    double time, low, high;
    bool end; /* of the gap: a held input still has its old value */
};

/* The same time, and the inputs at that time, for points [at, at + n) of P. */
void fill_time(const struct plan *p, const struct scratch *s,
               const struct instant *now, size_t at, size_t n, size_t P);

/* Whether f is evaluated elsewhere than at the left ends. */
static inline bool has_middle(const struct piece *q)
{
    return q->context->form == GSV_FORM_MIDPOINT &&
           !reference_is_plain(&q->context->reference);
}

/* Where the left ends of a piece are. */
static inline double *left_ends(const struct scratch *s, const struct piece *q)
{
    return (has_middle(q) ? s->Y : s->Z) + q->at;
}

/* Where the drift of a block is evaluated. */
static inline struct points block_points(const struct scratch *s, size_t P)
{
    return (struct points){.P = P,
                           .state = s->Z,
                           .time = s->time,
                           .input = s->input,
                           .slope = s->slope};
}

/* Where T is evaluated, or its inverse. */
static inline struct points end_points(const struct scratch *s, size_t P)
{
    return (struct points){.P = P,
                           .state = s->x,
                           .time = s->end_time,
                           .input = s->end_input,
                           .slope = s->end_slope};
}

#endif
