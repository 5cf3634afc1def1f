/* SPDX-License-Identifier: MIT */
/* What the numbers and networks of a spec are called in formulas. */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include <stdio.h>

#include "graph/print.h"
#include "model/model.h"

/* state (dim) and input (inputs) are the names of their leaves, borrowed; the
 * spec is borrowed, too. */
struct graph_names spec_names(const struct spec *spec, const char *const *state,
                              const char *const *input);

/* What a function writes, as a text: yours, gsv_text_free(); or NULL. */
char *model_text(const gsv_model *m,
                 int (*write)(FILE *out, const gsv_model *m));

#endif
