/* SPDX-License-Identifier: MIT */
/* The variance of gradients over repeats: what was measured, and its reports.
 */
#ifndef GRADVAR_H
#define GRADVAR_H

#include "cli.h"

/* One objective at one distance between the rows. */
struct cell {
    const char *objective;
    double gap; /* mean length */
    size_t steps;
    size_t finite, overflows;      /* repeats                               */
    double *mean, *variance;       /* (numbers), yours; NaN where too few
                                    * repeats are finite                    */
    double least, median, largest; /* variances over the numbers            */
    double seconds;                /* of a gradient                         */
};

struct gradvar {
    size_t numbers;
    struct number *number; /* all that are learned, networks' too */
    size_t repeats, paths;
    size_t cells; /* that are done */
    struct cell *cell;
};

/* The smallest, the middle and the largest of n numbers, which are sorted. */
void find_spread(size_t n, double *value, double *least, double *median,
                 double *largest);

/* The table, the CSV, the JSON and the picture, as the command line wants. */
int gradvar_report(const struct args *a, const struct gradvar *g);

#endif
