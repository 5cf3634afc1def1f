/* SPDX-License-Identifier: MIT */
/* Series from arrays and from files. */
#include "data/series.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/builder.h"
#include "data/csv.h"
#include "data/npy.h"
#include "data/number.h"
#include "data/phrase.h"
#include "data/series_file.h"

static int check_starts(size_t tracks, const size_t *start, size_t columns)
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
                        "every track needs at least one row",
                        t + 1, start[t], start[t + 1]);
    if (columns > SIZE_MAX / sizeof(double) / start[tracks])
        return fail(GSV_BAD_INPUT,
                    "data: %zu columns of %zu rows are more than fit into "
                    "memory",
                    columns, start[tracks]);
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
            status = g->borrow ? builder_look(b, t, g->time[i], cell)
                               : builder_add(b, t, g->time[i], cell, 0);
        }
        if (status) return status;
    }
    return 0;
}

static gsv_series *take(const struct given *g)
{
    struct series_builder b = {.source = "data",
                               .remedy = "times must increase within a track"};
    struct plain_locale locale;
    gsv_series *s = NULL;
    if (check_starts(g->tracks, g->start, g->columns)) return NULL;
    plain_begin(&locale);
    double *cell = NEW(double, g->columns);
    if (cell && !builder_names(&b, g->columns, g->name) &&
        !take_rows(&b, g, cell))
        s = g->borrow ? builder_view(&b, g->start, g->time, g->value)
                      : builder_finish(&b, "");
    mem_free(cell);
    builder_free(&b);
    plain_end(&locale);
    return s;
}

gsv_series *gsv_series_new(size_t tracks, const size_t *start, size_t columns,
                           const char *const *name, const double *time,
                           const double *value)
{
    if (ANY_NULL(start, time) || (columns && ANY_NULL(value))) return NULL;
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
    if (ANY_NULL(start, time) || (columns && ANY_NULL(value))) return NULL;
    return take(&(struct given){.tracks = tracks,
                                .columns = columns,
                                .start = start,
                                .label = label,
                                .name = name,
                                .time = time,
                                .value = value,
                                .borrow = true});
}

gsv_series *series_read(const struct series_request *wanted)
{
    struct plain_locale locale;
    plain_begin(&locale);
    size_t n = strlen(wanted->path);
    bool npy = n >= 4 && strcmp(wanted->path + n - 4, ".npy") == 0;
    gsv_series *s = npy ? npy_read(wanted) : csv_read(wanted);
    plain_end(&locale);
    return s;
}

gsv_series *gsv_series_read_named(const char *path, const char *time,
                                  const char *series, size_t columns,
                                  const char *const *name)
{
    if (ANY_NULL(path)) return NULL;
    return series_read(&(struct series_request){.path = path,
                                                .time = time,
                                                .series = series,
                                                .columns = columns,
                                                .name = name});
}

gsv_series *gsv_series_read(const char *path, size_t columns,
                            const char *const *name)
{
    if (ANY_NULL(path)) return NULL;
    return gsv_series_read_named(path, NULL, NULL, columns, name);
}

gsv_series *gsv_series_read_words(const char *path, const char *time,
                                  const char *series)
{
    if (ANY_NULL(path)) return NULL;
    return series_read(&(struct series_request){
        .path = path, .time = time, .series = series, .words = true});
}

int series_check(const gsv_series *s)
{
    if (s->rows && s->tracks && s->time && (s->value || !s->columns) &&
        s->start && (s->name || !s->columns) && s->label && s->line &&
        s->source)
        return 0;
    return fail(GSV_BAD_INPUT, "the series has no rows, or arrays that are "
                               "NULL; make it by gsv_series_new() or "
                               "gsv_series_read()");
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
    if (s->file) {
        series_file_free(s);
        return;
    }
    free_texts(s->name, s->columns);
    free_texts(s->label, s->tracks);
    free_texts(s->word, s->words);
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
