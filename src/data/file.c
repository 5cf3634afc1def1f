/* SPDX-License-Identifier: MIT */
#include "data/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

/* --- Writing ------------------------------------------------------------ */

/* 0, or why the content is not all there; out is closed unless standard. */
static int fill(void (*put)(const void *context, FILE *out),
                const void *context, FILE *out)
{
    errno = 0;
    put(context, out);
    int why = ferror(out) || fflush(out) ? (errno ? errno : EIO) : 0;
    if (out != stdout && fclose(out) && !why) why = errno;
    return why;
}

int file_write(const char *path, void (*put)(const void *context, FILE *out),
               const void *context)
{
    assert(path && put);
    if (strcmp(path, "-") == 0) {
        int why = fill(put, context, stdout);
        return why ? draft_cannot("to standard output", why) : 0;
    }
    gsv_draft *d = gsv_draft_open(path);
    if (!d) return (int)gsv_last_status();
    int copy = fcntl(gsv_draft_descriptor(d), F_DUPFD_CLOEXEC, 3);
    FILE *out = copy < 0 ? NULL : fdopen(copy, "wb");
    int why = out ? fill(put, context, out) : errno;
    if (!out && copy >= 0) close(copy);
    int status = gsv_draft_close(d, !why);
    return why ? draft_cannot(path, why) : status;
}

/* --- Reading ------------------------------------------------------------ */

static FILE *cannot_read(const char *path, int why)
{
    fail(GSV_BAD_INPUT, "cannot read %s: %s", path, strerror(why ? why : EIO));
    return NULL;
}

/* Adds what is left of a stream. 0, or why not. */
static int copy_rest(FILE *in, FILE *to)
{
    char block[1 << 14];
    size_t n;
    errno = 0;
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        if (fwrite(block, 1, n, to) < n) return errno ? errno : EIO;
    return ferror(in) || fflush(to) ? (errno ? errno : EIO) : 0;
}

FILE *file_spool(FILE *in, const char *path, const char *head, size_t n,
                 size_t *size)
{
    struct stat info;
    FILE *copy = tmpfile();
    if (!copy) return cannot_read(path, errno);
    int why = fwrite(head, 1, n, copy) < n ? errno : copy_rest(in, copy);
    if (!why && fstat(fileno(copy), &info)) why = errno;
    if (why) {
        fclose(copy);
        return cannot_read(path, why);
    }
    rewind(copy);
    *size = (size_t)info.st_size;
    return copy;
}

/* A pipe is read to its end first. */
static FILE *open_pipe(FILE *in, const char *path, size_t *size)
{
    FILE *copy = file_spool(in, path, "", 0, size);
    fclose(in);
    return copy;
}

FILE *file_open(const char *path, size_t *size)
{
    struct stat info;
    FILE *in = fopen(path, "rbe");
    if (!in || fstat(fileno(in), &info)) {
        fail(GSV_BAD_INPUT, "cannot open %s: %s", path, strerror(errno));
    } else if (S_ISFIFO(info.st_mode)) {
        return open_pipe(in, path, size);
    } else if (!S_ISREG(info.st_mode)) {
        fail(GSV_BAD_INPUT, "cannot read %s: it is not a regular file", path);
    } else {
        *size = (size_t)info.st_size;
        return in;
    }
    if (in) fclose(in);
    return NULL;
}

int file_take(FILE *in, const char *path, void *to, size_t n)
{
    errno = 0;
    if (fread(to, 1, n, in) == n) return 0;
    return fail(GSV_BAD_INPUT, "cannot read %s: %s", path,
                errno ? strerror(errno) : "it became shorter");
}
