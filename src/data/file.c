/* SPDX-License-Identifier: MIT */
#include "data/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

/* --- Writing ------------------------------------------------------------ */

struct content {
    const char *path; /* as the user gave it, for messages */
    void (*put)(const void *context, FILE *out);
    const void *context;
};

static int cannot(const char *path, int why)
{
    return fail(GSV_BAD_INPUT, "cannot write %s: %s", path,
                strerror(why ? why : EIO));
}

/* For standard output, and for devices and pipes, which a rename would
 * replace by a plain file. */
static int write_stream(const struct content *c, FILE *out, const char *name)
{
    errno = 0;
    c->put(c->context, out);
    return ferror(out) || fflush(out) ? cannot(name, errno) : 0;
}

static int write_device(const struct content *c)
{
    FILE *out = fopen(c->path, "wb");
    if (!out) return cannot(c->path, errno);
    int status = write_stream(c, out, c->path);
    if (fclose(out) && !status) status = cannot(c->path, errno);
    return status;
}

/* A new file beside the target, by a name that nobody else has; with the mode
 * of the old one, if there is one. */
static int open_beside(const char *target, const struct stat *old, char *name,
                       size_t size)
{
    int fd = -1;
    mode_t mode = old ? old->st_mode & 0777 : 0666;
    errno = EEXIST;
    for (int i = 0; i < 1000 && fd < 0 && errno == EEXIST; i++) {
        snprintf(name, size, "%s.%ld-%d.tmp", target, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    /* The umask is for new files. A disk without modes may refuse. */
    if (fd >= 0 && old) (void)!fchmod(fd, mode);
    return fd;
}

/* 0, or why the content is not safe on disk; fd is closed either way. */
static int fill(const struct content *c, int fd)
{
    FILE *out = fdopen(fd, "wb");
    if (!out) {
        int why = errno;
        close(fd);
        return why;
    }
    errno = 0;
    c->put(c->context, out);
    bool good = !ferror(out) && !fflush(out) && !fsync(fd);
    int why = good ? 0 : errno ? errno : EIO;
    if (fclose(out) && !why) why = errno;
    return why;
}

/* Makes a rename safe on disk, too. Where a directory cannot be opened or
 * synced the file is in its place all the same: no reason to fail. */
static void sync_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!fsync(fd);
    close(fd);
}

/* old is what is at the target now, or NULL. */
static int write_file(const struct content *c, const char *target,
                      const struct stat *old)
{
    size_t size = strlen(target) + 64;
    char *name = mem_new(size, 1);
    if (!name) return GSV_NO_MEMORY;
    int fd = open_beside(target, old, name, size);
    int why = fd < 0 ? errno : fill(c, fd);
    if (!why && rename(name, target)) why = errno;
    if (!why) sync_directory(dirname(name));
    else if (fd >= 0) unlink(name);
    mem_free(name);
    return why ? cannot(c->path, why) : 0;
}

/* A link stays a link, and what nobody else may read stays so: the file that
 * is there gives the place and the mode of the new one. */
int file_write(const char *path, void (*put)(const void *context, FILE *out),
               const void *context)
{
    assert(path && put);
    const struct content c = {path, put, context};
    struct stat old;
    char real[PATH_MAX];
    if (strcmp(path, "-") == 0) return write_stream(&c, stdout, "stdout");
    if (stat(path, &old)) return write_file(&c, path, NULL);
    if (S_ISDIR(old.st_mode)) return cannot(path, EISDIR);
    if (!S_ISREG(old.st_mode)) return write_device(&c);
    return write_file(&c, realpath(path, real) ? real : path, &old);
}

/* --- Reading ------------------------------------------------------------ */

FILE *file_open(const char *path, size_t *size)
{
    struct stat info;
    FILE *in = fopen(path, "rb");
    if (!in || fstat(fileno(in), &info)) {
        fail(GSV_BAD_INPUT, "cannot open %s: %s", path, strerror(errno));
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
