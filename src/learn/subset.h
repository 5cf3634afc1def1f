/* SPDX-License-Identifier: MIT */
/* Which coefficients of a quadratic are not zero. Near an estimate the
 * log-likelihood of coefficients c is about
 *
 *     l(c) = a'c - c'Jc/2 + a constant,
 *
 * so that those of a set S, with all others 0, reach a_S' J_SS^-1 a_S / 2. A
 * set costs something (cost.c): the best one has the largest value l - cost.
 * One inverse of J_SS gives the score test of every unit outside of S, which is
 * what l gains by it, and the Wald test of every unit inside, which is what l
 * loses without it. A unit is one coefficient, or several that come and go
 * together. */
#ifndef LEARN_SUBSET_H
#define LEARN_SUBSET_H

#include <stdbool.h>
#include <stddef.h>

#include "learn/cost.h"

struct subset {
    size_t n;           /* coefficients                          */
    const double *J;    /* (n, n)                                */
    const double *a;    /* (n)                                   */
    const size_t *unit; /* (n) the unit of each                  */
    size_t units;
    struct cost cost;

    /* Of the last set: see subset_test(). */
    double *c;      /* (n) the best coefficients, 0 outside           */
    double *change; /* (units) gained by adding, lost by removing     */
    double *V;      /* (n, n) inverse of J_SS                         */
    double *room;   /* 3 (n, n) + 3 (n)                               */
    size_t *place;  /* (n) coefficients of the set                    */
    size_t *other;  /* (n) those of a unit                            */
};

/* To be freed in any case. */
int subset_init(struct subset *p, size_t n, const double *J, const double *a,
                const size_t *unit, struct cost cost);
void subset_free(struct subset *p);

/* c and change for a set of units (units); what l reaches, or -INFINITY where
 * the data cannot tell its coefficients apart. */
double subset_test(struct subset *p, const bool *set);

/* Sets that were met, the best first. */
struct shortlist {
    size_t units, count, most;
    bool *set;     /* (most, units) */
    double *value; /* (most)        */
};

int shortlist_init(struct shortlist *s, size_t units, size_t most);
void shortlist_free(struct shortlist *s);

/* Adds and removes one unit, or exchanges two, while that raises the value. The
 * set is where it ends; its value is returned. s may be NULL. */
double subset_climb(struct subset *p, bool *set, struct shortlist *s);

#endif
