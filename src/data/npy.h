/* SPDX-License-Identifier: MIT */
/* NumPy arrays (rows, 1 + n) or (tracks, rows, 1 + n), time first. */
#ifndef DATA_NPY_H
#define DATA_NPY_H

#include "girsanov.h"

/* As gsv_series_read(), under number_begin(). */
gsv_series *npy_read(const char *path, size_t columns, const char *const *name);

#endif
