/* SPDX-License-Identifier: MIT */
/* The header decides how each cell is used: as the label of a series, the time,
 * the value of a column, or not at all. */
#include <string.h>

#include "base/error.h"
#include "data/csv_parts.h"
#include "data/number.h"

static const char *const *const_names(const struct words *w)
{
    return (const char *const *)w->text;
}

static struct phrase header_list(const struct csv *c)
{
    return phrase_list(c->header.count, const_names(&c->header));
}

/* A column without a name, such as the row numbers that pandas and R write,
 * is passed over, and there may be several. */
static int add_header_cell(struct csv *c, size_t i)
{
    const struct cell *cell = &c->record.cell[i];
    c->cell_name[i] = "";
    c->column[i] = NONE;
    if (!cell->size) return 0;
    if (words_find(&c->header, cell->text, cell->size) != NONE)
        return fail(GSV_BAD_INPUT,
                    "%s:%zu:%zu: the header names '%s' twice; rename one",
                    c->text.source, c->record.line, i + 1,
                    phrase_excerpt(cell->text, cell->size).text);
    int status = words_add(&c->header, cell->text, cell->size);
    if (!status) c->cell_name[i] = c->header.text[c->header.count - 1];
    return status;
}

/* A file without a header begins with its first row. */
static int check_header(const struct csv *c)
{
    const struct cell *cell = c->record.cell;
    size_t numbers = 0;
    double x;
    for (size_t i = 0; i < c->cells; i++)
        numbers += number_read(cell[i].text, cell[i].size, &x) == NUMBER_FINITE;
    if (numbers < c->cells) return 0;
    if (c->remarks)
        return fail(GSV_BAD_INPUT,
                    "%s:%zu: the header is missing: the first line that does "
                    "not begin with '#' contains only numbers; if the header "
                    "is the line above, remove its '#'",
                    c->text.source, c->record.line);
    return fail(GSV_BAD_INPUT,
                "%s:%zu: the header is missing: the first line contains only "
                "numbers; add a line such as 'time,x' above it",
                c->text.source, c->record.line);
}

static int read_header(struct csv *c)
{
    int status = text_skip_remarks(&c->text, &c->remarks);
    if (status) return status;
    c->record.separator = record_separator(&c->text);
    status = record_read(&c->record, &c->text);
    if (status) return status;
    if (!c->record.count)
        return fail(GSV_BAD_INPUT,
                    "%s: the file is empty; it needs a header such as "
                    "'time,x' and rows below it",
                    c->text.source);
    c->cells = c->record.count;
    status = check_header(c);
    if (status) return status;
    c->cell_name = NEW(const char *, c->cells);
    c->column = NEW(size_t, c->cells);
    if (!c->cell_name || !c->column) return GSV_NO_MEMORY;
    for (size_t i = 0; i < c->cells && !status; i++)
        status = add_header_cell(c, i);
    return status;
}

static size_t find_cell(const struct csv *c, const char *name)
{
    for (size_t i = 0; i < c->cells; i++)
        if (strcmp(c->cell_name[i], name) == 0) return i;
    return NONE;
}

static int no_part(const struct csv *c, const char *name, const char *part)
{
    return fail(
        GSV_BAD_INPUT,
        "%s:%zu: the header has no column '%s' for the %s; columns found: %s%s",
        c->text.source, c->record.line, phrase_name(name).text, part,
        header_list(c).text,
        phrase_guess(name, c->header.count, const_names(&c->header)).text);
}

static int no_time(const struct csv *c)
{
    return fail(
        GSV_BAD_INPUT,
        "%s:%zu: the header has no column 'time' or 't'; name the column of "
        "time (--time NAME); columns found: %s%s",
        c->text.source, c->record.line, header_list(c).text,
        phrase_guess("time", c->header.count, const_names(&c->header)).text);
}

/* If both names exist, the long one is used, and the short one is an ordinary
 * column. */
static size_t find_either(const struct csv *c, const char *name,
                          const char *short_name, size_t taken)
{
    size_t cell = find_cell(c, name);
    if (cell == NONE || cell == taken) cell = find_cell(c, short_name);
    return cell == taken ? NONE : cell;
}

/* Columns that the caller names are found before the default names. */
static int find_parts(struct csv *c, const char *time, const char *series)
{
    c->time = time ? find_cell(c, time) : NONE;
    c->series = series ? find_cell(c, series) : NONE;
    if (time && c->time == NONE) return no_part(c, time, "time");
    if (series && c->series == NONE) return no_part(c, series, "series");
    if (time && c->time == c->series)
        return fail(GSV_BAD_INPUT,
                    "%s:%zu: column '%s' cannot be both the time and the "
                    "series",
                    c->text.source, c->record.line, phrase_name(time).text);
    if (!time) c->time = find_either(c, "time", "t", c->series);
    if (!series) c->series = find_either(c, "series", "id", c->time);
    if (c->time == NONE) return no_time(c);
    c->builder.time_cell = c->time + 1;
    c->builder.remedy = c->series == NONE
                            ? "times must increase, unless a column 'series' "
                              "distinguishes several series"
                            : "times must increase within a series";
    return 0;
}

/* A column 'time' or 'series' is ignored if another column is used as the time
 * or series: in a gsv_series these names are reserved. */
static bool is_value(const struct csv *c, size_t i)
{
    return i != c->time && i != c->series && *c->cell_name[i] &&
           strcmp(c->cell_name[i], "time") && strcmp(c->cell_name[i], "series");
}

/* Every column of values, in the order of the file. */
static int choose_all(struct csv *c)
{
    const char **name = NEW(const char *, c->cells);
    size_t count = 0;
    if (!name) return GSV_NO_MEMORY;
    for (size_t i = 0; i < c->cells; i++) {
        if (!is_value(c, i)) continue;
        c->column[i] = count;
        name[count++] = c->cell_name[i];
    }
    int status =
        count ? builder_names(&c->builder, count, name)
              : fail(GSV_BAD_INPUT,
                     "%s:%zu: there is no column of values beside the "
                     "time; columns found: %s",
                     c->text.source, c->record.line, header_list(c).text);
    mem_free(name);
    return status;
}

static int no_column(const struct csv *c, const char *name)
{
    return fail(
        GSV_BAD_INPUT,
        "%s:%zu: there is no column '%s' of values; rename one, here or in "
        "the model; columns found: %s%s",
        c->text.source, c->record.line, phrase_name(name).text,
        header_list(c).text,
        phrase_guess(name, c->header.count, const_names(&c->header)).text);
}

static int choose_named(struct csv *c, size_t columns, const char *const *name)
{
    const struct words *wanted = &c->builder.name;
    int status = builder_names(&c->builder, columns, name);
    if (status) return status;
    size_t found = 0;
    for (size_t i = 0; i < c->cells; i++) {
        if (!is_value(c, i)) continue;
        c->column[i] =
            words_find(wanted, c->cell_name[i], strlen(c->cell_name[i]));
        found += c->column[i] != NONE;
    }
    for (size_t k = 0; k < columns && found < columns; k++) {
        size_t cell = find_cell(c, name[k]);
        if (cell == NONE || !is_value(c, cell)) return no_column(c, name[k]);
    }
    return 0;
}

int csv_header(struct csv *c, const struct series_request *wanted)
{
    int status = read_header(c);
    if (!status) status = find_parts(c, wanted->time, wanted->series);
    if (status) return status;
    status = wanted->name ? choose_named(c, wanted->columns, wanted->name)
                          : choose_all(c);
    if (status) return status;
    c->value = NEW(double, c->builder.name.count);
    return c->value ? 0 : GSV_NO_MEMORY;
}
