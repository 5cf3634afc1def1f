/* SPDX-License-Identifier: MIT */
/* Checking and grouping of rows, whatever they come from. */
#include "data/builder.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/csv.h"
#include "data/date.h"
#include "data/npy.h"
#include "data/number.h"
#include "data/phrase.h"
#include "data/series.h"
#include "data/series_file.h"

/* --- Pages --------------------------------------------------------------- */

/* Most files are small. */
enum { FIRST_ROWS = 1 << 10, PAGE_ROWS = 1 << 16 };

static size_t page_first(size_t page)
{
    return page ? FIRST_ROWS + (page - 1) * PAGE_ROWS : 0;
}

static size_t page_of(size_t row)
{
    return row < FIRST_ROWS ? 0 : 1 + (row - FIRST_ROWS) / PAGE_ROWS;
}

static struct builder_row *row_at(const struct series_builder *b, size_t row)
{
    size_t page = page_of(row);
    return &b->page[page].row[row - page_first(page)];
}

static double *cells_at(const struct series_builder *b, size_t row,
                        size_t columns)
{
    size_t page = page_of(row);
    return b->page[page].cell + (row - page_first(page)) * columns;
}

static void free_page(struct builder_page *p)
{
    if (!p->file.data) {
        mem_free(p->row);
        mem_free(p->cell);
    }
    paged_free(&p->file);
    *p = (struct builder_page){0};
}

/* Rows are whole cache lines, so that cells are aligned after them. */
static int page_in_file(struct builder_page *p, size_t rows, size_t columns)
{
    size_t row = rows * sizeof *p->row;
    int status =
        paged_new(&p->file, row + rows * columns * sizeof *p->cell, NULL);
    if (status) return status;
    p->row = p->file.data;
    p->cell = (double *)(void *)((char *)p->file.data + row);
    return 0;
}

/* For one more row. */
static int make_room(struct series_builder *b)
{
    if (page_of(b->rows) < b->pages) return 0;
    if (MEM_ROOM(b->page, b->pages, b->page_capacity)) return GSV_NO_MEMORY;
    if (b->pages) paged_rest(&b->page[b->pages - 1].file);
    struct builder_page *p = &b->page[b->pages++];
    size_t rows = b->pages > 1 ? PAGE_ROWS : FIRST_ROWS;
    *p = (struct builder_page){0};
    if (b->in_file) return page_in_file(p, rows, b->name.count);
    p->row = NEW(struct builder_row, rows);
    p->cell = NEW(double, rows * b->name.count);
    return p->row && p->cell ? 0 : GSV_NO_MEMORY;
}

/* --- Checks -------------------------------------------------------------- */

/* Where a row stands, for messages. */
struct place {
    char prefix[1024]; /* "data.csv:5:1: " or "data.npy: " */
    char row[64];      /* "on line 5" or "in row 5"        */
};

static struct place place_of(const struct series_builder *b, size_t line,
                             size_t row)
{
    struct place p;
    if (line) {
        snprintf(p.prefix, sizeof p.prefix, "%s:%zu:%zu: ", b->source, line,
                 b->time_cell);
        snprintf(p.row, sizeof p.row, "on line %zu", line);
    } else {
        snprintf(p.prefix, sizeof p.prefix, "%s: ", b->source);
        snprintf(p.row, sizeof p.row, "in row %zu", row);
    }
    return p;
}

/* " of series 'a'", where there may be several. */
static struct phrase series_of(const struct series_builder *b, size_t track)
{
    struct phrase p = {{0}};
    if (b->label.count > 1)
        snprintf(p.text, sizeof p.text, " of series '%s'",
                 phrase_name(b->label.text[track]).text);
    return p;
}

static void write_time(const struct series_builder *b, double time,
                       char text[static DATE_TEXT])
{
    if (b->dated) date_write(time, text);
    else number_write(time, text);
}

