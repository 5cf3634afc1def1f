/* SPDX-License-Identifier: MIT */
/* Long CSV files: series (or id), time (or t), then values by name. Times are
 * numbers, or dates, which become days since 1970-01-01. */
#ifndef DATA_CSV_H
#define DATA_CSV_H

#include "data/series.h"

/* Under plain_begin(). */
gsv_series *csv_read(const struct series_request *wanted);

#endif
