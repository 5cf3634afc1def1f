/* SPDX-License-Identifier: MIT */
/* Adam (Kingma and Ba 2015), uphill, and
 * an exponential average of where it has been. */
#ifndef LEARN_ADAM_H
#define LEARN_ADAM_H

#include <math.h>
#include <stddef.h>

#define ADAM_BETA1 0.9
#define ADAM_BETA2 0.999
#define ADAM_TINY 1e-8

struct adam {
    size_t n;
    double *mean, *square; /* (n) running moments of the gradient */
    double *average;       /* (n) of theta, not yet corrected     */
    double steps;          /* done                                */
    double weight;         /* of all thetas in the average        */
    double averaged;       /* thetas in the average               */
    double length;         /* running length of the gradient      */
};

int adam_init(struct adam *a, size_t n);
void adam_free(struct adam *a);

/* Shortens a gradient that is longer than `most` running lengths; 0: never. */
void adam_clip(struct adam *a, double most, double *gradient);

/* One more step begins. */
void adam_begin(struct adam *a);

/* theta += rate unit m / (sqrt(v) + eps) of numbers [first, end). */
void adam_step(struct adam *a, double rate, size_t first, size_t end,
               const double *unit, /* (n) of steps; 0: stays  */
               const double *gradient, double *theta);

/* What is added to the moments, and what corrects them for their start. */
struct adam_scale {
    double mean, square; /* of the moments */
};
struct adam_scale adam_scale(const struct adam *a);

/* m / (sqrt(v) + eps) of one number, whose moments are updated. */
static inline double adam_direction(const struct adam_scale *s, double g,
                                    double *mean, double *square)
{
    *mean += (1.0 - ADAM_BETA1) * (g - *mean);
    *square += (1.0 - ADAM_BETA2) * (g * g - *square);
    return s->mean * *mean / (sqrt(s->square * *square) + ADAM_TINY);
}

/* The moments and the average begin anew. */
void adam_forget(struct adam *a);

/* The average with this memory, from 0 (none) to below 1; and as it is. */
void adam_average(struct adam *a, double memory, const double *theta);
void adam_averaged(const struct adam *a, const double *theta, double *to);

#endif
