/* SPDX-License-Identifier: MIT */
/* Draws of what comes after a row: many tracks from one place, or from a sample
 * of places where the state is not known exactly, simulated to some later times
 * with what would be observed there. Draw i from origin n is a pure function of
 * (seed, n, i): the same on any number of threads. */
#ifndef PREDICT_FORECAST_H
#define PREDICT_FORECAST_H

#include "model/states.h"
#include "simulate/tracks.h"

/* Where draws begin, and the times at which they are kept. */
struct origin {
    struct state_law from; /* the last row that is known            */
    size_t times;
    const double *at; /* (times) increasing, after the row's time      */
    uint64_t number;  /* the random numbers are a function of it       */
};

struct forecast_options {
    size_t draws;
    double step; /* longest; 0: chosen */
    uint64_t seed;
    size_t threads;
    const struct ensemble *ensemble; /* of functions, filled; or NULL */
    size_t function;                 /* the first draw's              */
};

struct forecast_worker {
    struct tracks tracks;
    double *total; /* (observations) trials */
};

/* What ended a draw before its time. */
struct forecast_loss {
    bool lost, unlawful;
    size_t obs;
    double time;
};

struct forecast {
    const gsv_series *series;
    struct forecast_options o;
    struct field field;
    struct emitter emitter;
    size_t d, columns, times, threads;
    double typical; /* gap of the data */
    struct forecast_worker *worker;

    /* Of a run. */
    const struct origin *origin;
    size_t origins, blocks, loss_capacity;
    struct forecast_loss *loss; /* (origins, blocks) */
    double *value;
};

/* All is borrowed. The series has the inputs, and trials that laws do not say.
 * An origin has up to so many times. To be freed after a failure, too. */
int forecast_init(struct forecast *f, const gsv_model *m,
                  const gsv_series *series, const struct forecast_options *o,
                  size_t times);
void forecast_free(struct forecast *f);

/* The numbers that one origin's draws take. */
size_t forecast_size(const struct forecast *f);

/* value is (n, columns, draws, times + 1) with dim states and all values as
 * columns. Fails where a draw is lost. */
int forecast_run(struct forecast *f, size_t n, const struct origin *origin,
                 double *value);

/* The draws (draws) of one column at one of the times. */
void forecast_copy(const struct forecast *f, const double *value, size_t origin,
                   size_t column, size_t time, double *draw);

#endif
