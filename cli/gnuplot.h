/* SPDX-License-Identifier: MIT */
#ifndef CLI_GNUPLOT_H
#define CLI_GNUPLOT_H

#include "cli.h"

/* What gnuplot makes of commands: a picture, whose end has the mark in it, and
 * the words that it wrote to standard error, both yours to free(). False where
 * there is none, and why. */
bool gnuplot_run(const char *commands, size_t size, const char *mark,
                 struct picture *made, char **words);

#endif
