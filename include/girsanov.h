/* SPDX-License-Identifier: MIT */
/* Girsanov learns stochastic differential equations from time series. This
 * header is the public interface and its manual. The first part has what most
 * programs need; the special tools follow after it.
 *
 * A complete program, which learns a model from data and prints the result:
 *
 *     #include <girsanov.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         gsv_model *m = gsv_model_read("ou.sde");
 *         gsv_series *s = gsv_series_read("data.csv", 0, NULL);
 *         gsv_fit_options o = gsv_fit_options_default();
 *         if (!m || !s || gsv_fit(m, s, &o)) {
 *             fprintf(stderr, "%s\n", gsv_last_error());
 *             return 1;
 *         }
 *         for (size_t i = 0; i < gsv_model_params(m); i++) {
 *             gsv_param p = gsv_model_param(m, i);
 *             printf("%s = %g\n", p.name, gsv_model_value(m)[p.offset]);
 *         }
 *         gsv_model_write(m, "ou.fit");
 *         gsv_series_free(s);
 *         gsv_model_free(m);
 *         return 0;
 *     }
 *
 * A pointer may be NULL only where this header says so, or where it is an array
 * without elements. Every _free() accepts NULL. Memory that a function returns
 * is yours to free, unless the comment says that it is borrowed.
 *
 * Threads: several threads may use one const gsv_model or const gsv_series at
 * the same time. Results have the same bits on any number of threads. */
#ifndef GIRSANOV_H
#define GIRSANOV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GSV_VERSION "0.2.0"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* --- Status --------------------------------------------------------------- */

/* A function that does something returns a status, and one that makes something
 * returns it or NULL. After a failure gsv_last_error() says what is wrong, and
 * what to do. A result is then empty, and a model is unchanged. A function that
 * returns a property returns 0, false, NULL or NaN after a failure. */
enum gsv_status {
    GSV_SIGNED = -1, /* never returned; makes the type signed, as int is */
    GSV_OK = 0,
    GSV_BAD_INPUT = 1, /* a model, file, option or argument is wrong */
    GSV_NUMERICAL = 2, /* a value was not finite                     */
    GSV_NO_MEMORY = 4, /* an allocation failed                       */
    GSV_STOPPED = 8    /* the caller or a time limit stopped it      */
};

/* The last error message and status of this thread. The text is borrowed until
 * the next call. */
const char *gsv_last_error(void);
enum gsv_status gsv_last_status(void);

const char *gsv_version(void);

/* --- Data ----------------------------------------------------------------- */

/* One or more observed series (tracks), one below the other: track r has the
 * rows start[r] to start[r + 1] - 1. Times increase strictly within a track; a
 * missing value is NaN. All fields may be read. */
typedef struct gsv_series {
    size_t rows, columns, tracks;
    double *time;  /* (rows)                                        */
    double *value; /* (columns, rows): a column is contiguous       */
    size_t *start; /* (tracks + 1)                                  */
    char **name;   /* (columns)                                     */
    char **label;  /* (tracks): the text of the series column       */
    size_t *line;  /* (rows): line in the file, 0 without one       */
    char *source;  /* name of the file, or "data"                   */
    char *note;    /* what was skipped while reading, or ""         */
    bool borrowed; /* time and value belong to the caller           */
    void *file;    /* for internal use                              */
    size_t words;  /* of columns of categories                      */
    char **word;   /* (words): gsv_category(word) is their cell      */
} gsv_series;

/* Reads a CSV file, or a NumPy array (.npy). Keeps only the named columns, in
 * this order; with name NULL it keeps all columns except series and time. A
 * .npy file is (rows, 1 + n) or (tracks, rows, 1 + n), with the time first. */
gsv_series *gsv_series_read(const char *path, size_t columns,
                            const char *const *name);

/* Makes a series from copies of arrays: start is (tracks + 1), time is (rows),
 * value is (columns, rows). With name NULL the columns are x1, x2, ... */
gsv_series *gsv_series_new(size_t tracks, const size_t *start, size_t columns,
                           const char *const *name, const double *time,
                           const double *value);

/* Writes series,time,... as CSV with all digits; "-" is standard output. The
 * file is replaced only when it is complete. */
enum gsv_status gsv_series_write(const gsv_series *s, const char *path);
void gsv_series_free(gsv_series *s);

/* --- Model ---------------------------------------------------------------- */

/* An SDE dX = f(X, t) dt + g(X, t) dW with parameters and their values. */
typedef struct gsv_model gsv_model;

/* Parses the text of a model (docs/LANGUAGE.md), for example
 *
 *     gsv_model_parse("state x\nparam k = 1 > 0\ndx = -k*x*dt + dW", NULL)
 *
 * `name` stands for the text in messages; it may be NULL. */
gsv_model *gsv_model_parse(const char *text, const char *name);

/* Reads a model's text or a fit from a file; "-" is standard input. */
gsv_model *gsv_model_read(const char *path);

/* Writes the model with its values and the record of its fit (docs/FORMAT.md).
 * The file is replaced only when it is complete. */
enum gsv_status gsv_model_write(const gsv_model *m, const char *path);
void gsv_model_free(gsv_model *m);

/* Numbers of states, noises and inputs; the names of states and inputs, in
 * this order; the columns that the data must have. Names are borrowed. */
size_t gsv_model_dim(const gsv_model *m);
size_t gsv_model_noises(const gsv_model *m);
size_t gsv_model_inputs(const gsv_model *m);
size_t gsv_model_columns(const gsv_model *m);
const char *const *gsv_model_column(const gsv_model *m);
size_t gsv_model_data_columns(const gsv_model *m);
const char *const *gsv_model_data_column(const gsv_model *m);

/* A parameter. Its numbers are values [offset, offset + rows * columns) of the
 * model, row by row. Bounds are -inf and inf if there are none. */
typedef struct gsv_param {
    const char *name;
    int rank; /* 0 a number, 1 a vector, 2 a matrix */
    size_t rows, columns, offset;
    double low, high;
    bool lower;  /* lower triangular, with a positive diagonal          */
    bool weight; /* belongs to a network                                */
    bool scale;  /* of a network or a grid; set from the data           */
    bool gp;     /* of a gp; a matrix has its values                    */
    bool term;   /* the coefficient of a term                           */
    bool effect; /* random: not learned, as a scale; its value is the mean */
    const char *const *label; /* (rows) of `param k[series]`: the series; NULL
                               * for others, and before gsv_model_bind()    */
} gsv_param;
size_t gsv_model_params(const gsv_model *m);
gsv_param gsv_model_param(const gsv_model *m, size_t i); /* name NULL: none */

/* All numbers of all parameters. Borrowed. */
size_t gsv_model_values(const gsv_model *m);
const double *gsv_model_value(const gsv_model *m);

/* Gives a model with `param k[series]` or `param b[group]` one number for each
 * series or level of the data; until then it has one for all. gsv_fit() does it
 * by itself. Names that were borrowed are then no longer valid. Does nothing
 * for a model that has no such parameters, or has their levels already. */
enum gsv_status gsv_model_bind(gsv_model *m, const gsv_series *s);

/* The number of levels of a category, "series" or a column, and their labels,
 * borrowed, if label is not NULL; 0 if there is none, or before a bind. */
size_t gsv_model_levels(const gsv_model *m, const char *category,
                        const char *const **label);

/* Whether a column, or "series", is a category of the model. */
bool gsv_model_is_category(const gsv_model *m, const char *name);

/* Sets a parameter `s` or an element `A[1,2]`, of a series `k[label]`. n is 1
 * (for every element; for the diagonal of a lower matrix) or the number of
 * elements. */
enum gsv_status gsv_model_set(gsv_model *m, const char *name, size_t n,
                              const double *value);

/* Drift (dim, n) and diffusion (dim, noises, n) of the data at n points x
 * (dim, n) and times (n). input is (inputs, n), NULL if there are none; inputs
 * are treated as constant in time. */
enum gsv_status gsv_model_drift(const gsv_model *m, size_t n,
                                const double *time, const double *x,
                                const double *input, double *f);
