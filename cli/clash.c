/* SPDX-License-Identifier: MIT */
/* No output file may be an input or another output under any name. The table of
 * options gives all files, before any work is done. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"

enum { LINKS = 40 };

/* A file of the command line, identified by its inode or, if it does not exist,
 * by the inode of its folder and its name. */
struct place {
    const char *what; /* the option, or "the model", "the data" */
    const char *path;
    bool written;
    bool regular; /* other files, such as pipes, cannot be overwritten */
    dev_t device;
    ino_t number;
    char name[NAME_MAX + 1]; /* "" if the file exists */
};

/* Pairs that may be the same file. fit.c checks that a model which is
 * overwritten is a fit and not a text. */
static const struct {
    enum verb_id verb;
    const char *one, *other;
} ALLOWED[] = {
    {FIT, "the model", "-o"},          {FIT, "the model", "--checkpoint"},
    {FIT, "-o", "--checkpoint"},       {FIT, "-o", "--resume"},
    {FIT, "--checkpoint", "--resume"},
};

static bool is_allowed(enum verb_id verb, const char *a, const char *b)
{
    for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++)
        if (ALLOWED[i].verb == verb &&
            ((!strcmp(ALLOWED[i].one, a) && !strcmp(ALLOWED[i].other, b)) ||
             (!strcmp(ALLOWED[i].one, b) && !strcmp(ALLOWED[i].other, a))))
            return true;
    return false;
}

/* --- Identity of a file --------------------------------------------------- */

/* Splits a path into its folder, which it returns, and its name. */
static const char *split(char folder[PATH_MAX], char name[NAME_MAX + 1])
{
    char *slash = strrchr(folder, '/');
    const char *last = slash ? slash + 1 : folder;
    size_t n = strnlen(last, NAME_MAX);
    memcpy(name, last, n);
    name[n] = 0;
    if (!slash) return ".";
    slash[1] = 0;
    return folder;
}

/* Follows a link to a file that does not exist yet. */
static void follow(char path[PATH_MAX])
{
    char to[PATH_MAX], folder[PATH_MAX], name[NAME_MAX + 1];
    for (int i = 0; i < LINKS; i++) {
        ssize_t n = readlink(path, to, sizeof to - 1);
        if (n <= 0) return;
        to[n] = 0;
        snprintf(folder, sizeof folder, "%s", path);
        split(folder, name);
        if (*to == '/' || !strchr(path, '/'))
            snprintf(path, PATH_MAX, "%s", to);
        else if (snprintf(path, PATH_MAX, "%s%s", folder, to) >= PATH_MAX)
            return;
    }
}

static void find(struct place *p)
{
    struct stat info;
    char path[PATH_MAX];
    bool standard = !strcmp(p->path, "-");
    p->name[0] = 0;
    if (standard && p->written) return;
    int missing = standard ? fstat(STDIN_FILENO, &info) : stat(p->path, &info);
    if (missing) {
        if (!p->written || errno != ENOENT) return;
        snprintf(path, sizeof path, "%s", p->path);
        follow(path);
        if (stat(split(path, p->name), &info)) return;
    }
    p->regular = missing || S_ISREG(info.st_mode);
    p->device = info.st_dev;
    p->number = info.st_ino;
}

static bool is_same(const struct place *a, const struct place *b)
{
    return a->regular && b->regular && a->device == b->device &&
           a->number == b->number && !strcmp(a->name, b->name);
}

bool same_file(const char *a, const char *b)
{
    struct place p = {.path = a, .written = true};
    struct place q = {.path = b, .written = true};
    find(&p);
    find(&q);
    return is_same(&p, &q);
}

/* --- All files ------------------------------------------------------------ */

static void add(struct place *list, size_t *count, const char *what,
                const char *path, bool written)
{
    struct place *p = &list[(*count)++];
    *p = (struct place){.what = what, .path = path, .written = written};
    find(p);
}

/* Models, data and files of options; `samples` is the default of --samples. */
static size_t find_places(const struct verb *verb, const struct args *a,
                          const char *samples, struct place *list)
{
    size_t count = 0;
    for (size_t i = 0; i < a->files.count; i++) {
        bool data =
            a->files.word[i] == a->data || verb->id == LOOK || verb->id == NEW;
        add(list, &count, data ? "the data" : "the model", a->files.word[i],
            false);
    }
    for (struct option o = {0}; next_option(verb, &o);) {
        const char *path = option_file(&o, a);
        if (path)
            add(list, &count, o.letter ? o.letter : o.name, path,
                o.kind == TARGET);
    }
    if (samples) add(list, &count, "the file of draws,", samples, true);
    return count;
}

static int refuse(const struct place *a, const struct place *b)
{
    const struct place *to = b->written ? b : a, *from = b->written ? a : b;
    if (!from->written)
        return complain(EXIT_INPUT,
                        "%s %s would overwrite %s%s%s, which is read from the "
                        "same file; give another name",
                        to->what, to->path, from->what,
                        *from->what == '-' ? " " : "",
                        *from->what == '-' ? from->path : "");
    return complain(EXIT_INPUT,
                    "%s %s and %s %s are the same file: one would overwrite "
                    "the other; give two names",
                    from->what, from->path, to->what, to->path);
}

static int compare_all(const struct verb *verb, const struct place *list,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if ((list[i].written || list[j].written) &&
                is_same(&list[i], &list[j]) &&
                !is_allowed(verb->id, list[i].what, list[j].what))
                return refuse(&list[j], &list[i]);
    return 0;
}

int check_clashes(const struct verb *verb, const struct args *a)
{
    size_t most = a->files.count + 1;
    for (struct option o = {0}; next_option(verb, &o);)
        most++;
    struct place *list = malloc(most * sizeof *list);
    bool draws = verb->id == FIT && a->fit.method == GSV_METHOD_GIBBS &&
                 !a->samples && a->output;
    char *samples = draws ? samples_path(NULL, a->output) : NULL;
    int code = EXIT_NUMBERS;
    if (!list) complain_memory();
    else if (samples || !draws)
        code = compare_all(verb, list, find_places(verb, a, samples, list));
    free(samples);
    free(list);
    return code;
}
