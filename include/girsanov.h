/* SPDX-License-Identifier: MIT */
/* Girsanov: learns stochastic differential equations from time series without
 * integrating them. This is the whole public interface. */
#ifndef GIRSANOV_H
#define GIRSANOV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GSV_VERSION "0.1.0"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* --- Failure ------------------------------------------------------------ */

/* A function that does something returns one of these, 0 for success; one that
 * makes something returns it, or NULL. Either way gsv_last_error() is then one
 * plain sentence that names the offender and the remedy.
 *
 * A pointer may be NULL only where this header says so, and an array where it
 * has no elements; every _free() takes NULL. Another NULL is a failure, too;
 * functions that ask then answer 0, false, NULL or NaN, and leave a sentence.
 * Options are checked before anything else: numbers that are not finite, enums
 * without such a value, counts that were negative. After a failure a result is
 * empty, and models are as they were before.
 *
 * Threads: functions with a const gsv_model or const gsv_series may use the
 * same one at the same time. While a function has one that is not const, or
 * gsv_functions, no other thread may use it. */
enum gsv_status {
    GSV_OK = 0,
    GSV_BAD_INPUT = 1, /* a model, file, option or argument is wrong */
    GSV_NUMERICAL = 2, /* the numbers left the finite                */
    GSV_NO_MEMORY = 4, /* an allocation failed                       */
    GSV_STOPPED = 8    /* somebody said so: see gsv_stop_when()      */
};

/* This thread's last sentence and status. The text is borrowed, until the
 * thread's next call. */
const char *gsv_last_error(void);
enum gsv_status gsv_last_status(void);

/* From now on this thread's calls ask now and then, many times a second, and
 * where the answer is true end with GSV_STOPPED; a fit ends with what it has.
 * The question must stay true until the call has ended. It is asked by the
 * thread that called alone. NULL: no more. */
void gsv_stop_when(bool (*question)(void *user), void *user);

/* --- Ranks -------------------------------------------------------------- */

/* Processes that share one estimate or fit, started by mpirun or srun. Each of
 * them calls the same functions with the same arguments; all get the same
 * bits, on any number of ranks. */
typedef struct gsv_ranks gsv_ranks;

/* Which one this is, and of how many, as the launcher's environment says: 0 of
 * 1 without a launcher; of 2, where it does not say how many. */
void gsv_ranks_launched(size_t *rank, size_t *count);

/* Joins the others: *ranks is NULL where this is the only one, and NULL stands
 * for one rank everywhere. MPI is loaded and begun only here, and only where
 * there are several; a program that uses MPI itself begins it before. */
int gsv_ranks_open(gsv_ranks **ranks);
size_t gsv_ranks_rank(const gsv_ranks *ranks);
size_t gsv_ranks_count(const gsv_ranks *ranks);

/* Leaves: with GSV_OK, or with the status of a failure, which the others then
 * meet as theirs. Returns the status of all. To be called after a failure of
 * gsv_ranks_open(), too. */
int gsv_ranks_close(gsv_ranks *ranks, int status);

/* --- Data --------------------------------------------------------------- */

/* Observed series, one below the other: track r has the rows start[r] up to
 * start[r + 1]. Times increase strictly within a track; a missing value is
 * NaN. The struct is open: read it freely; make it by gsv_series_new() or
 * gsv_series_read(), free it by gsv_series_free(). */
typedef struct gsv_series {
    size_t rows, columns, tracks;
    double *time;  /* (rows)                                        */
    double *value; /* (columns, rows): a column is contiguous       */
    size_t *start; /* (tracks + 1)                                  */
    char **name;   /* (columns)                                     */
    char **label;  /* (tracks): the text of the series column       */
    size_t *line;  /* (rows): line in the file, 0 without one       */
    char *source;  /* the file's name, or "data"                    */
    char *note;    /* what was passed over while reading, or ""     */
    bool borrowed; /* whether time and value are somebody else's    */
    void *file;    /* that all of it is in, where ranks share one   */
} gsv_series;

/* Copies tracks of rows into a new series. value is (columns, rows); start has
 * tracks + 1 entries; name may be NULL for x1, x2, ... */
gsv_series *gsv_series_new(size_t tracks, const size_t *start, size_t columns,
                           const char *const *name, const double *time,
                           const double *value);

/* The same checks without a copy: time and value are borrowed, and stay as they
 * are as long as the series lives. label (tracks) may be NULL for 1, 2, ... */
gsv_series *gsv_series_view(size_t tracks, const size_t *start,
                            const char *const *label, size_t columns,
                            const char *const *name, const double *time,
                            const double *value);

/* Reads a CSV file (any ending) or a NumPy array (.npy). Only the named
 * columns are kept, in the order asked for; name NULL keeps every column but
 * series and time, whatever columns is. A .npy file is (rows, 1 + n) with time
 * first, or (tracks, rows, 1 + n); its columns take the names in order. */
gsv_series *gsv_series_read(const char *path, size_t columns,
                            const char *const *name);

/* The same where the columns of time and series have other names; either may
 * be NULL. */
gsv_series *gsv_series_read_named(const char *path, const char *time,
                                  const char *series, size_t columns,
                                  const char *const *name);

/* The same for ranks, all of which call it: the first one on every machine
 * reads the file, and those on it share one copy, read-only, in a file without
 * a name (in TMPDIR, or /var/tmp). The system keeps in memory what of it is in
 * use: a rank's own gaps, for most of the time. */
