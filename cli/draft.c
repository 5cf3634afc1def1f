/* SPDX-License-Identifier: MIT */
/* Output files that are replaced only when they are complete: the drafts of the
 * library as streams. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static int cannot_write(const char *path, int why)
{
    return complain(EXIT_INPUT, "cannot write %s: %s", path,
                    strerror(why ? why : EIO));
}

/* The draft is removed or renamed: a signal need not remove it any more. */
static int close_draft(struct draft *d, bool keep)
{
    const char *name = gsv_draft_name(d->draft);
    if (name) signals_drop(name);
    return gsv_draft_close(d->draft, keep);
}

/* A new draft, which a deadly signal removes. NULL: as gsv_draft_open(). */
static gsv_draft *open_noted(const char *path)
{
    signals_hold(true);
    gsv_draft *d = gsv_draft_open(path);
    if (d && gsv_draft_name(d)) signals_add(gsv_draft_name(d));
    signals_hold(false);
    return d;
}

/* The library uses the same names: its first draft in a folder has the name of
 * this one. */
void draft_guard(const char *path)
{
    struct stat info;
    if (!path || !strcmp(path, "-")) return;
    if (!stat(path, &info) && !S_ISREG(info.st_mode)) return;
    gsv_draft_close(open_noted(path), false);
}

int draft_open(struct draft *d, const char *path)
{
    *d = (struct draft){.path = path && strcmp(path, "-") ? path : NULL};
    if (!d->path) {
        d->out = stdout;
        return 0;
    }
    d->draft = open_noted(path);
    if (!d->draft) return complain_last();
    int copy = fcntl(gsv_draft_descriptor(d->draft), F_DUPFD_CLOEXEC, 3);
    d->out = copy < 0 ? NULL : fdopen(copy, "wb");
    if (d->out) return 0;
    int why = errno;
    if (copy >= 0) close(copy);
    close_draft(d, false);
    return cannot_write(path, why);
}

/* main() tests standard output for errors at the end. */
int draft_close(struct draft *d, bool keep)
{
    int why = 0;
    if (!d->out || d->out == stdout) return 0;
    errno = 0;
    if (ferror(d->out) || fflush(d->out)) why = errno ? errno : EIO;
    if (fclose(d->out) && !why) why = errno;
    d->out = NULL;
    int status = close_draft(d, keep && !why);
    if (keep && why) return cannot_write(d->path, why);
    return status ? complain_last() : 0;
}

/* --- Checks before the work ---------------------------------------------- */

/* The folder of a path, in place. */
static const char *folder_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash) return ".";
    if (slash == path) return "/";
    *slash = 0;
    return path;
}

static int check_output(const char *path)
{
    return path && strcmp(path, "-") ? check_place(path) : 0;
}

int check_targets(const struct verb *verb, const struct args *a)
{
    bool csv = verb->id & (SIMULATE | FIELD | PATHS);
    if (a->json && (a->output ? !strcmp(a->output, "-") : csv && !a->plot))
        return complain(EXIT_INPUT, "--json needs -o FILE: both would go to "
                                    "standard output");
    if (is_terminal_plot(a->plot) &&
        (a->json || (a->output && !strcmp(a->output, "-"))))
        return complain(EXIT_INPUT,
                        "--plot - draws on standard output, and %s writes "
                        "there, too; give one of them a file",
                        a->json ? "--json" : "-o -");
    if (check_output(a->output) || check_output(a->residuals) ||
        check_plot(a->plot))
        return EXIT_INPUT;
    return 0;
}

int check_place(const char *path)
{
    struct stat info;
    bool there = !stat(path, &info);
    if (!*path) return cannot_write("''", ENOENT);
    if (!there && errno != ENOENT) return cannot_write(path, errno);
    if (there && S_ISDIR(info.st_mode)) return cannot_write(path, EISDIR);
    if (there && !S_ISREG(info.st_mode))
        return access(path, W_OK) ? cannot_write(path, errno) : 0;
    char *target = realpath(path, NULL);
    if (!target) target = strdup(path);
    if (!target) return complain_memory();
    int why = access(folder_of(target), W_OK | X_OK) ? errno : 0;
    free(target);
    return why ? cannot_write(path, why) : 0;
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

void put_cell(double x, FILE *out)
{
    putc(',', out);
    put_number(x, out);
}

/* Quotes a text that would otherwise be read differently, and an empty one, as
 * the library does. */
void put_text(const char *text, FILE *out)
{
    size_t n = strlen(text);
    bool edge = !n || strchr(" \t", text[0]) || strchr(" \t", text[n - 1]);
    if (!edge && !strpbrk(text, ",;\t\"\r\n")) {
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
