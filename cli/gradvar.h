/* SPDX-License-Identifier: MIT */
/* The variance of gradients over repeats: results and their output. */
#ifndef GRADVAR_H
#define GRADVAR_H

#include "cli.h"

/* One objective at one distance between the rows. */
struct cell {
    const char *objective;
    double gap; /* mean length */
    size_t steps;
    size_t finite, overflows;      /* repeats                               */
    double *mean, *variance;       /* (numbers), yours; NaN if too few
                                    * repeats are finite                    */
    double least, median, largest; /* variances over the numbers            */
    double seconds;                /* of a gradient                         */
};

struct gradvar {
    size_t numbers;
    struct number *number; /* all learned, including networks */
    size_t repeats, paths;
    size_t cells; /* completed */
    struct cell *cell;
};

/* Sorts n numbers; the smallest, the median and the largest. */
void find_spread(size_t n, double *value, double *least, double *median,
                 double *largest);

/* Writes the table, CSV, JSON and figure of the command line. */
int gradvar_report(const struct args *a, const struct gradvar *g);

#endif
