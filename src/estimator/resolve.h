/* SPDX-License-Identifier: MIT */
/* How many steps it takes to see how a drift changes in time. Along the chord
 * of a gap the drift is compared, at times that are spread irregularly, with
 * straight lines between the ends of the steps. A drift that repeats itself
 * from step to step looks constant to every check that looks at the ends alone.
 */
#ifndef ESTIMATOR_RESOLVE_H
#define ESTIMATOR_RESOLVE_H

#include "girsanov.h"

/* For n gaps, by their numbers (NULL: the first n): how often `steps` have to
 * be doubled, at most `most` times, to level (n). */
int resolve_time(const gsv_model *m, const gsv_series *s, size_t n,
                 const size_t *number, size_t steps, unsigned most,
                 unsigned char *level);

/* `first` steps, doubled until nine in ten of the gaps see it; of hidden states
 * between neighbouring rows, wherever the states are. */
int resolve_steps(const gsv_model *m, const gsv_series *s, size_t first,
                  unsigned most, size_t *steps);

#endif
