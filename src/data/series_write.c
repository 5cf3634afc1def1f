/* SPDX-License-Identifier: MIT */
/* Series as CSV. A file is written beside its place, made safe on disk and
 * renamed, so that there is the old file or the new one, never a part. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/number.h"

/* Quotes what would not come back as it is, and an empty label, which alone
 * on a line would be a blank line. */
static void put_text(const char *s, FILE *out)
{
    size_t n = strlen(s);
    bool edge = n == 0 || strchr(" \t", s[0]) || strchr(" \t", s[n - 1]);
    if (!edge && !strpbrk(s, ",;\t\"\r\n")) {
        fputs(s, out);
        return;
    }
    putc('"', out);
    for (; *s; s++) {
        if (*s == '"') putc('"', out);
        putc(*s, out);
    }
    putc('"', out);
}

static void put_number(double x, FILE *out)
{
    char text[NUMBER_TEXT];
    if (isnan(x)) return;
    number_write(x, text);
    fputs(text, out);
}

static void put_track(const gsv_series *s, size_t track, FILE *out)
{
    for (size_t i = s->start[track]; i < s->start[track + 1]; i++) {
        put_text(s->label[track], out);
        putc(',', out);
        put_number(s->time[i], out);
        for (size_t c = 0; c < s->columns; c++) {
            putc(',', out);
            put_number(s->value[c * s->rows + i], out);
        }
        putc('\n', out);
    }
}

/* Errors stick to the stream and are asked for at the end; a full disk should
 * still not cost the time of all tracks. */
static void put_series(const gsv_series *s, FILE *out)
{
    fputs("series,time", out);
    for (size_t c = 0; c < s->columns; c++) {
        putc(',', out);
        put_text(s->name[c], out);
    }
    putc('\n', out);
    for (size_t t = 0; t < s->tracks && !ferror(out); t++)
        put_track(s, t, out);
}

static int cannot(const char *path, int why)
{
    return fail(GSV_BAD_INPUT, "cannot write %s: %s", path,
                strerror(why ? why : EIO));
}

/* For standard output, and for devices and pipes, which a rename would
 * replace by a plain file. */
static int write_stream(const gsv_series *s, FILE *out, const char *path)
{
    errno = 0;
    put_series(s, out);
    return ferror(out) || fflush(out) ? cannot(path, errno) : 0;
}

static int write_device(const gsv_series *s, const char *path)
{
    FILE *out = fopen(path, "wb");
    if (!out) return cannot(path, errno);
    int status = write_stream(s, out, path);
    if (fclose(out) && !status) status = cannot(path, errno);
    return status;
}

/* A new file beside the target, by a name that nobody else has. */
static int open_beside(const char *target, mode_t mode, char *name, size_t size)
{
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; i < 1000 && fd < 0 && errno == EEXIST; i++) {
        snprintf(name, size, "%s.%ld-%d.tmp", target, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    return fd;
}

/* 0, or why the series is not safe on disk; fd is closed either way. */
static int fill(const gsv_series *s, int fd)
{
    FILE *out = fdopen(fd, "wb");
    if (!out) {
        int why = errno;
        close(fd);
        return why;
    }
    errno = 0;
    put_series(s, out);
    bool good = !ferror(out) && !fflush(out) && !fsync(fd);
    int why = good ? 0 : errno ? errno : EIO;
    if (fclose(out) && !why) why = errno;
    return why;
}

static int write_file(const gsv_series *s, const char *path, const char *target,
                      mode_t mode)
{
    size_t size = strlen(target) + 64;
    char *name = mem_new(size, 1);
    if (!name) return GSV_NO_MEMORY;
    int status = 0;
    int fd = open_beside(target, mode, name, size);
    if (fd < 0) {
        status = cannot(path, errno);
    } else {
        int why = fill(s, fd);
        if (!why && rename(name, target)) why = errno;
        if (why) {
            unlink(name);
            status = cannot(path, why);
        }
    }
    mem_free(name);
    return status;
}

/* A link stays a link, and what nobody else may read stays so: the file that
 * is there gives the place and the mode of the new one. */
static int write_path(const gsv_series *s, const char *path)
{
    struct stat info;
    char real[PATH_MAX];
    if (strcmp(path, "-") == 0) return write_stream(s, stdout, "stdout");
    if (stat(path, &info)) return write_file(s, path, path, 0666);
    if (S_ISDIR(info.st_mode)) return cannot(path, EISDIR);
    if (!S_ISREG(info.st_mode)) return write_device(s, path);
    return write_file(s, path, realpath(path, real) ? real : path,
                      info.st_mode & 0777);
}

int gsv_series_write(const gsv_series *s, const char *path)
{
    assert(s && path);
    struct number_locale locale;
    int status = number_begin(&locale);
    if (status) return status;
    status = write_path(s, path);
    number_end(&locale);
    return status;
}
