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
    const bool *category; /* (columns) cells are labels; NULL: of none */
    bool words;           /* any cell may be a label                     */
    bool in_file;         /* the series is to be in one: see series_file.h */
};

gsv_series *series_read(const struct series_request *wanted);

/* The same for ranks: see gsv_series_read_shared(). */
gsv_series *series_read_shared(gsv_ranks *r, struct series_request wanted);

/* A loop over all rows calls series_passed() after each row, so that only few
 * rows of a series in a file stay in memory. series_rest() releases all rows
 * that were read until now. */
void series_passed(const gsv_series *s, size_t row);
void series_rest(const gsv_series *s);

/* The struct is public: fails if a caller has made one by hand, with arrays
 * missing. */
int series_check(const gsv_series *s);

#endif