enum gsv_status gsv_model_diffusion(const gsv_model *m, size_t n,
                                    const double *time, const double *x,
                                    const double *input, double *g);

/* The model's text, borrowed, and a description in words as `girsanov check`
 * prints it, which gsv_text_free() frees. */
const char *gsv_model_text(const gsv_model *m);
char *gsv_model_describe(const gsv_model *m);
void gsv_text_free(char *text);

/* --- Likelihood ----------------------------------------------------------- */

/* Options are structs. Start from the default, and change fields:
 *
 *     gsv_options o = gsv_options_default();
 *     o.paths = 256;
 *
 * gsv_option_table() below has each option with its bounds and default. The
 * page docs/ESTIMATOR.md explains them. */

/* The estimator for noisy observations; auto chooses by the states. */
enum gsv_observe {
    GSV_OBSERVE_AUTO,
    GSV_OBSERVE_SCAN,        /* points at every row, or on a lattice    */
    GSV_OBSERVE_CONJUGATE,   /* whole tracks, as in the paper           */
    GSV_OBSERVE_VARIATIONAL, /* whole tracks, drawn from a smoother    */
    GSV_OBSERVE_KALMAN,      /* linear equations, normal observations: exact */
    GSV_OBSERVE_GUIDED       /* particles that look ahead, under any noise  */
};

typedef struct gsv_options gsv_options;
gsv_options gsv_options_default(void);

typedef struct gsv_result {
    double loglik;
    double error;             /* its Monte Carlo standard error             */
    double discretisation;    /* l(dt) - l(2 dt), of two runs               */
    double ess_min;           /* smallest effective sample size of a gap    */
    double khat_max;          /* largest Pareto k-hat; NaN with few paths   */
    double log_bias;          /* of the log of a mean, by the delta method  */
    size_t flagged;           /* gaps that cannot be trusted                */
    bool settled;             /* whether the tolerance was reached          */
    enum gsv_observe observe; /* AUTO without noisy observations; else gaps are
                               * rows and paths are points                  */
    size_t gaps, paths;
    size_t steps; /* of the longest gap */
    uint64_t drift_evaluations;
    double seconds;
    size_t memory; /* bytes */
    size_t values;
    double *gradient;    /* (values) d loglik / d value, or NULL       */
    size_t groups;       /* 0 on all ranks except the first            */
    struct gsv_gap *gap; /* (groups) one for each gap, or track if joint */
    size_t nodes;        /* of random effects, in all; 0 without them  */
    double quadrature;   /* l(nodes) - l(fewer nodes): see panel       */
} gsv_result;

/* Estimates log p(rows | first row of each track):
 *
 *     gsv_result r;
 *     if (gsv_loglik(m, s, &o, &r)) return 1;
 *     printf("%g +- %g\n", r.loglik, r.error);
 *     gsv_result_free(&r);
 */
enum gsv_status gsv_loglik(const gsv_model *m, const gsv_series *s,
                           const gsv_options *o, gsv_result *result);
void gsv_result_free(gsv_result *result);

/* The random effects of each track given its rows, (tracks, effects): their
 * means and standard errors. Of a model with the record of a fit, the latter
 * include the uncertainty of the parameters. */
size_t gsv_model_effects(const gsv_model *m);
enum gsv_status gsv_effects(const gsv_model *m, const gsv_series *s,
                            const gsv_options *o, double *estimate,
                            double *error);

/* --- Fit ------------------------------------------------------------------ */

typedef struct gsv_fit_options gsv_fit_options;
gsv_fit_options gsv_fit_options_default(void);

/* Learns the model's parameters, starting from their values. The model then has
 * the learned values and a record. A fit that was stopped, or reached its time
 * limit, returns GSV_OK with what it has learned until then: see `ended`. */
enum gsv_status gsv_fit(gsv_model *m, const gsv_series *s,
                        const gsv_fit_options *o);

/* What was learned from which data, and how well: see below. */
typedef struct gsv_record gsv_record;

/* The record of a model that was fitted or read from a fit, borrowed; else
 * NULL. */
const gsv_record *gsv_model_record(const gsv_model *m);

/* --- Selection ------------------------------------------------------------ */

/* A candidate of a selection: a coefficient of terms. */
typedef struct gsv_coefficient {
    const char *name; /* borrowed from the selection                       */
    bool chosen;
    double estimate, error; /* 0 and NaN if it is not chosen               */
    double evidence;        /* log-likelihood that is lost without it, or
                             * that would be gained with it                */
    double cost;            /* what it costs, to compare with the evidence */
    double frequency;       /* share of the resampled data that choose it  */
} gsv_coefficient;

/* A set of coefficients that was fitted. */
typedef struct gsv_candidate {
    size_t terms;
    double loglik, error; /* and its Monte Carlo standard error            */
    double value;         /* log-likelihood minus cost                     */
    bool *has;            /* (coefficients)                                */
} gsv_candidate;

typedef struct gsv_selection {
    gsv_model *model; /* the fit with the chosen terms alone               */
    size_t coefficients;
    gsv_coefficient *coefficient;
    size_t candidates;
    gsv_candidate *candidate; /* (candidates) the best first               */
    size_t gaps;
    size_t resamples;
    size_t blocks; /* that were resampled; 0: scores were drawn from their
                    * normal law                                           */
} gsv_selection;

/* Finds out which coefficients of `terms` are not zero, by the likelihood of
 * refitted models. Reads the options of gsv_fit() and criterion, together,
 * significance, resamples. Coefficients that are fixed are no candidates. */
enum gsv_status gsv_select(const gsv_model *m, const gsv_series *s,
                           const gsv_fit_options *o, gsv_selection *result);
void gsv_selection_free(gsv_selection *s);

/* --- Forecasts ------------------------------------------------------------ */

typedef struct gsv_predict_options gsv_predict_options;
gsv_predict_options gsv_predict_options_default(void);

typedef struct gsv_prediction {
    size_t columns, states; /* states first, then observations with noise  */
    const char **name;      /* (columns) borrowed                          */
    size_t rows, draws;
    size_t *track;     /* (rows) */
    double *time;      /* (rows) */
    double *mean, *sd; /* (columns, rows) */
    size_t quantiles;
    double *level;    /* (quantiles)                                       */
    double *quantile; /* (columns, quantiles, rows)                        */
    double *actual;   /* (columns, rows) the observed value, or NaN        */
    size_t scores;
    struct gsv_score *score; /* (scores)                                   */
    bool held;        /* inputs end before the forecasts; the last is used */
    size_t functions; /* drawn from a gp's posterior                       */
} gsv_prediction;

/* Forecasts what comes after the known rows of each track. */
enum gsv_status gsv_predict(const gsv_model *m, const gsv_series *s,
                            const gsv_predict_options *o,
                            gsv_prediction *result);
void gsv_prediction_free(gsv_prediction *p);

/* --- Residuals ------------------------------------------------------------ */

enum { GSV_LAGS = 10 };

/* For each row u = P(value below the observed one | all rows before), which is
 * uniform and independent under the true model, and z = its normal score. */
typedef struct gsv_residual {
    const char *name;           /* borrowed from the model               */
    size_t rows;                /* with a residual                       */
    double *u, *z;              /* (rows of the result), or NaN          */
    double distance, uniform_p; /* Kolmogorov-Smirnov test of u          */
    double mean, sd;            /* of z                                  */
    double correlation[GSV_LAGS], ljung_p; /* of z, Ljung-Box test       */
    double square[GSV_LAGS], square_p;     /* the same for z^2           */
} gsv_residual;

typedef struct gsv_residuals_result {
    size_t columns, rows, draws; /* draws: 0 if all is in closed form */
    size_t *track, *row;         /* (rows) of the series              */
    gsv_residual *column;        /* (columns)                         */
} gsv_residuals_result;

/* Residuals one row ahead, for each column. Reads draws, step, points, seed,
 * threads and ranks of the options. */
enum gsv_status gsv_residuals(const gsv_model *m, const gsv_series *s,
                              const gsv_predict_options *o,
                              gsv_residuals_result *result);
void gsv_residuals_free(gsv_residuals_result *r);