gsv_series *gsv_series_read_shared(gsv_ranks *ranks, const char *path,
                                   const char *time, const char *series,
                                   size_t columns, const char *const *name);

/* Writes series,time,... as CSV with every digit; "-" is standard output. The
 * file appears whole or not at all. */
int gsv_series_write(const gsv_series *s, const char *path);

/* All rows of a, and below each track those rows of b's track of the same label
 * that come after its end; a single track of b with another label stands for
 * every track. Columns are a's; those that b has not are missing there. */
gsv_series *gsv_series_join(const gsv_series *a, const gsv_series *b);

void gsv_series_free(gsv_series *s);

/* --- Models -------------------------------------------------------------- */

/* An SDE dX = f(X, t) dt + g(X, t) dW with its parameters and their values. */
typedef struct gsv_model gsv_model;

/* From a model's text; name stands for it in messages, NULL for "model". See
 * docs/LANGUAGE.md. */
gsv_model *gsv_model_parse(const char *text, const char *name);

/* From a .sde file or a fit; "-" is standard input. */
gsv_model *gsv_model_read(const char *path);

/* A drift in C with constant, diagonal noise. Arrays have the points as their
 * fastest index: x and f are (dim, n), time is (n); p are the parameters. */
typedef struct gsv_callback {
    size_t dim;
    size_t parameters;       /* of the drift; named p1, p2, ...          */
    const double *parameter; /* (parameters) their values                */
    const double *sigma;     /* (dim) noise, positive; named s1, s2, ... */
    void *user;              /* handed to both functions                 */
    void (*drift)(void *user, size_t n, const double *time, const double *x,
                  const double *p, double *f);
    /* Adds J' f_bar to x_bar (dim, n) and to p_bar (parameters); either may
     * be NULL. Called from several threads at once, as drift is. */
    void (*drift_vjp)(void *user, size_t n, const double *time, const double *x,
                      const double *p, const double *f_bar, double *x_bar,
                      double *p_bar);
    /* f_dot (dim, n) = J x_dot. May be NULL: then by finite differences. */
    void (*drift_jvp)(void *user, size_t n, const double *time, const double *x,
                      const double *p, const double *x_dot, double *f_dot);
} gsv_callback;
gsv_model *gsv_model_callback(const gsv_callback *callback);

/* A model of its own with the same text, values and record; what can be resumed
 * can be so from the copy. Not of callbacks, and without draws. */
gsv_model *gsv_model_copy(const gsv_model *m);

void gsv_model_free(gsv_model *m);

/* Sizes: states, noises, inputs, parameters by name, and their numbers. */
size_t gsv_model_dim(const gsv_model *m);
size_t gsv_model_noises(const gsv_model *m);
size_t gsv_model_inputs(const gsv_model *m);

/* The names of what a model is a function of: states, then inputs. A state is
 * named after its column in the data. Borrowed. */
size_t gsv_model_columns(const gsv_model *m);
const char *const *gsv_model_column(const gsv_model *m);

/* The columns that a file of data must have: states, inputs, and the values of
 * noisy observations. States that these are made of have none. Borrowed. */
size_t gsv_model_data_columns(const gsv_model *m);
const char *const *gsv_model_data_column(const gsv_model *m);

/* A named parameter: numbers [offset, offset + rows * columns) of the vector of
 * all values, row by row. Bounds are -inf and inf where there are none. */
typedef struct gsv_param {
    const char *name;
    int rank; /* 0 a number, 1 a vector, 2 a matrix */
    size_t rows, columns, offset;
    double low, high;
    bool lower;  /* triangular, with a positive diagonal */
    bool weight; /* of a network                         */
    bool scale;  /* of a network's inputs and outputs, or a grid's place:
                  * from the data, and not learned       */
    bool gp;     /* of a gp: matrices are its values     */
} gsv_param;
size_t gsv_model_params(const gsv_model *m);
gsv_param gsv_model_param(const gsv_model *m, size_t i); /* name NULL: none */

/* How many numbers all parameters have, and their values now. Borrowed. */
size_t gsv_model_values(const gsv_model *m);
const double *gsv_model_value(const gsv_model *m);

/* Sets a parameter by name: `s`, or one element `A[1,2]`. n is 1 (for every
 * element; of a lower matrix its diagonal) or the number of its elements. */
int gsv_model_set(gsv_model *m, const char *name, size_t n,
                  const double *value);

/* Draws the networks' weights anew, uniformly within 1 / sqrt(inputs). They
 * start as gsv_model_draw(m, 1). */
void gsv_model_draw(gsv_model *m, uint64_t seed);

/* The same by He's rule for relu: weights are normal with variance 2 / inputs,
 * biases 0. */
void gsv_model_draw_he(gsv_model *m, uint64_t seed);

/* The same values without bounds, for optimisers: theta is one flat vector,
 * any theta is allowed. theta_bar += (dp/dtheta)' p_bar. */
size_t gsv_theta_size(const gsv_model *m);
void gsv_theta_get(const gsv_model *m, double *theta);
void gsv_theta_set(gsv_model *m, const double *theta);
void gsv_theta_vjp(const gsv_model *m, const double *p_bar, double *theta_bar);

/* Drift (dim, n) and diffusion (dim, noises, n) of the data at n points x
 * (dim, n) and times (n); input (inputs, n), NULL where the model has none.
 * Where the states are functions of the data, these are those of the data, by
 * Ito's lemma, with inputs that stand still. */
