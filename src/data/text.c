/* SPDX-License-Identifier: MIT */
#include "data/text.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/file_type.h"

enum { BUFFER = 1 << 18, LONGEST_LINE = 1 << 26 };

/* Makes room after the unread bytes: by moving them, or by doubling. */
static int make_room(struct text *t)
{
    if (t->begin) {
        memmove(t->buffer, t->buffer + t->begin, t->end - t->begin);
        t->end -= t->begin;
        t->begin = 0;
    }
    if (t->end < t->size) return 0;
    if (t->size >= LONGEST_LINE)
        return fail(GSV_BAD_INPUT,
                    "%s:%zu: the line is longer than %d MiB; is a quote left "
                    "open?",
                    t->source, t->line, LONGEST_LINE >> 20);
    size_t size = t->size ? 2 * t->size : BUFFER;
    char *buffer = mem_grow(t->buffer, t->end, size + 1, 1);
    if (!buffer) return GSV_NO_MEMORY;
    t->buffer = buffer;
    t->size = size;
    return 0;
}

int text_more(struct text *t)
{
    int status = make_room(t);
    if (status) return status;
    char *at = t->buffer + t->end;
    size_t room = t->size - t->end;
    errno = 0;
    size_t got = fread(at, 1, room, t->file);
    if (ferror(t->file))
        return fail(GSV_BAD_INPUT, "cannot read %s: %s", t->source,
                    strerror(errno));
    const struct file_type *type =
        t->line == 1 && !t->end ? file_type_of(at, got) : NULL;
    if (type)
        return fail(GSV_BAD_INPUT, "%s is %s; %s", t->source, type->what,
                    type->remedy);
    if (memchr(at, '\0', got))
        return fail(GSV_BAD_INPUT,
                    "%s: it contains a zero byte, so it is not UTF-8 text; "
                    "save it as a plain CSV file",
                    t->source);
    t->end += got;
    t->buffer[t->end] = '\0';
    t->ended = got < room;
    return 0;
}

int text_open(struct text *t, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    *t = (struct text){.source = standard ? "stdin" : path, .line = 1};
    t->file = standard ? stdin : fopen(path, "rb");
    if (!t->file)
        return fail(GSV_BAD_INPUT, "cannot open %s: %s", path, strerror(errno));
    int status = text_more(t);
    if (status) return status;
    if (strncmp(t->buffer, "\xef\xbb\xbf", 3) == 0) t->begin = 3;
    return 0;
}

/* The rest of a line: of its own, so that a line may be longer than the
 * buffer. */
static int skip_line(struct text *t)
{
    for (;;) {
        const char *at = t->buffer + t->begin;
        size_t n = strcspn(at, "\r\n");
        bool edge = !at[n] || (at[n] == '\r' && !at[n + 1]);
        t->begin += n;
        if (edge && !t->ended) {
            int status = text_more(t);
            if (status) return status;
            continue;
        }
        if (at[n]) t->begin += at[n] == '\r' && at[n + 1] == '\n' ? 2 : 1;
        if (at[n]) t->line++;
        return 0;
    }
}

int text_skip_remarks(struct text *t, size_t *count)
{
    *count = 0;
    for (;;) {
        const char *at = t->buffer + t->begin;
        size_t n = strspn(at, " \t");
        if (!at[n] && !t->ended) {
            int status = text_more(t);
            if (status) return status;
            continue;
        }
        bool remark = at[n] == '#';
        if (!remark && at[n] != '\r' && at[n] != '\n') return 0;
        *count += remark;
        int status = skip_line(t);
        if (status) return status;
    }
}

void text_close(struct text *t)
{
    if (t->file && t->file != stdin) fclose(t->file);
    mem_free(t->buffer);
    *t = (struct text){0};
}
