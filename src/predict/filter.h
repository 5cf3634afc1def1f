/* SPDX-License-Identifier: MIT */
/* The law of the state at every row, given that row and those before it: the
 * row itself where all states are observed, else weighted points from the pass
 * forward of a scan. Rows come in batches, in their order. */
#ifndef PREDICT_FILTER_H
#define PREDICT_FILTER_H

#include "predict/forecast.h"

/* Rows in which something is known to begin at, of one track after the other:
 * those with all states, or, of latent models, with anything observed, or whose
 * next row counts events. */
struct filter_rows {
    size_t *row;   /* (count)      */
    size_t *first; /* (tracks + 1) */
    size_t count, capacity;
};

int filter_rows_init(struct filter_rows *f, const struct gaps *g);
void filter_rows_free(struct filter_rows *f);

/* Told of n origins, without their times. Returns a status. */
typedef int (*filter_visit)(void *user, size_t n, struct origin *origin);

/* points: of a scan, where the options leave them open. */
int filter_run(const gsv_model *m, const gsv_series *s, const gsv_options *o,
               filter_visit visit, void *user);

#endif
