/* SPDX-License-Identifier: MIT */
/* A text that grows by lines. */
#ifndef PHYSICS_REMARKS_H
#define PHYSICS_REMARKS_H

#include <stddef.h>

struct remarks {
    char *text; /* NULL: none yet */
    size_t length;
};

/* Adds a line. */
int remarks_add(struct remarks *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
