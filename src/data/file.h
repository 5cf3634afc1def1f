/* SPDX-License-Identifier: MIT */
/* Whole files: written so that there is the old one or the new one, never a
 * part; and binary ones opened with their size known beforehand. */
#ifndef DATA_FILE_H
#define DATA_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "girsanov.h"

/* Writes what put() puts, as a gsv_draft; "-" is standard output. put() need
 * not look for errors: they stick to the stream and are asked for
 * afterwards. */
int file_write(const char *path, void (*put)(const void *context, FILE *out),
               const void *context);

/* A failure to write, by its errno. */
int draft_cannot(const char *path, int why);

/* A regular file to read, yours to fclose, and its size in bytes; or a copy of
 * all that comes out of a pipe. */
FILE *file_open(const char *path, size_t *size);

/* A copy of a stream whose first n bytes were read already. */
FILE *file_spool(FILE *in, const char *path, const char *head, size_t n,
                 size_t *size);

/* Reads n bytes that the file is known to have. */
int file_take(FILE *in, const char *path, void *to, size_t n);

#endif
