/* SPDX-License-Identifier: MIT */
/* Numbers as text, both ways without losing a bit, and in any locale: between
 * number_begin() and number_end() this thread's decimal point is a point. */
#ifndef DATA_NUMBER_H
#define DATA_NUMBER_H

#include <locale.h>
#include <stddef.h>

#include "girsanov.h"

struct number_locale {
    locale_t plain, before;
};

int number_begin(struct number_locale *l);
void number_end(struct number_locale *l);

/* What the text of a cell turned out to be. */
enum number_kind {
    NUMBER_FINITE,
    NUMBER_MISSING,  /* empty, NA, NaN in any case */
    NUMBER_INFINITE, /* inf, Infinity              */
    NUMBER_HUGE,     /* such as 1e999              */
    NUMBER_BAD
};

/* Reads all n characters of s as one decimal number, correctly rounded; x is
 * NaN when it is missing. s[n] must be readable and no part of a number. */
enum number_kind number_read(const char *s, size_t n, double *x);

/* The fewest digits of 15, 16 or 17 that read back as x. */
enum { NUMBER_TEXT = 32 };
void number_write(double x, char text[static NUMBER_TEXT]);

#endif
