/* SPDX-License-Identifier: MIT */
/* A first look at data: what each column shows, and which models of one column
 * explain it best. */
#ifndef LOOK_LOOK_H
#define LOOK_LOOK_H

#include <stdio.h>

#include "girsanov.h"

/* The first rows of one column that have a value, as tracks: split where the
 * column jumps. */
struct sight {
    const char *name;
    size_t tracks, rows, capacity;
    size_t *start; /* (tracks + 1)      */
    double *time;  /* (rows)            */
    double *value; /* (rows)            */
    double gap;    /* the median        */
    double rate;   /* sum of squared increments over time  */
    bool many;     /* series of the data, more than two    */
};

/* --- facts.c -------------------------------------------------------------- */

/* Of a series: the gaps of all rows; of column c: its facts, and its rows. */
int look_gaps(const gsv_series *s, gsv_look_result *r);
int look_column(const gsv_series *s, size_t c, gsv_look_column *out,
                struct sight *sight);
void sight_free(struct sight *s);

/* --- roles.c -------------------------------------------------------------- */

/* Whether a model can have a state of this name. */
bool look_can_name(const char *name);

/* --- kinds.c -------------------------------------------------------------- */

enum { LOOK_KINDS = 9 };

/* A kind that was fitted: score is the log-likelihood less its price. */
struct guess {
    size_t kind;
    double score;
};

/* All kinds that the facts allow, the best one first. */
int look_guess(const struct sight *s, const gsv_look_column *c,
               const gsv_options *o, struct guess guess[LOOK_KINDS], size_t *n);

/* The lines of a kind for a column, with names that end in `end`; and what it
 * is. */
void kind_write(size_t kind, const struct sight *s, const gsv_look_column *c,
                const char *end, FILE *out);
const char *kind_words(size_t kind);

#endif
