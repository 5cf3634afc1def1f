/* SPDX-License-Identifier: MIT */
/* A record is scanned in the buffer, up to the NUL after it. When the NUL
 * comes first and more can be read, the scan starts afresh with more: this
 * happens once a buffer, and keeps the scan free of states. */
#include "data/record.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

struct scan {
    const struct text *text;
    char separator;
    char *p;
    size_t lines; /* line ends passed                           */
    bool cut;     /* the buffer ended before the record did     */
};

static bool is_blank(char c, char separator)
{
    return c == ' ' || (c == '\t' && separator != '\t');
}

static bool is_end(char c, char separator)
{
    return c == separator || c == '\n' || c == '\r' || c == '\0';
}

char record_separator(const struct text *t)
{
    const char *p = t->buffer + t->begin;
    p += strspn(p, " \t\r\n");
    char found = ',';
    bool quoted = false;
    for (; *p && (quoted || (*p != '\n' && *p != '\r')); p++) {
        if (*p == '"') quoted = !quoted;
        if (quoted) continue;
        if (*p == ',') return ',';
        if (*p == ';' || (*p == '\t' && found == ',')) found = *p;
    }
    return found;
}

/* At the buffer's end it cannot be told what comes next, unless the file ends
 * there too. */
static bool at_edge(const struct scan *s, const char *p)
{
    return *p == '\0' && !s->text->ended;
}

/* Moves past the closing quote; the text's line ends are counted. */
static int scan_quoted(struct scan *s, struct cell *cell, size_t line,
                       size_t number)
{
    char *p = s->p + 1;
    *cell = (struct cell){.text = p, .quoted = true};
    for (; *p; p++) {
        if (*p == '\n' || (*p == '\r' && p[1] != '\n')) s->lines++;
        if (*p != '"') continue;
        if (p[1] != '"') break;
        cell->doubled = true;
        p++;
    }
    s->cut = at_edge(s, *p ? p + 1 : p);
    if (s->cut) return 0;
    if (!*p)
        return fail(GSV_BAD_INPUT,
                    "%s:%zu:%zu: a quote is opened here and never closed",
                    s->text->source, line, number);
    cell->size = (size_t)(p - cell->text);
    s->p = p + 1;
    return 0;
}

static void scan_plain(struct scan *s, struct cell *cell)
{
    char *p = s->p;
    while (!is_end(*p, s->separator))
        p++;
    s->cut = at_edge(s, p);
    s->p = p;
    while (p > cell->text && is_blank(p[-1], s->separator))
        p--;
    cell->size = (size_t)(p - cell->text);
}

static int scan_cell(struct scan *s, struct cell *cell, size_t line,
                     size_t number)
{
    while (is_blank(*s->p, s->separator))
        s->p++;
    *cell = (struct cell){.text = s->p};
    if (*s->p != '"') {
        scan_plain(s, cell);
        return 0;
    }
    int status = scan_quoted(s, cell, line, number);
    if (status || s->cut) return status;
    while (is_blank(*s->p, s->separator))
        s->p++;
    s->cut = at_edge(s, s->p);
    if (!is_end(*s->p, s->separator))
        return fail(GSV_BAD_INPUT,
                    "%s:%zu:%zu: there is text after the closing quote; "
                    "write a quote inside a cell twice",
                    s->text->source, line, number);
    return 0;
}

/* Moves over the line end at the end of the record. */
static void scan_line_end(struct scan *s)
{
    if (*s->p == '\r') {
        s->cut = at_edge(s, s->p + 1);
        s->p += s->p[1] == '\n' ? 2 : 1;
        s->lines++;
    } else if (*s->p == '\n') {
        s->p++;
        s->lines++;
    }
}

static int scan_record(struct scan *s, struct record *r, size_t line)
{
    r->count = 0;
    for (;;) {
        if (MEM_ROOM(r->cell, r->count, r->capacity)) return GSV_NO_MEMORY;
        int status = scan_cell(s, &r->cell[r->count], line, r->count + 1);
        if (status || s->cut) return status;
        r->count++;
        if (*s->p != s->separator) break;
        s->p++;
    }
    scan_line_end(s);
    return 0;
}

static void undouble(struct cell *cell)
{
    size_t n = 0;
    for (size_t i = 0; i < cell->size; i++) {
        cell->text[n++] = cell->text[i];
        if (cell->text[i] == '"') i++;
    }
    cell->size = n;
}

static bool is_empty(const struct record *r)
{
    return r->count == 1 && r->cell->size == 0 && !r->cell->quoted;
}

int record_read(struct record *r, struct text *t)
{
    r->count = 0;
    while (t->begin < t->end || !t->ended) {
        struct scan s = {t, r->separator, t->buffer + t->begin, 0, false};
        int status = scan_record(&s, r, t->line);
        if (status) return status;
        if (s.cut) {
            if ((status = text_more(t))) return status;
            continue;
        }
        r->line = t->line;
        t->line += s.lines;
        t->begin = (size_t)(s.p - t->buffer);
        if (!is_empty(r)) break;
        r->count = 0;
    }
    for (size_t i = 0; i < r->count; i++)
        if (r->cell[i].doubled) undouble(&r->cell[i]);
    return 0;
}

void record_free(struct record *r)
{
    mem_free(r->cell);
    *r = (struct record){0};
}
