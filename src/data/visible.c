/* SPDX-License-Identifier: MIT */
#include "data/visible.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* UTF-8 by its first byte: how long a character is, and what its second byte
 * may be. No character is longer than necessary, a surrogate or above U+10FFFF.
 */
static const struct {
    unsigned char from, to;  /* the first byte  */
    unsigned char low, high; /* the second byte */
    size_t length;
} FORMS[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t utf8_length(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] < 0x80) return u[0] != 0;
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        if (u[0] < FORMS[i].from || u[0] > FORMS[i].to) continue;
        size_t length = FORMS[i].length;
        if (length > n || u[1] < FORMS[i].low || u[1] > FORMS[i].high) return 0;
        for (size_t k = 2; k < length; k++)
            if ((u[k] & 0xc0) != 0x80) return 0;
        return length;
    }
    return 0;
}

/* U+0080 to U+009F are control characters of a terminal, too. */
size_t printable_length(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t length = utf8_length(s, n);
    if (u[0] < ' ' || u[0] == 0x7f) return 0;
    return length == 2 && u[0] == 0xc2 && u[1] < 0xa0 ? 0 : length;
}

static void escape(unsigned char c, char shown[GSV_VISIBLE])
{
    static const char NAMED[] = "\tt\nn\rr";
    for (const char *p = NAMED; *p; p += 2)
        if ((unsigned char)*p == c) {
            snprintf(shown, GSV_VISIBLE, "\\%c", p[1]);
            return;
        }
    snprintf(shown, GSV_VISIBLE, "\\x%02x", c);
}

size_t visible_character(const char *text, size_t n, char shown[GSV_VISIBLE])
{
    size_t length = printable_length(text, n);
    if (!length) {
        escape((unsigned char)*text, shown);
        return 1;
    }
    memcpy(shown, text, length);
    shown[length] = 0;
    return length;
}

size_t gsv_visible(const char *text, char *shown)
{
    if (ANY_NULL(text, shown)) return 0;
    shown[0] = 0;
    return *text ? visible_character(text, strnlen(text, 4), shown) : 0;
}
