/* SPDX-License-Identifier: MIT */
/* How far a sum over gaps is from its limit at ever shorter steps.
 *
 * It is judged by the last two changes of the sum, by M steps against M / 2 and
 * by M / 2 against M / 4. If changes fall by a factor q with each doubling,
 * q / (1 - q) of the last one is still to come. q is measured: near an unstable
 * point the order of a form says little at the steps that can be paid for. */
#ifndef ESTIMATOR_LIMIT_H
#define ESTIMATOR_LIMIT_H

#include "girsanov.h"

/* Zero before the first gap. */
struct changes {
    double now, before; /* signed sums; before is NAN if one is unknown */
    double variance;    /* of the sum of estimates                      */
};

/* sign: 1 to add a gap, -1 to take it out. A gap without a change is exact. */
void changes_add(struct changes *c, double sign, const gsv_gap *g,
                 double before);

/* What the sum may still change by; never less than its last change. */
double changes_left(const struct changes *c);

#endif
