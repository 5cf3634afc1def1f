/* SPDX-License-Identifier: MIT */
/* Functions drawn from a fit's posterior for blocks of tracks, one each. A gp
 * is linear in its numbers, so a block of tracks with functions of their own
 * costs what others do: every track reads its numbers from a row of its own
 * (own of struct points). Grouping tracks by function would need one function
 * for a whole block to be as fast, and then its tracks would not be
 * independent. */
#ifndef SIMULATE_ENSEMBLE_H
#define SIMULATE_ENSEMBLE_H

#include "model/posterior.h"
#include "simulate/scheme.h"

struct ensemble {
    const gsv_model *model;
    gsv_functions *functions; /* NULL: all tracks take the model's numbers */
    uint64_t seed;
    size_t first, stride; /* of a row among the parameters                */
    size_t rows, threads;
    double *table; /* (rows, stride)                               */
    size_t room_size;
    double *room; /* (threads, room_size)                         */
};

/* Rows come in blocks of FUNCTIONS_BLOCK, as many as are needed, but not more
 * than 256 MiB of them. Without a posterior, or at the mean, there are none. */
int ensemble_init(struct ensemble *e, const gsv_model *m, bool mean,
                  uint64_t seed, size_t wanted, size_t threads);
void ensemble_free(struct ensemble *e);

/* Functions `first`, a multiple of the block, and on to a block of rows. */
void ensemble_draw(struct ensemble *e, uint64_t first, size_t row,
                   size_t thread);

/* Functions 0, 1, ... to all rows. */
int ensemble_fill(struct ensemble *e);

/* The tracks of a stepper take the rows from this one on. */
void ensemble_lend(const struct ensemble *e, size_t row, struct stepper *s);

#endif
