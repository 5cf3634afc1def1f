/* SPDX-License-Identifier: MIT */
/* Text for people. Labels, names of columns and files, and a model's text come
 * from anywhere: what would command a terminal is shown as an escape, such as
 * \x1b, wherever it is printed. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Longer texts ask for memory, and are cut where there is none. */
enum { LINE = 4096, FORMAT = 2048 };

void put_visible(const char *text, FILE *out)
{
    char shown[GSV_VISIBLE];
    for (size_t n; (n = gsv_visible(text, shown)); text += n)
        fputs(shown, out);
}

void say_lines(const char *text, FILE *out)
{
    char shown[GSV_VISIBLE];
    for (size_t n; (n = gsv_visible(text, shown)); text += n)
        fputs(*text == '\n' || *text == '\t' ? (char[]){*text, 0} : shown, out);
}

char *visible(const char *text)
{
    char *to = malloc(strlen(text) * (GSV_VISIBLE - 1) + 1), *end = to;
    if (!to) {
        complain_memory();
        return NULL;
    }
    for (size_t n; *end = 0, (n = gsv_visible(text, end)); text += n)
        end += strlen(end);
    return to;
}

/* A text in the room, or in memory of its own where that is too small. */
static char *format_text(char room[LINE], const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(room, LINE, format, args);
    char *text = n < LINE ? NULL : malloc((size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text ? text : room;
}

/* Line ends of the format are meant, those of the arguments are not. Both are
 * told apart by a second text, whose format has other characters there. */
void say_args(FILE *out, const char *format, va_list args)
{
    char first[LINE], second[LINE], other[FORMAT], shown[GSV_VISIBLE];
    va_list again;
    va_copy(again, args);
    snprintf(other, sizeof other, "%s", format);
    for (char *c = other; (c = strchr(c, '\n'));)
        *c = '\r';
    char *text = format_text(first, format, args);
    char *mark = format_text(second, other, again);
    va_end(again);
    for (size_t i = 0, n; (n = gsv_visible(text + i, shown)); i += n)
        fputs(text[i] == '\n' && mark[i] == '\r' ? "\n" : shown, out);
    if (text != first) free(text);
    if (mark != second) free(mark);
}

void say(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_args(out, format, args);
    va_end(args);
}

json_t *json_text(const char *text)
{
    json_t *j = json_string(text);
    if (j) return j;
    char *shown = visible(text);
    if (shown) j = json_string(shown);
    free(shown);
    return j;
}

/* JSON escapes what is below a space; the rest of what commands a terminal has
 * an escape, too, and is the same text to whoever reads it. */
void put_json(const char *text, FILE *out)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        bool pair = s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0;
        if (*s == 0x7f || pair) fprintf(out, "\\u00%02x", pair ? *++s : *s);
        else putc(*s, out);
    }
}
