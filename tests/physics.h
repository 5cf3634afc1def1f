/* SPDX-License-Identifier: MIT */
/* What the tests of physics share: a model's physics in a range, or a failure,
 * and comparisons. */
#ifndef TESTS_PHYSICS_H
#define TESTS_PHYSICS_H

#include "learn.h"

/* A series whose states reach from low to high (dim), in 20 rows. */
static inline gsv_series *physics_data(const gsv_model *m, const double *low,
                                       const double *high)
{
    enum { ROWS = 20 };
    size_t d = gsv_model_dim(m), start[] = {0, ROWS};
    double time[ROWS], value[4 * ROWS];
    assert_true(d <= 4);
    for (size_t k = 0; k < ROWS; k++) {
        time[k] = 1e4 * (double)k;
        for (size_t i = 0; i < d; i++)
            value[i * ROWS + k] =
                low[i] + (high[i] - low[i]) * (double)k / (ROWS - 1);
    }
    gsv_series *s =
        gsv_series_new(1, start, d, gsv_model_column(m), time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Free the result. */
static inline void physics_of(const char *text, const double *low,
                              const double *high, const gsv_physics_options *o,
                              gsv_physics_result *r, gsv_model **m)
{
    *m = model_of(text);
    gsv_series *s = physics_data(*m, low, high);
    if (gsv_physics(*m, s, o, r)) fail_msg("%s: %s", text, gsv_last_error());
    gsv_series_free(s);
}

/* |a - b| <= tolerance |b|, with the case in the message. */
static inline void expect_near(const char *what, double a, double b,
                               double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fabs(b)))
        fail_msg("%s: %.10g instead of %.10g", what, a, b);
}

static inline bool covers(gsv_quantity q, double x)
{
    return q.low <= x && x <= q.high;
}

static inline gsv_series *simulated(const gsv_model *m, double length,
                                    size_t rows, uint64_t seed)
{
    static const double START[] = {0.9, 0.1};
    gsv_simulate_options o = gsv_simulate_options_default();
    double *time = NEW(double, rows);
    for (size_t i = 0; i < rows; i++)
        time[i] = length * (double)i / (double)(rows - 1);
    o.times = rows;
    o.time = time;
    o.start = START;
    o.seed = seed;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    mem_free(time);
    return s;
}

/* The truth, and the physics of a fit to data of the model. */
static inline void fit_physics(const char *text, double length, size_t rows,
                               uint64_t seed, size_t threads, gsv_model **m,
                               gsv_physics_result *truth, gsv_physics_result *r)
{
    gsv_physics_options o = gsv_physics_options_default();
    gsv_fit_options f = gsv_fit_options_default();
    f.estimator.paths = 16;
    f.estimator.steps = 4;
    *m = model_of(text);
    gsv_series *s = simulated(*m, length, rows, seed);
    o.draws = 40;
    o.grid = gsv_model_dim(*m) > 1 ? 28 : 0;
    o.threads = threads;
    if (gsv_physics(*m, s, &o, truth) || gsv_fit(*m, s, &f) ||
        gsv_physics(*m, s, &o, r))
        fail_msg("%s", gsv_last_error());
    gsv_series_free(s);
}

static inline void free_all(gsv_model *m, gsv_physics_result *a,
                            gsv_physics_result *b)
{
    gsv_physics_free(a);
    gsv_physics_free(b);
    gsv_model_free(m);
}

#endif
