/* SPDX-License-Identifier: MIT */
/* Messages about a model's text: the sentence, the line it speaks of, a caret
 * under the culprit; and the word that a misspelt one stands for. */
#include "lang/message.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum {
    LONGEST_LINE = 120, /* a longer one is shown in part              */
    WINDOW = 100,       /* bytes of such a line that are shown        */
    BEFORE = 40,        /* of these, so many stand before the culprit */
    LONGEST_WORD = 63   /* a longer one gets no suggestion            */
};

size_t character_length(const char *s)
{
    static const struct {
        unsigned char mask, lead;
        unsigned long least;
    } FORM[] = {{0x80, 0x00, 1},
                {0xE0, 0xC0, 0x80},
                {0xF0, 0xE0, 0x800},
                {0xF8, 0xF0, 0x10000}};
    const unsigned char *u = (const unsigned char *)s;
    for (size_t n = 0; n < 4; n++) {
        if ((u[0] & FORM[n].mask) != FORM[n].lead) continue;
        unsigned long code = u[0] & (unsigned char)~FORM[n].mask;
        for (size_t i = 1; i <= n; i++) {
            if ((u[i] & 0xC0) != 0x80) return 0;
            code = code << 6 | (u[i] & 0x3F);
        }
        bool surrogate = code >= 0xD800 && code < 0xE000;
        bool fits = code >= FORM[n].least && code <= 0x10FFFF;
        return fits && !surrogate ? n + 1 : 0;
    }
    return 0;
}

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
    size_t bytes = character_length(s);
    unsigned char lead = (unsigned char)s[0];
    bool control = (lead < 0x20 && lead != '\t') || lead == 0x7F ||
                   (lead == 0xC2 && (unsigned char)s[1] < 0xA0);
    if (!bytes || control) draw(out, "?", 1, mark);
    else draw(out, s, bytes, mark == ' ' && lead == '\t' ? '\t' : mark);
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
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    struct picture picture = {0};
    draw_line(&picture, find_line(source->text, place.line), place);
    return fail(GSV_BAD_INPUT, "%.1000s:%zu:%zu: %s\n    %s\n    %s",
                source->name, place.line, place.column, sentence, picture.line,
                picture.mark);
}

/* Case is passed over: 'Sigma' for 'sigma' is no typing error to count. */
static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters changed, inserted, left out, or swapped with their neighbour, on the
 * way from a to b; row[i][j] is for the first i and j letters of them. */
static size_t edits(const char *a, size_t m, const char *b, size_t n)
{
    unsigned char row[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            size_t d = i + j;
            if (i && j) {
                bool change = !same(a[i - 1], b[j - 1]);
                d = row[i - 1][j - 1] + (size_t)change;
                d = least(d, row[i - 1][j] + 1u);
                d = least(d, row[i][j - 1] + 1u);
            }
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
                same(a[i - 2], b[j - 1]))
                d = least(d, row[i - 2][j - 2] + 1u);
            row[i][j] = (unsigned char)d;
        }
    return row[m][n];
}

const char *suggestion(const char *word, size_t candidates,
                       const char *const *candidate)
{
    size_t m = strlen(word), best = LONGEST_WORD;
    const char *found = NULL;
    if (m > LONGEST_WORD) return NULL;
    for (size_t i = 0; i < candidates; i++) {
        size_t n = strlen(candidate[i]);
        if (n > LONGEST_WORD) continue;
        size_t d = edits(word, m, candidate[i], n);
        if (d >= best || 3 * d > (m > n ? m : n)) continue;
        best = d;
        found = candidate[i];
    }
    return found;
}
