/* SPDX-License-Identifier: MIT */
#include "data/phrase.h"

#include <stdio.h>
#include <string.h>

#include "data/visible.h"
#include "girsanov.h"

enum { EXCERPT = 40, LISTED = 8 };

struct excerpt phrase_excerpt(const char *s, size_t n)
{
    struct excerpt e = {{0}};
    size_t used = 0, i = 0;
    while (i < n && used < EXCERPT) {
        i += visible_character(s + i, n - i, e.text + used);
        used += strlen(e.text + used);
    }
    if (i < n) memcpy(e.text + used, "...", 4);
    return e;
}

struct excerpt phrase_name(const char *name)
{
    return phrase_excerpt(name, strlen(name));
}

struct phrase phrase_list(size_t count, const char *const *name)
{
    struct phrase p = {{0}};
    size_t used = 0;
    for (size_t i = 0; i < count && i < LISTED; i++)
        used += (size_t)snprintf(p.text + used, sizeof p.text - used, "%s%s",
                                 i ? ", " : "", phrase_name(name[i]).text);
    if (count > LISTED)
        snprintf(p.text + used, sizeof p.text - used, " ... (%zu more)",
                 count - LISTED);
    return p;
}

struct phrase phrase_guess(const char *word, size_t count,
                           const char *const *name)
{
    struct phrase p = {{0}};
    const char *guess = gsv_suggestion(word, count, name);
    if (guess && strcmp(guess, word))
        snprintf(p.text, sizeof p.text, "; did you mean '%s'?",
                 phrase_name(guess).text);
    return p;
}
