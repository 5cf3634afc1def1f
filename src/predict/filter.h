/* SPDX-License-Identifier: MIT */
/* The law of the states in every row, given that row and those before it: the
 * row itself where all states are observed, else what the estimator says
 * (model/states.h). Rows come in batches, in their order. */
#ifndef PREDICT_FILTER_H
#define PREDICT_FILTER_H

#include "model/gaps.h"
#include "model/states.h"

/* Rows from which a forecast can begin, track by track: those that say where
 * the states are, and those before a row that counts events. */
struct filter_rows {
    size_t *row;   /* (count)      */
    size_t *first; /* (tracks + 1) */
    size_t count, capacity;
};

int filter_rows_init(struct filter_rows *f, const struct gaps *g);
void filter_rows_free(struct filter_rows *f);

/* The estimator that says where hidden states are: where the options do not
 * name one, and the usual one cannot, the scan. Its filter and paths are NULL
 * where all are observed. */
const struct method *filter_method(const gsv_model *m, const gsv_options *o);

/* Fails where this estimator does not know the laws of hidden states; and where
 * states jump at known times (event) or have first laws that are
 * not normal, unless this estimator knows of that. */
int filter_check(const gsv_model *m, const gsv_options *o);

int filter_run(const gsv_model *m, const gsv_series *s, const gsv_options *o,
               const struct filter_visitor *v);

#endif
