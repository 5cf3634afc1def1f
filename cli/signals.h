/* SPDX-License-Identifier: MIT */
/* Ctrl-C and termination. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM is only recorded; the second one
 * kills the command. */
void signals_watch(void);
bool signals_caught(void);

/* Adds an unfinished file, which a deadly signal removes; and drops a file that
 * is finished or removed. */
void signals_add(const char *name);
void signals_drop(const char *name);

#endif
