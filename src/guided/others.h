/* SPDX-License-Identifier: MIT */
/* Other paths that explain a track: what was observed may have several modes,
 * such as x and -x of x^2. A psi is made along each of them. */
#ifndef GUIDED_OTHERS_H
#define GUIDED_OTHERS_H

#include "guided/guided.h"

/* After the psi of g->ahead[0]: more of them, whose number becomes g->aheads.
 * Nodes where there are more modes than psi become g->crowded. */
int others_find(struct guide *g);

#endif
