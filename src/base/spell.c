/* SPDX-License-Identifier: MIT */
/* What a misspelt word stands for, by the number of edits. */
#include <ctype.h>
#include <stdbool.h>
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

/* Letters changed, inserted, left out, or swapped with their neighbour, on the
 * way from a to b; row[i][j] is for the first i and j letters of them. */
static size_t edits(const char *a, size_t m, const char *b, size_t n)
{
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
    if (m > LONGEST_WORD) return NULL;
    for (size_t i = 0; i < candidates; i++) {
        if (!candidate[i]) continue;
        size_t n = strlen(candidate[i]);
        if (n > LONGEST_WORD) continue;
        size_t d = edits(word, m, candidate[i], n);
        if (d >= best || 3 * d > (m > n ? m : n)) continue;
        best = d;
        found = candidate[i];
    }
    return found;
}
