/* SPDX-License-Identifier: MIT */
/* Memory in a file without a name. The system writes pages that are not used
 * for a while to the file, and reads them again when they are used. So it can
 * be larger than the main memory, and processes on one machine can share it.
 * The file is in TMPDIR, or in /var/tmp, and disappears with the last process
 * that has it open. */
#ifndef BASE_PAGED_H
#define BASE_PAGED_H

#include <stddef.h>

/* Zero-initialised it may be freed. */
struct paged {
    void *data; /* page-aligned, zeroed */
    size_t bytes;
};

/* Reserves the disk space at once, and fails if there is not enough. The caller
 * must close the file, and may give it to other processes; file may be NULL. */
int paged_new(struct paged *p, size_t bytes, int *file);

/* The same memory, read-only, in another process or again in this one: process
 * is the owner, and file is its open file. */
int paged_open(struct paged *p, long process, int file);

/* Pages that were read until now need not stay in memory. */
void paged_rest(const struct paged *p);

void paged_free(struct paged *p);

#endif
