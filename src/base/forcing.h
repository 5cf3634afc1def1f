/* SPDX-License-Identifier: MIT */
/* What a force b(s) adds to linear equations dx = (A x + b(s)) dt over a time
 * h,
 *
 *     c = int_0^h e^{A (h - s)} b(s) ds,
 *
 * however b changes: the time is halved where a polynomial through 16
 * Gauss-Legendre points of a part misses b at other points, the ends among
 * them, and every part is integrated with e^{A ..} as it is. Smooth forces are
 * right to 1e-11 of their size, a jump within a part too; what is shorter than
 * a fiftieth of h may be missed. */
#ifndef BASE_FORCING_H
#define BASE_FORCING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

/* Points of a part; others, where its polynomial is tried; both. */
enum { FORCING_NODES = 16, FORCING_TRIALS = 11, FORCING_POINTS = 27 };

/* b (d, n) at n times since the beginning, FORCING_POINTS at most, in rows of
 * n; and the same of gradients, with n = FORCING_NODES. */
struct force {
    void *user;
    double start; /* the time that the beginning is at: it is rounded */
    void (*value)(void *user, size_t n, const double *time, double *b);
    void (*bar)(void *user, size_t n, const double *time, const double *b_bar);
};

struct forcing_part;

/* The memory of a thread. */
struct forcing {
    size_t d;
    double node[FORCING_NODES], weight[FORCING_NODES];
    double point[FORCING_POINTS]; /* nodes, then trials, on (0, 1) */
    /* The polynomials that are 1 at one node, at trials, and at the nodes of
     * both halves. */
    double trial[FORCING_TRIALS * FORCING_NODES];
    double half[2][FORCING_NODES * FORCING_NODES];
    double *power;       /* (TERMS, d, d) of A s, at the shortest parts    */
    double *level, *bar; /* of all levels: e^{A s} - I, (nodes, d, d)      */
    double *room;
    struct arena arena;
    double missed; /* that polynomials may miss, of the largest force */
    struct forcing_part *part;
    size_t parts;
    double *b;     /* (parts, d, nodes)                 */
    double *state; /* (parts + 1, d): the sum before each */
};

/* forcing_free() also after a failure. */
int forcing_init(struct forcing *f, size_t d, bool gradient);
void forcing_free(struct forcing *f);

/* Adds to c (d). False where numbers overflow. */
bool forcing_make(struct forcing *f, double h, const double *A,
                  const struct force *force, double *c);

/* Of the call above, which was the last one: adds to A_bar, and calls bar().
 * c_bar is scratch afterwards. */
void forcing_vjp(struct forcing *f, double h, const double *A,
                 const struct force *force, double *c_bar, double *A_bar);

#endif
