/* SPDX-License-Identifier: MIT */
/* The rows of all options. To add an option, add a field to its struct and a
 * row here. */
#include <math.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option_rules.h"

#define ROW(of_, struct_, field_, type_, ...)                                  \
    {                                                                          \
        .of = of_, .field = #field_, .offset = offsetof(struct_, field_),      \
        .type = GSV_TYPE_##type_, __VA_ARGS__                                  \
    }
#define ESTIMATOR(...) ROW(GSV_OF_ESTIMATOR, gsv_options, __VA_ARGS__)
#define FIT(...) ROW(GSV_OF_FIT, gsv_fit_options, __VA_ARGS__)
#define SIMULATE(...) ROW(GSV_OF_SIMULATE, gsv_simulate_options, __VA_ARGS__)
#define PREDICT(...) ROW(GSV_OF_PREDICT, gsv_predict_options, __VA_ARGS__)
#define PATHS(...) ROW(GSV_OF_PATHS, gsv_paths_options, __VA_ARGS__)
#define PHYSICS(...) ROW(GSV_OF_PHYSICS, gsv_physics_options, __VA_ARGS__)
#define LENGTH(struct_, field_) .count_offset = offsetof(struct_, field_)
#define WORDS(...)                                                             \
    .word = (const char *const[])                                              \
    {                                                                          \
        __VA_ARGS__, NULL                                                      \
    }

/* Random numbers have 32 bits for draws, tracks and iterations. */
#define ANY (double)INFINITY
#define MOST_NUMBERED 4e9
#define MOST_LISTED 1e12
#define LARGEST (double)SIZE_MAX

/* Uses of the estimator's options. */
enum {
    FIXED = GSV_USE_LOGLIK | GSV_USE_CHECK, /* the parameters */
    LEARNED = GSV_USE_FIT | GSV_USE_PROFILE | GSV_USE_SELECT,
    BOTH = FIXED | LEARNED,
    BRIDGES = BOTH | GSV_USE_PATHS,
    ALL = BRIDGES | GSV_USE_GRADIENT,
    FORECAST = GSV_USE_PREDICT | GSV_USE_RESIDUALS
};
#define EVERY_USE ~0u

/* Rows that differ by the use or the struct. */
#define SEED_AND_THREADS(struct_, uses_)                                       \
    struct_(seed, SEED, uses_, 1, .flag = "--seed", .value = "N",              \
            .help = "seed of all random numbers"),                             \
        struct_(threads, COUNT, uses_, 0, 1, 1e6, .zero = true,                \
                .chosen = "all", .flag = "--threads", .value = "N",            \
                .help = "threads; any number gives the same bits")
#define PATHS_ROW(uses_, preset_, chosen_, help_)                              \
    ESTIMATOR(paths, COUNT, uses_, preset_, 1, 1e8, .zero = true,              \
              .chosen = (chosen_), .flag = "--paths", .value = "K",            \
              .help = (help_))
#define STEPS_ROW(uses_, preset_, chosen_)                                     \
    ESTIMATOR(steps, COUNT, uses_, preset_, 1, 1e8, .zero = true,              \
              .chosen = (chosen_), .flag = "--steps", .value = "M",            \
              .help = "steps in each gap")

#define OBSERVE_ROW(struct_, uses_)                                            \
    struct_(                                                                   \
        observe, CHOICE, uses_, .flag = "--observe", .value = "E",             \
        WORDS("auto", "scan", "conjugate", "variational", "kalman", "guided"), \
        .chosen = "by the model", .help = "estimator for noisy observations")

