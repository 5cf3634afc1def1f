/* SPDX-License-Identifier: MIT */
/* Cells that the header does not use are not parsed, so they may contain any
 * text. */
#include "data/csv.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "data/category.h"
#include "data/csv_parts.h"
#include "data/number.h"

/* --- Cells -------------------------------------------------------------- */

static bool has_decimal_comma(const struct cell *cell)
{
    for (size_t i = 0; i < cell->size; i++)
        if (!strchr("0123456789+-eE,", cell->text[i])) return false;
    return memchr(cell->text, ',', cell->size) != NULL;
}

static int bad_cell(const struct csv *c, size_t i, enum number_kind kind)
{
    static const char *const FAULT[] = {[NUMBER_BAD] = "is not a number",
                                        [NUMBER_INFINITE] = "is infinite",
                                        [NUMBER_HUGE] = "is too large"};
    const struct cell *cell = &c->record.cell[i];
    const char *remedy =
        has_decimal_comma(cell) ? "write a decimal point, not a comma"
        : i == c->time && kind == NUMBER_BAD && !c->builder.rows
            ? "write the time as a finite number, or as a date such as "
              "2005-01-31"
        : i == c->time ? "write the time as a finite number"
        : kind == NUMBER_BAD
            ? "write a number, or leave the cell empty when it is missing"
            : "write a finite number, or leave the cell empty when it is "
              "missing";
    return fail(
        GSV_BAD_INPUT, "%s:%zu:%zu: column '%s': '%s' %s; %s", c->text.source,
        c->record.line, i + 1, phrase_name(c->cell_name[i]).text,
        phrase_excerpt(cell->text, cell->size).text, FAULT[kind], remedy);
}

/* Blanks inside the quotes are part of a label, but not of a number. */
static void trim(struct cell *cell)
{
    while (cell->size && strchr(" \t", cell->text[cell->size - 1]))
        cell->size--;
    while (cell->size && strchr(" \t", *cell->text))
        cell->text++, cell->size--;
}

static int parse_cell(struct csv *c, size_t i, double *x)
{
    struct cell *cell = &c->record.cell[i];
    if (cell->quoted) trim(cell);
    enum number_kind kind = number_read(cell->text, cell->size, x);
    if (kind == NUMBER_FINITE) return 0;
    if (kind != NUMBER_MISSING) return bad_cell(c, i, kind);
    if (i != c->time) return 0;
    return fail(
        GSV_BAD_INPUT,
        "%s:%zu:%zu: column '%s': the time is missing; every row needs one",
        c->text.source, c->record.line, i + 1, c->cell_name[i]);
}

/* A label, which may be a number. */
static int parse_category(struct csv *c, size_t i, double *x)
{
    const struct cell *cell = &c->record.cell[i];
    *x = category_code(cell->text, cell->size);
    return category_add(&c->builder.word, cell->text, cell->size);
}

/* A number, or a label where it is none. */
static int parse_either(struct csv *c, size_t i, double *x)
{
    struct cell *cell = &c->record.cell[i];
    if (cell->quoted) trim(cell);
    return number_read(cell->text, cell->size, x) == NUMBER_BAD
               ? parse_category(c, i, x)
               : parse_cell(c, i, x);
}

static int parse_value(struct csv *c, size_t i, double *x)
{
    if (c->category && c->category[c->column[i]])
        return parse_category(c, i, x);
    return c->words ? parse_either(c, i, x) : parse_cell(c, i, x);
}

/* --- Dates -------------------------------------------------------------- */

static struct witness witness_of(const struct csv *c)
{
    const struct cell *cell = &c->record.cell[c->time];
    return (struct witness){phrase_excerpt(cell->text, cell->size),
                            c->record.line};
}

static int bad_date(const struct csv *c, const struct witness *w,
                    const char *fault)
{
    return fail(GSV_BAD_INPUT, "%s:%zu:%zu: column '%s': '%s' %s",
                c->text.source, w->line, c->time + 1,
                phrase_name(c->cell_name[c->time]).text, w->text.text, fault);
}

static int unlike(const struct csv *c, const char *fault,
                  const struct witness *other)
{
    struct witness here = witness_of(c);
    struct phrase p;
    snprintf(p.text, sizeof p.text,
             "%s '%s' on line %zu; write all dates one way, such as "
             "2005-01-31",
             fault, other->text.text, other->line);
    return bad_date(c, &here, p.text);
}