int gsv_model_drift(const gsv_model *m, size_t n, const double *time,
                    const double *x, const double *input, double *f);
int gsv_model_diffusion(const gsv_model *m, size_t n, const double *time,
                        const double *x, const double *input, double *g);

/* Whether the noise depends on parameter i. */
bool gsv_model_is_noise(const gsv_model *m, size_t i);

/* The model's text; empty where it is a C callback. Borrowed. */
const char *gsv_model_text(const gsv_model *m);

/* The model in words, as `girsanov check` prints it. Yours: gsv_text_free. */
char *gsv_model_describe(const gsv_model *m);
void gsv_text_free(char *text);

/* A line for every parameter, net, gp and input that the likelihood does not
 * depend on, with its place; empty where there is none. Yours:
 * gsv_text_free. */
char *gsv_model_unused(const gsv_model *m);

/* A line for every gp that rows of the data are outside of the grid of, with
 * how many; empty where there is none. Yours: gsv_text_free. */
char *gsv_model_outside(const gsv_model *m, const gsv_series *s);

/* How many points, given as to gsv_model_drift(), are outside of the grid of
 * any gp. */
int gsv_model_outside_at(const gsv_model *m, size_t n, const double *time,
                         const double *x, const double *input, size_t *count);

/* --- Simulation ----------------------------------------------------------- */

enum gsv_scheme { GSV_EULER, GSV_MILSTEIN, GSV_HEUN, GSV_SRK };

typedef struct gsv_simulate_options {
    size_t times;        /* how many, at least 1                         */
    const double *time;  /* (times), strictly increasing                 */
    size_t tracks;       /* 1                                            */
    const double *start; /* (dim, tracks) first rows of the data, or     */
    double start_mean;   /* NULL: states drawn from a normal law ...     */
    double start_sd;     /* ... with this deviation, or all at the mean; */
                         /* again where they are outside of the domain.  */
                         /* Where all three are 0, latent states are     */
                         /* drawn from the law that init gives them      */
    double step;         /* longest step; 0: 1/32 of the shortest gap    */
    enum gsv_scheme scheme;
    const gsv_series *input; /* covariates by name, first track for all; */
                             /* and what laws do not say (below)         */
    bool mean; /* functions of a fit at their posterior mean; else every track
                * has its own, drawn: gsv_functions_draw()'s of its number   */
    uint64_t seed;
    size_t threads; /* 0 for all */
} gsv_simulate_options;
gsv_simulate_options gsv_simulate_options_default(void);

/* States, latent ones as well, inputs, and values of observations, which are
 * drawn from their laws in every row; those of a poisson process, which count
 * since the row before, are missing in a track's first. */
gsv_series *gsv_simulate(const gsv_model *m, const gsv_simulate_options *o);

/* The columns that simulation takes from its input because laws do not say
 * them: trials of binomials, and counts of multinomials, of which only the sums
 * are used. At a time they are those of the last row that has them. Fills in
 * the first n names, borrowed, and returns how many there are. */
size_t gsv_model_given(const gsv_model *m, size_t n, const char **name);

/* --- Likelihood ----------------------------------------------------------- */

/* What bridges are drawn from: Brownian motion, or a linear SDE that is fitted
 * to the drift in every gap, once (linear) or in every step (lna). auto tries
 * them on a few pilot paths. Where the noise depends on the state in a way that
 * no map takes out, bridges are drawn by the model's own noise (modified):
 * there, and only there, auto is that, and nothing else is possible. */
enum gsv_reference {
    GSV_REFERENCE_AUTO,
    GSV_REFERENCE_BROWNIAN,
    GSV_REFERENCE_LINEAR,
    GSV_REFERENCE_LNA,
    GSV_REFERENCE_MODIFIED
};

/* How the weights are summed: at left ends, at the reference's forecast of the
 * middle, or by trapezoids with the divergence. auto takes the midpoint where
 * drift dominates noise, else ito; with modified bridges the weights are those
 * of Euler's chain. bound is no weight but the mean of its logarithm, over the
 * law of the linear reference's bridge at `steps` times of each gap: no paths
 * are drawn, and what comes out is not the log-likelihood but a lower bound of
 * it, up to the error of quadrature; equal to it where the drift is linear. */
enum gsv_form {
    GSV_FORM_AUTO,
    GSV_FORM_ITO,
    GSV_FORM_MIDPOINT,
    GSV_FORM_STRATONOVICH,
    GSV_FORM_EULER,
    GSV_FORM_BOUND
};

/* Scrambled Sobol' points (paths are rounded up to a power of two), or
 * independent numbers. */
enum gsv_random { GSV_RANDOM_SOBOL, GSV_RANDOM_IID };

/* How states behind noisy observations are averaged over: by a scan over
 * support points; by particles that bridges carry on; by whole tracks drawn
 * from densities conjugate to the noise, as in the paper; by whole tracks drawn
 * from the law that a smoother gives, adapted to the model. AUTO chooses by the
 * number of states. */
enum gsv_observe {
    GSV_OBSERVE_AUTO,
    GSV_OBSERVE_SCAN,
    GSV_OBSERVE_PARTICLE,
    GSV_OBSERVE_CONJUGATE,
    GSV_OBSERVE_VARIATIONAL
};

