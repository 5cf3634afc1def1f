/* SPDX-License-Identifier: MIT */
#include "base/plain.h"

/* The C locale is always there, and costs no memory; without it the thread
 * keeps the locale that it has. */
void plain_begin(struct plain_locale *l)
{
    l->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    l->before = l->plain ? uselocale(l->plain) : (locale_t)0;
}

void plain_end(struct plain_locale *l)
{
    if (!l->plain) return;
    uselocale(l->before);
    freelocale(l->plain);
}

int plain_format_list(char *text, size_t size, const char *format, va_list args)
{
    struct plain_locale l;
    plain_begin(&l);
    int n = vsnprintf(text, size, format, args);
    plain_end(&l);
    return n;
}

int plain_format(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = plain_format_list(text, size, format, args);
    va_end(args);
    return n;
}

int plain_print(FILE *out, const char *format, ...)
{
    struct plain_locale l;
    va_list args;
    va_start(args, format);
    plain_begin(&l);
    int n = vfprintf(out, format, args);
    plain_end(&l);
    va_end(args);
    return n;
}
