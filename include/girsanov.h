/* SPDX-License-Identifier: MIT */
/* Girsanov: learns stochastic differential equations from time series without
 * integrating them. This is the whole public interface. */
#ifndef GIRSANOV_H
#define GIRSANOV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GSV_VERSION "0.1.0"

/* --- Failure ------------------------------------------------------------ */

/* A function that does something returns one of these, 0 for success; one that
 * makes something returns it, or NULL. Either way gsv_last_error() is then one
 * plain sentence that names the offender and the remedy. */
enum gsv_status {
    GSV_OK = 0,
    GSV_BAD_INPUT = 1, /* a model, file, option or argument is wrong */
    GSV_NUMERICAL = 2, /* the numbers left the finite                */
    GSV_NO_MEMORY = 4  /* an allocation failed                       */
};

/* This thread's last sentence and status. The text is borrowed, until the
 * thread's next call. */
const char *gsv_last_error(void);
enum gsv_status gsv_last_status(void);

/* --- Data --------------------------------------------------------------- */

/* Observed series, one below the other: track r has the rows start[r] up to
 * start[r + 1]. Times increase strictly within a track; a missing value is
 * NaN. The struct is open: read it freely; make it by gsv_series_new() or
 * gsv_series_read(), free it by gsv_series_free(). */
typedef struct gsv_series {
    size_t rows, columns, tracks;
    double *time;   /* (rows)                                        */
    double *value;  /* (columns, rows): a column is contiguous       */
    size_t *start;  /* (tracks + 1)                                  */
    char **name;    /* (columns)                                     */
    char **label;   /* (tracks): the text of the series column       */
    size_t *line;   /* (rows): line in the file, 0 without one       */
    char *source;   /* the file's name, or "data"                    */
    char *note;     /* what was passed over while reading, or ""     */
} gsv_series;

/* Copies tracks of rows into a new series. value is (columns, rows); start has
 * tracks + 1 entries; name may be NULL for x1, x2, ... */
gsv_series *gsv_series_new(size_t tracks, const size_t *start, size_t columns,
                           const char *const *name, const double *time,
                           const double *value);

/* Reads a CSV file (any ending) or a NumPy array (.npy). Only the named
 * columns are kept, in the order asked for; name NULL keeps every column but
 * series and time. A .npy file is (rows, 1 + n) with time first, or
 * (tracks, rows, 1 + n); its columns take the names in order. */
gsv_series *gsv_series_read(const char *path, size_t columns,
                            const char *const *name);

/* Writes series,time,... as CSV with every digit; "-" is standard output. The
 * file appears whole or not at all. */
int gsv_series_write(const gsv_series *s, const char *path);

void gsv_series_free(gsv_series *s);

#ifdef __cplusplus
}
#endif

#endif
