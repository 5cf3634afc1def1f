/* SPDX-License-Identifier: MIT */
/* Numbers with a point, whatever the caller's locale has: printf() and strtod()
 * follow the program's LC_NUMERIC, and texts that a machine or another country
 * reads must not. */
#ifndef BASE_PLAIN_H
#define BASE_PLAIN_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct plain_locale {
    locale_t plain, before;
};

/* Between these two this thread has the C locale; others keep theirs. No
 * caller's function may be called in between. */
void plain_begin(struct plain_locale *l);
void plain_end(struct plain_locale *l);

/* snprintf(), vsnprintf() and fprintf() in the C locale. */
int plain_format(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int plain_format_list(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int plain_print(FILE *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