static int bad_order(const struct series_builder *b,
                     const struct builder_row *row, double time)
{
    const struct builder_track *t = &b->track[row->track];
    const struct builder_row *last = row_at(b, t->last);
    struct place here = place_of(b, row->line, t->rows + 1);
    struct place there = place_of(b, last->line, t->rows);
    char now[DATE_TEXT], before[DATE_TEXT];
    write_time(b, time, now);
    write_time(b, last->time, before);
    if (time == last->time)
        return fail(GSV_BAD_INPUT, "%sduplicate time %s %s, as %s%s; %s",
                    here.prefix, now, here.row, there.row,
                    series_of(b, row->track).text, b->remedy);
    return fail(GSV_BAD_INPUT, "%stime %s %s is not after %s %s%s; %s%s",
                here.prefix, now, here.row, before, there.row,
                series_of(b, row->track).text, b->remedy,
                t->rows == 1 ? "; sort the rows by time, the oldest first"
                             : "");
}

static int check_time(const struct series_builder *b,
                      const struct builder_row *row, double time)
{
    const struct builder_track *t = &b->track[row->track];
    if (!isfinite(time)) {
        struct place here = place_of(b, row->line, t->rows + 1);
        return fail(GSV_BAD_INPUT, "%sthe time %s%s is %s; every row needs one",
                    here.prefix, here.row, series_of(b, row->track).text,
                    isnan(time) ? "missing" : "infinite");
    }
    if (t->rows && !(time > row_at(b, t->last)->time))
        return bad_order(b, row, time);
    return 0;
}

static int check_values(const struct series_builder *b, size_t track,
                        const double *value, size_t line)
{
    assert(track < b->label.count && b->track);
    for (size_t c = 0; c < b->name.count; c++) {
        if (!isinf(value[c])) continue;
        struct place here = place_of(b, line, b->track[track].rows + 1);
        return fail(GSV_BAD_INPUT,
                    "%scolumn '%s' is infinite %s%s; a missing value is NaN",
                    here.prefix, phrase_name(b->name.text[c]).text, here.row,
                    series_of(b, track).text);
    }
    return 0;
}

static int add_name(struct series_builder *b, const char *name)
{
    if (!name || !*name)
        return fail(GSV_BAD_INPUT, "%s: column %zu needs a name", b->source,
                    b->name.count + 1);
    if (strcmp(name, "time") == 0 || strcmp(name, "series") == 0)
        return fail(GSV_BAD_INPUT,
                    "%s: '%s' cannot be a column of values; rename it",
                    b->source, name);
    size_t n = strlen(name);
    if (words_find(&b->name, name, n) != WORDS_NONE)
        return fail(GSV_BAD_INPUT, "%s: column '%s' is named twice", b->source,
                    phrase_name(name).text);
    return words_add(&b->name, name, n);
}

int builder_names(struct series_builder *b, size_t columns,
                  const char *const *name)
{
    for (size_t c = 0; c < columns; c++) {
        char number[32];
        snprintf(number, sizeof number, "x%zu", c + 1);
        int status = add_name(b, name ? name[c] : number);
        if (status) return status;
    }
    return 0;
}

int builder_label(struct series_builder *b, const char *label, size_t n,
                  size_t *track)
{
    *track = words_find(&b->label, label, n);
    if (*track != WORDS_NONE) return 0;
    *track = b->label.count;
    if (MEM_ROOM(b->track, *track, b->track_capacity)) return GSV_NO_MEMORY;
    b->track[*track] = (struct builder_track){0};
    return words_add(&b->label, label, n);
}

int builder_next(struct series_builder *b, size_t *track)
{
    char number[32];
    int n = snprintf(number, sizeof number, "%zu", b->label.count + 1);
    return builder_label(b, number, (size_t)n, track);
}

int builder_hold(struct series_builder *b, size_t track, const double *value,
                 size_t line)
{
    int status = check_values(b, track, value, line);
    if (status) return status;
    size_t columns = b->name.count;
    if (make_room(b)) return GSV_NO_MEMORY;
    *row_at(b, b->rows) = (struct builder_row){NAN, line, track};
    if (columns)
        memcpy(cells_at(b, b->rows, columns), value, columns * sizeof *value);
    b->rows++;
    return 0;
}

