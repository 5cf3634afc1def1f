/* SPDX-License-Identifier: MIT */
/* Noisy observations by draws of whole tracks, against Kalman's filter. */
#include "joint.h"

/* --- The paper's -------------------------------------------------------------
 */

/* The likelihood itself, not its logarithm, has no bias. */
static void conjugate__is_unbiased_on_short_tracks(void **state)
{
    (void)state;
    enum { MOST = 10, SEEDS = 16 / SLOWER };
    double t[MOST], x[MOST], y[MOST];
    for (size_t n = 5; n <= MOST; n += 5) {
        struct exact_linear m = ou(1.0, 1.0, 0.1);
        exact_times(n, 0.2, 0.3, t);
        exact_linear_data(&m, n, t, 7, x, y);
        double exact = exact_kalman(&m, n, t, y, NULL);
        gsv_model *model = model_of(OU);
        gsv_series *s = series_of(n, t, y);
        struct trials found =
            try(model, s, options_of(GSV_OBSERVE_CONJUGATE), exact, SEEDS);
        assert_near(found.ratio, 1.0, TOLERANCE * found.error);
        assert_true(found.deviation < 0.1);
        assert_int_equal(found.flagged, 0);
        gsv_series_free(s);
        gsv_model_free(model);
    }
}

/* Counts: rates, odds, shares; against the smoother's draws. */
static const struct {
    const char *text;
    size_t columns;
    double value[3 * 3];
} COUNTS[] = {
    {"state l\n dl = -l*dt + dW\n obs n1 ~ poisson(3*exp(2*l + 1))\n"
     "init l ~ normal(0, 0.7)",
     1,
     {4, 0, 9}},
    {"state l\n dl = -l*dt + dW\n obs n1 ~ binomial(20, sigmoid(l))\n"
     "init l ~ normal(0, 0.7)",
     1,
     {12, 3, 9}},
    {"state v[2]\n dv = -v*dt + dW\n let w = 1 + exp(v[1]) + exp(v[2])\n"
     "obs n[3] ~ multinomial([exp(v[1])/w, exp(v[2])/w, 1/w])\n"
     "init v ~ normal(0, 0.7)",
     3,
     {4, 0, 9, 7, 6, 2, 1, 3, 8}},
};

