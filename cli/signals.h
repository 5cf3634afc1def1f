/* SPDX-License-Identifier: MIT */
/* Ctrl-C and termination, as a question. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM is only remembered; the second one
 * kills as usual. */
void signals_watch(void);
bool signals_caught(void);

#endif
