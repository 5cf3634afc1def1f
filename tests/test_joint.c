/* SPDX-License-Identifier: MIT */
/* Noisy observations by draws of whole tracks, against Kalman's filter and a
 * grid. */
#include "observe_exact.h"
#include "sde/joint.h"

#define OU                                                                     \
    "state x\n param th = 1 > 0, s = 1 > 0, r = 0.1 > 0\n"                     \
    "dx = -th*x*dt + s*dW\n obs y ~ normal(x, r)\n init x ~ normal(0, 0.7)"

static const char *const Y[] = {"y"};

static struct exact_linear ou(double th, double s, double r)
{
    return (struct exact_linear){.d = 1,
                                 .noises = 1,
                                 .outputs = 1,
                                 .A = {-th},
                                 .G = {s},
                                 .H = {1.0},
                                 .r = {r},
                                 .P0 = {0.49}};
}

static gsv_series *series_of(size_t n, const double *t, const double *y)
{
    const size_t start[2] = {0, n};
    gsv_series *s = gsv_series_new(1, start, 1, Y, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Of likelihoods over seeds against the exact one. */
struct trials {
    double mean, deviation; /* of log-likelihoods, off the exact one    */
    double ratio, error;    /* mean of exp of that, its standard error  */
    double said;            /* mean of the errors that were said        */
    double ess;             /* mean of the least effective number       */
    size_t flagged;
};

static struct trials try(const gsv_model *m, const gsv_series *s, gsv_options o,
                         double exact, size_t seeds)
{
    struct trials t = {0};
    double n = (double)seeds, square = 0.0, squares = 0.0;
    for (o.seed = 1; o.seed <= seeds; o.seed++) {
        gsv_result r = loglik_of(m, s, &o);
        double off = r.loglik - exact;
        t.mean += off / n;
        square += off * off / n;
        t.ratio += exp(off) / n;
        squares += exp(2.0 * off) / n;
        t.said += r.error / n;
        t.ess += r.ess_min / n;
        t.flagged += r.flagged > 0;
        gsv_result_free(&r);
    }
    t.deviation = sqrt(fmax(0.0, square - t.mean * t.mean));
    t.error = sqrt(fmax(0.0, squares - t.ratio * t.ratio) / (n - 1.0));
    print_message("%+.4f off, deviation %.4f, said %.4f, effective %.1f, "
                  "flagged %zu of %zu\n",
                  t.mean, t.deviation, t.said, t.ess, t.flagged, seeds);
    return t;
}

static gsv_options options_of(enum gsv_observe kind)
{
    gsv_options o = default_options();
    o.observe = kind;
    return o;
}

/* --- The paper's -------------------------------------------------------------
 */

/* The likelihood itself, not its logarithm, has no bias. */
static void conjugate__is_unbiased_on_short_tracks(void **state)
{
    (void)state;
    enum { MOST = 10, SEEDS = 40 / SLOWER };
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
        assert_int_equal(found.flagged, n == 5 ? 0 : found.flagged);
        gsv_series_free(s);
        gsv_model_free(model);
    }
}

/* On long tracks one draw carries all of the weight, and it is said. */
static void conjugate__collapses_on_long_tracks(void **state)
{
    (void)state;
    enum { N = 200, SEEDS = SLOWER > 1 ? 2 : 8 };
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
    struct trials found =
        try(model, s, options_of(GSV_OBSERVE_VARIATIONAL), exact, 2);
    assert_near(found.mean, 0.0, 1e-8);
    assert_near(found.said, 0.0, 1e-6);
    assert_near(found.ess, JOINT_POINTS, 1e-3);
    assert_int_equal(found.flagged, 0);
    gsv_series_free(s);
    gsv_model_free(model);
}

#define WELL                                                                   \
    "state x\n param a = 1, s = 0.5 > 0, e = 0.2 > 0\n"                        \
    "dx = a*(x - x^3)*dt + s*dW\n obs y ~ normal(x, e)\n"                      \
    "init x ~ normal(0, 1)"

enum { WELL_ROWS = 100 };

/* Data of a double well, and their log-likelihood on a grid. */
static double well_data(size_t n, double *t, double *y)
{
    double x[WELL_ROWS];
    struct exact_noise noise = {.y = y, .r = 0.2};
    struct exact_diffusion m = {.drift = exact_well,
                                .s = 0.5,
                                .d0 = 1.0,
                                .log_density = exact_noise_density,
                                .user = &noise};
    struct exact_range range = {.low = -3.0, .high = 3.0, .cells = 201};
    exact_times(n, 0.2, 0.0, t);
    exact_diffusion_data(&m, n, t, 0.2, 5, x, y);
    return exact_grid_filter(&m, &range, n, t, NULL, NULL);
}

static void variational__is_the_grids_on_a_double_well(void **state)
{
    (void)state;
    enum { N = SLOWER > 1 ? 20 : WELL_ROWS, SEEDS = SLOWER > 1 ? 2 : 8 };
    double t[N], y[N], exact = well_data(N, t, y);
    gsv_model *model = model_of(WELL);
    gsv_series *s = series_of(N, t, y);
    struct trials found =
        try(model, s, options_of(GSV_OBSERVE_VARIATIONAL), exact, SEEDS);
    assert_near(found.mean, 0.0, 0.04);
    assert_true(found.deviation < 0.034);
    assert_int_equal(found.flagged, 0);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* Learning makes weights more even: run after run with numbers of their own,
 * each moving the law by what the one before said. */
static void variational__learns(void **state)
{
    (void)state;
    enum { N = SLOWER > 1 ? 20 : WELL_ROWS, RUNS = SLOWER > 1 ? 4 : 10 };
    double t[N], y[N], gradient[3], exact = well_data(N, t, y), ess[RUNS];
    gsv_model *model = model_of(WELL);
    gsv_series *s = series_of(N, t, y);
    gsv_options o = options_of(GSV_OBSERVE_VARIATIONAL);
    struct joint j;
    o.gradient = true;
    assert_int_equal(joint_init(&j, model, s, &o), 0);
    for (uint32_t i = 0; i < RUNS; i++) {
        gsv_result r = {0};
        assert_int_equal(joint_run(&j, NULL, i, gradient), 0);
        assert_int_equal(joint_fill(&j, &r), 0);
        ess[i] = r.gap[r.groups - 1].ess;
        print_message("%u: effective %.0f, off %+.4f\n", i, ess[i],
                      r.loglik - exact);
        gsv_result_free(&r);
    }
    assert_true(ess[RUNS - 1] > ess[0]);
    joint_free(&j);
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
        double worst;
        size_t where;
        o.steps = 2;
        o.points = 64;
        assert_int_equal(gsv_check_gradient(m, s, &o, &worst, &where), 0);
        if (!(worst < 1e-6)) fail_msg("off by %g at %zu", worst, where);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Where weights are equal the gradient is that of the exact likelihood, once
 * the points' numbers are evened out. */
static void gradient__is_kalmans(void **state)
{
    (void)state;
    enum { N = 100 };
    double t[N], x[N], y[N];
    struct exact_linear m = ou(1.0, 1.0, 0.1);
    exact_times(N, 0.2, 0.3, t);
    exact_linear_data(&m, N, t, 7, x, y);
    gsv_model *model = model_of(OU);
    gsv_series *s = series_of(N, t, y);
    gsv_options o = options_of(GSV_OBSERVE_VARIATIONAL);
    o.gradient = true;
    gsv_result r = loglik_of(model, s, &o);
    for (size_t i = 0; i < 3; i++) {
        double h = 1e-4, v[2];
        for (size_t k = 0; k < 2; k++) {
            double move = k ? -h : h;
            struct exact_linear near =
                ou(1.0 + (i == 0) * move, 1.0 + (i == 1) * move,
                   0.1 + (i == 2) * move);
            v[k] = exact_kalman(&near, N, t, y, NULL);
        }
        double exact = (v[0] - v[1]) / (2.0 * h);
        print_message("%zu: %.4f, exact %.4f\n", i, r.gradient[i], exact);
        assert_near(r.gradient[i], exact, 0.02 * fmax(20.0, fabs(exact)));
    }
    gsv_result_free(&r);
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
        cmocka_unit_test(conjugate__collapses_on_long_tracks),
        cmocka_unit_test(variational__has_no_error_where_all_is_linear),
        cmocka_unit_test(variational__is_the_grids_on_a_double_well),
        cmocka_unit_test(variational__learns),
        cmocka_unit_test(gradient__is_that_of_the_value),
        cmocka_unit_test(gradient__is_kalmans),
        cmocka_unit_test(bits__are_the_same_on_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
