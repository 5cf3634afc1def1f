/* SPDX-License-Identifier: MIT */
/* A fit's course as CSV, a row for every iteration. */
#ifndef TRACE_H
#define TRACE_H

#include "cli.h"

struct trace {
    const char *path; /* NULL: none */
    FILE *out;
    struct number *number; /* the columns of numbers */
    size_t numbers;
    bool old;       /* has rows of before         */
    bool begun;     /* has a row of now           */
    double flushed; /* seconds of the last flush  */
};

/* Opens the file; with go_on it keeps the rows of before. 0, or a message. */
int trace_open(struct trace *t, const char *path, const gsv_model *m,
               bool go_on);
void trace_row(struct trace *t, const gsv_progress *now);

/* 0, or a message where the rows could not be written. */
int trace_close(struct trace *t);

#endif
