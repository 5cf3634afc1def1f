/* SPDX-License-Identifier: MIT */
/* How many iterations a search by L-BFGS will take. It ends where three
 * iterations gain less than its tolerance; their gains shrink about
 * geometrically. */
#ifndef LEARN_FORESIGHT_H
#define LEARN_FORESIGHT_H

enum { FORESIGHT_PAST = 3 };

struct foresight {
    double tolerance; /* 0: the search takes all of its iterations  */
    double past[FORESIGHT_PAST];
    double seen;        /* iterations                            */
    double most, since; /* the largest gain, and when it was met */
};

/* After an iteration that reached value: how many more there will be, or NaN
 * while that is not known. */
double foresee(struct foresight *f, double value);

#endif
