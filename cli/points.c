/* SPDX-License-Identifier: MIT */
/* Points of a CSV file. Unlike series they need no times and no order. */
#include "field.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reader {
    const char *path;
    FILE *in;
    char *line;
    size_t room, number; /* of the line */
    size_t fields;
    size_t *column; /* (fields): index of the column; SIZE_MAX for none */
    size_t columns;
    const char *const *name;
};

/* The next field of a line, trimmed and without quotes; NULL at its end. */
static char *next_field(char **rest)
{
    char *field = *rest;
    if (!field) return NULL;
    char *comma = strchr(field, ',');
    if (comma) *comma = 0;
    *rest = comma ? comma + 1 : NULL;
    field += strspn(field, " \t\"");
    size_t n = strlen(field);
    while (n && strchr(" \t\"\r\n", field[n - 1]))
        field[--n] = 0;
    return field;
}

static size_t column_of(const struct reader *r, const char *name)
{
    for (size_t i = 0; i < r->columns; i++)
        if (!strcmp(r->name[i], name)) return i;
    return !strcmp(name, "time") || !strcmp(name, "t") ? r->columns : SIZE_MAX;
}

/* 'x_mean' of a table of paths or predict is x where there is no other x. */
static size_t mean_of(const struct reader *r, const char *name)
{
    for (size_t i = 0; i < r->columns; i++) {
        size_t n = strlen(r->name[i]);
        if (!strncmp(r->name[i], name, n) && !strcmp(name + n, "_mean"))
            return i;
    }
    return SIZE_MAX;
}

/* How a column of the model was found in the header. */
enum found { NOT, AS_MEAN, BY_NAME };

/* The next field of the header is column c of the model; one of its name
 * replaces a mean. */
static void take_column(struct reader *r, size_t c, enum found how,
                        enum found *found)
{
    if (c <= r->columns && found[c] < how) {
        for (size_t i = 0; i < r->fields; i++)
            if (r->column[i] == c) r->column[i] = SIZE_MAX;
        found[c] = how;
    } else c = SIZE_MAX;
    r->column[r->fields++] = c;
}

static bool read_line(struct reader *r)
{
    ssize_t n;
    do {
        n = getline(&r->line, &r->room, r->in);
        r->number++;
    } while (n > 0 && !r->line[strspn(r->line, " \t\r\n")]);
    return n > 0;
}

/* Lines before the header that begin with '#' are skipped, as in data. */
static bool find_header(struct reader *r)
{
    do {
        if (!read_line(r)) return false;
        if (!strncmp(r->line, "\xef\xbb\xbf", 3)) memset(r->line, ' ', 3);
    } while (r->line[strspn(r->line, " \t")] == '#');
    return true;
}

static int read_header(struct reader *r)
{
    if (!find_header(r))
        return complain(EXIT_INPUT, "%s: the file is empty", r->path);
    char *rest = r->line, *field;
    size_t most = 1;
    for (const char *c = rest; *c; c++)
        most += *c == ',';
    r->column = malloc(most * sizeof *r->column);
    enum found *found = calloc(r->columns + 1, sizeof *found);
    if (!r->column || !found) {
        free(found);
        return complain_memory();
    }
    while ((field = next_field(&rest))) {
        size_t c = column_of(r, field);
        if (c != SIZE_MAX) take_column(r, c, BY_NAME, found);
        else take_column(r, mean_of(r, field), AS_MEAN, found);
    }
    size_t missing = 0;
    while (missing < r->columns && found[missing])
        missing++;
    free(found);
    if (missing == r->columns) return 0;
    return complain(EXIT_INPUT, "%s:%zu: the header has no column '%s'",
                    r->path, r->number, r->name[missing]);
}

static bool is_missing(const char *field)
{
    return !*field || !strcasecmp(field, "NA") || !strcasecmp(field, "NaN");
}

/* One line into cell (columns + 1). */
static int read_row(struct reader *r, double *cell)
{
    char *rest = r->line, *field;
    size_t i = 0;
    cell[r->columns] = 0.0;
    for (; (field = next_field(&rest)); i++) {
        if (i >= r->fields || r->column[i] == SIZE_MAX) continue;
        char *end = field;
        double x = is_missing(field) ? NAN : strtod(field, &end);
        if (*end && !isnan(x))
            return complain(EXIT_INPUT, "%s:%zu: '%s' is not a number", r->path,
                            r->number, field);
        cell[r->column[i]] = x;
    }
    if (i == r->fields) return 0;
    return complain(EXIT_INPUT, "%s:%zu: %zu fields instead of %zu", r->path,
                    r->number, i, r->fields);
}

static int read_rows(struct reader *r, struct points *p)
{
    size_t room = 0, width = r->columns + 1;
    while (read_line(r)) {
        if (p->rows == room) {
            room = room ? 2 * room : 256;
            double *more = realloc(p->cell, room * width * sizeof *more);
            if (!more) return complain_memory();
            p->cell = more;
        }
        if (read_row(r, p->cell + p->rows * width)) return EXIT_INPUT;
        p->rows++;
    }
    return p->rows ? 0
                   : complain(EXIT_INPUT,
                              "%s: there are no rows below the "
                              "header",
                              r->path);
}

int points_read(struct points *p, const char *path, size_t columns,
                const char *const *name)
{
    bool standard = !strcmp(path, "-");
    struct reader r = {.path = standard ? "stdin" : path,
                       .in = standard ? stdin : fopen(path, "re"),
                       .columns = columns,
                       .name = name};
    *p = (struct points){.columns = columns};
    if (!r.in)
        return complain(EXIT_INPUT, "cannot open %s: %s", path,
                        strerror(errno));
    int code = read_header(&r);
    if (!code) code = read_rows(&r, p);
    free(r.line);
    free(r.column);
    if (!standard) fclose(r.in);
    return code;
}

void points_fill(const struct points *p, size_t first, size_t n, double *time,
                 double *value)
{
    const double *cell = p->cell + first * (p->columns + 1);
    for (size_t k = 0; k < n; k++, cell += p->columns + 1) {
        for (size_t i = 0; i < p->columns; i++)
            value[i * n + k] = cell[i];
        time[k] = cell[p->columns];
    }
}
