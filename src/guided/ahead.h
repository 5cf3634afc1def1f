/* SPDX-License-Identifier: MIT */
/* What the data from a node of a track on say about its state, as a Gaussian
 * function of the point x, v = x - mu:
 *
 *     log psi(x) = c + e'v - v' Lambda v / 2,
 *
 * from the steps and observations linearised along a path mu, of which the
 * smoothed means become the next one. A step x' = a + B xi to a node with psi
 * is guided by it: with u = a - mu, M = I + B' Lambda B = L L' and
 * w = L^-1 B'(e - Lambda u),
 *
 *     E psi(x') = exp(c + e'u - u' Lambda u / 2 + |w|^2 / 2) / det L,
 *     xi = L'^-1 (w + z),   z standard normal,
 *
 * draws x' with the density of the step times psi. Where states are observed
 * exactly at the node, a and B first become those of the step given them. */
#ifndef GUIDED_AHEAD_H
#define GUIDED_AHEAD_H

#include "guided/step.h"

/* The most paths that psi are made along for one track. */
enum { AHEAD_MOST = 4 };

/* Of one node. */
struct psi {
    double c;
    const double *mu, *e, *Lambda; /* (D), (D), (D, D) */
};

struct ahead {
    const struct course *course;
    size_t threads;
    size_t D, m, n; /* n = max(D, m)                                  */
    double *mu, *e, *Lambda, *c; /* of every node                           */
    double *a, *B, *A;     /* steps from every node, linearised at mu        */
    double *log_g, *g, *H; /* observations of every node, the same          */
    double *first_a, *first_B; /* (D), (D, D): x_0 = a + B xi               */
    double *trial;        /* (nodes, D): the next path                      */
    double *gain;         /* (nodes) log p of a node's data given those
                           * before it, of the linearised model             */
    double likely;        /* how likely the path is, up to a constant      */
    double total;         /* log of their sum, E psi of the first node      */
    double *small, *hold; /* scratch matrices                               */
    struct arena arena;
};

/* threads: the mover of the functions below is the first of so many. */
int ahead_init(struct ahead *w, const struct course *f, size_t nodes,
               size_t threads);
void ahead_free(struct ahead *w);

/* All of it for a track. blind: what comes after the next row does not count,
 * so that points follow the law given the data so far, once all exact states
 * were seen. from: a path (nodes, D)
 * to begin with, or NULL. Fails where the linearised model is not finite. */
int ahead_make(struct ahead *w, struct mover *s, const struct pace *p,
               bool blind, const double *from);

/* The same from any start. */
int ahead_seek(struct ahead *w, struct mover *s, const struct pace *p,
               const double *start);

/* The same along a path (nodes, D), which may be w->mu, that is kept: no other
 * is looked for. */
int ahead_along(struct ahead *w, struct mover *s, const struct pace *p,
                bool blind, const double *path);

static inline struct psi ahead_at(const struct ahead *w, size_t k)
{
    size_t D = w->D;
    return (struct psi){w->c[k], w->mu + k * D, w->e + k * D,
                        w->Lambda + k * D * D};
}

/* The law of the first state: first_a and first_B. */
int ahead_first(struct ahead *w, struct mover *s, const struct pace *p);

/* psi = 1, also where the linearised model is not finite. */
int ahead_blank(struct ahead *w, struct mover *s, const struct pace *p);

#endif