/* Rows without a time get it now, and later rows at once. */
static int settle(struct csv *c, enum date_order order)
{
    struct dates *d = &c->dates;
    int status = 0;
    d->order = order;
    for (size_t i = 0; i < c->builder.rows && !status; i++)
        status =
            builder_time(&c->builder, i, d->open[i][order == DATE_MONTH_FIRST]);
    mem_free(d->open);
    d->open = NULL;
    return status;
}

/* A date that is possible in one order only. */
static int meet_order(struct csv *c, enum date_order order)
{
    struct dates *d = &c->dates;
    if (d->order == order) return 0;
    if (d->order == DATE_OPEN) {
        d->clear = witness_of(c);
        return settle(c, order);
    }
    return unlike(c,
                  order == DATE_DAY_FIRST
                      ? "has the day first, but the month is first in"
                      : "has the month first, but the day is first in",
                  &d->clear);
}

/* The time, or the two that it may be while the order is open. */
static int time_date(struct csv *c, const struct date *date,
                     double time[static 2])
{
    struct dates *d = &c->dates;
    bool year = date->year_first;
    bool day = date_time(date, year ? DATE_YEAR_FIRST : DATE_DAY_FIRST, time);
    bool month = !year && date_time(date, DATE_MONTH_FIRST, time + 1);
    if (!day && !month) {
        struct witness here = witness_of(c);
        return bad_date(c, &here,
                        isnan(date->seconds)
                            ? "is impossible: there is no such time of day"
                            : "is impossible: there is no such day");
    }
    int status = 0;
    if (!year && day != month)
        status = meet_order(c, day ? DATE_DAY_FIRST : DATE_MONTH_FIRST);
    if (d->order == DATE_MONTH_FIRST) time[0] = time[1];
    return status;
}

static void begin_dates(struct csv *c, const struct date *date)
{
    c->dates.here = c->builder.dated = true;
    c->dates.form = *date;
    c->dates.first = witness_of(c);
    c->dates.order = date->year_first ? DATE_YEAR_FIRST : DATE_OPEN;
}

/* The first time decides whether all of them are numbers or dates. */
static int read_time(struct csv *c, double time[static 2])
{
    struct dates *d = &c->dates;
    struct cell *cell = &c->record.cell[c->time];
    struct date date;
    bool first = !c->builder.rows;
    if (cell->quoted) trim(cell);
    bool good = (first || d->here) && date_read(cell->text, cell->size, &date);
    if (first && good) begin_dates(c, &date);
    if (!d->here ||
        (!good && number_read(cell->text, cell->size, time) == NUMBER_MISSING))
        return parse_cell(c, c->time, time);
    if (!good || date.year_first != d->form.year_first ||
        date.separator != d->form.separator)
        return unlike(c, "is not a date like", &d->first);
    if (date.zoned != d->form.zoned)
        return unlike(c,
                      date.zoned ? "has a time zone, unlike"
                                 : "has no time zone, unlike",
                      &d->first);
    return time_date(c, &date, time);
}

/* Gives the last row its time, unless the order of dates is not known yet. */
static int set_time(struct csv *c, const double time[static 2])
{
    struct dates *d = &c->dates;
    size_t row = c->builder.rows - 1;
    if (!d->here || d->order) return builder_time(&c->builder, row, *time);
    if (MEM_ROOM(d->open, row, d->capacity)) return GSV_NO_MEMORY;
    memcpy(d->open[row], time, sizeof d->open[row]);
    return 0;
}

/* Points are between day and month where the day comes first. */
static int finish_dates(struct csv *c)
{
    struct dates *d = &c->dates;
    if (!d->here || d->order) return 0;
    if (d->form.separator == '.') return settle(c, DATE_DAY_FIRST);
    return bad_date(c, &d->first,
                    "may have the day or the month first, and no other date "
                    "decides which; write the dates as year-month-day, such as "
                    "2005-01-31");
}

/* --- Rows --------------------------------------------------------------- */

static int find_track(struct csv *c, size_t *track)
{
    *track = 0;
    if (c->series != NONE) {
        const struct cell *label = &c->record.cell[c->series];
        return builder_label(&c->builder, label->text, label->size, track);
    }
    return c->builder.label.count ? 0 : builder_next(&c->builder, track);
}

/* A comment between the rows: the first cell may begin with '#' only if it is a
 * label or is not used. */
static bool is_remark(const struct csv *c)
{
    const struct record *r = &c->record;
    bool hash = r->cell->size && *r->cell->text == '#' && !r->cell->quoted;
    return hash && (r->count != c->cells || c->time == 0 || *c->column != NONE);
}

