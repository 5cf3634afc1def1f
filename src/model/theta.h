/* SPDX-License-Identifier: MIT */
/* More about theta, the values without bounds, than girsanov.h tells. */
#ifndef MODEL_THETA_H
#define MODEL_THETA_H

#include "model/model.h"

/* Marks the numbers of theta that a name stands for: a parameter, an element
 * `A[1,2]`, or a whole network. chosen is (theta size). */
int theta_select(const gsv_model *m, const char *name, bool *chosen);
int theta_select_all(const gsv_model *m, size_t names, const char *const *name,
                     bool *chosen);

/* Where the numbers of theta stand among the values, and dp/dtheta. */
void theta_places(const gsv_model *m, size_t *place);
void theta_slopes(const gsv_model *m, double *slope);

/* The value of number i at another theta; whether a value has a theta. */
double theta_value(const gsv_model *m, size_t i, double theta);
bool theta_is_within(const gsv_model *m, size_t i, double value);

#endif
