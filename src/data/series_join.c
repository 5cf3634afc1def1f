/* SPDX-License-Identifier: MIT */
/* Series put together by time, and cut. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/builder.h"
#include "data/category.h"
#include "data/series.h"
#include "data/series_join.h"

/* a's column of each of b's, or SIZE_MAX; and a's track in b. */
static size_t find_name(size_t n, char *const *word, const char *wanted)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(word[i], wanted)) return i;
    return SIZE_MAX;
}

struct join {
    struct series_builder builder;
    const gsv_series *a;
    double *cell; /* (columns) */
};

static int add_row(struct join *j, size_t track, const gsv_series *from,
                   const size_t *column, size_t row)
{
    for (size_t c = 0; c < j->a->columns; c++) {
        size_t at = column ? column[c] : c;
        j->cell[c] = at == SIZE_MAX ? NAN : from->value[at * from->rows + row];
    }
    return builder_add(&j->builder, track, from->time[row], j->cell,
                       from->line[row]);
}

static int add_words(struct join *j, const gsv_series *s)
{
    int status = 0;
    for (size_t i = 0; !status && i < s->words; i++)
        status = category_add(&j->builder.word, s->word[i], strlen(s->word[i]));
    return status;
}

static int join_init(struct join *j, const gsv_series *a)
{
    *j = (struct join){.a = a, .cell = NEW(double, a->columns)};
    j->builder.source = a->source;
    if (!j->cell) return GSV_NO_MEMORY;
    int status =
        builder_names(&j->builder, a->columns, (const char *const *)a->name);
    return status ? status : add_words(j, a);
}

static gsv_series *join_end(struct join *j, int status)
{
    gsv_series *s = status ? NULL : builder_finish(&j->builder, "");
    builder_free(&j->builder);
    mem_free(j->cell);
    return s;
}

/* The rows of a track of a, and those of b that come later. */
static int join_track(struct join *j, size_t r, const gsv_series *b,
                      const size_t *column)
{
    const gsv_series *a = j->a;
    const char *label = a->label[r];
    size_t track, other = find_name(b->tracks, b->label, label);
    double end = -INFINITY;
    int status = builder_label(&j->builder, label, strlen(label), &track);
    if (other == SIZE_MAX && b->tracks == 1) other = 0;
    for (size_t i = a->start[r]; !status && i < a->start[r + 1]; i++) {
        status = add_row(j, track, a, NULL, i);
        end = a->time[i];
    }
    for (size_t i = other == SIZE_MAX ? 0 : b->start[other];
         !status && other != SIZE_MAX && i < b->start[other + 1]; i++)
        if (b->time[i] > end) status = add_row(j, track, b, column, i);
    return status;
}

gsv_series *gsv_series_join(const gsv_series *a, const gsv_series *b)
{
    if (ANY_NULL(a, b) || series_check(a) || series_check(b)) return NULL;
    struct join j;
    size_t *column = NEW(size_t, a->columns);
    int status = column ? 0 : GSV_NO_MEMORY;
    for (size_t c = 0; !status && c < a->columns; c++)
        column[c] = find_name(b->columns, b->name, a->name[c]);
    int made = join_init(&j, a);
    if (!made) made = add_words(&j, b);
    if (!status) status = made;
    for (size_t r = 0; !status && r < a->tracks; r++)
        status = join_track(&j, r, b, column);
    gsv_series *s = join_end(&j, status);
    mem_free(column);
    return s;
}

gsv_series *series_until(const gsv_series *s, const double *until)
{
    struct join j;
    int status = join_init(&j, s);
    for (size_t r = 0; !status && r < s->tracks; r++) {
        size_t track;
        status =
            builder_label(&j.builder, s->label[r], strlen(s->label[r]), &track);
        for (size_t i = s->start[r]; !status && i < s->start[r + 1]; i++)
            if (s->time[i] <= until[r]) status = add_row(&j, track, s, NULL, i);
    }
    return join_end(&j, status);
}

/* All rows of a track of `from`, under a label. */
static int add_track(struct join *j, const gsv_series *from, size_t r,
                     const char *label)
{
    size_t track;
    int status = builder_label(&j->builder, label, strlen(label), &track);
    for (size_t i = from->start[r]; !status && i < from->start[r + 1]; i++)
        status = add_row(j, track, from, NULL, i);
    return status;
}

gsv_series *series_track(const gsv_series *s, size_t r, const char *label)
{
    struct join j;
    int status = join_init(&j, s);
    if (!status) status = add_track(&j, s, r, label);
    return join_end(&j, status);
}

gsv_series *series_without(const gsv_series *s, size_t r)
{
    struct join j;
    int status = join_init(&j, s);
    for (size_t k = 0; !status && k < s->tracks; k++)
        if (k != r) status = add_track(&j, s, k, s->label[k]);
    return join_end(&j, status);
}

gsv_series *series_below(size_t n, gsv_series *const *s)
{
    struct join j;
    int status = join_init(&j, s[0]);
    for (size_t k = 0; !status && k < n; k++) {
        status = add_words(&j, s[k]);
        for (size_t r = 0; !status && r < s[k]->tracks; r++)
            status = add_track(&j, s[k], r, s[k]->label[r]);
    }
    return join_end(&j, status);
}

gsv_series *series_with(const gsv_series *s, const double *value)
{
    gsv_series other = *s;
    struct join j;
    other.value = (double *)(size_t)value;
    int status = join_init(&j, &other);
    for (size_t r = 0; !status && r < s->tracks; r++)
        status = add_track(&j, &other, r, s->label[r]);
    return join_end(&j, status);
}
