/* SPDX-License-Identifier: MIT */
#include "base/option_rules.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum rule_type { COUNT, REAL, CHOICE, SWITCH, ARRAY, TEXTS };

struct rule {
    const char *name; /* of the field */
    size_t offset;
    enum rule_type type;
    double low, high;  /* COUNT, REAL: the smallest and the largest       */
    const char *what;  /* stands for the field in a sentence; NULL: by its
                        * type and name                                   */
    bool zero;         /* COUNT: 0 is allowed, too: then it is chosen     */
    bool most;         /* COUNT: so is SIZE_MAX                           */
    bool below;        /* REAL: high itself is not allowed                */
    const char *words; /* CHOICE: those of its enum, from 0 on            */
    size_t count;      /* ARRAY, TEXTS: offset of how many there are      */
};

#define ROW(struct_, field_, ...)                                              \
    {                                                                          \
        .name = #field_, .offset = offsetof(struct_, field_), __VA_ARGS__      \
    }
#define ROWS(array) sizeof(array) / sizeof *(array), array

/* Random numbers have 32 bits for draws, tracks and iterations; threads and
 * windows beyond these are a number that was negative. */
#define ANY (double)INFINITY
#define MOST_NUMBERED 4e9
#define MOST_LISTED 1e12
#define MOST_THREADS 1e6

#define SCHEMES "euler, milstein, heun, srk"

static const struct rule ESTIMATOR[] = {
    ROW(gsv_options, paths, COUNT, 1, 1e8, .zero = true),
    ROW(gsv_options, steps, COUNT, 1, 1e8, .zero = true),
    ROW(gsv_options, step, REAL, 0, ANY),
    ROW(gsv_options, reference, CHOICE,
        .words = "auto, brownian, linear, lna, modified"),
    ROW(gsv_options, form, CHOICE,
        .words = "auto, ito, midpoint, stratonovich, euler, bound"),
    ROW(gsv_options, random, CHOICE, .words = "sobol, iid"),
    ROW(gsv_options, observe, CHOICE,
        .words = "auto, scan, particle, conjugate, variational"),
    ROW(gsv_options, points, COUNT, 1, 1e8, .zero = true),
    ROW(gsv_options, richardson, SWITCH),
    ROW(gsv_options, delta, SWITCH),
    ROW(gsv_options, tolerance, REAL, 0, ANY),
    ROW(gsv_options, joint, SWITCH),
    ROW(gsv_options, gradient, SWITCH),
    ROW(gsv_options, wide, SWITCH),
    ROW(gsv_options, threads, COUNT, 1, MOST_THREADS, .zero = true),
    ROW(gsv_options, sample, COUNT, 1, MOST_LISTED, "the sample", .zero = true),
    ROW(gsv_options, window, COUNT, 1, MOST_LISTED, "the window", .zero = true),
};

static const struct rule FIT[] = {
    ROW(gsv_fit_options, optimizer, CHOICE,
        .words = "auto, adam, lbfgs, evidence"),
    ROW(gsv_fit_options, schedule, CHOICE,
        .words = "cosine, plateau, constant"),
    ROW(gsv_fit_options, estimate, CHOICE, .what = "the last estimate",
        .words = "auto, all, none"),
    ROW(gsv_fit_options, errors, CHOICE, .what = "the kind of errors",
        .words = "auto, none, observed, sandwich, posterior"),
    ROW(gsv_fit_options, iterations, COUNT, 1, MOST_NUMBERED, .zero = true),
    ROW(gsv_fit_options, batch, COUNT, 1, MOST_LISTED, "the batch",
        .zero = true),
    ROW(gsv_fit_options, restarts, COUNT, 1, 1e6),
    ROW(gsv_fit_options, rate, REAL, 0, ANY),
    ROW(gsv_fit_options, decay, REAL, 0, ANY),
    ROW(gsv_fit_options, clip, REAL, 0, ANY),
    ROW(gsv_fit_options, average, REAL, 0, 1, "the average's memory",
        .below = true),
    ROW(gsv_fit_options, heldout, REAL, -ANY, 1, "the heldout share",
        .below = true),
    ROW(gsv_fit_options, patience, REAL, 0, ANY),
    ROW(gsv_fit_options, time_limit, REAL, 0, ANY, "the time_limit"),
    ROW(gsv_fit_options, fixed, COUNT, 0, MOST_LISTED,
        "the number of fixed parameters"),
    ROW(gsv_fit_options, fix, TEXTS, .count = offsetof(gsv_fit_options, fixed)),
    ROW(gsv_fit_options, kept, COUNT, 0, MOST_LISTED,
        "the number of kept parameters"),
    ROW(gsv_fit_options, keep, TEXTS, .count = offsetof(gsv_fit_options, kept)),
    ROW(gsv_fit_options, every, REAL, 0, ANY,
        "the time from one checkpoint to the next (every)"),
    ROW(gsv_fit_options, objective, CHOICE,
        .words = "likelihood, mse-backprop, mse-adjoint, mse-forward, "
                 "gradient-matching, em-linear"),
    ROW(gsv_fit_options, scheme, CHOICE, .words = SCHEMES),
    ROW(gsv_fit_options, method, CHOICE, .words = "likelihood, gibbs"),
    ROW(gsv_fit_options, chains, COUNT, 1, 1000, .zero = true),
    ROW(gsv_fit_options, warmup, COUNT, 0, 1e9, "the warmup"),
    ROW(gsv_fit_options, draws, COUNT, 1, 1e9, .zero = true),
    ROW(gsv_fit_options, priors, COUNT, 0, MOST_LISTED),
    ROW(gsv_fit_options, prior, ARRAY,
        .count = offsetof(gsv_fit_options, priors)),
};

