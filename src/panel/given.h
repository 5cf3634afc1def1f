/* SPDX-License-Identifier: MIT */
/* The series of a panel where their random effects are known: log p(series | u)
 * for every series, in the units of the estimator that the model has without
 * random effects (struct method), with random numbers of their own. */
#ifndef PANEL_GIVEN_H
#define PANEL_GIVEN_H

#include "panel/rule.h"
#include "panel/subject.h"

struct given {
    struct task task;
    gsv_options options;
    size_t n, tracks, lanes, threads, subjects;
    bool kept;               /* whether every track has its own subject    */
    struct subject *subject; /* (threads), or (tracks)                     */
    size_t *slot, *unit;     /* (tracks + 1) the first ones of a track     */
    bool random;             /* whether there are random numbers at all    */
    double *status;          /* (tracks)                                   */
    /* Of the run under way. */
    const double *u;        /* (tracks, n)                                 */
    const uint32_t *stream; /* (slots)                                     */
    double *value;          /* (units)                                     */
};

/* For a task whose options are copied. Free in any case. */
int given_init(struct given *g, const struct method *inner,
               const struct task *t);
void given_free(struct given *g);

/* The unit of each slot. */
int given_slots(struct given *g, size_t *unit);

/* At the values of the task's model and the effects u (tracks, n): log p of
 * every unit to value (units), -INFINITY where that is not finite. */
int given_run(struct given *g, const double *u, const uint32_t *stream,
              double *value);

#endif
