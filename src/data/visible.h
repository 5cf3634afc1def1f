/* SPDX-License-Identifier: MIT */
/* UTF-8, and text from files without what a terminal would obey. */
#ifndef DATA_VISIBLE_H
#define DATA_VISIBLE_H

#include <stddef.h>

#include "girsanov.h"

/* The bytes of the UTF-8 character at s, 1 to 4, of which n may be read; 0 for
 * none, as at a NUL. And the same, but 0 for a control character. */
size_t utf8_length(const char *s, size_t n);
size_t printable_length(const char *s, size_t n);

/* The first character of n > 0 bytes, or its escape, as a string; returns how
 * many bytes it is of the text. */
size_t visible_character(const char *text, size_t n, char shown[GSV_VISIBLE]);

#endif