typedef struct gsv_options {
    size_t paths; /* K, for every gap                                   */
    size_t steps; /* M, for every gap                                   */
    double step;  /* longest step; where positive it sets M instead     */
    enum gsv_reference reference;
    enum gsv_form form;
    enum gsv_random random;
    enum gsv_observe observe; /* of models with noisy observations        */
    size_t points;    /* for them, of every observation; 0: the estimator's
                       * own number                                      */
    bool richardson;  /* 2 l(dt) - l(2 dt) instead of l(dt)              */
    bool delta;       /* corrects the bias of the log of a mean          */
    double tolerance; /* where positive, paths and steps are raised until
                       * error and discretisation are below it          */
    bool joint;       /* average over whole tracks, not gap by gap       */
    bool gradient;    /* the gradient too                                */
    bool wide;        /* networks in double                              */
    uint64_t seed;
    uint32_t iteration; /* other numbers for every iteration of a fit   */
    size_t threads;     /* 0 for all; the result is the same for any number */
    gsv_ranks *ranks;   /* that share the work: all of them call with the same
                         * arguments and get the same result; NULL: alone   */
    size_t sample;      /* of gsv_loglik(): so many gaps at most, evenly spread,
                         * and their sums alone; 0: all. Not of whole tracks,
                         * nor of noisy observations                        */
    size_t window;      /* gaps that are run together at most, of which each
                         * takes 200 bytes; 0: 2^18                         */
} gsv_options;
gsv_options gsv_options_default(void);

/* Whether ranks share the work of such an estimate. Noisy observations by scan
 * or particles are not shared: there all ranks do all of it. */
bool gsv_ranks_share(const gsv_model *m, const gsv_options *o);

/* Which estimator gsv_loglik() would use, and why: one sentence, which is not
 * freed. NULL after an error. */
const char *gsv_estimator_reason(const gsv_model *m, const gsv_options *o);

/* Why a gap is not to be trusted. */
enum gsv_flag {
    GSV_FLAG_ESS = 1,  /* few paths carry the weight: below max(10, K/10)  */
    GSV_FLAG_KHAT = 2, /* the weights' tail is too heavy: k-hat above its
                        * threshold, min(1 - 1/log10 K, 0.7)               */
    GSV_FLAG_STEPS = 4 /* what l(dt) - l(2 dt) says is left at dt is above
                        * 0.1 and above 3 standard errors                  */
};

/* One gap; with joint, one track. */
typedef struct gsv_gap {
    size_t track;          /* in the series                         */
    size_t from, to;       /* its rows                              */
    double loglik;         /* its share                             */
    double error;          /* standard error of that                */
    double ess;            /* effective number of paths             */
    double khat;           /* Pareto shape of the weights' tail     */
    double log_bias;       /* of the log of a mean, by the delta method */
    double discretisation; /* l(dt) - l(2 dt); NaN with one step  */
    enum gsv_reference reference; /* what it was; joint: of the last gap */
    enum gsv_form form;
    unsigned flags; /* of enum gsv_flag: reasons not to trust it */
} gsv_gap;

typedef struct gsv_result {
    double loglik;            /* of all rows, given each track's first       */
    double error;             /* its Monte Carlo standard error              */
    double discretisation;    /* l(dt) - l(2 dt) from the same paths         */
    double ess_min;           /* smallest effective number of paths          */
    double khat_max;          /* largest k-hat; NaN with few paths           */
    double log_bias;          /* of the log of a mean, by the delta method   */
    size_t flagged;           /* gaps with flags                             */
    bool settled;             /* with a tolerance: whether it was reached    */
    enum gsv_observe observe; /* how noisy observations were averaged over: gaps
                               * then are rows, paths points; AUTO without
                               * any                                          */
    size_t gaps, paths;
    size_t steps; /* of the longest gap                       */
    uint64_t drift_evaluations;
    double seconds;
    size_t memory; /* bytes of working memory                  */
    size_t values;
    double *gradient; /* (values) d loglik / d value, or NULL */
    size_t groups;    /* where ranks share them, 0 on all but the first */
    gsv_gap *gap;     /* (groups) */
} gsv_result;

/* log p(rows | first row of each track) of the data under the model. On
 * success the result's arrays are yours: gsv_result_free(). */
int gsv_loglik(const gsv_model *m, const gsv_series *s, const gsv_options *o,
               gsv_result *result);
void gsv_result_free(gsv_result *result);

/* Whether the log-likelihood of a model can be estimated, and whether it can be
 * learned by it: what gsv_loglik() and gsv_fit() refuse whatever the data and
 * the options are, with the place in the model's text. */
int gsv_check_likelihood(const gsv_model *m);
int gsv_check_fit(const gsv_model *m);

/* Compares the gradient with central differences under the same random
 * numbers. worst is the largest difference relative to the larger of both and
 * of the gradient's own scale; where (if not NULL) is its place in theta. */
int gsv_check_gradient(gsv_model *m, const gsv_series *s, const gsv_options *o,
                       double *worst, size_t *where);

/* --- Learning ------------------------------------------------------------ */

/* auto: lbfgs for formulas, adam where there is a network. */
enum gsv_optimizer {
    GSV_OPTIMIZER_AUTO,
    GSV_OPTIMIZER_ADAM,
    GSV_OPTIMIZER_LBFGS,
    GSV_OPTIMIZER_EVIDENCE /* of models with a gp, and of no others */
};

/* How Adam's rate goes on: down to 0 along a cosine, halved whenever the
 * held-out likelihood stands still, or as it is. */
enum gsv_schedule {
    GSV_SCHEDULE_COSINE,
    GSV_SCHEDULE_PLATEAU,
    GSV_SCHEDULE_CONSTANT
};

