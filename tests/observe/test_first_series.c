/* SPDX-License-Identifier: MIT */
/* First states whose law differs between series: by numbers of series and of
 * categories, and by inputs; against a model of each series with constants. */
#include <stdio.h>

#include "gradient.h"

enum { TRACKS = 4, ROWS = 6 };

static const char *const LABEL[TRACKS] = {"b", "a 1", "17", "z"};
static const double DOSE[TRACKS] = {0.4, -1.0, 2.0, 0.5};
static const double NUMBER[TRACKS] = {1.0, -0.5, 2.5, 0.3};
static const double ARM[2] = {0.8, -0.6}; /* series 0 and 2, and the others */
static const double B = 0.7;

/* y, u and arm in tracks from `from` on; the second track begins later, and
 * the third has no first dose. */
static gsv_series *panel(size_t from, size_t tracks)
{
    static const char *const NAME[] = {"y", "u", "arm"};
    double time[TRACKS * ROWS], value[3 * TRACKS * ROWS];
    size_t start[TRACKS + 1], n = tracks * ROWS;
    double *z = normals(TRACKS * ROWS, 5);
    for (size_t i = 0; i < n; i++) {
        size_t r = from + i / ROWS, k = i % ROWS;
        time[i] = 0.4 * (double)k + (r == 1 ? 0.3 : 0.0);
        value[i] = DOSE[r] + 0.6 * z[r * ROWS + k];
        value[n + i] = r == 2 && k == 0 ? NAN : DOSE[r];
        value[2 * n + i] = (double)(r % 2);
    }
    for (size_t r = 0; r <= tracks; r++)
        start[r] = r * ROWS;
    mem_free(z);
    gsv_series *own = gsv_series_new(tracks, start, 3, NAME, time, value);
    assert_non_null(own);
    for (size_t r = 0; r < tracks; r++) {
        mem_free(own->label[r]);
        own->label[r] = mem_string(LABEL[from + r]);
    }
    return own;
}

/* text: what comes before the equations, and the law with its time; number:
 * the first argument of the law in a series. */
struct shape {
    const char *head, *law, *rest;
    double (*number)(size_t r);
};

static double of_series(size_t r)
{
    return NUMBER[r];
}

static double of_arm(size_t r)
{
    return ARM[r % 2] + B * DOSE[r];
}

static double of_dose(size_t r)
{
    return 0.2 + B * DOSE[r];
}

static const struct shape SHAPES[] = {
    {"param n[series] = 1", "n", ", 0.5)", of_series},
    {"param n[series] = 1", "n", ", 0.5) at -0.5", of_series},
    {"input u, arm\nparam n[arm] = 0, b = 0.7", "n + b*u", ", 0.5)", of_arm},
    {"input u\nparam n = 0.2, b = 0.7", "n + b*u", ", 0.5)", of_dose},
    {"input u\nparam n = 0.2, b = 0.7", "n + b*u", ", 0.5) at -1", of_dose},
};

static const char EQUATION[] = "dx = -0.8*x*dt + 0.5*dW\n"
                               "obs y ~ normal(x, 0.3)\n";

static gsv_model *all_of(const struct shape *t, const gsv_series *s)
{
    char text[400];
    snprintf(text, sizeof text, "state x\n%s\n%sinit x ~ normal(%s%s\n",
             t->head, EQUATION, t->law, t->rest);
    gsv_model *m = model_of(text);
    assert_int_equal(gsv_model_bind(m, s), 0);
    if (t->number == of_series) gsv_model_set(m, "n", TRACKS, NUMBER);
    if (t->number == of_arm) gsv_model_set(m, "n", 2, ARM);
    return m;
}

static gsv_options options(enum gsv_observe observe)
{
    gsv_options o = gsv_options_default();
    o.observe = observe;
    o.threads = 1;
    return o;
}

