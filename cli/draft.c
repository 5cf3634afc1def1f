/* SPDX-License-Identifier: MIT */
/* Files that appear whole or not at all: written beside their place, made safe
 * on disk, and renamed. A link stays a link; devices and pipes, which a rename
 * would replace, are written as they are. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "signals.h"

static int cannot_write(const char *path, int why)
{
    return complain(EXIT_INPUT, "cannot write %s: %s", path,
                    strerror(why ? why : EIO));
}

/* A new file beside the target, by a name that nobody else has. */
static int open_beside(struct draft *d, mode_t mode)
{
    int fd = -1;
    size_t size = strlen(d->target) + 64;
    d->name = malloc(size);
    if (!d->name) return complain_memory();
    errno = EEXIST;
    for (int i = 0; i < 1000 && fd < 0 && errno == EEXIST; i++) {
        snprintf(d->name, size, "%s.%ld-%d.tmp", d->target, (long)getpid(), i);
        signals_add(d->name);
        fd = open(d->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0) signals_drop(d->name);
    }
    d->out = fd < 0 ? NULL : fdopen(fd, "wb");
    if (d->out) return 0;
    int why = errno;
    if (fd >= 0) close(fd), unlink(d->name);
    return cannot_write(d->path, why);
}

/* Where a file is or would be; links are followed. NULL after a message. */
static char *target_of(const char *path)
{
    char *real = realpath(path, NULL);
    if (!real) real = strdup(path);
    if (!real) complain_memory();
    return real;
}

static int open_path(struct draft *d)
{
    struct stat info;
    bool there = !stat(d->path, &info);
    if (there && S_ISDIR(info.st_mode)) return cannot_write(d->path, EISDIR);
    if (there && !S_ISREG(info.st_mode)) {
        d->out = fopen(d->path, "wbe");
        return d->out ? 0 : cannot_write(d->path, errno);
    }
    d->target = target_of(d->path);
    if (!d->target) return EXIT_NUMBERS;
    return open_beside(d, there ? info.st_mode & 0777 : 0666);
}

/* What the library writes beside a file before that is there, by its rule. */
void draft_guard(const char *path)
{
    char name[4096];
    char *target = path ? target_of(path) : NULL;
    if (!target) return;
    int n = snprintf(name, sizeof name, "%s.%ld-0.tmp", target, (long)getpid());
    if (n > 0 && (size_t)n < sizeof name) signals_add(name);
    free(target);
}

int draft_open(struct draft *d, const char *path)
{
    *d = (struct draft){.path = path && strcmp(path, "-") ? path : NULL};
    if (!d->path) {
        d->out = stdout;
        return 0;
    }
    int code = open_path(d);
    if (!code) return 0;
    free(d->target);
    free(d->name);
    *d = (struct draft){0};
    return code;
}

/* Standard output is left to main, which asks it for errors at the end. */
int draft_close(struct draft *d, bool keep)
{
    int why = 0;
    if (!d->out || d->out == stdout) return 0;
    bool file = d->name != NULL;
    errno = 0;
    if (ferror(d->out) || fflush(d->out) ||
        (file && keep && fsync(fileno(d->out))))
        why = errno ? errno : EIO;
    if (fclose(d->out) && !why) why = errno;
    if (file && keep && !why && rename(d->name, d->target)) why = errno;
    if (file && (!keep || why)) unlink(d->name);
    if (file) signals_drop(d->name);
    free(d->target);
    free(d->name);
    d->out = NULL;
    return keep && why ? cannot_write(d->path, why) : 0;
}

/* --- Beforehand --------------------------------------------------------- */

/* The folder that a path is in, in place. */
static const char *folder_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash) return ".";
    if (slash == path) return "/";
    *slash = 0;
    return path;
}

int check_output(const char *path)
{
    return path && strcmp(path, "-") ? check_place(path) : 0;
}

int check_place(const char *path)
{
    struct stat info;
    bool there = !stat(path, &info);
    if (!*path) return cannot_write("''", ENOENT);
    if (there && S_ISDIR(info.st_mode)) return cannot_write(path, EISDIR);
    if (there && !S_ISREG(info.st_mode))
        return access(path, W_OK) ? cannot_write(path, errno) : 0;
    char *target = target_of(path);
    if (!target) return EXIT_NUMBERS;
    int why = access(folder_of(target), W_OK | X_OK) ? errno : 0;
    free(target);
    return why ? cannot_write(path, why) : 0;
}

bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (!a || !b || stat(a, &x) || stat(b, &y)) return false;
    return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* --- CSV ---------------------------------------------------------------- */

void put_number(double x, FILE *out)
{
    char text[32];
    if (isnan(x)) return;
    if (x == 0.0) { /* without a sign */
        putc('0', out);
        return;
    }
    for (int n = 15; n <= 17; n++) {
        snprintf(text, sizeof text, "%.*g", n, x);
        if (strtod(text, NULL) == x) break;
    }
    fputs(text, out);
}

void put_text(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"') putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}
