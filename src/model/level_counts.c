/* SPDX-License-Identifier: MIT */
/* How often the levels of categories are in the data, and which of them look
 * like misspelt ones: every level has a number of its own, so a typing error
 * takes its rows away from the level that was meant. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/spell.h"
#include "data/phrase.h"
#include "data/series.h"
#include "model/levels.h"

/* A level is a misspelt other one if that has so many times its rows. */
enum { RARER = 4 };

struct counts {
    const struct category_spec *category;
    size_t *rows, *tracks; /* (levels) */
};

static int count(const gsv_model *m, const gsv_series *s, struct counts *c)
{
    size_t n = c->category->levels;
    double *code = NEW(double, s->rows);
    size_t *last = NEW(size_t, n); /* track + 1 */
    c->rows = NEW(size_t, n);
    c->tracks = NEW(size_t, n);
    int status = code && last && c->rows && c->tracks ? 0 : GSV_NO_MEMORY;
    if (!status) status = level_codes(m, s, c->category->input, code);
    for (size_t r = 0; !status && r < s->tracks; r++)
        for (size_t i = s->start[r]; i < s->start[r + 1]; i++) {
            if (isnan(code[i])) continue;
            size_t k = (size_t)code[i] - 1;
            c->rows[k]++;
            c->tracks[k] += last[k] != r + 1;
            last[k] = r + 1;
        }
    MEM_FREE(code, last);
    return status;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void put_counts(FILE *out, const struct counts *c)
{
    enum { SHOWN = 12 };
    size_t n = c->category->levels;
    fprintf(out, "rows            of %s:", c->category->name);
    for (size_t k = 0; k < n && k < SHOWN; k++)
        fprintf(out, "%s %s %zu (%zu series)", k ? "," : "",
                c->category->label[k], c->rows[k], c->tracks[k]);
    fputs(n > SHOWN ? ", ...\n" : "\n", out);
}

/* A word, not a number or a numbered name: those differ by one digit. */
static bool is_word(const char *label)
{
    while (*label && !isdigit((unsigned char)*label))
        label++;
    return !*label;
}

/* The level that k may be a misspelt form of, or the number of levels. */
static size_t meant(const struct counts *c, size_t k)
{
    char *const *label = c->category->label;
    size_t n = c->category->levels, i = 0;
    for (; i < n; i++) {
        size_t edits = i == k ? 2 : spell_edits(label[k], label[i]);
        bool often = c->rows[i] >= RARER * c->rows[k];
        bool first = i < k ? c->rows[i] >= c->rows[k] : c->rows[i] > c->rows[k];
        if (!edits && first) break;
        if (edits == 1 && often && strlen(label[k]) > 2 && is_word(label[k]) &&
            is_word(label[i]))
            break;
    }
    return i;
}

static void put_doubts(FILE *out, const struct counts *c)
{
    const struct category_spec *s = c->category;
    for (size_t k = 0; k < s->levels; k++) {
        size_t other = c->rows[k] ? meant(c, k) : s->levels;
        if (other < s->levels)
            fprintf(out,
                    "the level '%s' of '%s' has %zu row%s and is almost '%s', "
                    "which has %zu: it has numbers of its own; if it is "
                    "misspelt, correct the data\n",
                    phrase_name(s->label[k]).text, s->name, c->rows[k],
                    plural(c->rows[k]), phrase_name(s->label[other]).text,
                    c->rows[other]);
        else if (c->rows[k] == 1)
            fprintf(out,
                    "the level '%s' of '%s' has 1 row, which says little about "
                    "its numbers\n",
                    phrase_name(s->label[k]).text, s->name);
    }
}

/* What `put` says of each category but the series. */
static char *each(const gsv_model *m, const gsv_series *s,
                  void (*put)(FILE *, const struct counts *))
{
    char *text = NULL;
    size_t size = 0;
    if (series_check(s)) return NULL;
    FILE *out = open_memstream(&text, &size);
    int status = out ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < m->spec->categories; i++) {
        struct counts c = {.category = &m->spec->category[i]};
        if (!c.category->levels || !strcmp(c.category->name, SERIES_NAME))
            continue;
        status = count(m, s, &c);
        if (!status) put(out, &c);
        MEM_FREE(c.rows, c.tracks);
    }
    if (out && fclose(out)) status = GSV_NO_MEMORY;
    if (!status) return text;
    free(text);
    return status == GSV_NO_MEMORY ? fail_null(GSV_NO_MEMORY, "out of memory")
                                   : NULL;
}

char *gsv_model_level_counts(const gsv_model *m, const gsv_series *s)
{
    return ANY_NULL(m, s) ? NULL : each(m, s, put_counts);
}

char *gsv_model_doubts(const gsv_model *m, const gsv_series *s)
{
    return ANY_NULL(m, s) ? NULL : each(m, s, put_doubts);
}