static const gsv_option OPTIONS[] = {
    FIT(method, CHOICE, GSV_USE_FIT, .flag = "--method", .value = "M",
        WORDS("likelihood", "gibbs"),
        .help = "maximum likelihood, or draws from the posterior"),
    FIT(objective, CHOICE, GSV_USE_FIT, .flag = "--objective", .value = "O",
        WORDS("likelihood", "mse-backprop", "mse-adjoint", "mse-forward",
              "gradient-matching", "em-linear", "slopes"),
        .help = "objective"),
    FIT(optimizer, CHOICE, GSV_USE_FIT, .flag = "--optimizer", .value = "O",
        WORDS("auto", "adam", "lbfgs", "evidence", "soap"),
        .chosen = "lbfgs, soap with a network, evidence with a gp",
        .help = "optimiser"),
    FIT(iterations, COUNT, GSV_USE_FIT, 0, 1, MOST_NUMBERED, .zero = true,
        .chosen = "chosen", .flag = "--iterations", .value = "N",
        .help = "largest number of iterations"),
    FIT(rate, REAL, GSV_USE_FIT, 0, 0, ANY, .zero = true, .chosen = "chosen",
        .flag = "--rate", .value = "R",
        .help = "learning rate of soap and adam"),
    FIT(batch, COUNT, GSV_USE_FIT, 0, 1, MOST_LISTED, .zero = true,
        .chosen = "chosen", .flag = "--batch", .value = "GAPS",
        .help = "gaps in each iteration"),
    FIT(schedule, CHOICE, GSV_USE_FIT, .flag = "--schedule", .value = "S",
        WORDS("cosine", "plateau", "constant"),
        .help = "schedule of the learning rate"),
    FIT(decay, REAL, GSV_USE_FIT, -1, 0, ANY, .negative = true,
        .chosen = "1, of noise 4; few data: estimated", .flag = "--decay",
        .value = "W",
        .help = "penalty W/2 on the squares of networks' weights"),
    FIT(clip, REAL, GSV_USE_FIT, 10, 0, ANY, .flag = "--clip", .value = "C",
        .help = "clip gradients at C times their running length; 0: never"),
    FIT(average, REAL, GSV_USE_FIT, 0.98, 0, 1, .below = true,
        .flag = "--average", .value = "A",
        .help = "memory of the average over iterations; 0: no average"),
    FIT(heldout, REAL, GSV_USE_FIT, -1, 0, 1, .below = true, .negative = true,
        .chosen = "chosen", .flag = "--heldout", .value = "SHARE",
        .help = "share of the gaps that is held out; series:SHARE of series"),
    FIT(heldout_series, SWITCH, GSV_USE_FIT,
        .help = "heldout is a share of the series, not of the gaps"),
    FIT(patience, REAL, GSV_USE_FIT, 0.2, 0, ANY, .flag = "--patience",
        .value = "SHARE",
        .help = "stop after this share of the iterations without a better "
                "held-out value; 0: never"),
    FIT(restarts, COUNT, GSV_USE_FIT, 1, 1, 1e6, .flag = "--restarts",
        .value = "N", .help = "different starts; the best fit is kept"),
    FIT(time_limit, REAL, GSV_USE_FIT, 0, 0, ANY, .zero = true,
        .chosen = "none", .flag = "--time-limit", .value = "S",
        .help = "seconds for the search, and as many for what follows"),
    FIT(errors, CHOICE, GSV_USE_FIT | GSV_USE_SELECT, .flag = "--errors",
        .value = "E", WORDS("auto", "none", "observed", "sandwich", ""),
        .chosen = "none with a network, else observed",
        .help = "standard errors"),
    FIT(bootstrap, COUNT, GSV_USE_FIT, 0, 20, 1e6, .zero = true,
        .chosen = "none", .flag = "--bootstrap", .value = "N",
        .help = "fit N simulated data sets, too: less bias, and intervals for "
                "few data"),
    FIT(estimate, CHOICE, GSV_USE_FIT, .flag = "--estimate", .value = "E",
        WORDS("auto", "all", "none"), .chosen = "a sample of very many gaps",
        .help = "gaps of the final log-likelihood"),
    FIT(every, REAL, GSV_USE_FIT, 30, 0, ANY, .flag = "--every", .value = "S",
        .help = "seconds from one checkpoint to the next"),
    FIT(chains, COUNT, GSV_USE_FIT, 4, 1, 1000, .zero = true,
        .flag = "--chains", .value = "N", .help = "gibbs: chains"),
    FIT(warmup, COUNT, GSV_USE_FIT, 500, 0, 1e9, .flag = "--warmup",
        .value = "N", .help = "gibbs: iterations of a chain before its draws"),
    FIT(draws, COUNT, GSV_USE_FIT, 1000, 1, 1e9, .zero = true,
        .flag = "--draws", .value = "N", .help = "gibbs: draws of a chain"),
    FIT(scheme, CHOICE, GSV_USE_FIT | GSV_USE_GRADIENT, .flag = "--scheme",
        .value = "S", WORDS("euler", "", "heun", ""),
        .help = "scheme of simulated paths, for a squared error"),
    FIT(criterion, CHOICE, GSV_USE_SELECT, .flag = "--criterion", .value = "C",
        WORDS("familywise", "pastis", "ebic", "bic", "aic"),
        .help = "what a term costs against its likelihood"),
    FIT(together, CHOICE, GSV_USE_SELECT, .flag = "--together", .value = "T",
        WORDS("none", "term", "output"),
        .help = "coefficients that are kept or dropped together"),
    FIT(significance, REAL, GSV_USE_SELECT, 0, 0, 1, .below = true,
        .zero = true, .chosen = "0.02", .flag = "--significance", .value = "P",
        .help = "familywise, pastis: probability of a term too many"),
    FIT(resamples, COUNT, GSV_USE_SELECT, 0, 1, 1e6, .zero = true,
        .chosen = "200", .flag = "--resamples", .value = "N",
        .help = "resampled data for the inclusion frequencies"),
    FIT(fixed, COUNT, GSV_USE_FIT | GSV_USE_SELECT, 0, 0, MOST_LISTED),
    FIT(fix, TEXTS, GSV_USE_FIT | GSV_USE_SELECT,
        LENGTH(gsv_fit_options, fixed),
        .help = "parameters or elements that are not learned"),
    FIT(kept, COUNT, GSV_USE_FIT | GSV_USE_SELECT, 0, 0, MOST_LISTED),
    FIT(keep, TEXTS, GSV_USE_FIT | GSV_USE_SELECT,
        LENGTH(gsv_fit_options, kept),
        .help = "parameters whose starts are not taken from the data"),
    FIT(priors, COUNT, GSV_USE_FIT, 0, 0, MOST_LISTED),
    FIT(prior, ARRAY, GSV_USE_FIT, LENGTH(gsv_fit_options, priors)),

    SIMULATE(tracks, COUNT, GSV_USE_SIMULATE, 1, 1, MOST_NUMBERED,
             .flag = "--tracks", .value = "R", .help = "series to simulate"),
    SIMULATE(step, REAL, GSV_USE_SIMULATE, 0, 0, ANY, .zero = true,
             .chosen = "1/32 of the shortest gap", .flag = "--step",
             .value = "DT", .help = "longest step"),
    SIMULATE(scheme, CHOICE, GSV_USE_SIMULATE, GSV_SRK, .flag = "--scheme",
             .value = "S",
             WORDS("euler", "milstein", "heun", "srk", "gillespie", "tau-leap"),
             .help = "scheme"),
    SIMULATE(mean, SWITCH, GSV_USE_SIMULATE, .flag = "--mean",
             .help = "the posterior mean of a gp's functions, not a draw for "
                     "each path"),
    SIMULATE(times, COUNT, GSV_USE_SIMULATE, 0, 0, MOST_LISTED),
    SIMULATE(time, ARRAY, GSV_USE_SIMULATE, LENGTH(gsv_simulate_options, times),
             .help = "times of the rows, increasing"),
    SIMULATE(start_mean, REAL, GSV_USE_SIMULATE, 0, -ANY, ANY,
             .help = "mean of the normal law of the start"),
    SIMULATE(start_sd, REAL, GSV_USE_SIMULATE, 0, 0, ANY,
             .help = "standard deviation of the normal law of the start"),
    SEED_AND_THREADS(SIMULATE, GSV_USE_SIMULATE),

    PREDICT(ahead, REAL, GSV_USE_PREDICT, 0, 0, ANY, .zero = true,
            .chosen = "a tenth of the series' length", .flag = "--ahead",
            .value = "T", .help = "20 times up to T after the end"),
    PREDICT(rolling, COUNT, GSV_USE_PREDICT, 0, 1, 1e9, .zero = true,
            .flag = "--rolling", .value = "K",
            .help = "from every row 1 to K rows ahead; scores only"),
    PREDICT(parameters, SWITCH, GSV_USE_PREDICT, .flag = "--parameters",
            .help = "draw the parameters from a fit's covariance, too"),
    PREDICT(mean, SWITCH, GSV_USE_PREDICT, .flag = "--mean",
            .help = "the posterior mean of a gp's functions, not a draw for "
                    "each path"),
    PREDICT(draws, COUNT, FORECAST, 0, 2, MOST_NUMBERED, .zero = true,
            .chosen = "1024; fewer for very many rows", .flag = "--draws",
            .value = "N", .help = "simulated paths from each row"),
    PREDICT(step, REAL, GSV_USE_PREDICT, 0, 0, ANY, .zero = true,
            .chosen = "chosen", .flag = "--step", .value = "DT",
            .help = "longest step of simulated paths"),
    OBSERVE_ROW(PREDICT, FORECAST),
    PREDICT(points, COUNT, FORECAST, 0, 1, 1e8, .zero = true,
            .chosen = "chosen", .flag = "--support", .value = "J",
            .help = "points for each noisy observation"),
    PREDICT(steps, COUNT, FORECAST, 0, 1, 1e8, .zero = true, .chosen = "chosen",
            .help = "steps in each gap of the estimator of latent states"),
    PREDICT(times, COUNT, GSV_USE_PREDICT, 0, 0, MOST_LISTED),
    PREDICT(time, ARRAY, GSV_USE_PREDICT, LENGTH(gsv_predict_options, times),
            .help = "times of the forecasts, increasing"),
    PREDICT(quantiles, COUNT, GSV_USE_PREDICT, 0, 0, 1e6),
    PREDICT(quantile, ARRAY, GSV_USE_PREDICT,
            LENGTH(gsv_predict_options, quantiles),
            .chosen = "0.05,0.25,0.5,0.75,0.95",
            .help = "levels of the quantiles"),
    SEED_AND_THREADS(PREDICT, FORECAST),

    PHYSICS(draws, COUNT, GSV_USE_PHYSICS, 0, 1, 1e6, .zero = true,
            .chosen = "200; 100 with two states, 20 with more",
            .flag = "--draws", .value = "N",
            .help = "draws of the parameters for intervals; 1: none"),
    PHYSICS(grid, COUNT, GSV_USE_PHYSICS, 0, 16, 1e5, .zero = true,
            .chosen = "2048; 96 with two states", .flag = "--grid",
            .value = "N", .help = "cells along each state"),
    PHYSICS(period, REAL, GSV_USE_PHYSICS, 0, 0, ANY, .zero = true,
            .chosen = "none", .flag = "--period", .value = "P",
            .help = "the only state is an angle with this period"),
    PHYSICS(length, REAL, GSV_USE_PHYSICS, 0, 0, ANY, .zero = true,
            .chosen = "chosen", .flag = "--length", .value = "T",
            .help = "length of simulated paths, with more than two states"),
    PHYSICS(step, REAL, GSV_USE_PHYSICS, 0, 0, ANY, .zero = true,
            .chosen = "chosen", .flag = "--step", .value = "DT",
            .help = "their step"),
    PHYSICS(ends, COUNT, GSV_USE_PHYSICS, 0, 0, MOST_LISTED),
    PHYSICS(end, ARRAY, GSV_USE_PHYSICS, LENGTH(gsv_physics_options, ends),
            .help = "reflecting ends, all low ones first; -inf, inf: none"),
    PHYSICS(inputs, COUNT, GSV_USE_PHYSICS, 0, 0, MOST_LISTED),
    PHYSICS(input, ARRAY, GSV_USE_PHYSICS, LENGTH(gsv_physics_options, inputs),
            .help = "constant inputs; NaN: the middle of the data's range"),
    PHYSICS(frozen, SWITCH, GSV_USE_PHYSICS,
            .help = "time stands still at `at`, for models that depend on it"),
    PHYSICS(at, REAL, GSV_USE_PHYSICS, 0, -ANY, ANY,
            .help = "the time where it stands still"),
    SEED_AND_THREADS(PHYSICS, GSV_USE_PHYSICS),

    PATHS(draws, COUNT, GSV_USE_PATHS, 0, 1, MOST_NUMBERED, .zero = true,
          .flag = "--draws", .value = "N",
          .help = "sample paths; the command writes them instead of bands"),
    PATHS(between, COUNT, GSV_USE_PATHS, LARGEST, 0, 1e6, .largest = true,
          .chosen = "7; latent states: 0", .flag = "--between", .value = "N",
          .help = "times inside each gap, besides all rows"),
    PATHS(times, COUNT, GSV_USE_PATHS, 0, 0, MOST_LISTED),
    PATHS(time, ARRAY, GSV_USE_PATHS, LENGTH(gsv_paths_options, times),
          .help = "times of the bands, increasing"),
    PATHS(quantiles, COUNT, GSV_USE_PATHS, 0, 0, 1e6),
    PATHS(quantile, ARRAY, GSV_USE_PATHS, LENGTH(gsv_paths_options, quantiles),
          .chosen = "0.05,0.5,0.95", .help = "levels of the quantiles"),

    ESTIMATOR(reference, CHOICE, BRIDGES, .flag = "--reference", .value = "R",
              WORDS("auto", "brownian", "linear", "lna", "modified"),
              .help = "process that bridges are drawn from"),
    ESTIMATOR(form, CHOICE, BRIDGES, .flag = "--form", .value = "F",
              WORDS("auto", "ito", "midpoint", "stratonovich", "euler", "",
                    "composed", "exact"),
              .help = "form of the weights"),
    ESTIMATOR(random, CHOICE, BRIDGES, .flag = "--random", .value = "N",
              WORDS("sobol", "iid"),
              .chosen = "K is rounded up to a power of two",
              .help = "random numbers"),
    OBSERVE_ROW(ESTIMATOR, ALL),
    ESTIMATOR(points, COUNT, ALL, 0, 1, 1e8, .zero = true, .chosen = "chosen",
              .flag = "--support", .value = "J",
              .help = "points or particles for each noisy observation"),
    PATHS_ROW(FIXED, 0, "64, more where few of them carry the weight",
              "paths in each gap"),
    PATHS_ROW(LEARNED, 0, "chosen", "paths in each gap"),
    PATHS_ROW(GSV_USE_GRADIENT, 0, "16", "paths in each gap for one gradient"),
    PATHS_ROW(GSV_USE_PATHS, 0, "256",
              "bridges in each gap, or paths through latent states"),
    STEPS_ROW(FIXED, 0, "8, more where they change the result"),
    STEPS_ROW(GSV_USE_PATHS, 8, NULL),
    STEPS_ROW(LEARNED, 0, "chosen"),
    STEPS_ROW(GSV_USE_GRADIENT, 0, "8"),
    ESTIMATOR(nodes, COUNT, BOTH, 0, 1, 33, .zero = true, .chosen = "9",
              .flag = "--nodes", .value = "N",
              .help = "quadrature nodes in each direction of random effects"),
    ESTIMATOR(step, REAL, ALL, 0, 0, ANY, .zero = true, .flag = "--step",
              .value = "DT",
              .help = "longest step; sets the steps by the length of the gap"),
    ESTIMATOR(richardson, SWITCH, BOTH, .flag = "--richardson",
              .help = "2 l(dt) - l(2 dt): removes the error of the ito form's "
                      "steps"),
    ESTIMATOR(delta, SWITCH, BOTH, .flag = "--delta",
              .help = "correct the bias of the log of a mean over few paths"),
    ESTIMATOR(tolerance, REAL, GSV_USE_LOGLIK, 0, 0, ANY, .zero = true,
              .flag = "--tolerance", .value = "S",
              .help = "raise paths and steps until both errors are below S"),
    ESTIMATOR(joint, SWITCH, BOTH, .flag = "--joint",
              .help = "average over whole series instead of each gap"),
    ESTIMATOR(gradient, SWITCH, FIXED, .help = "compute the gradient"),
    ESTIMATOR(wide, SWITCH, ALL, .flag = "--double",
              .help = "networks in double precision instead of float32"),
    SEED_AND_THREADS(ESTIMATOR, EVERY_USE),
    ESTIMATOR(sample, COUNT, GSV_USE_LOGLIK, 0, 1, MOST_LISTED, .zero = true,
              .chosen = "all", .help = "gaps at most, evenly spread"),
    ESTIMATOR(window, COUNT, ALL, 0, 1, MOST_LISTED, .zero = true,
              .chosen = "2^18",
              .help = "gaps that are in memory together at most"),
};