/* Where standard errors come from: the observed information, or with the
 * outer products of the gaps' scores (sandwich). auto: observed for formulas,
 * none where there is a network. */
enum gsv_errors {
    GSV_ERRORS_AUTO,
    GSV_ERRORS_NONE,
    GSV_ERRORS_OBSERVED,
    GSV_ERRORS_SANDWICH,
    GSV_ERRORS_POSTERIOR /* of gibbs, and of nothing else */
};

/* What a fit says at its end about how likely the data are: the log-likelihood
 * of all gaps, or nothing, which takes no time. auto: of more than 200000 gaps
 * 100000 are taken, evenly spread; the error is then that of the sample, and
 * there is neither AIC nor BIC. */
enum gsv_estimate { GSV_ESTIMATE_AUTO, GSV_ESTIMATE_ALL, GSV_ESTIMATE_NONE };

/* What a fit is at. */
enum gsv_phase {
    GSV_PHASE_START,    /* scales, noise and grids from the data       */
    GSV_PHASE_SEARCH,   /* iterations                                  */
    GSV_PHASE_EFFORT,   /* how many paths and steps the rest of it takes */
    GSV_PHASE_ESTIMATE, /* the last estimate                           */
    GSV_PHASE_ERRORS    /* standard errors                             */
};

/* The parameters of the largest likelihood; or their posterior law, by Markov
 * chains that alternate between paths and parameters (formulas only). */
enum gsv_method { GSV_METHOD_LIKELIHOOD, GSV_METHOD_GIBBS };

/* What is made best: the likelihood; or, as others do it, the mean over paths
 * and rows of |X(t) - x|^2, where paths X are simulated from the first row of
 * each track and x are its later rows, with gradients by backpropagation
 * through all steps; by the stochastic adjoint, whose memory does not grow with
 * the steps; or by the equation of the path's derivatives, solved forward
 * beside it for every parameter, for formulas alone: the same numbers as
 * backpropagation's, and no memory of steps either. Such an error is smallest
 * without noise: what it says of the noise's parameters is of no use, fix them.
 * Or a regression: of increments on the drift where they begin (the likelihood
 * of Euler's chain, one step a gap); or of the drift of linear bridges on the
 * drift, at estimator.steps (6) times a gap, while bridges are linearised anew
 * (expectation maximisation, by the form bound). Neither is the likelihood:
 * they have no standard errors. */
enum gsv_objective {
    GSV_OBJECTIVE_LIKELIHOOD,
    GSV_OBJECTIVE_MSE_BACKPROP,
    GSV_OBJECTIVE_MSE_ADJOINT,
    GSV_OBJECTIVE_MSE_FORWARD,
    GSV_OBJECTIVE_GRADIENT_MATCHING,
    GSV_OBJECTIVE_EM_LINEAR
};

/* Prior laws of a parameter's numbers, cut off at its bounds. Without one a
 * prior is flat inside of the bounds, in the parameter's own units. */
enum gsv_law {
    GSV_LAW_NORMAL,      /* mean a, deviation b                        */
    GSV_LAW_LOGNORMAL,   /* of the logarithm: mean a, deviation b      */
    GSV_LAW_HALFNORMAL,  /* deviation a of the whole; from 0 on        */
    GSV_LAW_UNIFORM,     /* from a to b                                */
    GSV_LAW_GAMMA,       /* shape a, rate b                            */
    GSV_LAW_EXPONENTIAL, /* rate a                                     */
    GSV_LAW_BETA,        /* shapes a and b                             */
    GSV_LAW_CAUCHY       /* middle a, half width b                     */
};

typedef struct gsv_prior {
    const char *name; /* a parameter, or an element `A[1,2]`; the last prior
                       * that names a number holds for it */
    enum gsv_law law;
    double a, b;
} gsv_prior;

/* Where a fit stands, at every iteration. */
typedef struct gsv_progress {
    size_t iteration;  /* done, of this restart: 1, 2, ...             */
    size_t iterations; /* at most                                      */
    size_t restart;    /* 1 .. restarts                                */
    size_t restarts;
    double gaps; /* that this restart has looked at, one by one */
    enum gsv_objective objective; /* where it is not the likelihood, loglik
                                   * and heldout are minus the squared error,
                                   * or Euler's likelihood, or the bound */
    double loglik;          /* a gap: mean over this iteration's batch      */
    double error;           /* standard error of that mean over the gaps    */
    double heldout;         /* a held-out gap's mean, where it is known; NaN */
    double rate;            /* of the optimiser                             */
    double seconds;         /* since the fit began, before a resume too     */
    const gsv_model *model; /* with the values as they are               */
} gsv_progress;