int builder_time(struct series_builder *b, size_t row, double time)
{
    struct builder_row *r = row_at(b, row);
    int status = check_time(b, r, time);
    if (status) return status;
    r->time = time;
    b->track[r->track].rows++;
    b->track[r->track].last = row;
    return 0;
}

int builder_add(struct series_builder *b, size_t track, double time,
                const double *value, size_t line)
{
    int status = builder_hold(b, track, value, line);
    return status ? status : builder_time(b, b->rows - 1, time);
}

int builder_look(struct series_builder *b, size_t track, double time,
                 const double *value)
{
    const struct builder_row row = {NAN, 0, track};
    int status = b->pages ? 0 : make_room(b);
    if (!status) status = check_values(b, track, value, 0);
    if (!status) status = check_time(b, &row, time);
    if (status) return status;
    row_at(b, 0)->time = time;
    b->track[track].rows++;
    return 0;
}

/* Row i goes to the next free place of its track: a stable sort by track. */
static void place_rows(struct series_builder *b, gsv_series *s)
{
    for (size_t t = 0; t < s->tracks; t++) {
        s->start[t + 1] = s->start[t] + b->track[t].rows;
        b->track[t].rows = s->start[t];
    }
    for (size_t i = 0; i < b->rows; i++) {
        const struct builder_row *row = row_at(b, i);
        const double *cell = cells_at(b, i, s->columns);
        size_t at = b->track[row->track].rows++;
        s->time[at] = row->time;
        s->line[at] = row->line;
        for (size_t c = 0; c < s->columns; c++)
            s->value[c * s->rows + at] = cell[c];
        if (i + 1 == page_first(page_of(i + 1)))
            free_page(&b->page[page_of(i)]);
        series_passed(s, i);
    }
}

/* All but time and value; the texts are taken. */
static gsv_series *finish_frame(struct series_builder *b, size_t rows,
                                const char *note)
{
    gsv_series *s = NEW(gsv_series, 1);
    if (!s) return NULL;
    s->rows = rows;
    s->columns = b->name.count;
    s->tracks = b->label.count;
    s->name = words_take(&b->name);
    s->label = words_take(&b->label);
    s->words = b->word.count;
    s->word = words_take(&b->word);
    s->line = NEW(size_t, s->rows);
    s->start = NEW(size_t, s->tracks + 1);
    s->source = mem_string(b->source);
    s->note = mem_string(note);
    if (s->line && s->start && s->source && s->note) return s;
    gsv_series_free(s);
    return NULL;
}

static gsv_series *finish_in_memory(struct series_builder *b, const char *note)
{
    gsv_series *s = finish_frame(b, b->rows, note);
    if (!s) return NULL;
    s->time = NEW(double, s->rows);
    s->value = NEW(double, s->rows * s->columns);
    if (s->time && s->value) return s;
    gsv_series_free(s);
    return NULL;
}

gsv_series *builder_finish(struct series_builder *b, const char *note)
{
    gsv_series *s =
        b->in_file ? series_file_new(b, note) : finish_in_memory(b, note);
    if (s) place_rows(b, s);
    return s;
}

gsv_series *builder_view(struct series_builder *b, const size_t *start,
                         const double *time, const double *value)
{
    size_t tracks = b->label.count;
    gsv_series *s = finish_frame(b, start[tracks], "");
    if (!s) return NULL;
    memcpy(s->start, start, (tracks + 1) * sizeof *s->start);
    s->borrowed = true;
    s->time = (double *)time;
    s->value = (double *)value;
    return s;
}

void builder_free(struct series_builder *b)
{
    words_free(&b->name);
    words_free(&b->label);
    words_free(&b->word);
    for (size_t i = 0; i < b->pages; i++)
        free_page(&b->page[i]);
    mem_free(b->page);
    mem_free(b->track);
    *b = (struct series_builder){0};
}
