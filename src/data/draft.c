/* SPDX-License-Identifier: MIT */
/* Files that appear whole or not at all. While it is written a file has the
 * name .girsanov-HOST-PID-N.tmp, short enough beside any other, and a lock. A
 * process that was killed leaves such a file: the next one that writes there
 * removes it when the name says that it was written on this machine by a
 * process that is gone, and when nobody has the lock, as a process of another
 * container with the same host name would. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/file.h"

/* How many names of a folder are read in search of files that were left: a
 * folder may have a million. */
enum { SEEN_NAMES = 10000, TRIES = 1000, LINKS = 40, HOST = 64, NAME = 160 };

struct gsv_draft {
    char *path;   /* as the user gave it, for messages     */
    char *target; /* what will be replaced                 */
    char *name;   /* where it is now; NULL: in its place   */
    int file;
};

int draft_cannot(const char *path, int why)
{
    return fail(GSV_BAD_INPUT, "cannot write %s: %s", path,
                strerror(why ? why : EIO));
}

/* --- Names --------------------------------------------------------------- */

/* What the names of this machine's files begin with. */
static void write_prefix(char prefix[NAME])
{
    char host[HOST + 1] = "";
    if (gethostname(host, HOST)) host[0] = 0;
    for (char *c = host; *c; c++)
        if (*c == '/' || (unsigned char)*c <= ' ') *c = '_';
    snprintf(prefix, NAME, ".girsanov-%s-", host);
}

/* The folder that a path is in, with a slash at its end; yours. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? mem_substring(path, (size_t)(slash - path) + 1)
                 : mem_string("./");
}

/* Where a link leads that has nothing there yet, so that it stays a link. */
static char *follow(const char *path)
{
    char to[PATH_MAX];
    char *at = mem_string(path);
    for (int i = 0; at && i < LINKS; i++) {
        ssize_t n = readlink(at, to, sizeof to - 1);
        if (n <= 0) break;
        to[n] = 0;
        char *folder = *to == '/' ? mem_string("") : folder_of(at), *next;
        size_t size = folder ? strlen(folder) + (size_t)n + 1 : 0;
        next = folder ? mem_new(size, 1) : NULL;
        if (next) snprintf(next, size, "%s%s", folder, to);
        mem_free(folder);
        mem_free(at);
        at = next;
    }
    return at;
}

/* What a path stands for in the end; yours. */
static char *resolve(const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) ? mem_string(real) : follow(path);
}

/* --- What was left ------------------------------------------------------- */

/* Whether a name is that of a file whose writer, on this machine, is gone. */
static bool is_orphan(const char *name, const char *prefix)
{
    char *end;
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) || name[n] < '1' || name[n] > '9')
        return false;
    long pid = strtol(name + n, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9' || pid > INT_MAX)
        return false;
    strtol(end + 1, &end, 10);
    return !strcmp(end, ".tmp") && kill((pid_t)pid, 0) && errno == ESRCH;
}

/* Nobody else's, and nobody holds its lock. */
static void remove_orphan(int folder, const char *name)
{
    struct stat info;
    int file =
        openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return;
    if (!fstat(file, &info) && S_ISREG(info.st_mode) &&
        info.st_uid == geteuid() && !flock(file, LOCK_EX | LOCK_NB))
        unlinkat(folder, name, 0);
    close(file);
}

static void remove_orphans(const char *folder, const char *prefix)
{
    DIR *names = opendir(folder);
    if (!names) return;
    const struct dirent *entry;
    for (int i = 0; i < SEEN_NAMES && (entry = readdir(names)); i++)
        if (is_orphan(entry->d_name, prefix))
            remove_orphan(dirfd(names), entry->d_name);
    closedir(names);
}

/* --- Opening ------------------------------------------------------------- */

/* A new file with a lock. Between both somebody may take it for one that was
 * left: then it has no name any more. Where a disk knows no locks, nobody can
 * have them and nothing is removed. */
