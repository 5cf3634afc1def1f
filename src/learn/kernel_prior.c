/* SPDX-License-Identifier: MIT */
#include "learn/kernel_prior.h"

#include <math.h>

static const double UNSEEN = 3.0, SHORTEST = 1.5, LONGEST = 0.25;
static const double BEYOND_SHORTEST = 0.3, BEYOND_LONGEST = 0.5;

double kernel_prior_unseen(double information)
{
    return information > 0.0 ? UNSEEN / sqrt(information) : 0.0;
}

double kernel_prior_amplitude(double a, double unseen, double *slope)
{
    *slope += unseen / (a + unseen);
    return -log1p(unseen / a);
}

double kernel_prior_length(double length, double cell, double nodes,
                           double *slope)
{
    double low = log(length / (SHORTEST * cell)) / BEYOND_SHORTEST;
    double high = log(length / (LONGEST * cell * (nodes - 1.0)));
    low = fmin(low, 0.0);
    high = fmax(high / BEYOND_LONGEST, 0.0);
    *slope -= low / BEYOND_SHORTEST + high / BEYOND_LONGEST;
    return -0.5 * (low * low + high * high);
}
