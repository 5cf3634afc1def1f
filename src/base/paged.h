/* SPDX-License-Identifier: MIT */
/* Memory that lies in a file without a name: what is not used for a while the
 * system writes there, and reads again when it is. So it may be larger than
 * all memory, and other processes of the machine can share it. The file is in
 * TMPDIR, or in /var/tmp, and is gone with the last process that has it. */
#ifndef BASE_PAGED_H
#define BASE_PAGED_H

#include <stddef.h>

/* Zero-initialised it may be freed. */
struct paged {
    void *data; /* page-aligned, zeroed */
    size_t bytes;
};

/* Room for it is taken on the disk at once, and where there is none this fails.
 * The open file is the caller's to close, who may hand it to others; NULL: it
 * is not wanted. */
int paged_new(struct paged *p, size_t bytes, int *file);

/* The same memory in another process, or once more in this one: only to read.
 * process and file are whose it is, and his open file. */
int paged_open(struct paged *p, long process, int file);

/* What was looked at until now need not stay in memory. */
void paged_rest(const struct paged *p);

void paged_free(struct paged *p);

#endif
