/* SPDX-License-Identifier: MIT */
/* What a fit knows of Gaussian-process functions, kept with the model: for each
 * output the information of the data, in m->posterior under "@gp.NAME.OUTPUT":
 * stencil, cross, square and pull of gp_information.h, one after the other.
 * With the kernel's numbers, which are parameters, the posterior comes from it
 * again to the bit. Where the kernels' uncertainty is known, the posterior is a
 * mixture over some kernels: "@gp.weights" has their weights, and
 * "@gp.NAME.OUTPUT.kernels" a row for each: lengths, amplitude, that of the
 * polynomial (0 without one), pull. */
#ifndef MODEL_POSTERIOR_H
#define MODEL_POSTERIOR_H

#include "gp/gp_information.h"
#include "model/model.h"

int posterior_put(gsv_model *m, size_t gp, size_t output,
                  const struct gp_information *h);
void posterior_forget(gsv_model *m);

/* Numbers in a row of kernels; the rows (count, so many) of an output, and the
 * weights (count) of all outputs' rows. */
size_t posterior_row(const gsv_model *m, size_t gp);
int posterior_put_kernels(gsv_model *m, size_t gp, size_t output, size_t count,
                          const double *rows);
int posterior_put_weights(gsv_model *m, size_t count, const double *weight);

/* From a file's tensors, which are checked. */
int posterior_read(gsv_model *m, const struct tensors *t, const char *path);

/* --- Functions that are drawn --------------------------------------------- */

/* So many are drawn together, always: a function's bits then do not depend on
 * how many others are wanted. */
enum { FUNCTIONS_BLOCK = 64 };

/* How many numbers functions_draw() needs as room. */
size_t functions_room(const gsv_functions *q);

/* Functions `first` (a multiple of the block) and those after it, of a seed:
 * each sets its gps' numbers in a row (stride) that stands for the parameters
 * from `from` on. Threads may call it, with rooms of their own. */
void functions_draw(const gsv_functions *q, uint64_t seed, uint64_t first,
                    size_t from, size_t stride, double *row, double *room);

#endif