/* --- Paths given the data ------------------------------------------------- */

typedef struct gsv_paths_options gsv_paths_options;
gsv_paths_options gsv_paths_options_default(void);

/* The law of the states given all data. A track's rows go from its first to
 * its last observation. */
typedef struct gsv_smoothed {
    size_t rows, dim, quantiles, draws;
    size_t *track;       /* (rows)                                       */
    double *time;        /* (rows)                                       */
    double *mean;        /* (dim, rows)                                  */
    double *sd;          /* (dim, rows)                                  */
    double *probability; /* (quantiles) levels                           */
    double *quantile;    /* (quantiles, dim, rows)                       */
    double *draw;        /* (draws, dim, rows) of equal weight, or NULL  */
    size_t *seen;        /* (dim) the series' column of a state, or of its
                          * observation; SIZE_MAX without one            */
    double ess_min;      /* smallest effective sample size               */
    size_t paths;        /* that it is computed from                     */
} gsv_smoothed;

/* Estimates the states at and between the observations. */
enum gsv_status gsv_paths(const gsv_model *m, const gsv_series *s,
                          const gsv_paths_options *o, gsv_smoothed *result);
void gsv_smoothed_free(gsv_smoothed *s);

/* --- Simulation ----------------------------------------------------------- */

typedef struct gsv_simulate_options gsv_simulate_options;
gsv_simulate_options gsv_simulate_options_default(void);

/* Simulates states, inputs and noisy observations:
 *
 *     double time[] = {0, 0.1, 0.2};
 *     gsv_simulate_options o = gsv_simulate_options_default();
 *     o.times = 3;
 *     o.time = time;
 *     gsv_series *s = gsv_simulate(m, &o);
 *
 * The first row has no value of a poisson process, which counts since the row
 * before, unless `init` has an earlier time. Where an event acts at another
 * time than those given there is a row without states and observations. */
gsv_series *gsv_simulate(const gsv_model *m, const gsv_simulate_options *o);

/* ========================================================================== *
 * Options and records, field by field.
 * ========================================================================== */

/* --- Options of the likelihood -------------------------------------------- */

/* The process that bridges are drawn from. auto tries them on a few paths. With
 * a noise that no map makes constant, only modified is possible. */
enum gsv_reference {
    GSV_REFERENCE_AUTO,
    GSV_REFERENCE_BROWNIAN,
    GSV_REFERENCE_LINEAR,  /* a linear SDE, one for each gap          */
    GSV_REFERENCE_LNA,     /* a linear SDE, linearised in every step  */
    GSV_REFERENCE_MODIFIED /* the model's own noise                   */
};

/* The sum in the weights. bound gives a lower bound of the log-likelihood by
 * quadrature, without paths; composed gives the density itself by short steps
 * on a lattice, for one state whose drift does not depend on time; exact by the
 * normal law of linear equations. */
enum gsv_form {
    GSV_FORM_AUTO, /* midpoint if the drift dominates the noise, else ito */
    GSV_FORM_ITO,
    GSV_FORM_MIDPOINT,
    GSV_FORM_STRATONOVICH,
    GSV_FORM_EULER, /* of modified bridges */
    GSV_FORM_BOUND,
    GSV_FORM_COMPOSED,
    GSV_FORM_EXACT
};

enum gsv_random { GSV_RANDOM_SOBOL, GSV_RANDOM_IID };

/* Processes that share the work; see gsv_ranks_open(). NULL is one process. */
typedef struct gsv_ranks gsv_ranks;

struct gsv_options {
    size_t paths; /* K, in each gap                                     */
    size_t steps; /* M, in each gap                                     */
    double step;  /* longest step; if positive, it sets M               */
    enum gsv_reference reference;
    enum gsv_form form;
    enum gsv_random random;
    enum gsv_observe observe;
    size_t points;      /* or particles for each noisy observation; 0: chosen */
    bool richardson;    /* 2 l(dt) - l(2 dt) instead of l(dt)            */
    bool delta;         /* corrects the bias of the log of a mean        */
    double tolerance;   /* if positive, raises paths and steps until the error
                         * and the discretisation are below it           */
    bool joint;         /* averages over whole tracks instead of gaps    */
    bool gradient;      /* computes the gradient                         */
    bool wide;          /* networks in double precision                  */
    uint64_t seed;      /* 1                                             */
    uint32_t iteration; /* other random numbers for every iteration      */
    size_t threads;     /* 0: all                                        */
    gsv_ranks *ranks;
    size_t sample; /* gaps at most, evenly spread, of exact observations; 0:
                    * all                                           */
    size_t window; /* gaps in memory together at most; 0: 2^18      */
    size_t nodes;  /* of a random effect's quadrature; 0: 9         */
};

/* --- Options and record of a fit ------------------------------------------ */

/* auto: evidence with a gp, soap with a network (adam for squared errors of
 * simulated paths), else lbfgs. soap is Adam in the eigenbases of each weight
 * matrix. */
enum gsv_optimizer {
    GSV_OPTIMIZER_AUTO,
    GSV_OPTIMIZER_ADAM,
    GSV_OPTIMIZER_LBFGS,
    GSV_OPTIMIZER_EVIDENCE,
    GSV_OPTIMIZER_SOAP
};

/* The rate of Adam and soap: a cosine down to 0 in each stage; halved when the
 * held-out likelihood does not improve; constant. */
enum gsv_schedule {
    GSV_SCHEDULE_COSINE,
    GSV_SCHEDULE_PLATEAU,
    GSV_SCHEDULE_CONSTANT
};

/* Standard errors. auto: none with a network, else observed. */
enum gsv_errors {
    GSV_ERRORS_AUTO,
    GSV_ERRORS_NONE,
    GSV_ERRORS_OBSERVED, /* from the observed information           */
    GSV_ERRORS_SANDWICH, /* and the outer products of the scores    */
    GSV_ERRORS_POSTERIOR /* of gibbs                                */
};

/* The final log-likelihood. auto: of a sample if there are very many gaps. */
enum gsv_estimate { GSV_ESTIMATE_AUTO, GSV_ESTIMATE_ALL, GSV_ESTIMATE_NONE };

/* Maximum likelihood, or draws from the posterior by Markov chains. */
enum gsv_method { GSV_METHOD_LIKELIHOOD, GSV_METHOD_GIBBS };

/* What is maximised (docs/LEARN.md). The others are for comparison: squared
 * errors of simulated paths, with three kinds of gradients, and regressions.
 * Slopes are also the first stage of networks. */
enum gsv_objective {
    GSV_OBJECTIVE_LIKELIHOOD,
    GSV_OBJECTIVE_MSE_BACKPROP,
    GSV_OBJECTIVE_MSE_ADJOINT,
    GSV_OBJECTIVE_MSE_FORWARD,
    GSV_OBJECTIVE_GRADIENT_MATCHING,
    GSV_OBJECTIVE_EM_LINEAR,
    GSV_OBJECTIVE_SLOPES
};

/* Schemes of SDEs; and for the reactions of a model in whole numbers: exact, or
 * with Poisson numbers of reactions in each step. */
enum gsv_scheme {
    GSV_EULER,
    GSV_MILSTEIN,
    GSV_HEUN,
    GSV_SRK,
    GSV_GILLESPIE,
    GSV_TAU_LEAP
};

/* What a selection of terms maximises: the log-likelihood minus a cost.
 * familywise: a term that is not there is selected with a probability of at
 * most p; pastis: log(N/p) for each of N coefficients; ebic: half the log of
 * the number of gaps for each, and the log of the number of sets of as many;
 * bic: the former alone; aic: 1. */
enum gsv_criterion {
    GSV_CRITERION_FAMILYWISE,
    GSV_CRITERION_PASTIS,
    GSV_CRITERION_EBIC,
    GSV_CRITERION_BIC,
    GSV_CRITERION_AIC
};

/* What is kept or dropped together: a coefficient alone, a term in all outputs,
 * or all terms of an output. */
enum gsv_together { GSV_TOGETHER_NONE, GSV_TOGETHER_TERM, GSV_TOGETHER_OUTPUT };

