/* SPDX-License-Identifier: MIT */
/* A model with hidden states as one whose states are in the data: its text
 * without obs and init lines, with states in the place of observations. What is
 * easy to find for exactly observed states is found for the twin. */
#ifndef LEARN_TWIN_H
#define LEARN_TWIN_H

#include "girsanov.h"

struct twin {
    gsv_model *m; /* with the values of the model; NULL: there is none */
    gsv_series *s;
};

/* state is (copies, dim, rows), NaN where unknown: each copy of the data makes
 * series of its own. To be freed in any case; 0 also if there is no twin. */
int twin_init(struct twin *t, const gsv_model *m, const gsv_series *s,
              size_t copies, const double *state);
void twin_free(struct twin *t);

/* With states drawn given the data: `from` is the model itself or one with the
 * same states. */
int twin_draw(struct twin *t, const gsv_model *m, const gsv_model *from,
              const gsv_series *s, const gsv_options *o);

#endif
