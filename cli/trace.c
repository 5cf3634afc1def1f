/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With more numbers there are only columns for the noise, or none. */
enum { MOST = 32 };

static const char HEADER[] =
    "iteration,restart,seconds,loglik,error,heldout,rate";

static void choose_numbers(struct trace *t)
{
    size_t n = 0;
    if (t->numbers <= MOST) return;
    for (size_t i = 0; i < t->numbers; i++)
        if (t->number[i].noise) t->number[n++] = t->number[i];
    t->numbers = n <= MOST ? n : 0;
}

/* Whether a parameter has the name of another column. */
static bool is_taken(const char *name)
{
    char inside[NAME_ROOM + 2], all[sizeof HEADER + 2];
    snprintf(inside, sizeof inside, ",%s,", name);
    snprintf(all, sizeof all, ",%s,", HEADER);
    return strstr(all, inside) != NULL;
}

static void put_header(const struct trace *t, FILE *out)
{
    char name[NAME_ROOM];
    fputs(HEADER, out);
    for (size_t i = 0; i < t->numbers; i++) {
        number_name(&t->number[i], name);
        fputs(is_taken(name) ? ",param." : ",", out);
        put_text(name, out);
    }
    putc('\n', out);
}

/* Whether the first line of the file is the header of this trace; false without
 * memory. */
static bool same_header(const struct trace *t)
{
    char *header = NULL, *line = NULL;
    size_t size = 0, room = 0;
    FILE *memory = open_memstream(&header, &size);
    if (!memory) return false;
    put_header(t, memory);
    bool same = !fclose(memory) && getline(&line, &room, t->out) >= 0 &&
                !strcmp(line, header);
    free(header);
    free(line);
    return same;
}

static int cannot_trace(const struct trace *t, const char *why)
{
    return complain(EXIT_INPUT, "--trace %s: %s", t->path, why);
}

/* Continues an existing trace of this model. */
static int open_old(struct trace *t)
{
    t->out = fopen(t->path, "r+e");
    if (!t->out) return 0;
    int first = getc(t->out);
    rewind(t->out);
    t->old = first != EOF;
    if (!t->old) put_header(t, t->out);
    else if (!same_header(t))
        return cannot_trace(t, "the file has other columns than this fit; "
                               "give another file");
    return 0;
}

int trace_open(struct trace *t, const char *path, const gsv_model *m,
               bool resumed)
{
    *t = (struct trace){.path = path};
    if (!path) return 0;
    t->number = model_numbers(m, &t->numbers);
    if (!t->number) return EXIT_NUMBERS;
    choose_numbers(t);
    if (resumed && open_old(t)) return EXIT_INPUT;
    if (t->out) return 0;
    t->out = fopen(path, "we");
    if (!t->out) return cannot_trace(t, strerror(errno));
    put_header(t, t->out);
    return fflush(t->out) ? cannot_trace(t, strerror(errno)) : 0;
}

/* Removes rows of iterations that are repeated, and an incomplete row. */
static void cut(struct trace *t, const gsv_progress *now)
{
    char *line = NULL;
    size_t room = 0;
    rewind(t->out);
    ssize_t n = getline(&line, &room, t->out);
    long end = n > 0 ? (long)n : 0;
    while ((n = getline(&line, &room, t->out)) > 0 && line[n - 1] == '\n') {
        size_t iteration, restart;
        if (sscanf(line, "%zu,%zu,", &iteration, &restart) != 2) break;
        bool before = restart < now->restart ||
                      (restart == now->restart && iteration < now->iteration);
        if (!before) break;
        end += (long)n;
    }
    free(line);
    /* A file that cannot be cut, such as a pipe, is continued. */
    fseek(t->out, end, SEEK_SET);
    if (ftruncate(fileno(t->out), end)) fseek(t->out, 0, SEEK_END);
}

void trace_row(struct trace *t, const gsv_progress *now)
{
    if (!t->out) return;
    bool first = !t->begun;
    if (first && t->old) cut(t, now);
    t->begun = true;
    fprintf(t->out, "%zu,%zu", now->iteration, now->restart);
    double cell[] = {now->seconds, now->loglik, now->error, now->heldout,
                     now->rate};
    for (size_t i = 0; i < sizeof cell / sizeof *cell; i++)
        put_cell(cell[i], t->out);
    for (size_t i = 0; i < t->numbers; i++)
        put_cell(gsv_model_value(now->model)[t->number[i].at], t->out);
    putc('\n', t->out);
    if (!first && now->seconds - t->flushed < 1.0) return;
    t->flushed = now->seconds;
    fflush(t->out);
}

int trace_close(struct trace *t)
{
    bool bad = false;
    if (t->out) {
        bad = ferror(t->out);
        if (fclose(t->out)) bad = true;
    }
    free(t->number);
    return bad ? cannot_trace(t, "cannot write: rows are missing") : 0;
}
