/* SPDX-License-Identifier: MIT */
/* Regions between which passages are timed: a condition in the language of
 * models, or the surroundings of a fixed point. */
#ifndef PHYSICS_REGION_H
#define PHYSICS_REGION_H

#include "physics/scene.h"

struct region {
    char *text;           /* in words                                     */
    gsv_model *condition; /* whose first drift is not 0 inside; or NULL   */
    size_t point;         /* else the number of a fixed point             */
    double *root;         /* (dim, dim) lower: of the law near that point */
    double low, high;     /* of a condition on one state, in s            */
};

/* A condition; `option` names it in messages. Free in any case. */
int region_parse(struct region *r, const struct scene *c, const char *option,
                 const char *text);

/* Within one standard deviation of the linearised law around x (dim): (u - x)'
 * C^-1 (u - x) < 1 with J C + C J' + a = 0. */
int region_around(struct region *r, const struct scene *c, size_t point,
                  const double *x);
void region_free(struct region *r);

/* Marks the points x (dim, n) inside; centre (dim) is where the fixed point is
 * now. */
int region_marks(const struct region *r, const struct scene *c, size_t n,
                 const double *x, const double *centre, bool *in);

#endif
