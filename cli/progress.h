/* SPDX-License-Identifier: MIT */
/* The progress of a fit on standard error: one line that is redrawn on a
 * terminal, otherwise a line every few seconds. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "cli.h"

struct progress {
    bool quiet, terminal;
    size_t noises;
    struct number noise[3]; /* the first parameters of the noise     */
    size_t restart;         /* of these averages                     */
    size_t averaged;        /* iterations in them                    */
    double loglik, error, heldout;
    double started;    /* seconds at the first call                 */
    size_t iterations; /* largest number                            */
    size_t done;       /* iterations since then                     */
    double drawn;      /* seconds when the line was drawn           */
    bool begun, late;  /* late: the line has not been drawn         */
    char line[512];
    enum gsv_phase phase;
    double waits, seen; /* clock at its start and at the last line */
    bool waited;        /* a line was drawn for the phase          */
    const char *task;   /* what is refitted; NULL: bootstrap       */
    char refits[80];    /* of the bootstrap, or ""                 */
};

int progress_begin(struct progress *p, const gsv_model *m, bool quiet);
void progress_show(struct progress *p, const gsv_progress *now);

/* Between iterations: the phase and its duration. */
void progress_phase(struct progress *p, enum gsv_phase phase);
void progress_wait(struct progress *p);

/* During a bootstrap: the refits that are done, and the time that is left. */
void progress_refit(struct progress *p, size_t done, size_t all);

/* Seconds as "3:20 min". */
void write_duration(double seconds, char *text, size_t size);

/* Seconds of a monotonic clock. */
double clock_now(void);

/* Keeps the last line. */
void progress_end(struct progress *p);

#endif