static double value_of(const gsv_model *m, const gsv_series *s,
                       enum gsv_observe observe, double *error)
{
    gsv_options o = options(observe);
    gsv_result r;
    if (gsv_loglik(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
    double loglik = r.loglik;
    *error = r.error;
    gsv_result_free(&r);
    return loglik;
}

/* Series by series, by the Kalman filter. */
static double apart(const struct shape *t)
{
    double sum = 0.0, error;
    for (size_t r = 0; r < TRACKS; r++) {
        char text[400];
        snprintf(text, sizeof text, "state x\n%sinit x ~ normal(%.17g%s\n",
                 EQUATION, t->number(r), t->rest);
        gsv_model *m = model_of(text);
        gsv_series *one = panel(r, 1);
        sum += value_of(m, one, GSV_OBSERVE_KALMAN, &error);
        gsv_series_free(one);
        gsv_model_free(m);
    }
    return sum;
}

static const enum gsv_observe WITH[] = {GSV_OBSERVE_KALMAN, GSV_OBSERVE_GUIDED,
                                        GSV_OBSERVE_SCAN};

static void init__is_that_of_each_series(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        gsv_series *s = panel(0, TRACKS);
        gsv_model *m = all_of(&SHAPES[i], s);
        double exact = apart(&SHAPES[i]), error;
        for (size_t k = 0; k < COUNT(WITH); k++) {
            double found = value_of(m, s, WITH[k], &error);
            assert_near(found, exact, k ? 2e-3 + TOLERANCE * error : 1e-9);
        }
        gsv_model_free(m);
        gsv_series_free(s);
    }
}

static void init__has_gradients_by_the_numbers_of_series(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++)
        for (size_t k = 0; k < COUNT(WITH); k++) {
            gsv_series *s = panel(0, TRACKS);
            struct gradient_trial trial = {
                .m = all_of(&SHAPES[i], s), .s = s, .o = options(WITH[k])};
            trial.o.seed = 1;
            bool close =
                gradient_agrees(&trial) || (WITH[k] == GSV_OBSERVE_GUIDED &&
                                            trial.off <= 1e-4 * trial.size);
            if (!close)
                fail_msg("shape %zu, estimator %zu: off by %g, allowed %g of "
                         "%g",
                         i, k, trial.off, trial.allowed, trial.size);
            gsv_model_free(trial.m);
            gsv_series_free(s);
        }
}

/* A law that is not normal: against constants. */
static void init__of_other_laws_is_that_of_each_series(void **state)
{
    static const char TEXT[] = "state x\n%sdx = -0.8*x*dt + 0.5*dW\n"
                               "obs y ~ normal(x - 1, 1)\n"
                               "init x ~ gamma(%s, 2)\n";
    (void)state;
    char text[400];
    double sum = 0.0, square = 0.0, error;
    for (size_t r = 0; r < TRACKS; r++) {
        char shape[40];
        snprintf(shape, sizeof shape, "%.17g", exp(DOSE[r]));
        snprintf(text, sizeof text, TEXT, "", shape);
        gsv_model *m = model_of(text);
        gsv_series *one = panel(r, 1);
        sum += value_of(m, one, GSV_OBSERVE_GUIDED, &error);
        square += error * error;
        gsv_series_free(one);
        gsv_model_free(m);
    }
    snprintf(text, sizeof text, TEXT, "input u\n", "exp(u)");
    gsv_model *m = model_of(text);
    gsv_series *s = panel(0, TRACKS);
    double found = value_of(m, s, GSV_OBSERVE_GUIDED, &error);
    assert_near(found, sum, TOLERANCE * sqrt(square + error * error) + 1e-3);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Every simulated series begins at the law of its own inputs and label, also
 * with random effects. */
static void simulations__begin_at_the_law_of_their_series(void **state)
{
    static const char *const TEXT[] = {
        "param n[series] = 1\ninit x ~ normal(n, 1e-9)\n",
        "input u, arm\nparam n[arm] = 0\ninit x ~ normal(n + 0.7*u, 1e-9)\n",
        ("input u\nrandom v ~ normal(0, 1e-9)\n"
         "init x ~ normal(0.2 + v + 0.7*u, 1e-9)\n")};
    double (*const number[])(size_t) = {of_series, of_arm, of_dose};
    (void)state;
    for (size_t i = 0; i < COUNT(TEXT); i++) {
        char text[400];
        double time[] = {0.4, 1.0};
        gsv_series *input = panel(0, TRACKS);
        gsv_simulate_options o = gsv_simulate_options_default();
        snprintf(text, sizeof text, "state x\n%s%s", EQUATION, TEXT[i]);
        gsv_model *m = model_of(text);
        assert_int_equal(gsv_model_bind(m, input), 0);
        if (i < 2) gsv_model_set(m, "n", i ? 2 : TRACKS, i ? ARM : NUMBER);
        o.times = 2;
        o.time = time;
        o.tracks = TRACKS;
        o.input = input;
        gsv_series *s = gsv_simulate(m, &o);
        if (!s) fail_msg("%s", gsv_last_error());
        assert_int_equal(s->tracks, TRACKS);
        for (size_t r = 0; r < TRACKS; r++) {
            assert_string_equal(s->label[r], LABEL[r]);
            assert_near(s->value[2 * r], number[i](r), 1e-7);
        }
        gsv_series_free(s);
        gsv_model_free(m);
        gsv_series_free(input);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init__is_that_of_each_series),
        cmocka_unit_test(init__has_gradients_by_the_numbers_of_series),
        cmocka_unit_test(init__of_other_laws_is_that_of_each_series),
        cmocka_unit_test(simulations__begin_at_the_law_of_their_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