static int read_row(struct csv *c)
{
    const struct record *r = &c->record;
    if (is_remark(c))
        return fail(GSV_BAD_INPUT,
                    "%s:%zu: the line begins with '#'; comments are allowed "
                    "only above the header: remove it",
                    c->text.source, r->line);
    if (r->count != c->cells)
        return fail(GSV_BAD_INPUT,
                    "%s:%zu: the row has %zu cell%s, but the header has %zu",
                    c->text.source, r->line, r->count, r->count > 1 ? "s" : "",
                    c->cells);
    double time[2];
    size_t track;
    int status = read_time(c, time);
    for (size_t i = 0; i < c->cells && !status; i++)
        if (c->column[i] != NONE)
            status = parse_value(c, i, &c->value[c->column[i]]);
    if (!status) status = find_track(c, &track);
    if (!status) status = builder_hold(&c->builder, track, c->value, r->line);
    return status ? status : set_time(c, time);
}

static int read_rows(struct csv *c)
{
    for (;;) {
        int status = record_read(&c->record, &c->text);
        if (status || !c->record.count) return status;
        status = read_row(c);
        if (status) return status;
    }
}

/* --- Note --------------------------------------------------------------- */

/* "a, b", or "". */
static int list_ignored(const struct csv *c, struct phrase *p)
{
    const char **name = NEW(const char *, c->cells);
    size_t count = 0;
    if (!name) return GSV_NO_MEMORY;
    for (size_t i = 0; i < c->cells; i++)
        if (i != c->time && i != c->series && c->column[i] == NONE)
            name[count++] = *c->cell_name[i] ? c->cell_name[i] : "(unnamed)";
    *p = phrase_list(count, name);
    mem_free(name);
    return 0;
}

static struct phrase dates_note(const struct csv *c)
{
    static const char *const ORDER[][3] = {
        [DATE_DAY_FIRST] = {"day", "month", "year"},
        [DATE_MONTH_FIRST] = {"month", "day", "year"},
        [DATE_YEAR_FIRST] = {"year", "month", "day"}};
    const struct dates *d = &c->dates;
    const char *const *order = ORDER[d->order];
    char separator = d->form.separator;
    struct phrase p = {{0}};
    if (d->here)
        snprintf(p.text, sizeof p.text,
                 "dates of column '%s' read as %s%c%s%c%s: time is in days "
                 "since 1970-01-01%s",
                 phrase_name(c->cell_name[c->time]).text, order[0], separator,
                 order[1], separator, order[2], d->form.zoned ? " UTC" : "");
    return p;
}

static int write_note(struct csv *c)
{
    struct phrase ignored, dates = dates_note(c);
    char remarks[80] = "";
    int status = list_ignored(c, &ignored);
    if (status) return status;
    size_t size = sizeof remarks + sizeof ignored.text + sizeof dates.text + 32;
    c->note = mem_new(size, 1);
    if (!c->note) return GSV_NO_MEMORY;
    if (c->remarks)
        snprintf(remarks, sizeof remarks,
                 "%zu line%s above the header skipped, which begin%s with '#'",
                 c->remarks, c->remarks == 1 ? "" : "s",
                 c->remarks == 1 ? "s" : "");
    snprintf(c->note, size, "%s%s%s%s%s%s", remarks,
             *remarks && (*dates.text || *ignored.text) ? "; " : "", dates.text,
             *dates.text && *ignored.text ? "; " : "",
             *ignored.text ? "columns ignored: " : "", ignored.text);
    return 0;
}

static int read_all(struct csv *c, const struct series_request *wanted)
{
    int status = text_open(&c->text, wanted->path);
    c->builder.source = c->text.source;
    c->builder.in_file = wanted->in_file;
    c->category = wanted->name ? wanted->category : NULL;
    c->words = wanted->words;
    if (!status) status = csv_header(c, wanted);
    if (!status) status = read_rows(c);
    if (!status && !c->builder.rows)
        status = fail(GSV_BAD_INPUT, "%s: there are no rows below the header",
                      c->text.source);
    if (!status) status = finish_dates(c);
    return status ? status : write_note(c);
}

gsv_series *csv_read(const struct series_request *wanted)
{
    struct csv c = {0};
    gsv_series *s = NULL;
    if (!read_all(&c, wanted)) s = builder_finish(&c.builder, c.note);
    builder_free(&c.builder);
    record_free(&c.record);
    words_free(&c.header);
    mem_free(c.cell_name);
    mem_free(c.column);
    mem_free(c.dates.open);
    mem_free(c.value);
    mem_free(c.note);
    text_close(&c.text);
    return s;
}
