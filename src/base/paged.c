/* SPDX-License-Identifier: MIT */
#include "base/paged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const char *folder(void)
{
    const char *wish = getenv("TMPDIR");
    return wish && *wish ? wish : "/var/tmp";
}

static int refuse(size_t bytes, int error)
{
    return fail(GSV_BAD_INPUT,
                "%s: a file of %zu bytes cannot be created there (%s); set "
                "TMPDIR to a folder with enough space",
                folder(), bytes, strerror(error));
}

/* An open file that has no name any more. */
static int make_file(size_t bytes, int *file)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/girsanov-XXXXXX", folder());
    if (n < 0 || (size_t)n >= sizeof path) return refuse(bytes, ENAMETOOLONG);
    *file = mkstemp(path);
    if (*file < 0) return refuse(bytes, errno);
    unlink(path);
    fcntl(*file, F_SETFD, FD_CLOEXEC);
    /* A page without room on the disk would end the process when it is
     * written to. */
    int error;
    do
        error = posix_fallocate(*file, 0, (off_t)bytes);
    while (error == EINTR);
    if (!error) return 0;
    close(*file);
    return refuse(bytes, error);
}

static int map(struct paged *p, size_t bytes, int file, int protection)
{
    void *data = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
    if (data == MAP_FAILED)
        return fail(GSV_NO_MEMORY,
                    "out of memory: a file of %zu bytes cannot "
                    "be mapped (%s)",
                    bytes, strerror(errno));
    *p = (struct paged){data, bytes};
    return 0;
}

int paged_new(struct paged *p, size_t bytes, int *file)
{
    int own = -1;
    *p = (struct paged){0};
    if (!bytes) bytes = 1;
    int status = make_file(bytes, &own);
    if (status) return status;
    status = map(p, bytes, own, PROT_READ | PROT_WRITE);
    if (!status && file) *file = own;
    else close(own);
    return status;
}

int paged_open(struct paged *p, long process, int file)
{
    char path[64];
    struct stat s;
    *p = (struct paged){0};
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", process, file);
    int own = open(path, O_RDONLY | O_CLOEXEC);
    if (own < 0 || fstat(own, &s)) {
        int error = errno;
        if (own >= 0) close(own);
        return fail(GSV_BAD_INPUT, "%s cannot be opened (%s)", path,
                    strerror(error));
    }
    int status = map(p, (size_t)s.st_size, own, PROT_READ);
    close(own);
    return status;
}

void paged_rest(const struct paged *p)
{
    if (p->data) madvise(p->data, p->bytes, MADV_DONTNEED);
}

void paged_free(struct paged *p)
{
    if (p->data) munmap(p->data, p->bytes);
    *p = (struct paged){0};
}
