/* SPDX-License-Identifier: MIT */
/* A list of different words with a quick way from the word to its index: the
 * labels of tracks, the names of columns. */
#ifndef DATA_WORDS_H
#define DATA_WORDS_H

#include <stddef.h>

struct words {
    size_t count, capacity;
    char **text;  /* (count), in order of their first appearance */
    size_t slots; /* a power of two, or 0                        */
    size_t *slot; /* (slots): index + 1, or 0 when free          */
};

#define WORDS_NONE ((size_t)-1)

/* The index of the first n characters of s, or WORDS_NONE. */
size_t words_find(const struct words *w, const char *s, size_t n);

/* Adds a word that is not yet there, at index count - 1. */
int words_add(struct words *w, const char *s, size_t n);

/* Hands the texts over to the caller and leaves w empty. */
char **words_take(struct words *w);

void words_free(struct words *w);

#endif
