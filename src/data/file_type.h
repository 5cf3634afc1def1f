/* SPDX-License-Identifier: MIT */
/* Files that people mistake for a text, recognised by their first bytes. */
#ifndef DATA_FILE_TYPE_H
#define DATA_FILE_TYPE_H

#include <stddef.h>

struct file_type {
    const char *bytes;
    size_t size;
    const char *what;   /* "is ..." */
    const char *remedy; /* for data */
};

/* The type of a file that begins with these bytes; NULL for none of those that
 * are known, so that it may be a text. */
const struct file_type *file_type_of(const char *bytes, size_t size);

#endif
