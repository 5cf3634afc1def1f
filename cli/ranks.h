/* SPDX-License-Identifier: MIT */
#ifndef RANKS_H
#define RANKS_H

#include "cli.h"

/* Before anything is said: all ranks but the first become silent. */
void ranks_hush(void);

/* Whether this rank has anything to do for the verb. */
bool ranks_needed(const struct verb *verb);

/* Runs the verb together with the other ranks. */
int ranks_run(const struct verb *verb, struct args *a);

/* The code that this rank exits with, from that of the job: a launcher ends all
 * ranks when one of them ends badly, and the first must not be cut short. */
int ranks_end(int code);

#endif
