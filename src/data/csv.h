/* SPDX-License-Identifier: MIT */
/* Long CSV files: series (or id), time (or t), then values by name. */
#ifndef DATA_CSV_H
#define DATA_CSV_H

#include "girsanov.h"

/* As gsv_series_read(), under number_begin(). */
gsv_series *csv_read(const char *path, size_t columns, const char *const *name);

#endif
