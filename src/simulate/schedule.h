/* SPDX-License-Identifier: MIT */
/* The times of a simulation: those of its options, and those of events, which
 * make rows of their own: without them the result would not say why the states
 * jump. */
#ifndef SIMULATE_SCHEDULE_H
#define SIMULATE_SCHEDULE_H

#include "model/gaps.h"

struct schedule {
    double begin; /* the time of the first state, up to time[0] */
    size_t times;
    double *time; /* (times) increasing                         */
    bool *asked;  /* (times) not only an event's                */
};

/* own: first states have the model's law, so that tracks begin at its time. The
 * inputs have the events, if there are any. To be freed after a failure, too.
 */
int schedule_init(struct schedule *s, const gsv_simulate_options *o,
                  const struct gaps *inputs, bool own);
void schedule_free(struct schedule *s);

#endif
