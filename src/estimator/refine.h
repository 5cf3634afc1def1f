/* SPDX-License-Identifier: MIT */
/* A result with as many steps as every gap needs, and what other steps would
 * have made of it.
 *
 * Discretisation is checked by another run: gap by gap, l with M steps less l
 * with M / 2, where everything that depends on the steps is made anew. A drift
 * that depends on time may repeat itself from node to node for both; so it is
 * run with a number of steps beside them, too. Where the options leave the
 * number of steps open, gaps that change too much are run again with twice as
 * many, until what is left counts for little in the sum. */
#ifndef ESTIMATOR_REFINE_H
#define ESTIMATOR_REFINE_H

#include "model/method.h"

/* Fills a result that is zero, with a list of gaps on the first rank.
 * tolerance: what steps may change the sum by; 0 for the usual; a negative
 * number leaves steps unchecked. Gradients go to r->gradient where there is
 * room for one. left: what shorter steps may still change the sum by (limit.h),
 * 0 if nothing was checked; or NULL. */
int refine_fill(const struct task *t, const struct request *q, double tolerance,
                gsv_result *r, double *left);

#endif
