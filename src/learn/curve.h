/* SPDX-License-Identifier: MIT */
/* The learning curve of a fit, thinned while it grows: every stride-th
 * iteration, and always the last one. A stride that has become too short for
 * the room doubles, so the points kept depend on the iterations alone, not on
 * where a fit was stopped and resumed. */
#ifndef LEARN_CURVE_H
#define LEARN_CURVE_H

#include "girsanov.h"

enum { CURVE_MOST = 200 };

struct curve {
    size_t points;
    double at[CURVE_MOST][GSV_CURVES];
};

/* Points from this iteration on, which a resumed fit does again, go. */
void curve_add(struct curve *c, const double point[GSV_CURVES]);

/* To a record, and back from one that may be NULL or have none. */
int curve_write(const struct curve *c, gsv_record *r);
void curve_read(struct curve *c, const gsv_record *r);

#endif
