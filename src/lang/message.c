/* SPDX-License-Identifier: MIT */
/* Messages about a model's text: the sentence, the line, and a caret under the
 * wrong part. */
#include "lang/message.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/plain.h"
#include "data/visible.h"

enum {
    LONGEST_LINE = 120, /* a longer one is shown in part              */
    WINDOW = 100,       /* bytes of such a line that are shown        */
    BEFORE = 40         /* of these, so many stand before the caret */
};

const char *text_start(const char *text)
{
    return strncmp(text, "\xEF\xBB\xBF", 3) ? text : text + 3;
}

size_t break_length(const char *s)
{
    if (*s == '\n') return 1;
    if (*s != '\r') return 0;
    return s[1] == '\n' ? 2 : 1;
}

/* A part of a line: from, up to but without to. */
struct span {
    const char *from, *to;
};

static struct span find_line(const char *text, size_t line)
{
    const char *from = text_start(text);
    const char *to = from + strcspn(from, "\r\n");
    for (size_t i = 1; i < line && *to; i++) {
        from = to + break_length(to);
        to = from + strcspn(from, "\r\n");
    }
    return (struct span){from, to};
}

static bool continues(const char *s)
{
    return ((unsigned char)*s & 0xC0) == 0x80;
}

/* The part of a long line around its byte number at. Both ends are moved to
 * the start of a character, by no more than a character may have. */
static struct span find_window(struct span line, size_t at)
{
    size_t length = (size_t)(line.to - line.from);
    if (length <= LONGEST_LINE) return line;
    size_t first = at > BEFORE ? at - BEFORE : 0;
    if (first > length - WINDOW) first = length - WINDOW;
    struct span shown = {line.from + first, line.from + first + WINDOW};
    for (int i = 0; i < 3 && shown.from > line.from && continues(shown.from);
         i++)
        shown.from--;
    for (int i = 0; i < 3 && shown.to < line.to && continues(shown.to); i++)
        shown.to++;
    return shown;
}

/* Two lines that grow side by side: what stands in the text, and the marks
 * below it. */
struct picture {
    char line[LONGEST_LINE + 16], mark[LONGEST_LINE + 16];
    size_t lines, marks;
};

static void draw(struct picture *out, const char *character, size_t bytes,
                 char mark)
{
    memcpy(out->line + out->lines, character, bytes);
    out->lines += bytes;
    if (mark) out->mark[out->marks++] = mark;
}

/* One character of the text. A byte that a terminal would obey, or that is not
 * UTF-8, is shown as '?'. Returns the bytes it took. */
static size_t draw_character(struct picture *out, const char *s, char mark)
{
    size_t bytes = utf8_length(s, 4);
    bool tab = *s == '\t';
    if (!tab && !printable_length(s, 4)) draw(out, "?", 1, mark);
    else draw(out, s, bytes, mark == ' ' && tab ? '\t' : mark);
    return bytes ? bytes : 1;
}

static void draw_line(struct picture *out, struct span line, struct place place)
{
    size_t at = place.column ? place.column - 1 : 0;
    size_t length = (size_t)(line.to - line.from);
    if (at > length) at = length;
    struct span shown = find_window(line, at);
    const char *first = line.from + at;
    if (shown.from > line.from) draw(out, "...", 3, 0);
    for (size_t i = 0; i < out->lines; i++)
        out->mark[out->marks++] = ' ';
    const char *s = shown.from;
    while (s < shown.to) {
        bool inside = s >= first && (size_t)(s - first) < place.length;
        char mark = s == first ? '^' : inside ? '~' : s < first ? ' ' : 0;
        s += draw_character(out, s, mark);
    }
    if (first >= shown.to) out->mark[out->marks++] = '^';
    if (shown.to < line.to) draw(out, "...", 3, 0);
}

int complain(const struct source *source, struct place place,
             const char *format, ...)
{
    char sentence[1024];
    va_list args;
    va_start(args, format);
    plain_format_list(sentence, sizeof sentence, format, args);
    va_end(args);
    struct picture picture = {0};
    draw_line(&picture, find_line(source->text, place.line), place);
    return fail(GSV_BAD_INPUT, "%.1000s:%zu:%zu: %s\n    %s\n    %s",
                source->name, place.line, place.column, sentence, picture.line,
                picture.mark);
}
