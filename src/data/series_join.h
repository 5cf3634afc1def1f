/* SPDX-License-Identifier: MIT */
#ifndef DATA_SERIES_JOIN_H
#define DATA_SERIES_JOIN_H

#include "girsanov.h"

/* The rows of each track up to a time, until (tracks); all tracks are there,
 * those without rows as well. */
gsv_series *series_until(const gsv_series *s, const double *until);

#endif