static const struct rule PRIOR[] = {
    ROW(gsv_prior, law, CHOICE, .what = "the law of a prior",
        .words = "normal, lognormal, halfnormal, uniform, gamma, exponential, "
                 "beta, cauchy"),
};

static const struct rule SIMULATE[] = {
    ROW(gsv_simulate_options, times, COUNT, 0, MOST_LISTED),
    ROW(gsv_simulate_options, time, ARRAY,
        .count = offsetof(gsv_simulate_options, times)),
    ROW(gsv_simulate_options, tracks, COUNT, 1, MOST_NUMBERED),
    ROW(gsv_simulate_options, start_mean, REAL, -ANY, ANY,
        "the mean of the start (start_mean)"),
    ROW(gsv_simulate_options, start_sd, REAL, 0, ANY,
        "the deviation of the start (start_sd)"),
    ROW(gsv_simulate_options, step, REAL, 0, ANY),
    ROW(gsv_simulate_options, scheme, CHOICE, .words = SCHEMES),
    ROW(gsv_simulate_options, mean, SWITCH),
    ROW(gsv_simulate_options, threads, COUNT, 1, MOST_THREADS, .zero = true),
};

static const struct rule PREDICT[] = {
    ROW(gsv_predict_options, draws, COUNT, 2, MOST_NUMBERED, .zero = true),
    ROW(gsv_predict_options, step, REAL, 0, ANY),
    ROW(gsv_predict_options, times, COUNT, 0, MOST_LISTED),
    ROW(gsv_predict_options, time, ARRAY,
        .count = offsetof(gsv_predict_options, times)),
    ROW(gsv_predict_options, ahead, REAL, 0, ANY, "the time ahead"),
    ROW(gsv_predict_options, rolling, COUNT, 1, 1e9,
        "the number of rows of a rolling forecast", .zero = true),
    ROW(gsv_predict_options, quantiles, COUNT, 0, 1e6),
    ROW(gsv_predict_options, quantile, ARRAY,
        .count = offsetof(gsv_predict_options, quantiles)),
    ROW(gsv_predict_options, parameters, SWITCH),
    ROW(gsv_predict_options, mean, SWITCH),
    ROW(gsv_predict_options, points, COUNT, 1, 1e8, .zero = true),
    ROW(gsv_predict_options, threads, COUNT, 1, MOST_THREADS, .zero = true),
};

static const struct rule PATHS[] = {
    ROW(gsv_paths_options, times, COUNT, 0, MOST_LISTED),
    ROW(gsv_paths_options, time, ARRAY,
        .count = offsetof(gsv_paths_options, times)),
    ROW(gsv_paths_options, between, COUNT, 0, 1e6,
        "the number of times between two rows", .most = true),
    ROW(gsv_paths_options, quantiles, COUNT, 0, 1e6),
    ROW(gsv_paths_options, quantile, ARRAY,
        .count = offsetof(gsv_paths_options, quantiles)),
    ROW(gsv_paths_options, draws, COUNT, 0, MOST_NUMBERED),
};

static const struct rule CALLBACK[] = {
    ROW(gsv_callback, dim, COUNT, 1, 1e6, "the dim of a callback"),
    ROW(gsv_callback, parameters, COUNT, 0, 1e9),
    ROW(gsv_callback, parameter, ARRAY,
        .count = offsetof(gsv_callback, parameters)),
    ROW(gsv_callback, sigma, ARRAY, .count = offsetof(gsv_callback, dim)),
};

/* --- Words ---------------------------------------------------------------- */

enum { NUMBER = 32, SHORT = 128 };

static const char *name_of(const struct rule *r, char room[SHORT])
{
    static const char *const BEFORE[] = {
        [COUNT] = "the number of ", [REAL] = "the ",
        [CHOICE] = "the option ",   [SWITCH] = "the option ",
        [ARRAY] = "the array ",     [TEXTS] = "the array "};
    snprintf(room, SHORT, "%s%s", r->what ? "" : BEFORE[r->type],
             r->what ? r->what : r->name);
    return room;
}

/* 64, 1e8, 4e9, 0.5 */
static void write_bound(double x, char room[NUMBER])
{
    snprintf(room, NUMBER, "%g", x);
    char *plus = strstr(room, "e+");
    if (!plus) return;
    char *digits = plus + 1 + strspn(plus + 1, "+0");
    memmove(plus + 1, digits, strlen(digits) + 1);
}

