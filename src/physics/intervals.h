/* SPDX-License-Identifier: MIT */
/* Intervals of a study's numbers from draws of the parameters. */
#ifndef PHYSICS_INTERVALS_H
#define PHYSICS_INTERVALS_H

#include "physics/study.h"

struct intervals {
    size_t draws;       /* that could be computed; 0: no intervals */
    double *low, *high; /* (size), or NaN                          */
    double *share;      /* (points) of the draws that have the point */
};

/* value (size) are the estimate's numbers, coarse (size) those on the grid of
 * the draws. Free in any case. */
int intervals_find(struct intervals *q, const struct study *s,
                   const double *value, const double *coarse,
                   const struct law_field *field);
void intervals_free(struct intervals *q);

#endif
