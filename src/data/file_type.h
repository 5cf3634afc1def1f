/* SPDX-License-Identifier: MIT */
/* Files that people mistake for a text, known by their first bytes. */
#ifndef DATA_FILE_TYPE_H
#define DATA_FILE_TYPE_H

#include <stddef.h>

struct kind {
    const char *bytes;
    size_t size;
    const char *what;   /* "is ..." */
    const char *remedy; /* for data */
};

/* What a file is that begins with these bytes; NULL where it is none of the
 * kinds, and so may be a text. */
const struct kind *kind_of(const char *bytes, size_t size);

#endif
