/* SPDX-License-Identifier: MIT */
/* What a fit knows of Gaussian-process functions, kept with the model: for each
 * output the information of the data, in m->posterior under "@gp.NAME.OUTPUT":
 * stencil, cross, square and pull of gp_information.h, one after the other.
 * With the kernel's numbers, which are parameters, the posterior comes from it
 * again to the bit. */
#ifndef SDE_POSTERIOR_H
#define SDE_POSTERIOR_H

#include "gp/gp_information.h"
#include "sde/model.h"

int posterior_put(gsv_model *m, size_t gp, size_t output,
                  const struct gp_information *h);
void posterior_forget(gsv_model *m);

/* From a file's tensors, which are checked. */
int posterior_take(gsv_model *m, const struct tensors *t, const char *path);

#endif
