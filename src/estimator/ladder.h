/* SPDX-License-Identifier: MIT */
/* The groups of a result on their way to enough steps and paths: what refine.c
 * runs, and what pick.c chooses. */
#ifndef ESTIMATOR_LADDER_H
#define ESTIMATOR_LADDER_H

#include "model/method.h"

/* The most doublings of steps, and of paths times four. */
enum { MOST_LEVELS = 8, MOST_ROUNDS = 3 };

/* In place of rounds: no paths, but short steps on a lattice (composed.c). */
enum { COMPOSED = MOST_ROUNDS + 1 };

/* Steps doubled so often, times a share, for the checks; paths times four so
 * often. */
struct effort {
    unsigned level;
    double share;
    unsigned rounds;
};

struct ladder {
    const struct task *task;
    const struct request *q;
    gsv_result *r;
    double tolerance;
    bool checked;          /* other numbers of steps are run, too */
    bool picks;            /* groups can be run alone: not series with effects,
                            * which all have the same steps                   */
    bool timed;            /* the drift depends on time or inputs           */
    size_t n;              /* groups of the result; 0 on all but one rank   */
    double *change;        /* (n) by steps of half, or beside               */
    double *before;        /* (n) half against a quarter, for a tolerance   */
    unsigned char *level;  /* (n) steps are doubled so often                */
    unsigned char *rounds; /* (n) paths are multiplied by four so often     */
    unsigned char *wanted; /* (n) the level that time needs, or NULL        */
    size_t *pick;          /* (n) groups that are run again: their places   */
    double checks;         /* drift evaluations of checks */
    size_t sampled;        /* groups that are checked, where they are many  */
    double left;           /* what shorter steps may change the sum by      */
};

/* Weights of few paths. */
enum { WEIGHTS = GSV_FLAG_ESS | GSV_FLAG_KHAT };

/* Where a rank may have failed alone: it goes its way, and the others hear of
 * it here. */
int ladder_meet(const struct ladder *l, int status);

/* n groups with these numbers, or all where group is NULL. */
int ladder_run(const struct ladder *l, struct effort e, size_t n,
               const size_t *group, gsv_result *r);

/* What is done with groups, which all ranks know by their numbers; the places
 * are in pick. Then all groups that a question picks. */
typedef int ladder_action(struct ladder *l, struct effort e, size_t n,
                          const size_t *group, void *user);
int ladder_where(struct ladder *l, struct effort e,
                 bool (*ask)(const struct ladder *l, struct effort e, size_t i),
                 ladder_action *act, void *user);

/* Groups that need it without paths, where the model allows it (compose.c). */
int ladder_compose(struct ladder *l);

/* What is left of a change of a gap at its finer steps. */
double left_of(const gsv_gap *g, double change);

/* What shorter steps may still change the sum by. */
double left_in_all(const struct ladder *l);

/* The groups at an effort that need more steps, to pick. Returns how many;
 * room: (n) */
struct excess {
    double value;
    size_t at;
};
size_t pick_groups(struct ladder *l, struct effort now, struct excess *room);

#endif