/* What a fit is doing. */
enum gsv_phase {
    GSV_PHASE_START,    /* scales, noise and grids from the data */
    GSV_PHASE_SEARCH,   /* iterations                            */
    GSV_PHASE_EFFORT,   /* choosing paths and steps              */
    GSV_PHASE_ESTIMATE, /* the final log-likelihood              */
    GSV_PHASE_ERRORS,   /* standard errors                       */
    GSV_PHASE_BOOTSTRAP /* refits of simulated data              */
};

/* Prior laws of a parameter's numbers, truncated at its bounds. */
enum gsv_law {
    GSV_LAW_NORMAL,      /* mean a, standard deviation b                 */
    GSV_LAW_LOGNORMAL,   /* of the logarithm: mean a, deviation b        */
    GSV_LAW_HALFNORMAL,  /* the absolute value of normal(0, a)           */
    GSV_LAW_UNIFORM,     /* from a to b                                  */
    GSV_LAW_GAMMA,       /* shape a, rate b                              */
    GSV_LAW_EXPONENTIAL, /* rate a                                       */
    GSV_LAW_BETA,        /* shapes a and b                               */
    GSV_LAW_CAUCHY       /* median a, half width b                       */
};

typedef struct gsv_prior {
    const char *name; /* a parameter, or an element `A[1,2]`; the last prior of
                       * a number is used */
    enum gsv_law law;
    double a, b;
} gsv_prior;

/* Reads a prior as it is written in a model's text, "k ~ normal(0, 1)". Returns
 * its name, which gsv_text_free() frees; p->name is the same. */
char *gsv_prior_parse(const char *text, gsv_prior *p);

/* The state of a fit, for progress(). */
typedef struct gsv_progress {
    size_t iteration;  /* of this restart: 1, 2, ...                   */
    size_t iterations; /* at most                                      */
    double expected;   /* of these, probably; NaN: not known yet       */
    size_t restart;    /* 1 .. restarts                                */
    size_t restarts;
    double gaps; /* evaluations of gaps in this restart                */
    enum gsv_objective objective;
    double loglik;          /* mean of this iteration's gaps; with another
                             * objective, the value that is maximised      */
    double error;           /* its standard error over the gaps            */
    double heldout;         /* mean of the held-out gaps, or NaN           */
    double rate;            /* of the optimiser                            */
    double seconds;         /* since the start, also before a resume       */
    const gsv_model *model; /* with its present values                     */
} gsv_progress;

struct gsv_fit_options {
    gsv_options estimator; /* paths, steps and step 0: chosen             */
    enum gsv_optimizer optimizer;
    enum gsv_schedule schedule;
    enum gsv_errors errors;
    enum gsv_estimate estimate;
    size_t iterations;   /* at most; 0: chosen                              */
    size_t batch;        /* gaps in an iteration; 0: chosen                 */
    size_t restarts;     /* different starts, the best is kept; 1           */
    double rate;         /* of Adam and soap; 0: chosen                     */
    double decay;        /* penalty decay/2 |w|^2 of networks' weights against
                          * the log-likelihood of all gaps; negative: 1, of
                          * noise 4, and more where held-out gaps ask for it,
                          * or estimated from few data                     */
    double clip;         /* longest gradient, in running lengths; 10, 0: none */
    double average;      /* memory of the average of theta; 0.98, 0: none   */
    double heldout;      /* share of the gaps; negative: chosen             */
    bool heldout_series; /* share of the series, which are held out whole */
    double patience;     /* share of the iterations without improvement of the
                          * held-out likelihood that ends the fit; 0: never */
    double time_limit;   /* seconds for the search, and as many for what
                          * follows it; 0: none                             */
    size_t bootstrap;    /* simulated data sets to refit, for less bias and for
                          * intervals of few data; 0: none, else at least 20 */
    size_t fixed;        /* parameters or elements that are not learned     */
    const char *const *fix;
    size_t kept; /* parameters whose starts are not taken from the data   */
    const char *const *keep;
    const char *checkpoint; /* file to write while learning, or NULL      */
    double every;           /* seconds from one checkpoint to the next; 30 */
    const char *resume;     /* checkpoint to continue from, or NULL       */
    enum gsv_objective objective;
    enum gsv_scheme scheme; /* of simulated paths: euler or heun          */
    enum gsv_method method;
    size_t chains; /* gibbs: 4                                            */
    size_t warmup; /* gibbs: iterations before the draws; 500             */
    size_t draws;  /* gibbs: of each chain; 1000                          */
    size_t priors;
    const gsv_prior *prior; /* beside those of the model's text, which they
                             * replace; flat within the bounds if none */
    enum gsv_criterion criterion; /* of gsv_select(): familywise           */
    enum gsv_together together;   /* of gsv_select(): none                 */
    double significance;          /* p of familywise and pastis; 0: 0.02   */
    size_t resamples;             /* of gsv_select(); 0: 200               */
    /* Called after every iteration. Returns true to stop the fit, which can
     * then be resumed. */
    bool (*progress)(void *user, const gsv_progress *p);
    /* Called many times a second. Returns true to stop the search, which can
     * then be resumed, and to skip what follows it. */
    bool (*stop)(void *user);
    /* Called when a phase begins. */
    void (*phase)(void *user, enum gsv_phase phase);
    /* Called after refits of the bootstrap, or of a selection: done of all, or
     * of as many as there will be about. */
    void (*refit)(void *user, size_t done, size_t all);
    void *user;
};

enum gsv_ended {
    GSV_ENDED_CONVERGED,
    GSV_ENDED_ITERATIONS, /* all iterations are done                 */
    GSV_ENDED_EARLY,      /* the held-out likelihood did not improve */
    GSV_ENDED_TIME,       /* the time limit; can be resumed          */
    GSV_ENDED_STOPPED     /* by the caller; can be resumed           */
};

/* The record of a fit. */
struct gsv_record {
    char *data; /* name of the file */
    size_t tracks, rows, gaps, heldout_gaps;
    enum gsv_optimizer optimizer;
    enum gsv_objective objective;
    double mse;   /* the squared error, if it is the objective; else NaN */
    double value; /* the objective, if it is a regression; else NaN      */
    enum gsv_ended ended;
    enum gsv_errors errors; /* never auto */
    size_t iterations, restarts;
    double seconds;
    uint64_t seed;
    gsv_options estimator; /* options of the likelihood that were set: use them
                            * for the same estimates; 0, auto and false: not
                            * set                                        */
    double loglik;         /* of all gaps that were learned from         */
    double error;          /* its Monte Carlo standard error             */
    double discretisation; /* l(dt) - l(2 dt)                            */
    double heldout;        /* log-likelihood of the held-out gaps        */
    double evidence;       /* with gps: their values are integrated out  */
    size_t paths, steps;   /* of these estimates                         */
    size_t sampled;        /* gaps that they used; 0: all                */
    size_t flagged;        /* gaps that cannot be trusted                */
    size_t free;           /* numbers that were learned                  */
    double aic, bic;
    size_t priors;    /* numbers that have a prior                       */
    double log_prior; /* their log density at the estimate, which is then
                       * the posterior mode; NaN without priors          */
    size_t columns;   /* of the model, with the data's range:    */
    double *lowest, *highest;     /* (columns)                               */
    size_t values;                /* of the model                            */
    double *error_of;             /* (values) standard errors, or NaN        */
    double *low, *high;           /* (values) 95 % intervals, or NaN         */
    size_t estimates;             /* values with correlations                */
    size_t *estimate;             /* (estimates) their places among values   */
    double *correlation;          /* (estimates, estimates), or NULL         */
    char *warning;                /* reasons for doubt, a line each, or ""   */
    size_t chains, warmup, draws; /* gibbs; else 0                       */
    double *posterior;    /* (GSV_POSTERIORS, values), or NULL              */
    size_t bootstraps;    /* simulated data sets; 0 without a bootstrap     */
    size_t refits;        /* of them that succeeded                         */
    double *bootstrap;    /* (GSV_BOOTSTRAPS, values), or NULL              */
    size_t points;        /* of the learning curve                          */
    double *curve;        /* (GSV_CURVES, points), or NULL                  */
    size_t nodes;         /* of random effects in the last estimate         */
    double quadrature;    /* what it gains by them against fewer nodes      */
    size_t effects;       /* random effects of a track; 0 without them      */
    char **subject;       /* (tracks) the labels of the tracks, or NULL     */
    double *effect;       /* (GSV_EFFECTS, tracks, effects), or NULL        */
    double effect_rhat;   /* gibbs: the largest R-hat of random effects...  */
    double effect_ess;    /* ...and the smallest effective size; else 0     */
    double penalty;       /* of weights at the end of the search, the mean  */
    double noise_penalty; /* over networks of the drift, and of others; NaN
                           * without such weights                           */
};

