/* SPDX-License-Identifier: MIT */
/* Fisher's identity: the gradient of log p(data) is the mean, over paths given
 * the data, of the gradient of the log density of path and data together,
 *
 *     log p(x_0) + sum_k log N(x_(k+1); a(x_k), B B'(x_k)) + log g_k(x_k).
 *
 * Paths are those of the guided filter's particles, followed back over all
 * drawings. Nothing is differentiated through the filter: psi and the points
 * are as they are, and points of all nodes go into the same blocks. B B' must
 * have an inverse: equations have noise, or steps integrate that of others. Of
 * networks, F'G in the noise of a step (step.h) is a constant: what that leaves
 * out has mean 0 at the true parameters. Slopes of equations without a network
 * are differentiated where steps integrate noise. States in the data stay where
 * they are, so their coordinates must not depend on parameters. */
#ifndef GUIDED_SCORE_H
#define GUIDED_SCORE_H

#include "guided/swarm.h"

/* All points of all nodes, and where particles came from. */
struct trail {
    size_t K, D, node, nodes;
    double *x;      /* (nodes, K D) as in the swarm               */
    size_t *parent; /* (nodes, K) of drawings                     */
    bool *drawn;    /* (nodes)                                    */
    size_t *line;   /* (K) */
    double *weight; /* (K) */
};

int trail_init(struct trail *t, const struct swarm *s, size_t nodes);
void trail_free(struct trail *t);
struct swarm_observer trail_observer(struct trail *t);

/* S paths x (nodes, D, S) with equal weights, after a run of the swarm; and
 * their means (nodes, D). */
bool trail_draw(struct trail *t, const struct swarm *s, size_t S, double *x,
                double *mean);

/* The memory of one thread for the gradient. */
struct scorer {
    const struct course *course;
    struct workspace part[COURSE_PARTS];
    double *bar[COURSE_PARTS]; /* of uniforms */
    size_t *node;              /* (P) the points' nodes, in the block */
    size_t P;                  /* so far                              */
    double weight;             /* of every path                       */
    double *from, *to;         /* (D, P) states of neighbouring nodes */
    double *middle, *middle_bar, *drift_bar, *dot; /* (D, P)          */
    double *a, *a_bar;                             /* (D, P)          */
    double *B, *B_bar;                             /* (D m, P)        */
    double *F_bar, *G_bar, *FG_bar, *bend_bar;     /* outputs of MIDDLE */
    double *h;                                     /* (P) lengths     */
    double *first, *end, *end_bar; /* (D, P) F at x, and the last point of a */
    /* Of steps that integrate noise (score_noise.c): F' and powers of it. */
    double *J, *J_bar;   /* (D D, P)                                    */
    double *V, *V_bar;   /* (orders + 2, D, P), (2, D, P)               */
    double *ones;        /* (P)             */
    double *seen_bar;    /* (observations, P)                         */
    const double **seen; /* (observations) into it                    */
    double *small;       /* matrices (D, D) */
    struct arena arena;
};

int scorer_init(struct scorer *c, const struct course *f);
void scorer_free(struct scorer *c);

/* Adds the gradient of the mean over S paths x (nodes, D, S) of a track to
 * gradient (parameters). The mover has the values. */
void scorer_add(struct scorer *c, struct mover *s, const struct pace *p,
                size_t S, const double *x, double *gradient);

/* --- score_noise.c -------------------------------------------------------- */

/* B of a block of steps, after the programs in their middles. */
void score_noise(struct scorer *c, const struct mover *s,
                 const struct points *in);

/* From B_bar to G_bar and J_bar, which are set. */
void score_noise_vjp(struct scorer *c, size_t P);

#endif
