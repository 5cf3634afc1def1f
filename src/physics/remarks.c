/* SPDX-License-Identifier: MIT */
#include "physics/remarks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { LONGEST = 500 };

int remarks_add(struct remarks *w, const char *format, ...)
{
    char line[LONGEST];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t n = strlen(line), old = w->text ? w->length + 1 : 0;
    char *text = mem_grow(w->text, old, w->length + n + 2, 1);
    if (!text) return GSV_NO_MEMORY;
    memcpy(text + w->length, line, n);
    w->length += n;
    text[w->length++] = '\n';
    text[w->length] = '\0';
    w->text = text;
    return 0;
}
