/* SPDX-License-Identifier: MIT */
/* The linearised smoother of one track with noisy observations: a Gaussian law
 * of the state, in unit-diffusion coordinates y, at every stop given all that
 * was observed. Support points are drawn from it.
 *
 * Along a path of means mu the drift is linearised in the middle of each chord,
 *
 *     Y_n | Y_(n-1) ~ N(Phi_n Y_(n-1) + c_n, Q_n),
 *
 * and what is observed at a stop becomes a Gaussian density, by its gradient g
 * and the negative definite part -H'H of its Hessian at mu. The smoothed means
 * are the next mu. Where drift and map are linear the limit is the mode of the
 * law of all states, found by Newton's method; with normal observations, too,
 * it is the law itself. */
#ifndef OBSERVE_SMOOTH_H
#define OBSERVE_SMOOTH_H

#include "base/memory.h"
#include "model/model.h"

/* A row of a track with at least one observed value, or another time at which
 * the state is needed, with NO_ROW. */
struct stop {
    size_t track, row;
    size_t event; /* the row whose events act here, after what was observed; */
                  /* NO_ROW where none does                                  */
    double time;
    uint32_t stream; /* added to the iteration of its random numbers */
};

/* What is known of a track. Rows of arrays are stops apart. */
struct smooth_track {
    size_t stops;               /* at least 1                                */
    const double *time;         /* (stops), rising                           */
    const double *input;        /* (inputs, stops) at the stops, or NULL     */
    const double *middle_input; /* (inputs, stops) in the middle of the gap  */
                                /* that ends at the stop; the first is not   */
                                /* read; or NULL                             */
    const double *middle_slope; /* their slopes there, or NULL: they hold    */
    const double *jump; /* (stops, d, d): y after a stop is jump y before it, */
    /* where a held input of the noise turns; or NULL  */
    const double *unjump; /* (stops, d, d) its inverse                       */
    const double *value;  /* (values, stops), NaN where missing              */
    const double *exact;  /* (dim, stops): states z that were observed */
                          /* without noise, NaN where latent or        */
                          /* missing; or NULL                          */
};

/* The laws of Y_n given all observations; all but the first two may be NULL.
 * In directions that are observed without noise covariances are 0.
 *
 * Y_n | Y_(n+1) ~ N(mean_n + gain_n (y_(n+1) - mean_(n+1)), rest_n), so that
 * joint draws go backward from the last stop, whose gain is 0 and whose rest is
 * its cov. cov_n = rest_n + gain_n cov_(n+1) gain_n'. */
struct smooth_law {
    double *mean;           /* (stops, d)    */
    double *cov;            /* (stops, d, d) */
    double *gain, *rest;    /* (stops, d, d) */
    double *predicted_mean; /* (stops, d) given the observations before n */
    double *predicted_cov;  /* (stops, d, d)                              */
};

/* A program with all that it needs to run. */
struct smooth_part {
    struct program *program; /* or NULL where there is nothing to compute */
    struct uniforms uniforms;
    struct workspace workspace;
};

/* Of every stop; transitions are those of the gap that ends there. */
struct smooth_stops {
    struct arena arena;
    size_t capacity;
    double *target, *trial; /* (stops, d): smoothed means, the next path     */
    double *move;           /* (stops, d): the way to them one pass before   */
    double *Phi, *c, *Q;    /* (stops, d, d), (stops, d), (stops, d, d)      */
    double *g, *H;          /* (stops, d), (stops, d, d)                     */
    double *fixed;          /* (stops, d): what sigma y is, NaN where it may */
                            /* be anything: see smooth_fix()                 */
    double *sigma;          /* (stops, d, d)                                 */
};