/* Rows of a record's effects. */
enum gsv_effect {
    GSV_EFFECT_ESTIMATE, /* mean given the track's rows             */
    GSV_EFFECT_ERROR,    /* standard error, also of the parameters  */
    GSV_EFFECTS
};

/* Rows of a record's posterior. */
enum gsv_posterior {
    GSV_POSTERIOR_Q5,
    GSV_POSTERIOR_MEDIAN,
    GSV_POSTERIOR_Q95,
    GSV_POSTERIOR_RHAT,
    GSV_POSTERIOR_ESS_BULK,
    GSV_POSTERIOR_ESS_TAIL,
    GSV_POSTERIOR_MCSE, /* standard error of the mean */
    GSV_POSTERIORS
};

/* Rows of a record's bootstrap. */
enum gsv_bootstrap {
    GSV_BOOTSTRAP_CORRECTED, /* the estimate without its bias            */
    GSV_BOOTSTRAP_ERROR,     /* standard deviation of the refits         */
    GSV_BOOTSTRAP_LOW,       /* the 95 % interval of the likelihood ratio, */
    GSV_BOOTSTRAP_HIGH,      /* with the limit that the refits ask for   */
    GSV_BOOTSTRAPS
};

/* Rows of a record's learning curve. */
enum gsv_curve {
    GSV_CURVE_ITERATION, /* counted over all restarts */
    GSV_CURVE_RESTART,   /* 1, 2, ...                 */
    GSV_CURVE_LOGLIK,    /* mean of the gaps          */
    GSV_CURVE_HELDOUT,   /* or NaN                    */
    GSV_CURVES
};

/* --- Options of forecasts, paths and simulations -------------------------- */

struct gsv_predict_options {
    size_t draws;        /* paths from each place; 0: chosen, at most 1024  */
    double step;         /* longest step of simulated paths; 0: chosen      */
    size_t times;        /* of the forecasts; only those after the end of a */
    const double *time;  /* track are used. 0: 20 times in every track      */
    double ahead;        /* time after the end; 0: a tenth of the length    */
    const double *until; /* (tracks) rows after these times are forecast and
                          * scored; NULL: all rows are known                */
    size_t rolling;      /* K: forecasts from every row, 1 to K rows ahead;
                          * scores only                                     */
    size_t quantiles;    /* levels; 0: 5, 25, 50, 75 and 95 %               */
    const double *quantile;
    bool parameters; /* draws the parameters, too, from the fit's covariance;
                      * not with rolling                                    */
    bool mean;       /* a gp's posterior mean instead of draws              */
    enum gsv_observe observe; /* finds the latent states so far: AUTO, SCAN,
                               * KALMAN or GUIDED                            */
    size_t points;    /* for each noisy observation; 0: chosen               */
    size_t steps;     /* of this estimator in each gap; 0: chosen            */
    uint64_t seed;    /* 1                                                   */
    size_t threads;   /* 0: all                                              */
    gsv_ranks *ranks; /* share the work of gsv_residuals()                  */
};

struct gsv_paths_options {
    gsv_options estimator;  /* paths 0: 256; points 0: 64                  */
    size_t times;           /* in every track; 0: all rows, and `between`  */
    const double *time;     /* (times), increasing                         */
    size_t between;         /* times inside each gap; SIZE_MAX: chosen     */
    size_t quantiles;       /* 0: 0.05, 0.5 and 0.95                       */
    const double *quantile; /* (quantiles) between 0 and 1                 */
    size_t draws;           /* paths to keep; 0                            */
    /* Returns true to stop with GSV_STOPPED. */
    bool (*progress)(void *user, size_t done, size_t all);
    void *user;
};

struct gsv_simulate_options {
    size_t times;        /* at least 1                                    */
    const double *time;  /* (times), strictly increasing                  */
    size_t tracks;       /* 1                                             */
    const double *start; /* (dim, tracks) first rows of the data. NULL: first
                          * states are normal with                        */
    double start_mean;   /* this mean and                                 */
    double start_sd;     /* this standard deviation, inside the domain. If both
                          * are 0, latent states come from `init`, at its
                          * time where it has one                         */
    double step;         /* longest step; 0: 1/32 of the shortest gap     */
    enum gsv_scheme scheme;  /* srk                                       */
    const gsv_series *input; /* inputs, and the columns of gsv_model_given(),
                              * by name: a track for each, or the first one
                              * for all                                   */
    bool mean; /* a gp's posterior mean; else track i has the function that
                * gsv_functions_draw() draws as number i                  */
    const double *effect; /* (tracks, effects) random effects; NULL: drawn */
    uint64_t seed;  /* 1                                                  */
    size_t threads; /* 0: all                                             */
};

/* --- Details of results --------------------------------------------------- */

/* Why a gap cannot be trusted. */
enum gsv_flag {
    GSV_FLAG_ESS = 1,   /* the effective sample size is below max(10, K/10)  */
    GSV_FLAG_KHAT = 2,  /* the Pareto k-hat of the weights is above
                         * min(1 - 1/log10 K, 0.7)                           */
    GSV_FLAG_STEPS = 4, /* the estimated discretisation error is above 0.1 and
                         * above 3 standard errors                          */
    GSV_FLAG_MODES = 8, /* several states explain what was observed, and the
                         * estimator follows one of them, or not all         */
    GSV_FLAG_NODES = 16 /* of a series with random effects: fewer quadrature
                         * nodes change its value by more than 0.25          */
};

/* One gap of a gsv_result; with joint, one track. */
typedef struct gsv_gap {
    size_t track;          /* in the series                         */
    size_t from, to;       /* its rows                              */
    double loglik;         /* its share                             */
    double error;          /* standard error of the share           */
    double ess;            /* effective sample size                 */
    double khat;           /* Pareto shape of the weights' tail     */
    double log_bias;       /* of the log of a mean, by the delta method */
    double discretisation; /* l(dt) - l(2 dt); NaN with one step    */
    enum gsv_reference reference; /* with joint, of the last gap    */
    enum gsv_form form;
    unsigned flags; /* bits of enum gsv_flag */
} gsv_gap;

/* How good the forecasts of a column were. */
typedef struct gsv_score {
    size_t column, lead; /* lead: rows ahead; 0: all together             */
    size_t rows;
    double crps;        /* mean continuous ranked probability score, in the
                         * unit of the column                               */
    double climatology; /* the score of the law of all known rows           */
    double cover50, cover90; /* share of rows inside these intervals        */
} gsv_score;

/* ========================================================================== *
 * Special tools. Most programs do not need what follows.
 * ========================================================================== */

/* --- Stopping ------------------------------------------------------------- */

/* Calls of this thread ask `question` many times a second. If it returns true,
 * the call ends with GSV_STOPPED; a fit ends with what it has learned. Once
 * true, the answer must stay true until the call ends. NULL ends the question.
 * A function that the library calls may ask its own in calls of its own: pairs
 * of a question and NULL nest, and the inner question is asked first. */
void gsv_stop_when(bool (*question)(void *user), void *user);

/* --- Posterior draws ------------------------------------------------------ */

/* The draws of a gibbs fit. They are not in the file of a fit. */
typedef struct gsv_draws {
    size_t chains, draws, numbers;
    size_t *place; /* (numbers) among the model's values                  */
    double *value; /* (numbers, chains, draws)                            */
    double *lp;    /* (chains, draws) log posterior density of the values given
                    * the paths of the draw, up to a constant             */
    size_t tracks, effects; /* random effects of each track; 0: none      */
    double *effect; /* (tracks, effects, chains, draws), or NULL          */
} gsv_draws;

