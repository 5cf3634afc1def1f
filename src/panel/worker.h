/* SPDX-License-Identifier: MIT */
/* The work of one thread on one series of a panel. */
#ifndef PANEL_WORKER_H
#define PANEL_WORKER_H

#include "panel/panel.h"

struct worker {
    struct subject subject;
    struct rule rule, fewer;
    double *u;        /* (points, n) the nodes                       */
    double *z;        /* (points, n) in units of their law           */
    double *log_term; /* (points) log of the terms of the sum        */
    double *gradient; /* (kept, values) of the nodes                 */
    size_t kept;      /* gradients that there is room for            */
    double *part;     /* (values + n + n n) sums of this thread      */
};

/* For a panel whose sizes are set. Free in any case. */
int worker_init(struct worker *w, const struct panel *p);
void worker_free(struct worker *w);

/* Runs a track: fills its numbers, adds to the sums of the thread. */
int worker_track(const struct panel *p, struct worker *w, size_t track);

#endif
