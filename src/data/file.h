/* SPDX-License-Identifier: MIT */
/* Whole files: written so that there is the old one or the new one, never a
 * part; and binary ones opened with their size known beforehand. */
#ifndef DATA_FILE_H
#define DATA_FILE_H

#include <stddef.h>
#include <stdio.h>

/* Writes what put() puts: to a temporary file beside the path, which is made
 * safe on disk and renamed. "-" is standard output. A link stays a link, a
 * file keeps its mode; devices and pipes are written directly. put() need not
 * look for errors: they stick to the stream and are asked for afterwards. */
int file_write(const char *path, void (*put)(const void *context, FILE *out),
               const void *context);

/* A regular file to read, yours to fclose, and its size in bytes. */
FILE *file_open(const char *path, size_t *size);

/* Reads n bytes that the file is known to have. */
int file_take(FILE *in, const char *path, void *to, size_t n);

#endif
