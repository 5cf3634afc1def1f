/* SPDX-License-Identifier: MIT */
/* Series: checking and grouping of rows, whatever they come from. The first
 * station on the line of DESIGN: data -> series. */
#include "data/series.h"

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
    mem_free(p->row);
    mem_free(p->cell);
    *p = (struct builder_page){0};
}

/* For one more row. */
static int make_room(struct series_builder *b)
{
    if (page_of(b->rows) < b->pages) return 0;
    if (MEM_ROOM(b->page, b->pages, b->page_capacity)) return GSV_NO_MEMORY;
    struct builder_page *p = &b->page[b->pages++];
    size_t rows = b->pages > 1 ? PAGE_ROWS : FIRST_ROWS;
    *p = (struct builder_page){.row = NEW(struct builder_row, rows),
                               .cell = NEW(double, rows * b->name.count)};
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
        return fail(GSV_BAD_INPUT, "%sthe time %s%s is %s; give every row one",
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
    if (!*name)
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
    s->line = NEW(size_t, s->rows);
    s->start = NEW(size_t, s->tracks + 1);
    s->source = mem_string(b->source);
    s->note = mem_string(note);
    if (s->line && s->start && s->source && s->note) return s;
    gsv_series_free(s);
    return NULL;
}

gsv_series *builder_finish(struct series_builder *b, const char *note)
{
    gsv_series *s = finish_frame(b, b->rows, note);
    if (!s) return NULL;
    s->time = NEW(double, s->rows);
    s->value = NEW(double, s->rows * s->columns);
    if (!s->time || !s->value) {
        gsv_series_free(s);
        return NULL;
    }
    place_rows(b, s);
    return s;
}

void builder_free(struct series_builder *b)
{
    words_free(&b->name);
    words_free(&b->label);
    for (size_t i = 0; i < b->pages; i++)
        free_page(&b->page[i]);
    mem_free(b->page);
    mem_free(b->track);
    *b = (struct series_builder){0};
}

static int check_starts(size_t tracks, const size_t *start)
{
    if (!tracks) return fail(GSV_BAD_INPUT, "data: there are no tracks");
    if (start[0])
        return fail(GSV_BAD_INPUT,
                    "data: the first track starts at row %zu, "
                    "not at 0",
                    start[0]);
    for (size_t t = 0; t < tracks; t++)
        if (start[t + 1] <= start[t])
            return fail(GSV_BAD_INPUT,
                        "data: track %zu starts at row %zu and ends at %zu; "
                        "every track needs a row",
                        t + 1, start[t], start[t + 1]);
    return 0;
}

/* Checks a row as builder_add() does, but keeps no more of it than its time:
 * the next one must come after it. */
static int look_at(struct series_builder *b, size_t track, double time,
                   const double *value)
{
    const struct builder_row row = {NAN, 0, track};
    int status = check_values(b, track, value, 0);
    if (!status) status = check_time(b, &row, time);
    if (status) return status;
    row_at(b, 0)->time = time;
    b->track[track].rows++;
    return 0;
}

/* A track by its label, or by its number. */
static int begin_track(struct series_builder *b, const char *label)
{
    size_t track, known = b->label.count;
    if (!label) return builder_next(b, &track);
    int status = builder_label(b, label, strlen(label), &track);
    if (status || track == known) return status;
    return fail(GSV_BAD_INPUT,
                "data: tracks %zu and %zu are both labelled '%s'; give each "
                "its own",
                track + 1, known + 1, phrase_name(label).text);
}

/* What is given to the two functions below. */
struct given {
    size_t tracks, columns;
    const size_t *start;
    const char *const *label, *const *name;
    const double *time, *value;
    bool borrow;
};

/* Every row of every track is added, or looked at; cell is room for one. */
static int take_rows(struct series_builder *b, const struct given *g,
                     double *cell)
{
    size_t rows = g->start[g->tracks];
    for (size_t t = 0; t < g->tracks; t++) {
        int status = begin_track(b, g->label ? g->label[t] : NULL);
        for (size_t i = g->start[t]; i < g->start[t + 1] && !status; i++) {
            for (size_t c = 0; c < g->columns; c++)
                cell[c] = g->value[c * rows + i];
            status = g->borrow ? look_at(b, t, g->time[i], cell)
                               : builder_add(b, t, g->time[i], cell, 0);
        }
        if (status) return status;
    }
    return 0;
}

static gsv_series *finish_view(struct series_builder *b, const struct given *g)
{
    gsv_series *s = finish_frame(b, g->start[g->tracks], "");
    if (!s) return NULL;
    memcpy(s->start, g->start, (g->tracks + 1) * sizeof *s->start);
    s->borrowed = true;
    s->time = (double *)g->time;
    s->value = (double *)g->value;
    return s;
}

static gsv_series *take(const struct given *g)
{
    assert(g->start && g->time && (g->value || !g->columns));
    struct series_builder b = {.source = "data",
                               .remedy = "times must increase within a track"};
    struct number_locale locale;
    gsv_series *s = NULL;
    if (check_starts(g->tracks, g->start) || number_begin(&locale)) return NULL;
    double *cell = NEW(double, g->columns);
    if (cell && !builder_names(&b, g->columns, g->name) && !make_room(&b) &&
        !take_rows(&b, g, cell))
        s = g->borrow ? finish_view(&b, g) : builder_finish(&b, "");
    mem_free(cell);
    builder_free(&b);
    number_end(&locale);
    return s;
}

gsv_series *gsv_series_new(size_t tracks, const size_t *start, size_t columns,
                           const char *const *name, const double *time,
                           const double *value)
{
    return take(&(struct given){.tracks = tracks,
                                .columns = columns,
                                .start = start,
                                .name = name,
                                .time = time,
                                .value = value});
}

gsv_series *gsv_series_view(size_t tracks, const size_t *start,
                            const char *const *label, size_t columns,
                            const char *const *name, const double *time,
                            const double *value)
{
    return take(&(struct given){.tracks = tracks,
                                .columns = columns,
                                .start = start,
                                .label = label,
                                .name = name,
                                .time = time,
                                .value = value,
                                .borrow = true});
}

static gsv_series *read_npy(const char *path, bool named, size_t columns,
                            const char *const *name)
{
    if (named)
        return fail_null(GSV_BAD_INPUT,
                         "%s: there are no names in a .npy file, so no column "
                         "of time or series can be named; the first is the "
                         "time",
                         path);
    return npy_read(path, columns, name);
}

gsv_series *gsv_series_read_named(const char *path, const char *time,
                                  const char *series, size_t columns,
                                  const char *const *name)
{
    assert(path);
    struct number_locale locale;
    if (number_begin(&locale)) return NULL;
    size_t n = strlen(path);
    bool npy = n >= 4 && strcmp(path + n - 4, ".npy") == 0;
    gsv_series *s = npy ? read_npy(path, time || series, columns, name)
                        : csv_read(path, time, series, columns, name);
    number_end(&locale);
    return s;
}

gsv_series *gsv_series_read(const char *path, size_t columns,
                            const char *const *name)
{
    return gsv_series_read_named(path, NULL, NULL, columns, name);
}

static void free_texts(char **text, size_t count)
{
    for (size_t i = 0; text && i < count; i++)
        mem_free(text[i]);
    mem_free(text);
}

void gsv_series_free(gsv_series *s)
{
    if (!s) return;
    free_texts(s->name, s->columns);
    free_texts(s->label, s->tracks);
    if (!s->borrowed) {
        mem_free(s->time);
        mem_free(s->value);
    }
    mem_free(s->start);
    mem_free(s->line);
    mem_free(s->source);
    mem_free(s->note);
    mem_free(s);
}
