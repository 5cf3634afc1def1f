/* SPDX-License-Identifier: MIT */
/* Shared by csv.c, which reads rows, and csv_header.c, which decides what each
 * cell of a row is. */
#ifndef DATA_CSV_PARTS_H
#define DATA_CSV_PARTS_H

#include "base/memory.h"
#include "data/builder.h"
#include "data/csv.h"
#include "data/date.h"
#include "data/phrase.h"
#include "data/record.h"

#define NONE WORDS_NONE

/* A cell that later cells are compared with. */
struct witness {
    struct excerpt text;
    size_t line;
};

/* While it is not known whether the day or the month comes first, rows are kept
 * with both possible times. The first date that is possible in one order only
 * decides. */
struct dates {
    bool here;             /* the first time is a date, not a number   */
    struct date form;      /* that first one; the others must be alike */
    enum date_order order; /* of all                                   */
    struct witness first;  /* the text of form                         */
    struct witness clear;  /* what settled the order                   */
    double (*open)[2];     /* (rows held): day first, month first      */
    size_t capacity;
};

struct csv {
    struct text text;
    struct record record;
    struct words header;    /* the names that are not empty            */
    size_t remarks;         /* lines above the header that begin by #  */
    size_t cells;           /* in the header, and so in every row      */
    const char **cell_name; /* (cells): borrowed from header, or ""    */
    size_t *column;         /* (cells): the column it goes to, or NONE */
    size_t time, series;    /* their cells, or NONE                    */
    struct dates dates;     /* what the column of time holds           */
    double *value;          /* (columns) of one row                    */
    const bool *category;   /* (columns) whose cells are labels, or NULL */
    bool words;             /* a cell that is no number is a label       */
    char *note;
    struct series_builder builder;
};

/* Reads the header; the columns that are wanted have their cells then, and the
 * builder knows their names. */
int csv_header(struct csv *c, const struct series_request *wanted);

#endif
