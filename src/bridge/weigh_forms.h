/* SPDX-License-Identifier: MIT */
/* The forms of the weight that have files of their own, and what all forms
 * share (weigh.c, which has ito). */
#ifndef BRIDGE_WEIGH_FORMS_H
#define BRIDGE_WEIGH_FORMS_H

#include "bridge/weigh.h"

enum { SCRATCH_ROWS = 6 };

void weigh_midpoint(const struct slice *s, double *S, double *S2);
void weigh_midpoint_vjp(const struct slice *s, const struct slice_bar *bar);
void weigh_stratonovich(const struct slice *s, double *S, double *S2);
void weigh_stratonovich_vjp(const struct slice *s, const struct slice_bar *bar);

/* l (d, K) = A Y + b with the matrices of a step, at Y with rows ld apart. */
void slice_reference(const struct slice *s, size_t step, const double *Y,
                     size_t ld, double *l);

/* Y_bar += A' l_bar, b_bar += l_bar. */
void slice_reference_vjp(const struct slice *s, size_t step,
                         const double *l_bar, double *Y_bar, size_t ld,
                         struct reference_bar *bar);

/* The first n numbers of d rows become 0. */
void clear_rows(size_t d, size_t n, double *x, size_t ld);

#endif
