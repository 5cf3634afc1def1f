/* SPDX-License-Identifier: MIT */
/* A model with some of its terms alone. */
#ifndef MODEL_REDUCE_H
#define MODEL_REDUCE_H

#include "model/model.h"

/* The model's text without the terms whose coefficients are not kept (params),
 * parsed again, with the values of those that are left. Yours, or NULL. */
gsv_model *model_reduce(const gsv_model *m, const bool *kept);

#endif