struct smoother {
    const gsv_model *model;
    struct graph *graph; /* the model's, with the gradients of densities     */
    size_t d, inputs;
    size_t columns; /* inputs, values and lengths of gaps: inputs of density */
    bool pinned;    /* whether some states are observed without noise        */
    struct smooth_part drift;   /* f~ over y                                 */
    struct smooth_part density; /* over y: of every obs its log density and  */
                                /* its gradient                              */
    struct smooth_part range;   /* over y: positive inside                   */
    struct smooth_part pin;     /* over z: the stretched state u and sigma   */
    struct smooth_part first;   /* over z: mean and deviation of the first   */
                                /* state, and T                              */
    struct arena arena;         /* of all that follows                       */
    double *state, *time, *input, *slope, *dot; /* a block of points         */
    double *log_density;                        /* of its stops              */
    double *first_mean, *first_cov;             /* (d), (d, d)               */
    double *mean, *cov;                         /* of the filter             */
    double *matrix;                             /* small ones                */
    double *vector;                             /* (VECTORS, d)              */
    double *eigen_room;
    struct smooth_stops stop;

    bool curved; /* whether a density may have several modes: see below      */

    /* Of the last run. */
    size_t passes;
    bool converged;
    double log_path; /* J of smooth.c at its end                             */
    double log_gain; /* sum over stops of 1/2 log |I + H P H'|               */
};

/* 0, GSV_NO_MEMORY, or GSV_BAD_INPUT for a model whose noise no map takes out.
 * The model is borrowed. */
int smoother_init(struct smoother *s, const gsv_model *m);
void smoother_free(struct smoother *s);

/* 0, GSV_NO_MEMORY or GSV_NUMERICAL. Memory for the stops is kept for the runs
 * that follow. */
int smoother_run(struct smoother *s, const double *parameters,
                 const struct smooth_track *track,
                 const struct smooth_law *law);

/* --- Other modes: smooth_modes.c ------------------------------------------ */

/* Where an observation is not one-to-one, as y ~ normal(x^2, s), other paths
 * may explain all data as well as the one that smoother_run() finds. They are
 * searched for along lines through the means of a law: at every stop the next
 * mode of the density of what was observed, above and below the mean. There are
 * so many lines; none where no density can have two modes. */
size_t smoother_lines(const struct smoother *s);

/* Paths to start from along one line: the other mode at all stops that have
 * one, above the mean and below it. */
enum { SMOOTH_STARTS = 2 };

/* To start (SMOOTH_STARTS, stops, d). Bit i of the result: there is a start i.
 * law: any that was found for the track, by the last smoother_run() or since.
 * shift (2, stops) is scratch. */
unsigned smoother_look(struct smoother *s, const struct smooth_track *track,
                       const struct smooth_law *law, size_t line, double *shift,
                       double *start);

/* With one state paths may also change from mode to mode. All modes of a stop
 * are listed, at most so many, the first of which is the mean itself; and of
 * each the best chain of modes through it, by the costs of steps. */
enum { SMOOTH_MODES = 6 };

struct mode {
    double place, value, width; /* of its top: y, the log density; variance */
    double before, after;       /* costs of the chain, in nats: up to here,
                                   and from here on                         */
    double step[SMOOTH_MODES];  /* to the next observed stop                */
    size_t from, to;            /* modes of the chain at the stops with modes
                                   before and after                         */
    bool used, best;    /* it is one; of the best chain of all              */
    bool wanted, tried; /* see smoother_chain()                             */
};

/* To all (stops, SMOOTH_MODES); false where no stop has several modes. */
bool smoother_modes(struct smoother *s, const struct smooth_track *track,
                    const struct smooth_law *law, struct mode *all);

/* The best chain of all as a path (stops) to start from, but through modes that
 * are wanted wherever their chains leave it: one after the other, as many as
 * there is room for. These are tried then; returns their number. */
size_t smoother_chain(const struct smooth_track *track,
                      const struct smooth_law *law, struct mode *all,
                      double *path);

/* The law that passes from the path in law->mean lead to; false where it is not
 * finite. inside (stops, d): a path inside of T's range. */
bool smoother_run_from(struct smoother *s, const struct smooth_track *track,
                       const double *inside, const struct smooth_law *law);

/* After a run: log p(data) of the track by Laplace's method, up to a constant
 * that is the same for all its runs. */
double smoother_evidence(struct smoother *s, const struct smooth_track *track);

#endif