typedef struct gsv_fit_options {
    /* paths, steps and step of 0, and reference and form auto, let the fit
     * choose: first linear with one step, then lna with a few paths. */
    gsv_options estimator;
    enum gsv_optimizer optimizer;
    enum gsv_schedule schedule;
    enum gsv_errors errors;
    enum gsv_estimate estimate;
    size_t iterations; /* at most; 0: chosen                           */
    size_t batch;      /* gaps of an iteration; 0: chosen              */
    size_t restarts;   /* from other starts, the best is kept; 1       */
    double rate;       /* Adam's step; 0: chosen                       */
    double decay;      /* of weights, as in AdamW; 0                   */
    double clip;       /* longest gradient, in running lengths; 0: none */
    double average;    /* of theta over iterations, as 0.99; 0: none   */
    double heldout;    /* share of gaps; negative: chosen              */
    double patience;   /* share of the iterations without a better
                        * held-out likelihood that ends it; 0: never   */
    double time_limit; /* seconds of this run's search, and of what comes
                        * behind it: errors not ready then are left out;
                        * 0: none                                      */
    size_t fixed;      /* parameters that stay: names, or elements     */
    const char *const *fix;
    size_t kept;             /* starts that stay as they are: not taken from */
    const char *const *keep; /* the data                                */
    const char *checkpoint;  /* a file to write, or NULL                */
    double every;            /* seconds from one to the next; 30        */
    const char *resume;      /* a checkpoint to go on from, or NULL     */
    enum gsv_objective objective;
    enum gsv_scheme scheme; /* of simulated paths: euler or heun; those have
                             * estimator.paths (16) and .steps (8) or .step  */
    enum gsv_method method;
    size_t chains; /* of gibbs: 4, from different starts          */
    size_t warmup; /* iterations of each that are not kept; 500   */
    size_t draws;  /* that are; 1000                              */
    size_t priors;
    const gsv_prior *prior;
    /* Called after every iteration; true ends the fit, which can then be
     * resumed. */
    bool (*progress)(void *user, const gsv_progress *p);
    /* Asked many times a second, wherever the fit is; true ends the search,
     * which can then be resumed, and leaves out what comes after it: the last
     * estimate and standard errors. */
    bool (*stop)(void *user);
    /* Told when it begins something else. */
    void (*phase)(void *user, enum gsv_phase phase);
    void *user;
} gsv_fit_options;
gsv_fit_options gsv_fit_options_default(void);

enum gsv_ended {
    GSV_ENDED_CONVERGED,
    GSV_ENDED_ITERATIONS, /* all of them done                         */
    GSV_ENDED_EARLY,      /* the held-out likelihood stood still      */
    GSV_ENDED_TIME,       /* the time limit; can be resumed           */
    GSV_ENDED_STOPPED     /* progress() said so; can be resumed       */
};

/* What a fit leaves in its model: what was fitted to which data, and how well.
 * Arrays over values are indexed as gsv_model_value(). Borrowed. */
typedef struct gsv_record {
    char *data; /* the file's name */
    size_t tracks, rows, gaps, heldout_gaps;
    enum gsv_optimizer optimizer;
    enum gsv_objective objective;
    double mse;   /* what it came to, where that is a squared error; else NaN */
    double value; /* the same of Euler's likelihood and of the bound        */
    enum gsv_ended ended;
    enum gsv_errors errors; /* never auto */
    size_t iterations, restarts;
    double seconds;
    uint64_t seed;
    gsv_options estimator; /* what the fit was asked for of its likelihood: 0,
                            * auto and false where nothing was, and where
                            * it was not learned by the likelihood. Start
                            * from these to ask for the same estimates     */
    double loglik;         /* of all gaps that were learned from       */
    double error;          /* its Monte Carlo standard error           */
    double discretisation; /* l(dt) - l(2 dt)                          */
    double heldout;        /* log-likelihood of the held-out gaps      */
    double evidence;       /* with gps: their values integrated out    */
    size_t paths, steps;   /* of these last estimates                  */
    size_t sampled;        /* gaps that they looked at; 0: at all      */
    size_t flagged;        /* gaps not to be trusted                   */
    size_t free;           /* numbers that were learned                */
    double aic, bic;
    size_t columns;           /* the data's range in the model's columns: */
    double *lowest, *highest; /* (columns)                                */
    size_t values;
    double *error_of;    /* (values) standard errors; NaN where none     */
    double *low, *high;  /* (values) 95 % intervals; NaN where none      */
    size_t estimates;    /* values with correlations, 0 where none       */
    size_t *estimate;    /* (estimates) their places among values        */
    double *correlation; /* (estimates, estimates), or NULL              */
    char *warning;       /* what is not to be trusted, a line each, or "" */
    /* With gibbs, values are posterior means, error_of deviations, low and high
     * 2.5 and 97.5 % of the draws; else 0 and NULL. */
    size_t chains, warmup, draws;
    double *posterior; /* (GSV_POSTERIORS, values); NaN where not learned */
    size_t points;     /* of the learning curve: up to 200 iterations, evenly
                        * spaced, and the last; 0 where none was kept         */
    double *curve;     /* (GSV_CURVES, points), or NULL                       */
} gsv_record;

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

/* Rows of a record's curve, as progress() was told them. */
enum gsv_curve {
    GSV_CURVE_ITERATION, /* counted over all restarts */
    GSV_CURVE_RESTART,   /* 1, 2, ...                 */
    GSV_CURVE_LOGLIK,    /* a gap's mean              */
    GSV_CURVE_HELDOUT,   /* NaN where there is none   */
    GSV_CURVES
};

/* Learns the model's parameters from data, starting from their values. On
 * success the model has the learned values, and a record. After a failure it
 * has the values of before. */
int gsv_fit(gsv_model *m, const gsv_series *s, const gsv_fit_options *o);

/* The objective of a fit at the model's values, a gap's mean, and its gradient
 * (values) by them; of squared errors both of minus that. Of the options the
 * objective, the scheme and the estimator's are read, where the seed and the
 * iteration choose the random numbers. Fails with GSV_NUMERICAL where something
 * is not finite. */
int gsv_objective_gradient(const gsv_model *m, const gsv_series *s,
                           const gsv_fit_options *o, double *value,
                           double *gradient);

