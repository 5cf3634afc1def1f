/* SPDX-License-Identifier: MIT */
/* What a fit leaves in its model, and the file that it is kept in. */
#ifndef MODEL_FIT_RECORD_H
#define MODEL_FIT_RECORD_H

#include "model/model.h"

/* With the arrays over values and columns, full of NaN. */
gsv_record *fit_record_new(const gsv_model *m);
void fit_record_free(gsv_record *r);

/* Makes room for the correlations of n values; all are 0. */
int fit_record_correlate(gsv_record *r, size_t n, const size_t *value);

/* Copies the labels (tracks). */
int fit_record_subjects(gsv_record *r, const char *const *label);

/* Adds lines to the record's warnings. */
int fit_record_warn(gsv_record *r, const char *lines);

/* As a JSON text and tensors, and back: NULL where there is none. */
int fit_record_write(const gsv_record *r, struct tensors *t);
int fit_record_read(const gsv_model *m, const struct tensors *t,
                    const char *path, gsv_record **r);

/* Room for draws of so many numbers, and of the effects of tracks. */
gsv_draws *draws_new(size_t chains, size_t draws, size_t numbers, size_t tracks,
                     size_t effects);
void draws_free(gsv_draws *d);

#endif
