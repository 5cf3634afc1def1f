/* SPDX-License-Identifier: MIT */
#ifndef RANKS_H
#define RANKS_H

#include "cli.h"

/* Silences all ranks except the first. */
void ranks_hush(void);

/* Whether this rank has work for the verb. */
bool ranks_needed(const struct verb *verb);

/* Runs the verb together with the other ranks. */
int ranks_run(const struct verb *verb, struct args *a);

/* The exit code of this rank, from that of the job: a launcher kills all ranks
 * when one of them fails, and the first must be able to finish. */
int ranks_end(int code);

#endif
