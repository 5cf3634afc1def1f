/* SPDX-License-Identifier: MIT */
#include "learn/curve.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Iterations from one point to the next. The curve itself says it: only the
 * last point is not on it, and the first is iteration 1. */
static double stride_of(const struct curve *c)
{
    if (c->points < 3) return 1.0;
    double stride = c->at[1][GSV_CURVE_ITERATION] - 1.0;
    return stride >= 1.0 ? stride : 1.0;
}

static bool is_kept(const double *point, double stride)
{
    return fmod(point[GSV_CURVE_ITERATION] - 1.0, stride) == 0.0;
}

/* Every second point goes. */
static void thin(struct curve *c, double stride)
{
    size_t n = 0;
    for (size_t i = 0; i < c->points; i++)
        if (is_kept(c->at[i], stride))
            memmove(c->at[n++], c->at[i], sizeof c->at[i]);
    c->points = n;
}

void curve_add(struct curve *c, const double point[GSV_CURVES])
{
    double stride = stride_of(c);
    while (c->points && c->at[c->points - 1][GSV_CURVE_ITERATION] >=
                            point[GSV_CURVE_ITERATION])
        c->points--;
    if (c->points && !is_kept(c->at[c->points - 1], stride)) c->points--;
    if (c->points == CURVE_MOST) thin(c, 2.0 * stride);
    /* Numbers of a damaged file may all be on it. */
    if (c->points == CURVE_MOST) c->points = 0;
    memcpy(c->at[c->points++], point, sizeof c->at[0]);
}

int curve_write(const struct curve *c, gsv_record *r)
{
    if (!c->points) return 0;
    r->curve = NEW(double, GSV_CURVES * c->points);
    if (!r->curve) return GSV_NO_MEMORY;
    r->points = c->points;
    for (size_t i = 0; i < c->points; i++)
        for (size_t k = 0; k < GSV_CURVES; k++)
            r->curve[k * c->points + i] = c->at[i][k];
    return 0;
}

void curve_read(struct curve *c, const gsv_record *r)
{
    c->points = r && r->points <= CURVE_MOST ? r->points : 0;
    for (size_t i = 0; i < c->points; i++)
        for (size_t k = 0; k < GSV_CURVES; k++)
            c->at[i][k] = r->curve[k * r->points + i];
}
