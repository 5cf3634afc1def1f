/* SPDX-License-Identifier: MIT */
/* A boundary that the drift keeps paths away from, f~ = a / delta + ... at the
 * distance delta. Near it, sums over steps miss what happens inside of them.
 * But the process with f~ = a / delta alone is Bessel's, of index nu = a - 1/2,
 * whose step from delta to delta' has the density of a Brownian step times
 *
 *     (delta'/delta)^a h(z),   h(z) = sqrt(2 pi z) exp(-z) I_nu(z),
 *     z = delta delta' / dt:
 *
 * (delta'/delta)^a is the potential's part (context.c), and in log h a step's
 * part of -1/2 int (f~^2 + f~') dt is exact. The barrier is the difference to
 * the trapezoid that weigh_stratonovich.c sums,
 *
 *     log h(z) + (a^2 - a) dt/4 (1/delta^2 + 1/delta'^2),
 *
 * and dies out away from the boundary. With a = 1 and no drift else, h(z) = 1 -
 * exp(-2 z) is the probability that a Brownian bridge stays inside. */
#ifndef BRIDGE_BARRIER_H
#define BRIDGE_BARRIER_H

#include <stdbool.h>

/* Whether there is such a barrier: for other a, and for a drift that is not
 * singular like 1/delta, it is 0. */
bool barrier_exists(double a);

/* log h(z) and its slope. */
double barrier_log_h(double a, double z);
double barrier_slope_z(double a, double z);

double barrier(double a, double left, double right, double dt);

struct barrier_slope {
    double a, left, right;
};
struct barrier_slope barrier_slopes(double a, double left, double right,
                                    double dt);

#endif