/* The draws of the last fit by gibbs, borrowed; else NULL. */
const gsv_draws *gsv_model_draws(const gsv_model *m);

/* --- Data in special forms ------------------------------------------------ */

/* As gsv_series_new(), without a copy: time and value are borrowed, and must
 * not change while the series lives. With label NULL labels are 1, 2, ... */
gsv_series *gsv_series_view(size_t tracks, const size_t *start,
                            const char *const *label, size_t columns,
                            const char *const *name, const double *time,
                            const double *value);

/* As gsv_series_read(), with the names of the time and series columns; either
 * may be NULL. */
gsv_series *gsv_series_read_named(const char *path, const char *time,
                                  const char *series, size_t columns,
                                  const char *const *name);

/* The same for ranks, which all call it. One rank of every machine reads the
 * file; all ranks of the machine share one copy in a temporary file (in TMPDIR,
 * or /var/tmp), of which the system keeps the used parts in memory. */
gsv_series *gsv_series_read_shared(gsv_ranks *ranks, const char *path,
                                   const char *time, const char *series,
                                   size_t columns, const char *const *name);

/* Reads the columns that a model needs, with labels of categories as text; the
 * ranks, and the names of the columns of time and series, may be NULL. */
gsv_series *gsv_series_read_for(const gsv_model *m, gsv_ranks *ranks,
                                const char *path, const char *time,
                                const char *series);

/* The same for simulations and forecasts: only inputs, and what
 * gsv_model_given() names. */
gsv_series *gsv_series_read_inputs(const gsv_model *m, const char *path);

/* All columns, as gsv_series_read_named(); cells that are no numbers are labels
 * of categories. */
gsv_series *gsv_series_read_words(const char *path, const char *time,
                                  const char *series);

/* A cell of a category that has a text: a number itself, or one that stands for
 * the text. Texts are to be listed in the series, for messages. */
double gsv_category(const char *text);
enum gsv_status gsv_series_words(gsv_series *s, size_t n,
                                 const char *const *word);

/* All rows of a, and after each track the later rows of b's track with the same
 * label; a single track of b with another label is used for every track. Has
 * the columns of a; those that b lacks are missing in its rows. */
gsv_series *gsv_series_join(const gsv_series *a, const gsv_series *b);

/* --- Models in detail ----------------------------------------------------- */

/* A function of a model's text, `external f(x, t) -> 2`, that a program gives
 * (docs/CALLBACKS.md). Arrays have the points as their fastest index: x is
 * (inputs, n), f is (outputs, n); p are the function's parameters. A value that
 * does not exist is NaN. Several threads call the functions at the same time.
 * The results have the same bits again if those of the functions have. */
typedef struct gsv_callback {
    size_t inputs, outputs;  /* as in the text                             */
    size_t parameters;       /* as in the text, where it says how many     */
    const double *parameter; /* (parameters) where they start; NULL: at 0  */
    bool weights;            /* they are learned as those of networks are: in
                              * batches, without standard errors           */
    size_t arrays;           /* of weights: their number, or 0             */
    const size_t *shape;     /* (arrays, 2) rows and columns of each       */
    void *user;              /* passed to the functions                    */
    void (*value)(void *user, size_t n, const double *x, const double *p,
                  double *f);
    /* Adds J' f_bar to x_bar (inputs, n) and to p_bar (parameters); either may
     * be NULL. NULL: by finite differences, for at most 256 parameters. */
    void (*vjp)(void *user, size_t n, const double *x, const double *p,
                const double *f_bar, double *x_bar, double *p_bar);
    /* f_dot (outputs, n) = J x_dot. NULL: by finite differences. */
    void (*jvp)(void *user, size_t n, const double *x, const double *p,
                const double *x_dot, double *f_dot);
    void (*release)(void *user); /* after the last call, or NULL           */
} gsv_callback;

/* Gives the function `name` of the text to a model; copies of the model share
 * it. If the text does not say how many parameters it has, that is added to the
 * text, and names that were borrowed are no longer valid. The parameters of a
 * model that was fitted keep their values. After a failure, release() was not
 * called, and the model is unchanged. */
enum gsv_status gsv_model_external(gsv_model *m, const char *name,
                                   const gsv_callback *callback);

/* The names of the functions that a program has to give, borrowed; NULL after
 * the last one. */
const char *gsv_model_external_name(const gsv_model *m, size_t i);

/* What the text says of one of them: its inputs, outputs and parameters, 0
 * parameters where the program says how many. */
enum gsv_status gsv_model_external_size(const gsv_model *m, const char *name,
                                        size_t *inputs, size_t *outputs,
                                        size_t *parameters);

/* Copies a model with its values and its record, without draws. A fit can be
 * resumed from the copy. */
gsv_model *gsv_model_copy(const gsv_model *m);

/* Draws the weights of networks: uniform within 1 / sqrt(inputs), which is how
 * a model starts (seed 1); or by He's rule for relu, normal with variance
 * 2 / inputs and biases of 0. */
void gsv_model_draw(gsv_model *m, uint64_t seed);
void gsv_model_draw_he(gsv_model *m, uint64_t seed);

/* The values without bounds, for optimisers: any vector theta is allowed. The
 * last function adds (dp/dtheta)' p_bar to theta_bar. */
size_t gsv_theta_size(const gsv_model *m);
void gsv_theta_get(const gsv_model *m, double *theta);
void gsv_theta_set(gsv_model *m, const double *theta);
void gsv_theta_vjp(const gsv_model *m, const double *p_bar, double *theta_bar);

/* Whether the noise depends on parameter i. */
bool gsv_model_is_noise(const gsv_model *m, size_t i);

/* A line for every parameter, net, gp and input that the likelihood does not
 * depend on; a line for every gp whose grid does not contain all rows of the
 * data; a line for every column that is made of differences of another one; a
 * line for every level of a category that has one row, or is misspelt.
 * Empty if there is none. gsv_text_free() frees the text. */
char *gsv_model_unused(const gsv_model *m);
char *gsv_model_outside(const gsv_model *m, const gsv_series *s);
char *gsv_model_differences(const gsv_model *m, const gsv_series *s);
char *gsv_model_doubts(const gsv_model *m, const gsv_series *s);

/* The levels of each category with the number of their rows and series, in
 * words. gsv_text_free() frees the text. */
char *gsv_model_level_counts(const gsv_model *m, const gsv_series *s);

/* Counts the points, given as to gsv_model_drift(), outside a gp's grid. */
enum gsv_status gsv_model_outside_at(const gsv_model *m, size_t n,
                                     const double *time, const double *x,
                                     const double *input, size_t *count);

/* The columns that a simulation reads from its input because no law has them:
 * trials of binomials, and counts of multinomials, of which only the sums are
 * used, where the last row with a value is used; then those of events. Writes
 * the first n names, borrowed, and returns the number of columns. */
size_t gsv_model_given(const gsv_model *m, size_t n, const char **name);

/* Whether the log-likelihood of a model can be estimated, and whether it can be
 * learned. Fails with the place in the model's text. */
enum gsv_status gsv_check_likelihood(const gsv_model *m);
enum gsv_status gsv_check_fit(const gsv_model *m);

/* Whether the covariance of the noise has no inverse, because a state has no
 * noise or only that of other states. Data of all states themselves have no
 * density then; they can be simulated. */
bool gsv_model_singular(const gsv_model *m);

/* --- Posterior of Gaussian-process functions ------------------------------ */

/* What a fit learned about the functions of a gp. NULL if the model was not
 * fitted, or has no gp with a posterior. The model is borrowed, and must not
 * change while the functions are in use. Only one thread may use them. */
typedef struct gsv_functions gsv_functions;
bool gsv_model_has_posterior(const gsv_model *m);
gsv_functions *gsv_functions_new(const gsv_model *m);
void gsv_functions_free(gsv_functions *q);

/* The posterior standard deviation (dim, n) of the data's drift, at points as
 * in gsv_model_drift(). */
