/* SPDX-License-Identifier: MIT */
/* The iterations of a fit as CSV, one row each. */
#ifndef TRACE_H
#define TRACE_H

#include "cli.h"

struct trace {
    const char *path; /* NULL: none */
    FILE *out;
    struct number *number; /* the columns of numbers */
    size_t numbers;
    bool old;       /* has rows of an earlier run */
    bool begun;     /* has rows of this run       */
    double flushed; /* seconds of the last flush  */
};

/* Opens the file; if `resumed` it keeps its rows. 0, or a message. */
int trace_open(struct trace *t, const char *path, const gsv_model *m,
               bool resumed);
void trace_row(struct trace *t, const gsv_progress *now);

/* 0, or a message if rows could not be written. */
int trace_close(struct trace *t);

#endif
