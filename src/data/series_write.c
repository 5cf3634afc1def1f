/* SPDX-License-Identifier: MIT */
/* Series as CSV. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/category.h"
#include "data/file.h"
#include "data/number.h"
#include "data/series.h"

/* Quotes what would not come back as it is, and an empty label, which alone
 * on a line would be a blank line. */
static void put_text(const char *s, FILE *out)
{
    size_t n = strlen(s);
    bool edge = n == 0 || strchr(" \t", s[0]) || strchr(" \t", s[n - 1]);
    if (!edge && !strpbrk(s, ",;\t\"\r\n")) {
        fputs(s, out);
        return;
    }
    putc('"', out);
    for (; *s; s++) {
        if (*s == '"') putc('"', out);
        putc(*s, out);
    }
    putc('"', out);
}

static void put_number(double x, FILE *out)
{
    char text[NUMBER_TEXT];
    if (isnan(x)) return;
    number_write(x, text);
    fputs(text, out);
}

static void put_track(const gsv_series *s, size_t track, FILE *out)
{
    for (size_t i = s->start[track]; i < s->start[track + 1]; i++) {
        put_text(s->label[track], out);
        putc(',', out);
        put_number(s->time[i], out);
        for (size_t c = 0; c < s->columns; c++) {
            double x = s->value[c * s->rows + i];
            char room[NUMBER_TEXT];
            putc(',', out);
            if (s->words && category_is_word(x))
                put_text(category_text(s, x, room), out);
            else put_number(x, out);
        }
        putc('\n', out);
    }
}

/* A full disk should not cost the time of all tracks. */
static void put_series(const void *series, FILE *out)
{
    const gsv_series *s = series;
    fputs("series,time", out);
    for (size_t c = 0; c < s->columns; c++) {
        putc(',', out);
        put_text(s->name[c], out);
    }
    putc('\n', out);
    for (size_t t = 0; t < s->tracks && !ferror(out); t++)
        put_track(s, t, out);
}

enum gsv_status gsv_series_write(const gsv_series *s, const char *path)
{
    if (ANY_NULL(s, path) || series_check(s)) return GSV_BAD_INPUT;
    struct plain_locale locale;
    plain_begin(&locale);
    int status = file_write(path, put_series, s);
    plain_end(&locale);
    return status;
}
