/* SPDX-License-Identifier: MIT */
/* Text output. Labels, names of columns and files, and model texts may come
 * from an untrusted source: control characters are printed as escapes such as
 * \x1b. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Longer texts are allocated, and cut if there is no memory. */
enum { LINE = 4096, FORMAT = 2048 };

void say_lines(const char *text, FILE *out)
{
    char shown[GSV_VISIBLE];
    for (size_t n; (n = gsv_visible(text, shown)); text += n)
        fputs(*text == '\n' || *text == '\t' ? (char[]){*text, 0} : shown, out);
}

const char *next_line(const char **text, int *length)
{
    const char *line = *text += strspn(*text, "\n");
    *length = (int)strcspn(line, "\n");
    *text += *length;
    return *length ? line : NULL;
}

void say_warnings(const char *text)
{
    int n;
    for (const char *line; (line = next_line(&text, &n));)
        say(stderr, "warning: %.*s\n", n, line);
}

/* The formatted text in `room`, or in allocated memory if it is longer. */
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

/* Line ends of the format are printed, those of the arguments are escaped. To
 * distinguish them, a second text has another character for those of the
 * format. */
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

void redraw(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("\r", stderr);
    say_args(stderr, format, args);
    fputs("\033[K", stderr);
    fflush(stderr);
    va_end(args);
}

json_t *json_text(const char *text)
{
    json_t *j = json_string(text);
    char *shown = j ? NULL : malloc(strlen(text) * (GSV_VISIBLE - 1) + 1);
    if (j) return j;
    if (!shown) complain_memory();
    char *end = shown;
    for (size_t n; shown && (*end = 0, n = gsv_visible(text, end)); text += n)
        end += strlen(end);
    if (shown) j = json_string(shown);
    free(shown);
    return j;
}

json_t *json_lines(const char *text)
{
    json_t *list = json_array();
    int n;
    for (const char *line; (line = next_line(&text, &n));)
        json_array_append_new(list, json_stringn(line, (size_t)n));
    return list;
}

/* jansson escapes characters below a space; other control characters get an
 * escape here, which a JSON parser reads as the same text. */
void put_json(const char *text, FILE *out)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        bool pair = s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0;
        if (*s == 0x7f || pair) fprintf(out, "\\u00%02x", pair ? *++s : *s);
        else putc(*s, out);
    }
}
