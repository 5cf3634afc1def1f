/* SPDX-License-Identifier: MIT */
/* What a simulation returns: the values of all tracks at its times. */
#ifndef SIMULATE_OUTCOME_H
#define SIMULATE_OUTCOME_H

#include "simulate/scheme.h"

struct outcome {
    const struct field *field;
    const double *time; /* (times), borrowed                                 */
    size_t tracks, times;
    size_t rows;   /* tracks * times                                         */
    double *value; /* (dim + inputs + values, rows), as in gsv_series; track */
                   /* r has the rows from r * times on                       */
};

/* The field is borrowed. To be freed after a failure, too. */
int outcome_init(struct outcome *o, const struct field *f, size_t tracks,
                 size_t times, const double *time);
void outcome_free(struct outcome *o);

/* Row k of `count` tracks from `first` on, which an event made: nothing is
 * observed there. */
void outcome_skip(struct outcome *o, size_t first, size_t count, size_t k);

/* When states and observations are there: adds inputs and events, and makes the
 * series, or NULL. */
gsv_series *outcome_series(struct outcome *o);

#endif