const gsv_option *gsv_option_table(size_t *count)
{
    if (ANY_NULL(count)) return NULL;
    *count = sizeof OPTIONS / sizeof *OPTIONS;
    return OPTIONS;
}

static const gsv_option CALLBACK[] = {
    ROW(0, gsv_callback, inputs, COUNT, 0, 0, 1, 1e6),
    ROW(0, gsv_callback, outputs, COUNT, 0, 0, 1, 1e6),
    ROW(0, gsv_callback, parameters, COUNT, 0, 0, 0, 1e8),
    ROW(0, gsv_callback, weights, SWITCH, 0),
    ROW(0, gsv_callback, arrays, COUNT, 0, 0, 0, 1e6),
    ROW(0, gsv_callback, shape, ARRAY, LENGTH(gsv_callback, arrays)),
};

int callback_rules(const gsv_callback *c)
{
    return check_rows(c, sizeof CALLBACK / sizeof *CALLBACK, CALLBACK);
}

static const gsv_option LAW =
    ROW(0, gsv_prior, law, CHOICE,
        WORDS("normal", "lognormal", "halfnormal", "uniform", "gamma",
              "exponential", "beta", "cauchy"));

int prior_rules(size_t n, const gsv_prior *prior)
{
    int status = 0;
    for (size_t i = 0; !status && i < n; i++) {
        status = check_rows(&prior[i], 1, &LAW);
        if (!status && !prior[i].name)
            status = fail(GSV_BAD_INPUT, "prior %zu has no name", i + 1);
    }
    return status;
}
