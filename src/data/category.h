/* SPDX-License-Identifier: MIT */
/* Cells of categories, such as "control" or 2, as numbers: a number is itself,
 * and a word is a large number that is made of its letters alone, so that it is
 * the same in every file. The words of a series are listed in it. */
#ifndef DATA_CATEGORY_H
#define DATA_CATEGORY_H

#include <stddef.h>

#include "data/number.h"
#include "data/words.h"
#include "girsanov.h"

/* The number of a cell; NaN where it is missing. */
double category_code(const char *text, size_t n);

/* Whether a number is that of a word. */
bool category_is_word(double code);

/* Adds the text of a cell to a list of words, unless it is there or a number.
 * Fails where another word has the same number. */
int category_add(struct words *w, const char *text, size_t n);

/* The text that a number stands for: a word of the series, or the number. */
const char *category_text(const gsv_series *s, double code,
                          char room[NUMBER_TEXT]);

#endif
