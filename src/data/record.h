/* SPDX-License-Identifier: MIT */
/* One record of a CSV file, cut into cells; quoted cells may hold separators
 * and line ends. */
#ifndef DATA_RECORD_H
#define DATA_RECORD_H

#include "data/text.h"

/* Blanks around it are cut; text[size] is no part of the cell, but readable. */
struct cell {
    char *text;
    size_t size;
    bool quoted, doubled; /* doubled: "" stands for " inside */
};

struct record {
    char separator;
    size_t count, capacity;
    struct cell *cell; /* (count), good until the next record */
    size_t line;       /* where it begins                     */
};

/* What separates the cells of the header at the text's beginning: a comma; or
 * a semicolon or tab, when there is no comma. */
char record_separator(const struct text *t);

/* The next record that is not blank; its count is 0 at the end of the file. */
int record_read(struct record *r, struct text *t);

void record_free(struct record *r);

#endif
