/* SPDX-License-Identifier: MIT */
/* The one way in which a gsv_series comes about: rows are added in any order
 * of the tracks, checked here, and put one track below the other at the end. */
#ifndef DATA_BUILDER_H
#define DATA_BUILDER_H

#include "base/paged.h"
#include "data/words.h"
#include "girsanov.h"

struct builder_row {
    double time;
    size_t line, track;
};

/* Rows are kept in pages, which are given back one by one while the series is
 * made: large files would not fit twice. */
struct builder_page {
    struct builder_row *row;
    double *cell;      /* (rows of a page, columns)     */
    struct paged file; /* that both are in, if in_file  */
};

struct builder_track {
    size_t rows, last; /* those with a time; last: index of the newest */
};

/* Zero-initialised it may be freed. The first block is set by the maker
 * before rows are added, and only sharpens the messages. */
struct series_builder {
    const char *source;
    const char *remedy; /* for times that do not increase           */
    size_t time_cell;   /* the cell of the time in a line, from 1   */
    bool dated;         /* times are days since 1970-01-01          */
    bool in_file;       /* rows lie in a file: see data/series_file */

    struct words name, label;
    size_t rows, pages, page_capacity, track_capacity;
    struct builder_page *page;   /* (pages)  */
    struct builder_track *track; /* (tracks) */
};

/* Checks and copies the columns' names; NULL is x1, x2, ... */
int builder_names(struct series_builder *b, size_t columns,
                  const char *const *name);

/* The track with this label, a new one if need be. */
int builder_label(struct series_builder *b, const char *label, size_t n,
                  size_t *track);

/* The next track, whose label is its number from 1. */
int builder_next(struct series_builder *b, size_t *track);

/* Adds a row to a track: value is (columns), NaN where missing; line is 0
 * where there are no lines, then messages count the track's rows from 1. */
int builder_add(struct series_builder *b, size_t track, double time,
                const double *value, size_t line);

/* The same in two steps, for times that are understood only further down:
 * rows are held, and get their times in the order in which they were added,
 * each of them once. */
int builder_hold(struct series_builder *b, size_t track, const double *value,
                 size_t line);
int builder_time(struct series_builder *b, size_t row, double time);

/* Checks a row as builder_add() does, but keeps no more of it than its time:
 * the next one must come after it. */
int builder_look(struct series_builder *b, size_t track, double time,
                 const double *value);

/* The series of all rows; the builder is left to be freed. */
gsv_series *builder_finish(struct series_builder *b, const char *note);

/* The series of rows that were looked at: time and value are borrowed. */
gsv_series *builder_view(struct series_builder *b, const size_t *start,
                         const double *time, const double *value);

void builder_free(struct series_builder *b);

#endif
