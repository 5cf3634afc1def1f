/* SPDX-License-Identifier: MIT */
/* Open addressing, at most half full; FNV-1a. */
#include "data/words.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "girsanov.h"

/* The slot that holds the word, or the free one where it belongs. */
static size_t seek(const struct words *w, const char *s, size_t n)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)s[i]) * UINT64_C(1099511628211);
    size_t at = (size_t)(hash ^ (hash >> 32)) & (w->slots - 1);
    for (; w->slot[at]; at = (at + 1) & (w->slots - 1)) {
        const char *text = w->text[w->slot[at] - 1];
        if (strncmp(text, s, n) == 0 && text[n] == '\0') break;
    }
    return at;
}

size_t words_find(const struct words *w, const char *s, size_t n)
{
    if (!w->slots) return WORDS_NONE;
    size_t index = w->slot[seek(w, s, n)];
    return index ? index - 1 : WORDS_NONE;
}

static int spread(struct words *w)
{
    size_t slots = w->slots ? 2 * w->slots : 32;
    size_t *slot = NEW(size_t, slots);
    if (!slot) return GSV_NO_MEMORY;
    mem_free(w->slot);
    w->slot = slot;
    w->slots = slots;
    for (size_t i = 0; i < w->count; i++)
        slot[seek(w, w->text[i], strlen(w->text[i]))] = i + 1;
    return 0;
}

int words_add(struct words *w, const char *s, size_t n)
{
    if (2 * (w->count + 1) > w->slots && spread(w)) return GSV_NO_MEMORY;
    if (MEM_ROOM(w->text, w->count, w->capacity)) return GSV_NO_MEMORY;
    char *copy = mem_substring(s, n);
    if (!copy) return GSV_NO_MEMORY;
    w->slot[seek(w, s, n)] = w->count + 1;
    w->text[w->count++] = copy;
    return 0;
}

char **words_take(struct words *w)
{
    char **text = w->text;
    mem_free(w->slot);
    *w = (struct words){0};
    return text;
}

void words_free(struct words *w)
{
    for (size_t i = 0; i < w->count; i++)
        mem_free(w->text[i]);
    mem_free(words_take(w));
}
