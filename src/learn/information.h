/* SPDX-License-Identifier: MIT */
/* The observed information: with l the log-likelihood under the last stage's
 * estimator, its random numbers common and its references following theta,
 *
 *     I = - d2 l / dtheta2    by differences of l,   V = I^-1,
 *
 * over the numbers that were learned and are not at a bound. The gradient comes
 * along. Of l itself, not of its gradient, which leaves out that references
 * follow; but for many numbers that would take too long. And not of an l that
 * jumps (estimator_is_rough()): there it is the mean gradient of some sets of
 * random numbers, with steps that are large enough for its scatter. With gps l
 * is the evidence: functions are integrated out, and have a posterior instead.
 * Where that is found up to a rest, the evidence knows how much is missing, but
 * not its gradient: so steps are long, and of its values while these are few.
 */
#ifndef LEARN_INFORMATION_H
#define LEARN_INFORMATION_H

#include <stdio.h>

#include "learn/evidence.h"

struct information {
    struct learner *l;
    struct objective all;
    struct objective scores; /* the same with gradients, where all has none */
    bool by_evidence;
    struct evidence evidence;  /* instead of all                 */
    size_t n;                  /* learned and not at a bound     */
    size_t *place;             /* (n) in theta                   */
    double *theta, *up, *down; /* (theta size)                   */
    double *one;               /* (theta size) of one run        */
    double *I, *V;             /* (n, n)                         */
    bool by_value;             /* by l itself, or by its gradient */
    bool rough;                /* l jumps                        */
    double *slope;             /* (n) dl/dtheta                  */
    double *ups, *downs;       /* (n) l one step up and down     */
    double *room;              /* (max(n, 64), n), (n)           */
    bool *lost;                /* (n) without a variance of their own */
    bool *flat, *bound;        /* (n) because of others, of a bound   */
    bool *at_bound;            /* (theta size) left out because of it */
    bool rising;               /* I has a direction of growth    */
    size_t apart;              /* the only lost number's place in theta, or
                                * the size of theta              */
    double apart_unit;         /* about its standard error       */
    struct arena arena;
    char *text; /* what is wrong with it, in lines */
    size_t size;
    FILE *words; /* of text                        */
};

/* At theta. With more than 400 numbers, or all at bounds, n is 0, with a
 * warning.
 */
int information_init(struct information *a, struct learner *l,
                     const double *theta);
void information_free(struct information *a);

/* The value at another theta; the slope there, by the steps of l->move, along
 * all numbers but number `but` of the n. */
int information_value(struct information *a, const double *theta,
                      double *value);
int information_slope(struct information *a, const double *theta, size_t but);

/* The same by the gradient, in which references do not follow theta. */
int information_gradient(struct information *a, const double *theta,
                         double *slope);

/* I and, during a search, the slope; then V: false, with a warning, where no
 * number has a variance. Numbers that the data do not determine, or cannot
 * separate from others, or that l still rises along, or that are at a bound are
 * lost, each with a warning: V holds for the other numbers. Kernels' numbers
 * that the data leave open are no longer among the n. */
int information_fill(struct information *a);
bool information_invert(struct information *a);

/* V of |I| instead, in which all directions lead down: V times the slope leads
 * up, also at a saddle. False where I is not finite. */
bool information_uphill(struct information *a);

/* Number i of theta as the user would write it: "s", "A[1,2]". */
const char *information_name(const struct information *a, size_t i,
                             char room[120]);

/* Whether the own information of number i, of the n, is nothing. */
bool information_is_silent(const struct information *a, size_t i);

#endif
