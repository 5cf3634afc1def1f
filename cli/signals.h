/* SPDX-License-Identifier: MIT */
/* Ctrl-C and termination, as a question. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM is only remembered; the second one
 * kills as usual. */
void signals_watch(void);
bool signals_caught(void);

/* A file that is under way: a signal that ends the command, and is neither
 * ignored nor watched, removes it. And one that is done, or gone. */
void signals_add(const char *name);
void signals_drop(const char *name);

#endif
