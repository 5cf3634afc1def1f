/* SPDX-License-Identifier: MIT */
/* Sandwich errors where data fall into whole series: with random effects and
 * with hidden states. Of a mean m of normal numbers y they are known,
 *
 *     sqrt(sum (y_r - m)^2) / series,
 *
 * whatever variance the model says. */
#include <stdio.h>

#include "learn.h"

enum { SERIES = 12 };

/* A row at 0 and one at T for each series, by its number y. */
static gsv_series *panel(const double *y, double T, const char *name)
{
    double time[2 * SERIES], value[2 * SERIES];
    size_t start[SERIES + 1];
    for (size_t r = 0; r <= SERIES; r++)
        start[r] = 2 * r;
    for (size_t r = 0; r < SERIES; r++) {
        time[2 * r] = 0.0;
        time[2 * r + 1] = T;
        value[2 * r] = 0.0;
        value[2 * r + 1] = y[r];
    }
    gsv_series *s = gsv_series_new(SERIES, start, 1, &name, time, value);
    assert_non_null(s);
    return s;
}

struct shape {
    const char *text, *column;
    double T, slope; /* the last row is m times this, and more */
};

/* The first rows say nothing of m. */
static const struct shape SHAPES[] = {
    {"state x\nparam m = 0\nrandom u ~ normal(m, 0.7)\ndx = u*dt + dW\n", "x",
     1.0, 1.0},
    {"state x\nparam m = 0\nrandom u[2] ~ normal([m, 0], [0.7, 0.2])\n"
     "dx = (u[1] + u[2])*dt + dW\n",
     "x", 0.5, 0.5},
    {"state x\nparam m = 0\nrandom u ~ normal(m, 0.7)\ndx = u*dt + 1e-4*dW\n"
     "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 1e-4)\n",
     "y", 1.0, 1.0},
    {"state x\nparam m = 0\ndx = m*dt + dW\nobs y ~ normal(x, 0.3)\n"
     "init x ~ normal(0, 1e-4)\n",
     "y", 2.0, 2.0},
};

static void sandwich__adds_up_the_scores_of_series(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        const struct shape *t = &SHAPES[i];
        double *z = normals(SERIES, 31 + i), mean = 0.0, square = 0.0;
        for (size_t r = 0; r < SERIES; r++)
            mean += z[r] / SERIES;
        for (size_t r = 0; r < SERIES; r++)
            square += (z[r] - mean) * (z[r] - mean);
        gsv_series *s = panel(z, t->T, t->column);
        gsv_model *m = model_of(t->text);
        gsv_fit_options o = fit_options();
        o.errors = GSV_ERRORS_SANDWICH;
        const gsv_record *r = fit_must(m, s, &o);
        double exact = sqrt(square) / SERIES / t->slope;
        assert_int_equal(r->errors, GSV_ERRORS_SANDWICH);
        assert_near(*gsv_model_value(m), mean / t->slope, 1e-3);
        assert_near(r->error_of[0], exact, 2e-3 * exact);
        gsv_series_free(s);
        gsv_model_free(m);
        mem_free(z);
    }
}

/* The scores of whole series sum to 0: too few of them say that nothing
 * varies. */
static void sandwich__needs_more_series_than_numbers(void **state)
{
    static const size_t START[] = {0, 4};
    static const double TIME[] = {0, 1, 2, 3}, VALUE[] = {0, 0.3, 0.1, -0.4};
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        gsv_series *s =
            gsv_series_new(1, START, 1, &SHAPES[i].column, TIME, VALUE);
        gsv_model *m = model_of(SHAPES[i].text);
        gsv_fit_options o = fit_options();
        o.errors = GSV_ERRORS_SANDWICH;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "need more series");
        gsv_model_free(m);
        gsv_series_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sandwich__adds_up_the_scores_of_series),
        cmocka_unit_test(sandwich__needs_more_series_than_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
