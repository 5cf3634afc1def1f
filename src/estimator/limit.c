/* SPDX-License-Identifier: MIT */
#include "estimator/limit.h"

#include <math.h>

/* The slowest fall that is believed: 4 of the last change are to come. */
static const double SLOWEST = 0.8;

/* Where a sum turns, one change may vanish by chance: the one before then
 * counts with the fall of a form of second order. */
static const double TURN = 0.25;

void changes_add(struct changes *c, double sign, const gsv_gap *g,
                 double before)
{
    if (isnan(g->discretisation)) return;
    c->now += sign * g->discretisation;
    c->before += sign * before;
    if (!isnan(g->error)) c->variance += sign * g->error * g->error;
}

/* Two changes that are noise have any ratio: the one before counts for at least
 * the standard error of a difference. */
double changes_left(const struct changes *c)
{
    double now = fabs(c->now), before = fabs(c->before);
    if (isnan(before)) return now;
    double noise = sqrt(2.0 * fmax(c->variance, 0.0));
    double q = now > 0.0 ? fmin(now / fmax(before, noise), SLOWEST) : 0.0;
    return fmax(now, TURN * before) * fmax(1.0, q / (1.0 - q));
}
