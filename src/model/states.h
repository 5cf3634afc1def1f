/* SPDX-License-Identifier: MIT */
/* What an estimator of hidden states says about the states themselves, for
 * forecasts, residuals and paths: `filter` and `paths` of struct method. */
#ifndef MODEL_STATES_H
#define MODEL_STATES_H

#include "model/method.h"

/* The law of the states in a row given the data up to that row: points in the
 * data's coordinates, with weights; or the normal law around one of them. */
struct state_law {
    size_t track, row;
    double time;
    size_t points, stride;
    const double *x;          /* (dim, stride)                              */
    const double *log_weight; /* (points) up to a constant; NULL: all equal */
    const double *root;       /* (dim, dim) of a normal law's covariance
                               * root root', x its mean; else NULL          */
};

/* Receives n rows in their order. They are valid until it returns. */
struct filter_visitor {
    void *user;
    int (*visit)(void *user, size_t n, const struct state_law *law);
};

/* Points at a stop (observe/observe.h) of which a path takes one, given all
 * data. The points of the stop before are columns of the same x. */
struct path_stop {
    size_t stop;
    size_t points, first;  /* columns [first, first + points) of x     */
    size_t before, origin; /* the same of the stop before; 0: none     */
    const double *x;       /* (dim, stride)                            */
    size_t stride;
    const double *weight; /* (points) posterior weights, whose sum is 1 */
    double ess;           /* their effective number                     */
    /* log P(point i at the stop before | point j here, data), up to a
     * constant, to log_weight (before). */
    void (*backward)(const struct path_stop *s, size_t j, double *log_weight);
    const void *machine; /* for backward() */
    size_t pairs;        /* for backward() */
};

/* Receives the stops of each track from the last to the first. */
struct path_visitor {
    void *user;
    int (*visit)(void *user, const struct path_stop *s);
};

/* Normal laws of the states at requested times, given all data: mean and
 * deviation, and draws of whole paths. */
struct normal_paths {
    size_t rows;
    const size_t *track; /* (rows), rising                       */
    const double *time;  /* (rows), rising in each track         */
    size_t draws;
    double *mean, *sd; /* (dim, rows)        */
    double *draw;      /* (draws, dim, rows) */
};

/* Paths with weights at requested times, given all data: track after track. */
struct drawn_paths {
    size_t rows;
    const size_t *track; /* (rows), rising               */
    const double *time;  /* (rows), rising in each track */
    void *user;
    /* Rows [first, first + rows) of one track: x (rows, dim, K), and weights
     * (K) whose sum is 1; ess: the effective number of paths that differ from
     * their beginning on. */
    int (*visit)(void *user, size_t first, size_t rows, size_t K,
                 const double *x, const double *weight, double ess);
};

/* Receives the normal law of every column of a row, given the rows before it in
 * its track: mean and sd (dim + values), NaN for columns without a law. Rows
 * come in their order, without the first stop of a track. */
struct ahead_visitor {
    void *user;
    void (*visit)(void *user, size_t row, const double *mean, const double *sd);
};

#endif
