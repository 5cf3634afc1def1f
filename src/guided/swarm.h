/* SPDX-License-Identifier: MIT */
/* K particles go through a track, guided by psi (ahead.h). With g the density
 * of what was observed at node k, and psi~ = E psi over the next step, which
 * has the density of exact states in it,
 *
 *     W <- W g_k(x_k) psi~_(k+1)(x_k) / psi_k(x_k),
 *     p(data) = E psi over the first state * mean W after the last node.
 *
 * It is unbiased for any psi. In rows where the effective number of the W falls
 * below a share of K, particles are drawn again from them. */
#ifndef GUIDED_SWARM_H
#define GUIDED_SWARM_H

#include "guided/ahead.h"

/* A particle by what it is sorted by. */
struct swarm_rank {
    double key;
    size_t index;
};

struct swarm {
    const struct course *course;
    const struct pace *pace;   /* borrowed, of the present track */
    const struct ahead *ahead; /* borrowed, so many: psi is the sum of theirs */
    size_t aheads;
    size_t D, m, K, blocks, threads;
    struct mover *mover; /* (threads), borrowed              */
    uint64_t seed;
    uint32_t iteration;
    double share; /* of K, below which particles are drawn again */

    /* By blocks of at most COURSE_BLOCK particles, one after the other, each
     * (size, P): the offset of a block is its first particle * size. */
    double *x, *a, *B; /* D, D, D n: n = max(D, m), first step has D noises */
    double *L, *w;     /* n n, n                                            */
    double *z;         /* n                                                 */
    double *spare;     /* (threads) n n + n of a block, where course->curved */
    double *log_w, *filtered; /* (K); filtered: without psi~, in rows       */
    double *other;            /* (K D) for drawing again                    */
    struct swarm_rank *rank;  /* (K), the same                              */
    size_t *parent;           /* (K) of the last drawing                    */
    double *increment, *ess, *error; /* (nodes) of the present track        */
    double log_z;                    /* log p(data) of it                   */
    double log_mean;                 /* of the weights so far               */
    size_t drawn;                    /* times                               */
    struct arena arena;
};

int swarm_init(struct swarm *s, const struct course *f, size_t K, size_t nodes,
               struct mover *mover, size_t threads);
void swarm_free(struct swarm *s);

/* What is called in rows, or in every node, before particles are drawn again;
 * and afterwards, when particle k is what particle s->parent[k] was. */
struct swarm_observer {
    void *user;
    bool everywhere;
    int (*visit)(void *user, const struct swarm *s, size_t here);
    void (*redraw)(void *user, const struct swarm *s);
};

/* Runs a track; 0, GSV_STOPPED, GSV_NUMERICAL with a message that names the row
 * that no particle explains, or what the observer says. */
int swarm_run(struct swarm *s, const struct pace *p, const struct ahead *w,
              const struct swarm_observer *o);

/* After it: the standard error of log_z. */
double swarm_error(const struct swarm *s);

/* The steps of block b of x (D, P) from node k: a, B, L and w. Adds log psi~ to
 * log_w. */
void swarm_aim(struct swarm *s, size_t b, size_t k, struct mover *step,
               const double *x, double *log_w);

/* Weights (K) with sum 1 from their logarithms; false where there are none. */
bool swarm_weights(size_t K, const double *log_w, double *weight);

/* Particle k's element i of an array of blocks whose particles have size. */
static inline size_t swarm_at(const struct swarm *s, size_t size, size_t k,
                              size_t i)
{
    size_t block = k / COURSE_BLOCK, first = block * COURSE_BLOCK;
    size_t P = s->K - first < COURSE_BLOCK ? s->K - first : COURSE_BLOCK;
    return first * size + i * P + (k - first);
}

#endif