enum gsv_status gsv_functions_drift(gsv_functions *q, size_t n,
                                    const double *time, const double *x,
                                    const double *input, double *sd);

/* Sets the functions of m, which has the same text, to a draw from the
 * posterior: number `draw` (0, 1, ...) of the seed. */
enum gsv_status gsv_functions_draw(gsv_functions *q, gsv_model *m,
                                   uint64_t seed, uint64_t draw);

/* The correlation of the estimates of two values; NaN if there is none. */
double gsv_record_correlation(const gsv_record *r, size_t a, size_t b);

/* --- Gradients and profiles ----------------------------------------------- */

/* A gradient against differences of values: the number of theta that is worst.
 */
typedef struct gsv_gradient_check {
    size_t where; /* its place in theta                                  */
    double worst; /* the difference, relative                            */
    double error; /* its standard error; 0 with one seed                 */
    size_t seeds; /* 1, or more where the value jumps                    */
    bool agrees;  /* within rounding errors, or 5 standard errors        */
} gsv_gradient_check;

/* Compares the gradient with central differences under the same random numbers.
 * Where particles are resampled the value jumps, and no gradient is that of one
 * seed: there the means over some seeds are compared. */
enum gsv_status gsv_check_gradient(gsv_model *m, const gsv_series *s,
                                   const gsv_options *o,
                                   gsv_gradient_check *check);

/* The objective of a fit at the model's values, as a mean over the gaps, and
 * its gradient (values); the sign of a squared error is changed. Reads the
 * objective, the scheme and the estimator of the options; seed and iteration
 * select the random numbers. */
enum gsv_status gsv_objective_gradient(const gsv_model *m, const gsv_series *s,
                                       const gsv_fit_options *o, double *value,
                                       double *gradient);

/* The log-likelihood (n), maximised over all other parameters, with a parameter
 * or an element held at each of n values; with priors, of both together. The
 * model's values are the start and do not change. */
enum gsv_status gsv_profile(gsv_model *m, const gsv_series *s,
                            const gsv_fit_options *o, const char *name,
                            size_t n, const double *value, double *loglik);

/* --- A first look at data ------------------------------------------------- */

typedef struct gsv_look_column {
    const char *name; /* borrowed from the series                            */
    size_t rows, missing; /* that were looked at; cells without a value      */
    double low, high, mean, sd;
    bool flat, named;   /* whether it changes; whether a state can have the
                         * name                                            */
    double correlation; /* of neighbouring values                          */
    double reversal;    /* of neighbouring increments: negative with
                         * measurement noise, positive with inertia        */
    double noise_slope; /* of lengths of increments and the level          */
    double shift;       /* of the mean between halves, in deviations       */
    size_t jumps;
    double period, power; /* of increments; power is 1 for white noise       */
    const char *kind;     /* the best model in words, or NULL; not freed     */
} gsv_look_column;

typedef struct gsv_look_result {
    size_t tracks, rows;
    double gap, shortest, longest; /* between rows; gap is the median        */
    size_t columns;                /* the first 8 of the data                */
    gsv_look_column *column;
    size_t models;
    char **model; /* texts of models, the best one first                     */
    char *report; /* all of it in words                                      */
} gsv_look_result;

/* What the columns of data show, and two or three models to start from, chosen
 * by fits of kinds of models to the first 2000 rows. Reads seed and threads of
 * the options. */
enum gsv_status gsv_look(const gsv_series *s, const gsv_options *o,
                         gsv_look_result *result);
void gsv_look_free(gsv_look_result *result);

/* The text of a first model for the columns of data, with comments: states,
 * inputs where a column is known rather than modelled, a number for each level
 * of a category, a linear drift, and in comments what may replace each line.
 * Nothing is fitted. gsv_text_free() frees the text. */
char *gsv_model_new(const gsv_series *s);

/* --- Physics of a model --------------------------------------------------- */

struct gsv_physics_options {
    size_t draws;        /* of the parameters, for intervals; 0: chosen, 1: no
                          * intervals                                      */
    size_t grid;         /* cells along each state; 0: chosen              */
    size_t ends;         /* of end: twice the number of states, or 0       */
    const double *end;   /* (ends) reflecting ends: the low ones of all states,
                          * then the high ones; -inf and inf: none         */
    double period;       /* of the only state, an angle; 0: none           */
    size_t inputs;       /* of input: those of the model, or 0             */
    const double *input; /* (inputs) constant values; NaN: the middle of the
                          * data's range                                   */
    bool frozen;         /* time stands still, for models that depend on it, */
    double at;           /* at this time                                   */
    const char *from;    /* conditions such as "x < -1" for two regions, or */
    const char *to;      /* NULL: between the stable fixed points          */
    double length;       /* of simulated paths, with more than two states; 0:
                          * chosen                                         */
    double step;         /* of these; 0: chosen                            */
    uint64_t seed;       /* 1                                              */
    size_t threads;      /* 0: all                                         */
};
typedef struct gsv_physics_options gsv_physics_options;
gsv_physics_options gsv_physics_options_default(void);

enum gsv_stability {
    GSV_STABLE,
    GSV_SADDLE,  /* some directions return, others leave */
    GSV_UNSTABLE /* all directions leave                 */
};

/* A number and its 95 % interval; NaN where there is none. */
typedef struct gsv_quantity {
    double value, low, high;
} gsv_quantity;

typedef struct gsv_fixed_point {
    gsv_quantity *x;    /* (dim) where the drift is 0                    */
    gsv_quantity *rate; /* (dim) real parts of the Jacobian's eigenvalues */
    gsv_quantity *turn; /* (dim) imaginary parts                         */
    enum gsv_stability stability;
    bool reached; /* the data's range has it                       */
    double share; /* of the draws that have such a point, too; NaN */
} gsv_fixed_point;

typedef struct gsv_passage {
    char *from, *to;      /* in words                                      */
    gsv_quantity time;    /* mean first-passage time; starts have the
                           * stationary law in the first region           */
    gsv_quantity barrier; /* int 2 f / a dx from the ridge to the start, of
                           * one state; of two: of the free energy         */
    gsv_quantity kramers; /* its approximation for high barriers, or NaN   */
} gsv_passage;

enum { GSV_RELAXATIONS = 3 };

typedef struct gsv_physics_result {
    size_t dim;
    const char *const *name; /* (dim) borrowed from the model              */
    size_t draws;            /* that were used for the intervals; 0: none  */
    bool stationary;         /* whether there is a stationary law          */
    double beyond;           /* its probability outside the data's range   */
    size_t points;
    gsv_fixed_point *point;  /* (points)                                   */
    gsv_quantity *mean, *sd; /* (dim) of the stationary law                */
    gsv_quantity relaxation[GSV_RELAXATIONS]; /* times, the slowest first; of
                                               * more than two states an
                                               * autocorrelation time */
    gsv_quantity turn[GSV_RELAXATIONS]; /* angular velocities of these modes */
    gsv_quantity entropy;  /* production rate                            */
    gsv_quantity gradient; /* share of the drift that is a gradient      */
    size_t passages;
    gsv_passage *passage;    /* (passages)                                 */
    double *lowest;          /* (dim) the data's range                     */
    double *highest;         /* (dim)                                      */
    size_t bins;             /* of the marginal densities                  */
    double *bin;             /* (dim, bins) middles                        */
    gsv_quantity *marginal;  /* (dim, bins) densities                      */
    double *histogram;       /* (dim, bins) of the data, or NULL           */
    double *distance;        /* (dim) half of int |law - data|, or NULL    */
    size_t cells;            /* of the field; 0 with more than two states  */
    double *x;               /* (dim, cells)                               */
    gsv_quantity *density;   /* (cells)                                    */
    gsv_quantity *potential; /* (cells) -int f dx, of two states the gradient
                              * part of f                                  */
    double *committor;       /* (cells) of the first passage, or NULL      */
    bool *reached;           /* (cells) in the data's range                */
    double current;          /* of a ring                                  */
    char *note;              /* what was assumed, a line each, or ""       */
    char *warning;           /* reasons for doubt, a line each, or ""      */
} gsv_physics_result;

