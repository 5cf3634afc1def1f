/* SPDX-License-Identifier: MIT */
/* Estimates that were confidently wrong, and the checks that see such cases:
 * more are tried by experiments/trust. */
#include <stdio.h>

#include "learn.h"

#define FOLDER TESTS_DIR "/estimator/trust/"

static gsv_model *read_model(const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, FOLDER "%s.sde", name);
    gsv_model *m = gsv_model_read(path);
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

static gsv_series *read_data(const gsv_model *m, const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, FOLDER "%s.csv", name);
    gsv_series *s = gsv_series_read(path, gsv_model_data_columns(m),
                                    gsv_model_data_column(m));
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Paths and steps as every gap needs them. */
static gsv_options open_options(void)
{
    gsv_options o = gsv_options_default();
    o.threads = 1;
    return o;
}

/* A Fokker-Planck grid, and a closed form. */
static const struct {
    const char *name;
    double exact;
} CASES[] = {{"escape", 5.951}, {"forced", -4.532886}};

static void defaults__are_right_or_say_that_they_are_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_model *m = read_model(CASES[i].name);
        gsv_series *s = read_data(m, CASES[i].name);
        for (uint64_t seed = 1; seed <= (i ? 2 : 8); seed++) {
            gsv_options o = open_options();
            o.seed = seed;
            gsv_result r = loglik_of(m, s, &o);
            print_message("%s: %.3f +- %.3f, %zu flagged\n", CASES[i].name,
                          r.loglik, r.error, r.flagged);
            assert_near(r.loglik, CASES[i].exact, 4.0 * r.error + 0.1);
            assert_int_equal(r.flagged, 0);
            gsv_result_free(&r);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* Of the third the change by half of the steps was noise: more paths show that.
 * In the last one all gaps drift together, each by less than its own error, and
 * more slowly than its form promises. */
static void tolerance__keeps_its_word(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double exact, tolerance;
    } row[] = {{"escape", 5.951, 0.05},
               {"forced", -4.532886, 0.05},
               {"escape_noisy", -15.848, 0.05},
               {"escape_shared", -2.945, 0.1}};
    for (size_t i = 0; i < COUNT(row) - (SLOWER > 1); i++) {
        gsv_model *m = read_model(row[i].name);
        gsv_series *s = read_data(m, row[i].name);
        gsv_options o = open_options();
        o.tolerance = row[i].tolerance;
        gsv_result r = loglik_of(m, s, &o);
        print_message("%s: %.3f +- %.3f, exact %.3f\n", row[i].name, r.loglik,
                      r.error, row[i].exact);
        assert_true(r.settled);
        assert_near(r.loglik, row[i].exact, 3.0 * o.tolerance);
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* A term in time that is next to nothing changes the form, not the answer. */
static void escape__is_the_same_with_time_in_it(void **state)
{
    (void)state;
    gsv_model *plain = read_model("escape");
    gsv_model *timed =
        model_of("state x\n param k = 3 > 0, d = 0.25 > 0, s = 0.2 > 0\n"
                 "dx = (k*x - d*x^3 + 1e-12*t)*dt + s*dW");
    gsv_series *s = read_data(plain, "escape");
    gsv_options o = open_options();
    o.tolerance = 0.02;
    gsv_result a = loglik_of(plain, s, &o), b = loglik_of(timed, s, &o);
    assert_near(a.loglik, b.loglik, 3.0 * (a.error + b.error) + 0.04);
    gsv_result_free(&a);
    gsv_result_free(&b);
    gsv_series_free(s);
    gsv_model_free(plain);
    gsv_model_free(timed);
}

/* The check is l with M steps less l with M / 2, for every reference, form and
 * kind of average. */
static void discretisation__is_that_of_two_runs(void **state)
{
    (void)state;
    static const enum gsv_form form[] = {
        GSV_FORM_AUTO, GSV_FORM_ITO, GSV_FORM_MIDPOINT, GSV_FORM_STRATONOVICH};
    gsv_model *m = read_model("escape");
    gsv_series *s = read_data(m, "escape");
    for (size_t n = 0; n < 64; n++) {
        gsv_options o = open_options(), half;
        o.steps = 1 + n % 9;
        o.paths = 16;
        o.form = form[n % COUNT(form)];
        o.reference = (enum gsv_reference)(n / 4 % 4);
        o.random = n / 16 % 2 ? GSV_RANDOM_IID : GSV_RANDOM_SOBOL;
        o.joint = n / 32 % 2;
        half = o;
        half.steps = (o.steps + 1) / 2;
        gsv_result r = loglik_of(m, s, &o), q = loglik_of(m, s, &half);
        if (o.steps == 1) assert_true(isnan(r.discretisation));
        else
            assert_near(r.discretisation, r.loglik - q.loglik,
                        1e-9 * (1.0 + fabs(r.loglik)));
        gsv_result_free(&r);
        gsv_result_free(&q);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* With the paths and steps that gaps need the gradient is still that of the
 * value. */
static void gradient__is_that_of_all_levels(void **state)
{
    (void)state;
    gsv_model *m = read_model("escape");
    gsv_series *s = read_data(m, "escape");
    gsv_options o = open_options();
    o.gradient = true;
    gsv_result r = loglik_of(m, s, &o);
    double kept[3], h = 1e-5;
    memcpy(kept, gsv_model_value(m), sizeof kept);
    o.gradient = false;
    for (size_t i = 0; i < 3; i++) {
        static const char *const name[] = {"k", "d", "s"};
        double l[2];
        for (int side = 0; side < 2; side++) {
            double v = kept[i] * (side ? 1.0 + h : 1.0 - h);
            assert_int_equal(gsv_model_set(m, name[i], 1, &v), 0);
            gsv_result q = loglik_of(m, s, &o);
            l[side] = q.loglik;
            gsv_result_free(&q);
        }
        assert_int_equal(gsv_model_set(m, name[i], 1, &kept[i]), 0);
        double slope = (l[1] - l[0]) / (2.0 * h * kept[i]);
        /* References follow the parameters in differences alone. */
        assert_near(r.gradient[i], slope, 0.05 * fabs(slope) + 3.0);
    }
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The exact maximum by a grid is at a = 1.694, and -133.64. */
static void well__is_fitted_where_its_likelihood_is_seen(void **state)
{
    (void)state;
    gsv_model *m = read_model("well_gap1");
    gsv_series *s = read_data(m, "well_gap1");
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.threads = 1;
    o.errors = GSV_ERRORS_NONE;
    const gsv_record *r = fit_must(m, s, &o);
    assert_near(value_of(m, "a"), 1.694, 0.1);
    assert_near(r->loglik, -133.64, 0.05);
    assert_int_equal(r->flagged, 0);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* y ~ normal(x^2, 0.1): both signs of x explain the data. The value is that of
 * a grid. */
static void mirror__has_both_modes(void **state)
{
    (void)state;
    gsv_model *m = read_model("mirror");
    gsv_series *s = read_data(m, "mirror");
    gsv_options o = open_options();
    gsv_result r = loglik_of(m, s, &o);
    assert_near(r.loglik, 2.23, 4.0 * r.error + 0.02);
    assert_int_equal(r.flagged, 0);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Once y is absorbed x goes on: it is stationary, with the deviation
 * 0.3 / sqrt(2). */
static void absorbed__holds_itself_alone(void **state)
{
    (void)state;
    gsv_model *m = read_model("absorbed");
    gsv_series *s = read_data(m, "absorbed");
    gsv_predict_options o = gsv_predict_options_default();
    const double time = 16.0;
    gsv_prediction p;
    o.times = 1;
    o.time = &time;
    o.draws = 256;
    o.threads = 1;
    assert_int_equal(gsv_predict(m, s, &o, &p), 0);
    assert_near(p.sd[0], 0.3 / sqrt(2.0), 4.0 * 0.212 / sqrt(2.0 * 256.0));
    assert_near(p.mean[1], 0.0, 1e-6);
    gsv_prediction_free(&p);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* A force that repeats itself from row to row looks constant to one step a gap.
 * The maximum of the closed form is at k = 0.887, s = 0.397, and -3.479. */
static void forced__is_fitted_with_steps_that_see_its_force(void **state)
{
    (void)state;
    gsv_model *m = read_model("forced");
    gsv_series *s = read_data(m, "forced");
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.threads = 1;
    o.errors = GSV_ERRORS_NONE;
    const gsv_record *r = fit_must(m, s, &o);
    assert_near(value_of(m, "k"), 0.887, 0.05);
    assert_near(value_of(m, "s"), 0.397, 0.02);
    assert_near(r->loglik, -3.479, 0.05);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The same force where the state is seen through noise: the value is that of a
 * Kalman filter in closed form. */
static void forced__is_seen_through_noise(void **state)
{
    (void)state;
    static const enum gsv_observe observe[] = {
        GSV_OBSERVE_AUTO, GSV_OBSERVE_GUIDED, GSV_OBSERVE_SCAN};
    const char *const name[] = {"y"};
    gsv_model *plain = read_model("forced");
    gsv_series *x = read_data(plain, "forced");
    gsv_series *y =
        gsv_series_new(x->tracks, x->start, 1, name, x->time, x->value);
    gsv_model *m = model_of("state x\n param k = 1, c = 20, s = 0.5 > 0\n"
                            "init x ~ normal(0, 0.001)\n"
                            "dx = (-k*x + c*sin(50.2655*t))*dt + s*dW\n"
                            "obs y ~ normal(x, 0.01)");
    for (size_t i = 0; i < COUNT(observe); i++) {
        gsv_options o = open_options();
        o.observe = observe[i];
        gsv_result r = loglik_of(m, y, &o);
        print_message("%.4f, check %.4f\n", r.loglik, r.discretisation);
        assert_near(r.loglik, -0.857421, i ? 0.05 : 1e-6);
        if (i) assert_near(r.discretisation, 0.0, 0.1);
        else assert_true(isnan(r.discretisation)); /* no steps */
        gsv_result_free(&r);
    }
    gsv_series_free(x);
    gsv_series_free(y);
    gsv_model_free(plain);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults__are_right_or_say_that_they_are_not),
        cmocka_unit_test(tolerance__keeps_its_word),
        cmocka_unit_test(escape__is_the_same_with_time_in_it),
        cmocka_unit_test(discretisation__is_that_of_two_runs),
        cmocka_unit_test(gradient__is_that_of_all_levels),
        cmocka_unit_test(well__is_fitted_where_its_likelihood_is_seen),
        cmocka_unit_test(forced__is_fitted_with_steps_that_see_its_force),
        cmocka_unit_test(forced__is_seen_through_noise),
        cmocka_unit_test(mirror__has_both_modes),
        cmocka_unit_test(absorbed__holds_itself_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
