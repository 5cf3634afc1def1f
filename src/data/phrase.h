/* SPDX-License-Identifier: MIT */
/* Parts of messages about a user's text, which may be long, binary or misspelt.
 * They are returned by value: phrase_excerpt(s, n).text is good for the rest of
 * the expression. */
#ifndef DATA_PHRASE_H
#define DATA_PHRASE_H

#include <stddef.h>

struct excerpt {
    char text[56];
};

/* The text, cut after 40 characters, with \n, \t and \x1b for what does not
 * print. UTF-8 stays. */
struct excerpt phrase_excerpt(const char *s, size_t n);
struct excerpt phrase_name(const char *name);

struct phrase {
    char text[512];
};

/* "a, b, c", and after eight of them "... (12 more)". */
struct phrase phrase_list(size_t count, const char *const *name);

/* "; did you mean 'x'?" when another of the names is close to the word, or
 * "". */
struct phrase phrase_guess(const char *word, size_t count,
                           const char *const *name);

#endif
