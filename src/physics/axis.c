/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "physics/scene.h"

double axis_x(const struct axis *a, double s)
{
    switch (a->map) {
    case AXIS_ALL: return a->centre + a->width * sinh(s);
    case AXIS_ABOVE: return a->low + a->width * exp(s);
    case AXIS_BELOW: return a->high - a->width * exp(-s);
    case AXIS_BETWEEN:
        /* From the nearer end: 1 - 1e-20 is not 1 there. */
        return s < 0.0 ? a->low + (a->high - a->low) / (1.0 + exp(-s))
                       : a->high - (a->high - a->low) / (1.0 + exp(s));
    case AXIS_RING: return s;
    }
    return s;
}

double axis_s(const struct axis *a, double x)
{
    switch (a->map) {
    case AXIS_ALL: return asinh((x - a->centre) / a->width);
    case AXIS_ABOVE: return log((x - a->low) / a->width);
    case AXIS_BELOW: return -log((a->high - x) / a->width);
    case AXIS_BETWEEN: return log((x - a->low) / (a->high - x));
    case AXIS_RING: return x;
    }
    return x;
}

double axis_slope(const struct axis *a, double s)
{
    switch (a->map) {
    case AXIS_ALL: return a->width * cosh(s);
    case AXIS_ABOVE: return a->width * exp(s);
    case AXIS_BELOW: return a->width * exp(-s);
    case AXIS_BETWEEN: {
        double e = exp(-fabs(s));
        return (a->high - a->low) * e / ((1.0 + e) * (1.0 + e));
    }
    case AXIS_RING: return 1.0;
    }
    return 1.0;
}

double axis_bend(const struct axis *a, double s)
{
    switch (a->map) {
    case AXIS_ALL: return a->width * sinh(s);
    case AXIS_ABOVE: return a->width * exp(s);
    case AXIS_BELOW: return -a->width * exp(-s);
    case AXIS_BETWEEN: return -axis_slope(a, s) * tanh(0.5 * s);
    case AXIS_RING: return 0.0;
    }
    return 0.0;
}

bool axis_reached(const struct axis *a, double x)
{
    double tiny = 1e-9 * (a->data[1] - a->data[0]);
    return x >= a->data[0] - tiny && x <= a->data[1] + tiny;
}
