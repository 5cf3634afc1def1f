/* SPDX-License-Identifier: MIT */
/* The levels of categories: of data, of a model, and in a fit. */
#ifndef MODEL_LEVELS_H
#define MODEL_LEVELS_H

#include "model/model.h"

/* The numbers of the levels, from 1 on, in every row of a series, of an input
 * that is a category; NaN where it is missing. Fails for a level that the model
 * does not have. */
int level_codes(const gsv_model *m, const gsv_series *s, size_t input,
                double *code);

/* From the numbers of levels in the columns of a series to the cells that they
 * stand for. */
int levels_decode(const gsv_model *m, gsv_series *s);

/* Fails where the levels of a model are not known yet. */
int levels_check(const gsv_model *m);

/* As the note "levels" of a fit; and back: *n categories, yours. */
int levels_write(const gsv_model *m, struct tensors *t);
int levels_read(const struct tensors *t, const char *path, size_t *n,
                struct category_spec **level);
void levels_free(size_t n, struct category_spec *level);

#endif