/* Of a model that was fitted, or read from a fit; else NULL. */
const gsv_record *gsv_model_record(const gsv_model *m);

/* The correlation of two values' estimates; NaN where there is none. */
double gsv_record_correlation(const gsv_record *r, size_t a, size_t b);

/* The draws of a gibbs fit, which a file does not keep. */
typedef struct gsv_draws {
    size_t chains, draws, numbers;
    size_t *place; /* (numbers) among the model's values                  */
    double *value; /* (numbers, chains, draws)                            */
    double *lp;    /* (chains, draws) log of the posterior density of the
                    * values, up to a constant, by the paths of the draw  */
} gsv_draws;

/* Of a model that was just fitted by gibbs, until the next fit; else NULL.
 * Borrowed. */
const gsv_draws *gsv_model_draws(const gsv_model *m);

/* What a fit knows of the model's Gaussian-process functions. new: yours, NULL
 * where the model was not fitted, has no gp, or only such that are `map`. The
 * model is borrowed, and stays as it is as long as they are in use. */
typedef struct gsv_functions gsv_functions;
bool gsv_model_has_posterior(const gsv_model *m);
gsv_functions *gsv_functions_new(const gsv_model *m);
void gsv_functions_free(gsv_functions *q);

/* The standard deviation (dim, n) of the data's drift that comes from not
 * knowing the functions, at points as in gsv_model_drift(). */
int gsv_functions_drift(gsv_functions *q, size_t n, const double *time,
                        const double *x, const double *input, double *sd);

/* Sets the functions of m, which is of the same text, to a draw from the
 * posterior: number `draw`, from 0 on, of the seed's. */
int gsv_functions_draw(gsv_functions *q, gsv_model *m, uint64_t seed,
                       uint64_t draw);

/* Writes the model with its values and its record as a fit (docs/FORMAT.md);
 * gsv_model_read() reads it. The file appears whole or not at all. */
int gsv_model_write(const gsv_model *m, const char *path);

/* The log-likelihood maximised over all other parameters, with one number held
 * at each of n values in turn: from the model's values on, which stay. name is
 * a parameter or an element. loglik is (n). */
int gsv_profile(gsv_model *m, const gsv_series *s, const gsv_fit_options *o,
                const char *name, size_t n, const double *value,
                double *loglik);

/* --- Forecasts ------------------------------------------------------------ */

typedef struct gsv_predict_options {
    size_t draws;        /* simulated from each place; 0: 1024, fewer where
                          * there are very many places                       */
    double step;         /* longest step of these; 0: chosen                 */
    size_t times;        /* at which, of all tracks; those after a track's   */
    const double *time;  /* end are taken. 0: every track has 20 times, from */
    double ahead;        /* its end to so far ahead; 0: a tenth of its length */
    const double *until; /* (tracks) what comes later is not known, but held
                          * out: forecasts are made at those rows where no
                          * times are given, and scored; NULL: all is known  */
    size_t rolling;      /* K: from every row 1 to K rows ahead, scores alone;
                          * with until, from the last row before it on       */
    size_t quantiles;    /* of the laws; 0: 5, 25, 50, 75 and 95 %           */
    const double *quantile;
    bool parameters;  /* draws them, too, from the normal law of a fit's
                       * estimates; not with rolling                         */
    bool mean;        /* functions of a fit at their posterior mean; else
                       * every draw has its own, the same from all places    */
    size_t points;    /* for latent states, at each row; 0: chosen           */
    uint64_t seed;    /* 1                                                   */
    size_t threads;   /* 0 for all; any number gives the same bits           */
    gsv_ranks *ranks; /* that share the work of gsv_residuals(); NULL: one   */
} gsv_predict_options;
gsv_predict_options gsv_predict_options_default(void);

/* How good forecasts of a column were. The climatological forecast, which is
 * the law of all known rows whatever came last, is a yardstick. */
typedef struct gsv_score {
    size_t column, lead; /* lead: rows ahead; 0: all of them              */
    size_t rows;
    double crps;        /* mean continuous ranked probability score: as the
                         * mean absolute error, in the column's unit        */
    double climatology; /* that of the yardstick                            */
    double cover50, cover90; /* share of rows inside of these intervals     */
} gsv_score;

typedef struct gsv_prediction {
    size_t columns, states; /* the first so many are states; then what is
                             * observed of them, noise included             */
    const char **name;      /* (columns) borrowed                           */
    size_t rows, draws;
    size_t *track;     /* (rows) */
    double *time;      /* (rows) */
    double *mean, *sd; /* (columns, rows) */
    size_t quantiles;
    double *level;    /* (quantiles)                                        */
    double *quantile; /* (columns, quantiles, rows)                         */
    double *actual;   /* (columns, rows) what came, NaN where it is unknown */
    size_t scores;
    gsv_score *score;
    bool held; /* whether inputs end before the forecasts do, and are held   */
    size_t functions; /* drawn from a fit's posterior, in turn; 0: none      */
} gsv_prediction;

/* The laws of what comes after the known rows of each track, by simulation from
 * the last of them, or from the law of the states there. On success the arrays
 * are yours: gsv_prediction_free(). */
int gsv_predict(const gsv_model *m, const gsv_series *s,
                const gsv_predict_options *o, gsv_prediction *result);
void gsv_prediction_free(gsv_prediction *p);

/* --- Residuals ------------------------------------------------------------ */

enum { GSV_LAGS = 10 };

/* A column's u = P(less than what came | all rows before), which under the true
 * model are uniform on (0, 1) and independent, and their normal scores z. */
