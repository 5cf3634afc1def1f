/* SPDX-License-Identifier: MIT */
/* NumPy arrays (rows, 1 + n) or (tracks, rows, 1 + n), time first. */
#ifndef DATA_NPY_H
#define DATA_NPY_H

#include "data/series.h"

/* Under plain_begin(). Columns of time and series cannot be named. */
gsv_series *npy_read(const struct series_request *wanted);

#endif
