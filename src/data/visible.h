/* SPDX-License-Identifier: MIT */
/* Text from files as a terminal may have it: no control characters. */
#ifndef DATA_VISIBLE_H
#define DATA_VISIBLE_H

#include <stddef.h>

#include "girsanov.h"

/* The first character of n > 0 bytes, or its escape, as a string; returns how
 * many bytes it is of the text. */
size_t visible_character(const char *text, size_t n, char shown[GSV_VISIBLE]);

#endif