typedef struct gsv_residual {
    const char *name; /* borrowed from the model */
    size_t rows;      /* with a residual         */
    double *u, *z;    /* (rows of gsv_residuals_result), NaN where none      */
    double distance, uniform_p; /* Kolmogorov and Smirnov's                 */
    double mean, sd;            /* of z */
    double correlation[GSV_LAGS], ljung_p; /* of z at lags 1, 2, ...        */
    double square[GSV_LAGS], square_p;     /* of z^2                        */
} gsv_residual;

typedef struct gsv_residuals_result {
    size_t columns, rows, draws; /* draws: 0 where all is in closed form     */
    size_t *track, *row;         /* (rows) of the series                     */
    gsv_residual *column;        /* (columns)                                */
} gsv_residuals_result;

/* One row ahead, each column by itself. Of the options draws, step, points,
 * seed, threads and ranks are read. Counts are spread at random over their
 * steps. */
int gsv_residuals(const gsv_model *m, const gsv_series *s,
                  const gsv_predict_options *o, gsv_residuals_result *result);
void gsv_residuals_free(gsv_residuals_result *r);

/* --- Paths -----------------------------------------------------------------
 */

typedef struct gsv_paths_options {
    /* paths: bridges a gap, or where states are latent paths of which bands
     * between observations are made; 0 for 256. points: 0 for 64. Whole
     * tracks, gradients, tolerances and extrapolation have no meaning here. */
    gsv_options estimator;
    size_t times;           /* asked for in every track that has them, or 0: */
    const double *time;     /* (times), rising; all rows, and ...            */
    size_t between;         /* ... so many times inside of each gap;         */
                            /* SIZE_MAX: 7, or 0 where states are latent     */
    size_t quantiles;       /* 0 for 0.05, 0.5 and 0.95                      */
    const double *quantile; /* (quantiles) inside of (0, 1)                  */
    size_t draws;           /* paths to keep; 0                              */
    /* Called now and then; true ends it, with GSV_BAD_INPUT. */
    bool (*progress)(void *user, size_t done, size_t all);
    void *user;
} gsv_paths_options;
gsv_paths_options gsv_paths_options_default(void);

/* The law of the states given all data, in the data's coordinates. Rows are
 * those of all tracks, one below the other; a track's begin with its first
 * observation, or where all states are latent with its first row, and end with
 * its last observation. */
typedef struct gsv_smoothed {
    size_t rows, dim, quantiles, draws;
    size_t *track;       /* (rows)                          */
    double *time;        /* (rows)                          */
    double *mean;        /* (dim, rows)                     */
    double *sd;          /* (dim, rows)                     */
    double *probability; /* (quantiles) of the quantiles */
    double *quantile;    /* (quantiles, dim, rows)          */
    double *draw;   /* (draws, dim, rows), all of the same weight, or NULL */
    size_t *seen;   /* (dim) the series' column of a state, or of what was
                     * observed of it with noise; SIZE_MAX without one    */
    double ess_min; /* smallest effective number of bridges of a gap, or of
                     * points of an observation        */
    size_t paths;   /* of which it is one              */
} gsv_smoothed;

/* What the states were at and between the observations, at the model's values.
 * On success the arrays are yours: gsv_smoothed_free(). */
int gsv_paths(const gsv_model *m, const gsv_series *s,
              const gsv_paths_options *o, gsv_smoothed *result);
void gsv_smoothed_free(gsv_smoothed *s);

/* --- Bridges of any Gaussian process ------------------------------------- */

/* A path y (n) of a Gaussian process of mean zero with kernel k at increasing
 * times is moved so that it starts in y0 and ends in y1:
 *
 *     y(t) += K(t, tau) K(tau, tau)^-1 (y_tau - y(tau)),  tau = (first, last).
 *
 * The result has the law of the process given both values. A process that
 * starts from a fixed point has k(first, first) = 0: its path is shifted to y0
 * and then conditioned on its end alone. Models use faster bridges of their
 * own; this one is for other kernels. */
typedef double (*gsv_kernel)(void *user, double s, double t);
int gsv_bridge(gsv_kernel kernel, void *user, size_t n, const double *time,
               double y0, double y1, double *y);

const char *gsv_version(void);

/* The candidate that a misspelt word most likely stands for, or NULL: at most
 * a third of its letters changed, inserted, left out or swapped; case does not
 * count. For the messages of front ends. */
const char *gsv_suggestion(const char *word, size_t candidates,
                           const char *const *candidate);

/* The first character of a text from files as a terminal may have it: as it
 * is, or an escape such as \n or \x1b where it is a control character or no
 * UTF-8. shown has room for GSV_VISIBLE bytes. Returns how many bytes of the
 * text it is, 0 at the end. */
enum { GSV_VISIBLE = 5 };
size_t gsv_visible(const char *text, char *shown);

/* A file in the making: written beside its place, made safe on disk and put
 * there whole when it is closed, or let go. A link stays a link, a file keeps
 * its mode; devices and pipes are written directly. What a killed process of
 * this machine has left beside it is removed. Its name is that of the file
 * until it is closed; NULL where it is written directly. For front ends. */
typedef struct gsv_draft gsv_draft;
gsv_draft *gsv_draft_open(const char *path);
int gsv_draft_descriptor(const gsv_draft *d);
const char *gsv_draft_name(const gsv_draft *d);
int gsv_draft_close(gsv_draft *d, bool keep);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
