/* SPDX-License-Identifier: MIT */
/* Numbers as text, both ways without losing a bit: between plain_begin() and
 * plain_end(), so that the decimal point is a point (base/plain.h). */
#ifndef DATA_NUMBER_H
#define DATA_NUMBER_H

#include <stddef.h>

#include "base/plain.h"

#include "girsanov.h"

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
