/* SPDX-License-Identifier: MIT */
/* Makes every gsv_series: rows are added in any order of the tracks, checked
 * here, and sorted by track at the end. */
#ifndef DATA_BUILDER_H
#define DATA_BUILDER_H

#include "base/paged.h"
#include "data/words.h"
#include "girsanov.h"

struct builder_row {
    double time;
    size_t line, track;
};

/* Rows are kept in pages, which are freed one by one while the series is made:
 * a large file would not fit in memory twice. */
struct builder_page {
    struct builder_row *row;
    double *cell;      /* (rows of a page, columns)     */
    struct paged file; /* that both are in, if in_file  */
};

struct builder_track {
    size_t rows, last; /* those with a time; last: index of the newest */
};

/* Zero-initialised it may be freed. The caller sets the first block before rows
 * are added. */
struct series_builder {
    const char *source;
    const char *remedy; /* for times that do not increase           */
    size_t time_cell;   /* the cell of the time in a line, from 1   */
    bool dated;         /* times are days since 1970-01-01          */
    bool in_file;       /* rows lie in a file: see data/series_file */

    struct words name, label, word; /* word: see data/category.h */
    size_t rows, pages, page_capacity, track_capacity;
    struct builder_page *page;   /* (pages)  */
    struct builder_track *track; /* (tracks) */
};

/* Checks and copies the columns' names; NULL is x1, x2, ... */
int builder_names(struct series_builder *b, size_t columns,
                  const char *const *name);

/* The track with this label; a new one if there is none. */
int builder_label(struct series_builder *b, const char *label, size_t n,
                  size_t *track);

/* The next track, whose label is its number from 1. */
int builder_next(struct series_builder *b, size_t *track);

/* Adds a row to a track: value is (columns), NaN where missing; line is 0
 * where there are no lines, then messages count the track's rows from 1. */
int builder_add(struct series_builder *b, size_t track, double time,
                const double *value, size_t line);

/* The same in two steps, for dates whose order of day and month is not known
 * yet: rows are added without a time, and get it later, each once and in the
 * order in which they were added. */
int builder_hold(struct series_builder *b, size_t track, const double *value,
                 size_t line);
int builder_time(struct series_builder *b, size_t row, double time);

/* Checks a row as builder_add() does, but keeps no more of it than its time:
 * the next one must come after it. */
int builder_look(struct series_builder *b, size_t track, double time,
                 const double *value);

/* The series of all rows; the builder is left to be freed. */
gsv_series *builder_finish(struct series_builder *b, const char *note);

/* The series of rows that were checked: time and value are borrowed. */
gsv_series *builder_view(struct series_builder *b, const size_t *start,
                         const double *time, const double *value);

void builder_free(struct series_builder *b);

#endif
