/* SPDX-License-Identifier: MIT */
/* Reading a series from any sort of file, and passing over its rows. */
#ifndef DATA_SERIES_H
#define DATA_SERIES_H

#include "girsanov.h"

/* What is to be read: see gsv_series_read_named(). */
struct series_request {
    const char *path;
    const char *time, *series;
    size_t columns;
    const char *const *name;
    bool in_file; /* the series is to be in one: see series_file.h */
};

gsv_series *series_read(const struct series_request *wanted);

/* Whoever goes through all rows says for each that it is passed: of a series
 * in a file only few at a time stay in memory then. The same for all that were
 * looked at until now. */
void series_passed(const gsv_series *s, size_t row);
void series_rest(const gsv_series *s);

/* The struct is open: whether somebody has made one by hand, and left out what
 * is read. */
int series_check(const gsv_series *s);

#endif