static void conjugate__takes_counts(void **state)
{
    (void)state;
    static const char *const NAME[] = {"n1", "n2", "n3"};
    const double time[3] = {0, 0.8, 2.0};
    const size_t start[2] = {0, 3};
    for (size_t i = 0; i < COUNT(COUNTS); i++) {
        gsv_model *m = model_of(COUNTS[i].text);
        gsv_series *s = gsv_series_new(1, start, COUNTS[i].columns, NAME, time,
                                       COUNTS[i].value);
        if (!s) fail_msg("%s", gsv_last_error());
        gsv_options o = options_of(GSV_OBSERVE_VARIATIONAL);
        o.points = 4096;
        gsv_result r = loglik_of(m, s, &o);
        struct trials found =
            try(m, s, options_of(GSV_OBSERVE_CONJUGATE), r.loglik, 16);
        assert_near(found.ratio, 1.0, TOLERANCE * (found.error + r.error));
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* On long tracks one draw carries all of the weight, and it is said. */
static void conjugate__collapses_on_long_tracks(void **state)
{
    (void)state;
    enum { N = 200, SEEDS = 1 };
    double t[N], x[N], y[N];
    struct exact_linear m = ou(1.0, 1.0, 0.1);
    exact_times(N, 0.05, 0.3, t);
    exact_linear_data(&m, N, t, 7, x, y);
    double exact = exact_kalman(&m, N, t, y, NULL);
    gsv_model *model = model_of(OU);
    gsv_series *s = series_of(N, t, y);
    struct trials found =
        try(model, s, options_of(GSV_OBSERVE_CONJUGATE), exact, SEEDS);
    assert_true(found.mean < -3.0);
    assert_true(found.ess < 5.0);
    assert_int_equal(found.flagged, SEEDS);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* --- The smoother's law ------------------------------------------------------
 */

static void variational__has_no_error_where_all_is_linear(void **state)
{
    (void)state;
    enum { N = 200 };
    double t[N], x[N], y[N];
    struct exact_linear m = ou(1.0, 1.0, 0.1);
    exact_times(N, 0.2, 0.3, t);
    exact_linear_data(&m, N, t, 7, x, y);
    double exact = exact_kalman(&m, N, t, y, NULL);
    gsv_model *model = model_of(OU);
    gsv_series *s = series_of(N, t, y);
    gsv_options o = options_of(GSV_OBSERVE_VARIATIONAL);
    o.points = 64;
    struct trials found = try(model, s, o, exact, 2);
    assert_near(found.mean, 0.0, 1e-8);
    assert_near(found.said, 0.0, 1e-6);
    assert_near(found.ess, 64.0, 1e-3);
    assert_int_equal(found.flagged, 0);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* --- Gradients ---------------------------------------------------------------
 */

/* Two tracks, missing cells, counts, links, a first state with parameters. */
static const char MIXED[] =
    "state x, l\n param k = 1 > 0, s = 0.5 > 0, e = 0.3 > 0, m = 0.2, c = 1 > "
    "0\n"
    "dx = k*(sin(l) - x)*dt + s*dW\n dl = (m - l)*dt + 0.4*dW\n"
    "obs y ~ normal(2*x, e)\n obs n ~ poisson(c*exp(l))\n"
    "init x ~ normal(m, e)\n init l ~ normal(0, 0.5)";

static gsv_series *mixed_data(void)
{
    static const char *const NAME[] = {"y", "n"};
    const size_t start[3] = {0, 5, 9};
    const double time[9] = {0, 0.2, 0.5, 0.6, 1.0, 0, 0.3, 0.4, 0.9};
    const double value[18] = {0.1, 0.3, NAN, 0.2, -0.1, 0.5, 0.4, NAN, 0.6,
                              1,   0,   2,   NAN, 3,    1,   NAN, 4,   2};
    gsv_series *s = gsv_series_new(2, start, 2, NAME, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void gradient__is_that_of_the_value(void **state)
{
    (void)state;
    static const enum gsv_observe KIND[] = {GSV_OBSERVE_CONJUGATE,
                                            GSV_OBSERVE_VARIATIONAL};
    gsv_model *m = model_of(MIXED);
    gsv_series *s = mixed_data();
    for (size_t i = 0; i < COUNT(KIND); i++) {
        gsv_options o = options_of(KIND[i]);
        gsv_gradient_check check;
        o.steps = 2;
        o.points = 64;
        assert_int_equal(gsv_check_gradient(m, s, &o, &check), 0);
        if (!(check.worst < 1e-6))
            fail_msg("off by %g at %zu", check.worst, check.where);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Of a linear model weights are equal, but what they weigh is not: the mean
 * over seeds is Kalman's. */
static void gradient__is_kalmans(void **state)
{
    (void)state;
    enum { N = 60, SEEDS = 8 };
    double t[N], x[N], y[N], sum[3] = {0}, squares[3] = {0};
    struct exact_linear m = ou(1.0, 1.0, 0.1);
    exact_times(N, 0.2, 0.3, t);
    exact_linear_data(&m, N, t, 7, x, y);
    gsv_model *model = model_of(OU);
    gsv_series *s = series_of(N, t, y);
    gsv_options o = options_of(GSV_OBSERVE_VARIATIONAL);
    o.gradient = true;
    o.points = 256;
    for (o.seed = 1; o.seed <= SEEDS; o.seed++) {
        gsv_result r = loglik_of(model, s, &o);
        for (size_t i = 0; i < 3; i++) {
            sum[i] += r.gradient[i] / SEEDS;
            squares[i] += r.gradient[i] * r.gradient[i] / SEEDS;
        }
        gsv_result_free(&r);
    }
    for (size_t i = 0; i < 3; i++) {
        double v[2], h = 1e-4;
        for (size_t k = 0; k < 2; k++) {
            double move = k ? -h : h;
            struct exact_linear near =
                ou(1.0 + (i == 0 ? move : 0.0), 1.0 + (i == 1 ? move : 0.0),
                   0.1 + (i == 2 ? move : 0.0));
            v[k] = exact_kalman(&near, N, t, y, NULL);
        }
        double exact = (v[0] - v[1]) / (2.0 * h);
        double error = sqrt((squares[i] - sum[i] * sum[i]) / (SEEDS - 1));
        print_message("%zu: %.4f +- %.4f, exact %.4f\n", i, sum[i], error,
                      exact);
        assert_near(sum[i], exact, TOLERANCE * error);
        assert_true(error < 0.5);
    }
    gsv_series_free(s);
    gsv_model_free(model);
}

static void bits__are_the_same_on_any_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of(MIXED);
    gsv_series *s = mixed_data();
    for (int kind = GSV_OBSERVE_CONJUGATE; kind <= GSV_OBSERVE_VARIATIONAL;
         kind++) {
        gsv_options o = options_of((enum gsv_observe)kind);
        o.gradient = true;
        o.points = 128;
        gsv_result one = loglik_of(m, s, &o);
        for (o.threads = 2; o.threads < 4; o.threads++) {
            gsv_result r = loglik_of(m, s, &o);
            assert_true(r.loglik == one.loglik);
            assert_memory_equal(r.gradient, one.gradient,
                                r.values * sizeof *r.gradient);
            gsv_result_free(&r);
        }
        gsv_result_free(&one);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conjugate__is_unbiased_on_short_tracks),
        cmocka_unit_test(conjugate__takes_counts),
        cmocka_unit_test(conjugate__collapses_on_long_tracks),
        cmocka_unit_test(variational__has_no_error_where_all_is_linear),
        cmocka_unit_test(gradient__is_that_of_the_value),
        cmocka_unit_test(gradient__is_kalmans),
        cmocka_unit_test(bits__are_the_same_on_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
