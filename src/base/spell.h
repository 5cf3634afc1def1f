/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPELL_H
#define BASE_SPELL_H

#include <stddef.h>

/* How many letters are changed, inserted, left out, or swapped with their
 * neighbour on the way from a to b, whatever their case; SIZE_MAX for words
 * that are longer than 63 letters. */
size_t spell_edits(const char *a, const char *b);

#endif
