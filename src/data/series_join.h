/* SPDX-License-Identifier: MIT */
#ifndef DATA_SERIES_JOIN_H
#define DATA_SERIES_JOIN_H

#include "girsanov.h"

/* The rows of each track up to a time, until (tracks); all tracks are there,
 * those without rows as well. */
gsv_series *series_until(const gsv_series *s, const double *until);

/* Track r alone, under a label; all but this one; n series of the same columns
 * below each other; and a series with other values, (columns, rows). Words go
 * with them. */
gsv_series *series_track(const gsv_series *s, size_t r, const char *label);
gsv_series *series_without(const gsv_series *s, size_t r);
gsv_series *series_below(size_t n, gsv_series *const *s);
gsv_series *series_with(const gsv_series *s, const double *value);

#endif
