/* SPDX-License-Identifier: MIT */
/* What a misspelt word stands for, by the number of edits. */
#include "base/spell.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

enum { LONGEST_WORD = 63 }; /* a longer one gets no suggestion */

/* Case is passed over: 'Sigma' for 'sigma' is no typing error to count. */
static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* row[i][j] is for the first i and j letters of the words. */
size_t spell_edits(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST_WORD || n > LONGEST_WORD) return SIZE_MAX;
    unsigned char row[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            size_t d = i + j;
            if (i && j) {
                bool change = !same(a[i - 1], b[j - 1]);
                d = row[i - 1][j - 1] + (size_t)change;
                d = least(d, row[i - 1][j] + 1u);
                d = least(d, row[i][j - 1] + 1u);
            }
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
                same(a[i - 2], b[j - 1]))
                d = least(d, row[i - 2][j - 2] + 1u);
            row[i][j] = (unsigned char)d;
        }
    return row[m][n];
}

const char *gsv_suggestion(const char *word, size_t candidates,
                           const char *const *candidate)
{
    if (ANY_NULL(word) || (candidates && ANY_NULL(candidate))) return NULL;
    size_t m = strlen(word), best = LONGEST_WORD;
    const char *found = NULL;
    for (size_t i = 0; i < candidates; i++) {
        if (!candidate[i]) continue;
        size_t n = strlen(candidate[i]);
        size_t d = spell_edits(word, candidate[i]);
        if (d >= best || 3 * d > (m > n ? m : n)) continue;
        best = d;
        found = candidate[i];
    }
    return found;
}
