/* SPDX-License-Identifier: MIT */
/* A figure for the terminal, from the same commands that gnuplot would get. */
#ifndef SKETCH_H
#define SKETCH_H

#include <stdio.h>

/* Draws all panels, one below the other. Of gnuplot's language it reads what
 * the command's own figures use: blocks of data, variables, labels, ranges, log
 * scales and plots; it ignores everything else, such as colours. 0, or a
 * message. */
int sketch(const char *commands, FILE *out);

#endif
