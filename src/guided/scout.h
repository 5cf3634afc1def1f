/* SPDX-License-Identifier: MIT */
/* Particles that are not guided, sent ahead where what was observed has several
 * modes: the paths of those that are left lead to modes that no line from a
 * known path does, and what they say of log p shows what psi have missed. */
#ifndef GUIDED_SCOUT_H
#define GUIDED_SCOUT_H

#include "guided/guided.h"

enum { SCOUT_PATHS = 8 };

struct scouts {
    double *path;   /* (SCOUT_PATHS, nodes, D)                         */
    double *spread; /* (nodes, D) deviations of the law given the past */
    size_t paths;   /* 0 where none of them got through                */
    struct arena arena;
};

/* Sends them through the track of g->pace; blank is a psi to be overwritten.
 * Sets g->scouted. scouts_free() also after a failure. */
int scouts_send(struct scouts *s, struct guide *g, struct ahead *blank);
void scouts_free(struct scouts *s);

/* Marks all nodes as crowded where the value of g->swarm is far below that of
 * the scouts. */
void scouts_compare(struct guide *g);

#endif
