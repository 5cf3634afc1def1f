/* SPDX-License-Identifier: MIT */
#ifndef CLI_GNUPLOT_H
#define CLI_GNUPLOT_H

#include "cli.h"

/* Runs gnuplot: the figure, whose end contains the mark, and its messages on
 * standard error, both yours to free(). False, and made->why, if it failed. */
bool gnuplot_run(const char *commands, size_t size, const char *mark,
                 struct picture *made, char **words);

#endif
