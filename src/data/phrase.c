/* SPDX-License-Identifier: MIT */
#include "data/phrase.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "girsanov.h"

enum { EXCERPT = 40, LISTED = 8 };

/* The length of the UTF-8 character at s, or 0 when it is none that prints. */
static size_t printable(const unsigned char *s, size_t n)
{
    if (s[0] < 0x80) return isprint(s[0]) ? 1 : 0;
    size_t length = s[0] < 0xc2   ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                    : s[0] < 0xf5 ? 4
                                  : 0;
    if (length > n) return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    /* U+0080 to U+009f are control characters of a terminal. */
    return s[0] == 0xc2 && s[1] < 0xa0 ? 0 : length;
}

/* Writes the escape of one byte and returns its length. */
static size_t escape(unsigned char c, char out[static 5])
{
    static const char NAMED[] = "\tt\nn\rr";
    for (const char *p = NAMED; *p; p += 2)
        if ((unsigned char)*p == c)
            return (size_t)snprintf(out, 5, "\\%c", p[1]);
    return (size_t)snprintf(out, 5, "\\x%02x", c);
}

struct excerpt phrase_excerpt(const char *s, size_t n)
{
    struct excerpt e = {{0}};
    size_t used = 0, i = 0;
    while (i < n && used < EXCERPT) {
        const unsigned char *at = (const unsigned char *)s + i;
        size_t length = printable(at, n - i);
        if (length)
            memcpy(e.text + used, at, length), used += length, i += length;
        else used += escape(*at, e.text + used), i++;
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
