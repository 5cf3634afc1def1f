/* SPDX-License-Identifier: MIT */
/* Minus the mean squared error of simulated paths as a method: no likelihood,
 * but what others learn by. Its groups are tracks. */
#ifndef INTEGRATE_PATH_METHOD_H
#define INTEGRATE_PATH_METHOD_H

#include "model/method.h"

/* By how the gradient is found. */
extern const struct method METHOD_MSE_BACKPROP, METHOD_MSE_ADJOINT,
    METHOD_MSE_FORWARD;

#endif
