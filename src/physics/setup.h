/* SPDX-License-Identifier: MIT */
/* From a model, data and options to a study: where time and inputs stand, how
 * far the data and the law reach, fixed points, regions. */
#ifndef PHYSICS_SETUP_H
#define PHYSICS_SETUP_H

#include "physics/remarks.h"
#include "physics/study.h"

/* Free in any case. note and warning get lines. */
int setup_init(struct study *s, const gsv_model *m, const gsv_series *data,
               const gsv_physics_options *o, struct remarks *note,
               struct remarks *warning);
void setup_free(struct study *s);

/* The values (rows) of a column, or NULL. */
const double *data_column(const gsv_series *s, const char *name);

#endif
