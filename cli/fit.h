/* SPDX-License-Identifier: MIT */
/* What the verbs that learn have in common; fit.c has it. */
#ifndef FIT_H
#define FIT_H

#include "cli.h"

/* Fixed parameters, and those with a start value on the command line. Texts are
 * yours. */
struct names {
    char **fix, **keep;
    size_t fixed, kept;
};

/* From --fix and --set; 0, or a message. Either way names_free() it. */
int names_read(const struct args *a, gsv_model *m, struct names *n);
void names_apply(const struct names *n, gsv_fit_options *o);
void names_free(struct names *n);

/* Whether a fit may be written to a file: it must not replace the model's text.
 * 0, or a message. */
int check_written(const struct args *a, const gsv_model *m, const char *option,
                  const char *path);

#endif
