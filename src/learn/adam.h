/* SPDX-License-Identifier: MIT */
/* Adam (Kingma and Ba 2015), with decoupled weight decay (AdamW), uphill, and
 * an exponential average of where it has been. */
#ifndef LEARN_ADAM_H
#define LEARN_ADAM_H

#include <stdbool.h>
#include <stddef.h>

struct adam {
    size_t n;
    double *mean, *square; /* (n) running moments of the gradient */
    double *average;       /* (n) of theta, not yet corrected     */
    double steps;          /* done                                */
    double weight;         /* of all thetas in the average        */
    double length;         /* running length of the gradient      */
};

int adam_init(struct adam *a, size_t n);
void adam_free(struct adam *a);

/* Shortens a gradient that is longer than `most` running lengths; 0: never. */
void adam_clip(struct adam *a, double most, double *gradient);

/* theta += rate unit m / (sqrt(v) + eps), less decay of what decays. */
void adam_step(struct adam *a, double rate, double decay,
               const double *unit,   /* (n) of steps; 0: stays  */
               const bool *decaying, /* (n)                     */
               const double *gradient, double *theta);

/* The average with this memory, from 0 (none) to below 1; and as it is. */
void adam_average(struct adam *a, double memory, const double *theta);
void adam_averaged(const struct adam *a, const double *theta, double *to);

#endif