static int create(const char *name, mode_t mode)
{
    struct stat info;
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0) return -1;
    (void)!flock(file, LOCK_EX | LOCK_NB);
    if (!fstat(file, &info) && info.st_nlink) return file;
    close(file);
    errno = EEXIST;
    return -1;
}

/* Beside the target, with the mode of the old file, if there is one. */
static int open_beside(gsv_draft *d, const struct stat *old)
{
    char prefix[NAME];
    mode_t mode = old ? old->st_mode & 0777 : 0666;
    char *folder = folder_of(d->target);
    size_t size = (folder ? strlen(folder) : 0) + NAME + 32;
    d->name = folder ? mem_new(size, 1) : NULL;
    if (d->name) {
        write_prefix(prefix);
        remove_orphans(folder, prefix);
        errno = EEXIST;
        for (int i = 0; i < TRIES && d->file < 0 && errno == EEXIST; i++) {
            snprintf(d->name, size, "%s%s%ld-%d.tmp", folder, prefix,
                     (long)getpid(), i);
            d->file = create(d->name, mode);
        }
    }
    mem_free(folder);
    if (!d->name) return GSV_NO_MEMORY;
    if (d->file < 0) return draft_cannot(d->path, errno);
    /* The umask is for new files. A disk without modes may refuse. */
    if (old) (void)!fchmod(d->file, mode);
    return 0;
}

/* The longest name is found out now, not after all work. */
static int check_name(const gsv_draft *d)
{
    struct stat info;
    return stat(d->target, &info) && errno == ENAMETOOLONG
               ? draft_cannot(d->path, ENAMETOOLONG)
               : 0;
}

static int open_draft(gsv_draft *d)
{
    struct stat old;
    bool there = !stat(d->path, &old);
    if (!*d->path) return draft_cannot("''", ENOENT);
    if (there && S_ISDIR(old.st_mode)) return draft_cannot(d->path, EISDIR);
    if (there && !S_ISREG(old.st_mode)) {
        d->file = open(d->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        return d->file < 0 ? draft_cannot(d->path, errno) : 0;
    }
    d->target = resolve(d->path);
    if (!d->target) return GSV_NO_MEMORY;
    int status = check_name(d);
    return status ? status : open_beside(d, there ? &old : NULL);
}

static void draft_free(gsv_draft *d)
{
    if (d->file >= 0) close(d->file);
    mem_free(d->path);
    mem_free(d->target);
    mem_free(d->name);
    mem_free(d);
}

gsv_draft *gsv_draft_open(const char *path)
{
    if (ANY_NULL(path)) return NULL;
    gsv_draft *d = NEW(gsv_draft, 1);
    if (!d) return NULL;
    d->file = -1;
    d->path = mem_string(path);
    if (d->path && !open_draft(d)) return d;
    draft_free(d);
    return NULL;
}

int gsv_draft_descriptor(const gsv_draft *d)
{
    if (ANY_NULL(d)) return -1;
    return d->file;
}

/* --- Closing ------------------------------------------------------------- */

const char *gsv_draft_name(const gsv_draft *d)
{
    return ANY_NULL(d) ? NULL : d->name;
}

/* Makes a rename safe on disk, too. Where a directory cannot be opened or
 * synced the file is in its place all the same: no reason to fail. */
static void sync_folder(const char *target)
{
    char *folder = folder_of(target);
    int file = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    mem_free(folder);
    if (file < 0) return;
    (void)!fsync(file);
    close(file);
}

enum gsv_status gsv_draft_close(gsv_draft *d, bool keep)
{
    if (!d) return 0;
    int why = 0;
    if (d->name && keep && fsync(d->file)) why = errno;
    if (close(d->file) && !why) why = errno;
    d->file = -1;
    if (d->name && keep && !why && rename(d->name, d->target)) why = errno;
    if (d->name && (!keep || why)) unlink(d->name);
    else if (d->name) sync_folder(d->target);
    int status = keep && why ? draft_cannot(d->path, why) : 0;
    draft_free(d);
    return status;
}
