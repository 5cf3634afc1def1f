/* SPDX-License-Identifier: MIT */
#include "data/category.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "data/phrase.h"

/* Words are above all numbers that label anything: FIRST + 1024 h, where h has
 * 50 bits, is exact. */
static const double FIRST = 0x1p60, STEP = 1024.0;

static uint64_t hash(const char *text, size_t n)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return (h ^ (h >> 50)) & (((uint64_t)1 << 50) - 1);
}

double category_code(const char *text, size_t n)
{
    double x;
    enum number_kind kind = number_read(text, n, &x);
    if (kind == NUMBER_MISSING) return NAN;
    if (kind == NUMBER_FINITE && fabs(x) < FIRST) return x;
    return FIRST + STEP * (double)hash(text, n);
}

bool category_is_word(double code)
{
    return code >= FIRST;
}

static size_t find_code(size_t n, char *const *word, double code)
{
    size_t i = 0;
    while (i < n && category_code(word[i], strlen(word[i])) != code)
        i++;
    return i;
}

int category_add(struct words *w, const char *text, size_t n)
{
    double code = category_code(text, n);
    if (!category_is_word(code) || words_find(w, text, n) != WORDS_NONE)
        return 0;
    size_t other = find_code(w->count, w->text, code);
    if (other == w->count || !w->text) return words_add(w, text, n);
    return fail(GSV_BAD_INPUT,
                "the categories '%s' and '%s' cannot be told apart; rename one "
                "of them",
                phrase_name(w->text[other]).text, phrase_excerpt(text, n).text);
}

const char *category_text(const gsv_series *s, double code,
                          char room[NUMBER_TEXT])
{
    size_t i = category_is_word(code) ? find_code(s->words, s->word, code) : 0;
    if (category_is_word(code)) return i < s->words ? s->word[i] : "?";
    number_write(code, room);
    return room;
}

double gsv_category(const char *text)
{
    return ANY_NULL(text) ? NAN : category_code(text, strlen(text));
}

enum gsv_status gsv_series_words(gsv_series *s, size_t n,
                                 const char *const *word)
{
    if (ANY_NULL(s) || (n && ANY_NULL(word))) return GSV_BAD_INPUT;
    if (s->file || s->words)
        return fail(GSV_BAD_INPUT, "the series has its words already");
    struct words w = {0};
    int status = 0;
    for (size_t i = 0; !status && i < n; i++)
        status = ANY_NULL(word[i]) ? (int)GSV_BAD_INPUT
                                   : category_add(&w, word[i], strlen(word[i]));
    size_t count = w.count;
    if (!status) s->word = words_take(&w);
    if (!status) s->words = count;
    words_free(&w);
    return status;
}