/* What follows from a model whose time and inputs stand still: fixed points,
 * potential, stationary law, mean first-passage times, committor, relaxation
 * times and entropy production. Intervals are from draws of the parameters
 * where the model has a fit with standard errors, draws or a posterior. The
 * data's range is that of s, or of the fit if s is NULL. */
enum gsv_status gsv_physics(const gsv_model *m, const gsv_series *s,
                            const gsv_physics_options *o,
                            gsv_physics_result *result);
void gsv_physics_free(gsv_physics_result *result);

/* --- Series left out ------------------------------------------------------ */

typedef struct gsv_leave_out {
    size_t tracks, refits;
    double *score;     /* (tracks) log density of a series, learned from the
                        * others                                           */
    double *khat;      /* (tracks) of the weights; NaN after a refit       */
    double sum, error; /* of the scores; the standard error of the sum     */
} gsv_leave_out;

/* Leave-one-series-out scores of a fit. With at most `refits` series the others
 * are fitted again without each of them; of more series, the estimate without
 * one comes from importance weights, and from a refit where these fail. */
enum gsv_status gsv_leave_series_out(const gsv_model *m, const gsv_series *s,
                                     const gsv_options *o, size_t refits,
                                     gsv_leave_out *result);
void gsv_leave_out_free(gsv_leave_out *result);

/* --- Ranks ---------------------------------------------------------------- */

/* Several processes, started by mpirun or srun, can share one estimate or fit.
 * Each calls the same functions with the same arguments, and gets the same
 * bits, on any number of ranks. */

/* This rank and the number of ranks, from the launcher's environment: 0 of 1
 * without a launcher; of 2 if the launcher does not say how many. */
void gsv_ranks_launched(size_t *rank, size_t *count);

/* Joins the other ranks. *ranks is NULL if there is only one. Loads and starts
 * MPI only if there are several; a program that uses MPI itself starts it
 * before. */
enum gsv_status gsv_ranks_open(gsv_ranks **ranks);
size_t gsv_ranks_rank(const gsv_ranks *ranks);
size_t gsv_ranks_count(const gsv_ranks *ranks);

/* Leaves with a status; the others then fail with it. Returns the status of
 * all. To be called after a failure of gsv_ranks_open(), too. */
enum gsv_status gsv_ranks_close(gsv_ranks *ranks, int status);

/* Whether ranks share the work of such an estimate. The scan and the particle
 * filter of noisy observations are not shared: all ranks do all the work. */
bool gsv_ranks_share(const gsv_model *m, const gsv_options *o);

/* Which estimator gsv_loglik() uses, and why: one sentence, which is not freed.
 * NULL after an error. */
const char *gsv_estimator_reason(const gsv_model *m, const gsv_options *o);

/* --- Bridges of any Gaussian process -------------------------------------- */

/* Moves a path y (n) of a Gaussian process with mean zero and kernel k, at
 * increasing times, so that it starts at y0 and ends at y1:
 *
 *     y(t) += K(t, tau) K(tau, tau)^-1 (y_tau - y(tau)),  tau = (first, last).
 *
 * The result has the law of the process given both values. If the process
 * starts from a fixed point, k(first, first) = 0, its path is shifted to y0 and
 * conditioned on its end. Models use faster bridges of their own. */
typedef double (*gsv_kernel)(void *user, double s, double t);
enum gsv_status gsv_bridge(gsv_kernel kernel, void *user, size_t n,
                           const double *time, double y0, double y1, double *y);

/* --- Options as a table --------------------------------------------------- */

/* Each option is one row. The defaults, the checks, the options of the command
 * and those of Python are made from these rows. */
enum gsv_option_struct {
    GSV_OF_ESTIMATOR, /* gsv_options          */
    GSV_OF_FIT,       /* gsv_fit_options      */
    GSV_OF_SIMULATE,  /* gsv_simulate_options */
    GSV_OF_PREDICT,   /* gsv_predict_options  */
    GSV_OF_PATHS,     /* gsv_paths_options    */
    GSV_OF_PHYSICS    /* gsv_physics_options  */
};

enum gsv_option_type {
    GSV_TYPE_COUNT,  /* size_t                                    */
    GSV_TYPE_REAL,   /* double                                    */
    GSV_TYPE_CHOICE, /* an enum                                   */
    GSV_TYPE_SWITCH, /* bool                                      */
    GSV_TYPE_SEED,   /* uint64_t                                  */
    GSV_TYPE_ARRAY,  /* a pointer to numbers or structs           */
    GSV_TYPE_TEXTS   /* a pointer to strings                      */
};

/* The function that an option is for, as bits. */
enum gsv_use {
    GSV_USE_LOGLIK = 1,
    GSV_USE_CHECK = 2, /* gsv_check_gradient() */
    GSV_USE_FIT = 4,
    GSV_USE_PROFILE = 8,
    GSV_USE_GRADIENT = 16, /* gsv_objective_gradient() */
    GSV_USE_PATHS = 32,
    GSV_USE_PREDICT = 64,
    GSV_USE_RESIDUALS = 128,
    GSV_USE_SIMULATE = 256,
    GSV_USE_SELECT = 512, /* gsv_select() */
    GSV_USE_PHYSICS = 1024
};

typedef struct gsv_option {
    enum gsv_option_struct of; /* the struct that has the field           */
    const char *field;         /* its name                                */
    size_t offset;             /* its place in the struct                 */
    enum gsv_option_type type;
    unsigned uses;           /* bits of enum gsv_use                      */
    double preset;           /* the default                               */
    double low, high;        /* smallest and largest value                */
    bool below;              /* high itself is not allowed                */
    bool zero;               /* 0 means that the library chooses          */
    bool negative;           /* a negative number means that              */
    bool largest;            /* SIZE_MAX means that                       */
    const char *chosen;      /* what the default then is, or NULL         */
    const char *const *word; /* of a choice, by value, ending with NULL; ""
                              * is for programs only                      */
    size_t count_offset;     /* of an array: the field with its length    */
    const char *flag;        /* the command's option, or NULL             */
    const char *value;       /* what its value is called there, or NULL   */
    const char *help;        /* one line; NULL: only checked              */
} gsv_option;

/* All rows; *count is their number. A field has several rows if its default
 * depends on the use. */
const gsv_option *gsv_option_table(size_t *count);

/* Reads or sets the field of a number, a choice or a switch as a number.
 * `options` is the struct that the row belongs to. */
double gsv_option_get(const gsv_option *row, const void *options);
void gsv_option_set(const gsv_option *row, void *options, double value);

/* Sets the field from text, for example "64" or "lna"; text is not read for a
 * switch, which becomes true. Fails if the text is not a valid value. */
enum gsv_status gsv_option_read(const gsv_option *row, void *options,
                                const char *text);

/* Writes the row's help with the words of a choice and the default to text,
 * which has room for `size` bytes. Returns text. */
const char *gsv_option_help(const gsv_option *row, size_t size, char *text);

/* --- For front ends ------------------------------------------------------- */

/* The candidate that a misspelt word most likely stands for, or NULL: at most
 * a third of its letters are changed, inserted, left out or swapped. Case does
 * not count. */
const char *gsv_suggestion(const char *word, size_t candidates,
                           const char *const *candidate);

/* Writes the first character of a text for a terminal: as it is, or an escape
 * such as \n or \x1b if it is a control character or not UTF-8. shown has room
 * for GSV_VISIBLE bytes. Returns the number of bytes read, 0 at the end. */
enum { GSV_VISIBLE = 5 };
size_t gsv_visible(const char *text, char *shown);

/* A file that is written under a temporary name in the same folder, flushed to
 * disk, and moved to its place when it is closed with keep. A link stays a
 * link, and a file keeps its mode; devices and pipes are written directly, and
 * then the name is NULL. Removes what a killed process of this machine has
 * left. */
typedef struct gsv_draft gsv_draft;
gsv_draft *gsv_draft_open(const char *path);
int gsv_draft_descriptor(const gsv_draft *d);
const char *gsv_draft_name(const gsv_draft *d);
enum gsv_status gsv_draft_close(gsv_draft *d, bool keep);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
