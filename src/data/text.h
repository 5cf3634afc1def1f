/* SPDX-License-Identifier: MIT */
/* A text file through a buffer that grows when one line does not fit. */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The unread bytes are buffer[begin, end), and buffer[end] is NUL. There is
 * no other NUL, so a scan may run up to it without counting. */
struct text {
    FILE *file;
    const char *source; /* for messages: the path, or "stdin" */
    char *buffer;
    size_t size, begin, end;
    size_t line; /* the line at begin, from 1           */
    bool ended;  /* nothing comes after the buffer      */
};

/* Opens a file ("-" is standard input) and reads its first bytes without the
 * byte order mark. The path is borrowed. */
int text_open(struct text *t, const char *path);

/* Reads more bytes after the unread ones, which may move. */
int text_more(struct text *t);

/* Moves over blank lines and lines that begin with '#', up to the first other
 * one; *count of the latter. */
int text_skip_remarks(struct text *t, size_t *count);

void text_close(struct text *t);

#endif
