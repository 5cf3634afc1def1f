/* SPDX-License-Identifier: MIT */
/* Paths of the states given all data. Where states are observed exactly, gaps
 * are independent given their ends: each has K bridges with weights. Where they
 * are latent, the estimator's points are drawn backward (model/states.h), and
 * of a few bridges between two of them one is drawn by its weight. What is
 * reported at a stop itself comes from the posterior weights of its points.
 * Where all laws are normal, the estimator says what they are. */
#ifndef PREDICT_PATHS_H
#define PREDICT_PATHS_H

#include "bridge/walk.h"
#include "observe/observe.h"
#include "predict/filter.h"

/* A number and its weight, to be sorted. */
struct ranked {
    double x, weight;
};

/* One thread's bridges of one gap. */
struct gap_bridges {
    const struct paths *paths;
    const struct estimate *estimate;
    const struct context *context;
    struct scratch *scratch;
    const double *time; /* (rows) inside of the gap           */
    size_t rows;
    double *y;            /* (rows, d, K): then x               */
    double *z;            /* (d, K)                             */
    double *S, *S2;       /* (K) log weights, then S normalised */
    struct ranked *room;  /* (K)                                */
    double ess;           /* smallest so far                    */
    size_t *order, *pick; /* (draws)                            */
};

struct paths {
    const gsv_model *model;
    const gsv_series *series;
    const gsv_paths_options *options;
    gsv_options bridge;          /* of the bridges                          */
    const struct method *method; /* its paths are NULL: states are observed */
    size_t d, K;
    enum random_purpose purpose; /* of the bridges */
    size_t sample; /* paths that are drawn of latent states         */
    struct stops stops;
    size_t *first; /* (stops + 1) rows reported after the stop before, up  */
                   /* to a stop                                            */
    bool *at_stop; /* (stops) whether the last of these is the stop        */
    size_t most;   /* rows inside of a gap                                 */
    struct estimate estimate;
    struct gap_bridges *bridges; /* (estimate.run.threads) */
    size_t begin; /* of the gaps or pairs that are walked          */
    size_t count;
    bool *lost;  /* (count) whether no bridge has any weight                */
    size_t *end; /* exact: (gaps) the stop that a gap ends with             */
    /* Latent: */
    size_t stop;          /* whose gap is walked                  */
    double *chosen;       /* (most, d, sample) places of the paths */
    size_t *now, *before; /* (sample) points of the paths         */
    size_t points;        /* room of a stop's points, so far      */
    double *term;         /* (points)                             */
    double *uniform;      /* (sample)                             */
    double *equal;        /* (sample) weights                     */
    struct ranked *room;  /* (sample or points)                   */
    gsv_smoothed *out;
};

/* --- paths_ask.c: at which times ------------------------------------------ */

/* To first, at_stop and most, and the rows of out. */
int paths_ask(struct paths *p);

/* The rows inside of the gap that ends with a stop. */
size_t rows_inside(const struct paths *p, size_t stop);

/* --- paths_bands.c ------------------------------------------------------- */

/* Mean, deviation and quantiles of state i in a row, of n numbers with weights
 * whose sum is 1. room (n) */
void bands_set(const struct paths *p, size_t row, size_t i, size_t n,
               const double *x, const double *weight, struct ranked *room);

/* The quantile of sorted numbers. */
double ranked_quantile(size_t n, const struct ranked *r, double probability);

/* Log weights to weights with the sum 1, in place; their effective number, 0
 * where there is none. */
double normalise(size_t n, double *S);

/* The number that a share of all weight leads to. */
size_t pick_one(size_t n, const double *weight, double share);

/* --- paths_walk.c -------------------------------------------------------- */

/* Bridges of pair or gap number `pair` of the estimate at times inside of it,
 * in the data's coordinates, with their weights; false where none has any. */
bool bridges_walk(struct gap_bridges *w, size_t pair, size_t rows,
                  const double *time);

/* --- paths.c ------------------------------------------------------------- */

/* Memory of the threads, for so many gaps or pairs at once. */
int paths_make_bridges(struct paths *p, size_t count);

/* Runs them over the lanes, LANES at most; fails where one was lost. */
int paths_run(struct paths *p, size_t begin, size_t count,
              void (*work)(void *context, size_t lane, size_t thread));

/* Calls progress(); a status where the caller stops. */
int paths_tell(const struct paths *p, size_t done, size_t all);

/* Path number `draw` of state i in a row. */
double *draw_at(const struct paths *p, size_t draw, size_t i, size_t row);

/* --- paths_latent.c ------------------------------------------------------ */

int paths_latent(struct paths *p);

/* --- paths_normal.c ------------------------------------------------------ */

/* Of laws that are normal, without points and bridges. */
int paths_normal(struct paths *p);

/* --- paths_drawn.c ------------------------------------------------------- */

/* Of an estimator that draws whole paths. */
int paths_drawn(struct paths *p);

#endif
