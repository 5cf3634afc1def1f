/* SPDX-License-Identifier: MIT */
/* Where a fit stands, on standard error: a line that is drawn again and again
 * on a terminal, else a line every few seconds. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "cli.h"

struct progress {
    bool quiet, terminal;
    size_t noises;
    struct number noise[3]; /* of the noise's numbers, the first few */
    size_t restart;         /* of these averages                     */
    size_t averaged;        /* iterations in them                    */
    double loglik, error, heldout;
    double started;    /* seconds at the first call, and ...        */
    size_t iterations; /* of these at most                         */
    size_t done;       /* ... iterations before it, over restarts   */
    double drawn;      /* seconds when the line was drawn           */
    bool begun, late;  /* late: the line is newer than what is seen */
    char line[512];
    enum gsv_phase phase; /* that it waits for           */
    double waits, seen;   /* since then; the last line: on a clock */
    bool waited;          /* with a line about it        */
};

int progress_begin(struct progress *p, const gsv_model *m, bool quiet);
void progress_show(struct progress *p, const gsv_progress *now);

/* While no iteration ends: what it is at, and since when. */
void progress_phase(struct progress *p, enum gsv_phase phase);
void progress_wait(struct progress *p);

/* Seconds for people, as "3:20 min". */
void write_duration(double seconds, char *text, size_t size);

/* Leaves the last line standing. */
void progress_end(struct progress *p);

#endif
