/* SPDX-License-Identifier: MIT */
/* Likelihood-ratio intervals: see interval.c. */
#ifndef LEARN_INTERVAL_H
#define LEARN_INTERVAL_H

#include "learn/information.h"

/* After information_invert(): replaces the intervals of the record that are not
 * near to the likelihood ratio's. Leaves all as they are where the likelihood
 * jumps, where functions are integrated out, or where numbers are many. */
int likelihood_intervals(struct information *a, const double *theta,
                         gsv_record *r);

#endif