/* What a number must be: 'from 1 to 1e8', 'finite', 'below 1'. */
static void write_range(const struct rule *r, char room[SHORT])
{
    char low[NUMBER], high[NUMBER];
    write_bound(r->low, low);
    write_bound(r->high, high);
    if (isfinite(r->low) && isfinite(r->high))
        snprintf(room, SHORT, "from %s to %s%s", low, r->below ? "below " : "",
                 high);
    else if (isfinite(r->low))
        snprintf(room, SHORT, "finite and not below %s", low);
    else if (isfinite(r->high))
        snprintf(room, SHORT, "finite and below %s", high);
    else snprintf(room, SHORT, "finite");
}

/* --- Checks, by type ------------------------------------------------------ */

/* A count beyond half of all numbers was negative before it was cast. */
static int check_count(const struct rule *r, const char *at)
{
    size_t n;
    memcpy(&n, at, sizeof n);
    if ((r->zero && !n) || (r->most && n == SIZE_MAX)) return 0;
    if ((double)n >= r->low && (double)n <= r->high) return 0;
    char name[SHORT], range[SHORT];
    bool negative = n > SIZE_MAX / 2;
    write_range(r, range);
    return fail(GSV_BAD_INPUT, "%s is %s%zu, but must be %s", name_of(r, name),
                negative ? "-" : "", negative ? 0 - n : n, range);
}

static int check_real(const struct rule *r, const char *at)
{
    double x;
    memcpy(&x, at, sizeof x);
    if (isfinite(x) && x >= r->low && x <= r->high &&
        !(r->below && x == r->high))
        return 0;
    char name[SHORT], range[SHORT];
    write_range(r, range);
    return fail(GSV_BAD_INPUT, "%s is %g, but must be %s", name_of(r, name), x,
                range);
}

static int check_choice(const struct rule *r, const char *at)
{
    unsigned value, last = 0;
    memcpy(&value, at, sizeof value);
    for (const char *c = r->words; *c; c++)
        last += *c == ',';
    if (value <= last) return 0;
    char name[SHORT];
    return fail(GSV_BAD_INPUT, "%s is %d, but must be from 0 to %u: %s",
                name_of(r, name), (int)value, last, r->words);
}

/* Other bytes than 0 and 1 are there where a struct was never filled in. */
static int check_switch(const struct rule *r, const char *at)
{
    unsigned char byte;
    memcpy(&byte, at, 1);
    if (byte <= 1) return 0;
    char name[SHORT];
    return fail(GSV_BAD_INPUT, "%s is %d, but must be true or false",
                name_of(r, name), byte);
}

/* Texts are checked one by one, other arrays are there or not. */
static int check_array(const struct rule *r, const char *options)
{
    size_t n;
    const void *array;
    char name[SHORT];
    memcpy(&n, options + r->count, sizeof n);
    memcpy(&array, options + r->offset, sizeof array);
    if (n && !array)
        return fail(GSV_BAD_INPUT, "%s is NULL, but must have %zu elements",
                    name_of(r, name), n);
    for (size_t i = 0; r->type == TEXTS && i < n; i++)
        if (!((const char *const *)array)[i])
            return fail(GSV_BAD_INPUT, "%s: element %zu is NULL",
                        name_of(r, name), i);
    return 0;
}

static int check_row(const struct rule *r, const char *options)
{
    switch (r->type) {
    case COUNT: return check_count(r, options + r->offset);
    case REAL: return check_real(r, options + r->offset);
    case CHOICE: return check_choice(r, options + r->offset);
    case SWITCH: return check_switch(r, options + r->offset);
    case ARRAY:
    case TEXTS: return check_array(r, options);
    }
    return 0;
}

static int check(const void *options, size_t rows, const struct rule *row)
{
    int status = 0;
    for (size_t i = 0; !status && i < rows; i++)
        status = check_row(&row[i], options);
    return status;
}

/* --- Structs -------------------------------------------------------------- */

int estimator_rules(const gsv_options *o)
{
    return check(o, ROWS(ESTIMATOR));
}

int fit_rules(const gsv_fit_options *o)
{
    int status = check(&o->estimator, ROWS(ESTIMATOR));
    if (!status) status = check(o, ROWS(FIT));
    for (size_t i = 0; !status && i < o->priors; i++) {
        status = check(&o->prior[i], ROWS(PRIOR));
        if (!status && !o->prior[i].name)
            status = fail(GSV_BAD_INPUT, "prior %zu has no name", i + 1);
    }
    return status;
}

int simulate_rules(const gsv_simulate_options *o)
{
    return check(o, ROWS(SIMULATE));
}

int predict_rules(const gsv_predict_options *o)
{
    return check(o, ROWS(PREDICT));
}

int paths_rules(const gsv_paths_options *o)
{
    int status = check(&o->estimator, ROWS(ESTIMATOR));
    return status ? status : check(o, ROWS(PATHS));
}

int callback_rules(const gsv_callback *c)
{
    return check(c, ROWS(CALLBACK));
}
