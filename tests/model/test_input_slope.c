/* SPDX-License-Identifier: MIT */
/* The slopes of inputs: a model whose input is a line, against the same model
 * with this line written out as a function of t. */
#include <stdio.h>

#include "exact.h"

enum { ROWS = 21 };

/* Its slope is 0.5, but not known to be constant: estimators take shorter ways
 * where a drift does not change in time. */
#define LINE "let u = 1 + 0.5*t + 1e-300*t^2\n"

/* Equations with an input u; some have its slope in their drift, and some in
 * that of their unit diffusion alone. */
static const char *const EQUATION[] = {
    "dx = (grad(u, t) - k*x)*dt + 0.5*dW",
    "dx = (grad(u*exp(-k*t), t) - x)*dt + 0.5*dW",
    "dx = (-k*x + sin(x)*grad(exp(u)*x, t))*dt + 0.5*dW",
    "dx = (grad(grad(u, t)*u, t) - k*x)*dt + 0.5*dW",
    "let v = [u, u^2]\n dx = (sum(grad(v, t)) - k*x)*dt + 0.5*dW",
    "net f(grad(u^2, t)) -> 1 : 3\n dx = (f - k*x)*dt + 0.5*dW",
    "dx = -k*x*dt + u*dW",
    "dx = (1 - k*x)*dt + u*x*dW",
    "dx = (grad(u, t)*x - k*x)*dt + u*x*dW",
};

static gsv_model *with_input(const char *equation, bool explicit)
{
    char text[512];
    snprintf(text, sizeof text, "state x\n%sparam k = 1\n%s",
             explicit ? LINE : "input u\n", equation);
    return model_of(text);
}

/* x and u in rows 0.1 apart; u has a kink in the middle where bent is set. */
static gsv_series *table(bool bent, size_t tracks, const size_t *start,
                         size_t rows, const size_t *row)
{
    const char *name[2] = {"x", "u"};
    double time[2 * ROWS], value[4 * ROWS];
    for (size_t i = 0; i < rows; i++) {
        double t = 0.1 * (double)row[i];
        time[i] = t;
        value[i] = 1.0 + 0.3 * sin(7.0 * t) + 0.2 * cos(23.0 * t);
        value[rows + i] = bent && t > 1.05 ? 2.5 - t : 1.0 + 0.5 * t;
    }
    return gsv_series_new(tracks, start, 2, name, time, value);
}

static gsv_series *one_track(bool bent)
{
    size_t row[ROWS], start[2] = {0, ROWS};
    for (size_t i = 0; i < ROWS; i++)
        row[i] = i;
    return table(bent, 1, start, ROWS, row);
}

/* The same gaps, each as a track of its own. */
static gsv_series *track_of_each_gap(bool bent)
{
    size_t row[2 * ROWS], start[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        start[i] = 2 * i;
        row[2 * i] = i;
        row[2 * i + 1] = i + 1;
    }
    return table(bent, ROWS - 1, start, 2 * (ROWS - 1), row);
}

static const gsv_options ESTIMATOR[] = {
    {.form = GSV_FORM_ITO},
    {.form = GSV_FORM_MIDPOINT},
    {.form = GSV_FORM_STRATONOVICH},
    {.form = GSV_FORM_BOUND},
    {.reference = GSV_REFERENCE_BROWNIAN},
    {.reference = GSV_REFERENCE_LINEAR},
    {.steps = 1},
};

static gsv_options estimator(size_t i)
{
    gsv_options o = ESTIMATOR[i];
    o.paths = 16;
    if (!o.steps) o.steps = 4;
    o.seed = 1;
    o.wide = true;
    return o;
}

/* All estimators say the same of model m with series s and of e with t. */
static void expect_same(const char *equation, const gsv_model *m,
                        const gsv_series *s, const gsv_model *e,
                        const gsv_series *t)
{
    for (size_t i = 0; i < COUNT(ESTIMATOR); i++) {
        gsv_options o = estimator(i);
        gsv_result a = loglik_of(m, s, &o), b = loglik_of(e, t, &o);
        assert_int_equal(a.gaps, b.gaps);
        if (!(fabs(a.loglik - b.loglik) < 1e-9 * (1 + fabs(b.loglik))))
            fail_msg("%s, estimator %zu: %.12g is not %.12g", equation, i,
                     a.loglik, b.loglik);
        gsv_result_free(&a);
        gsv_result_free(&b);
    }
}

static void likelihood__is_that_of_the_line_written_out(void **state)
{
    (void)state;
    gsv_series *s = one_track(false);
    for (size_t q = 0; q < COUNT(EQUATION); q++) {
        gsv_model *m = with_input(EQUATION[q], false);
        gsv_model *e = with_input(EQUATION[q], true);
        expect_same(EQUATION[q], m, s, e, s);
        gsv_model_free(m);
        gsv_model_free(e);
    }
    gsv_series_free(s);
}

static void objectives__are_those_of_the_line_written_out(void **state)
{
    (void)state;
    gsv_series *s = one_track(false);
    for (size_t q = 0; q < COUNT(EQUATION); q++)
        for (int j = GSV_OBJECTIVE_MSE_BACKPROP; j <= GSV_OBJECTIVE_MSE_ADJOINT;
             j++) {
            double value[2], bar[64];
            for (int i = 0; i < 2; i++) {
                gsv_model *m = with_input(EQUATION[q], i);
                gsv_fit_options o = gsv_fit_options_default();
                o.objective = (enum gsv_objective)j;
                o.estimator = estimator(0);
                o.estimator.form = GSV_FORM_AUTO;
                if (gsv_objective_gradient(m, s, &o, &value[i], bar))
                    fail_msg("%s: %s", EQUATION[q], gsv_last_error());
                gsv_model_free(m);
            }
            assert_near(value[0], value[1], 1e-9 * (1 + fabs(value[1])));
        }
    gsv_series_free(s);
}

/* At the end of a gap the slope is that of the gap, not of the next one. */
static void gaps__have_their_own_slopes(void **state)
{
    (void)state;
    gsv_series *one = one_track(true), *many = track_of_each_gap(true);
    for (size_t q = 0; q < COUNT(EQUATION); q++) {
        gsv_model *m = with_input(EQUATION[q], false);
        expect_same(EQUATION[q], m, one, m, many);
        gsv_model_free(m);
    }
    gsv_series_free(one);
    gsv_series_free(many);
}

static void simulated__paths_are_those_of_the_line_written_out(void **state)
{
    (void)state;
    gsv_series *s = one_track(false);
    for (size_t q = 0; q < COUNT(EQUATION); q++)
        for (int scheme = GSV_EULER; scheme <= GSV_SRK; scheme++) {
            gsv_series *path[2];
            for (int i = 0; i < 2; i++) {
                gsv_model *m = with_input(EQUATION[q], i);
                gsv_simulate_options o = gsv_simulate_options_default();
                o.times = ROWS;
                o.time = s->time;
                o.start_mean = 1.0;
                o.scheme = (enum gsv_scheme)scheme;
                o.input = s;
                path[i] = gsv_simulate(m, &o);
                if (!path[i]) fail_msg("%s", gsv_last_error());
                gsv_model_free(m);
            }
            for (size_t i = 0; i < ROWS; i++)
                assert_near(path[0]->value[i], path[1]->value[i], 1e-6);
            gsv_series_free(path[0]);
            gsv_series_free(path[1]);
        }
    gsv_series_free(s);
}

/* With noisy observations, by every way to average over states. */
static void observed__likelihood_is_that_of_the_line_written_out(void **state)
{
    static const enum gsv_observe WAYS[] = {GSV_OBSERVE_SCAN,
                                            GSV_OBSERVE_GUIDED};
    (void)state;
    gsv_series *s = one_track(false);
    s->name[0][0] = 'y';
    for (size_t q = 0; q < COUNT(EQUATION); q++)
        for (size_t k = 0; k < COUNT(WAYS); k++) {
            enum gsv_observe w = WAYS[k];
            double l[2];
            for (int i = 0; i < 2; i++) {
                char text[512];
                snprintf(text, sizeof text,
                         "state x\n%sparam k = 1\n%s\n"
                         "obs y ~ normal(x, 0.1)\ninit x ~ normal(1, 0.2)",
                         i ? LINE : "input u\n", EQUATION[q]);
                gsv_model *m = model_of(text);
                gsv_options o = estimator(0);
                o.form = GSV_FORM_AUTO;
                o.observe = w;
                gsv_result r = loglik_of(m, s, &o);
                l[i] = r.loglik;
                gsv_result_free(&r);
                gsv_model_free(m);
            }
            if (!(fabs(l[0] - l[1]) < 1e-7 * (1 + fabs(l[1]))))
                fail_msg("%s, observer %d: %.12g is not %.12g", EQUATION[q], w,
                         l[0], l[1]);
        }
    gsv_series_free(s);
}

static void residuals__are_those_of_the_line_written_out(void **state)
{
    (void)state;
    gsv_series *s = one_track(false);
    for (size_t q = 0; q < COUNT(EQUATION); q++) {
        double z[2][ROWS];
        size_t rows = 0;
        for (int i = 0; i < 2; i++) {
            gsv_model *m = with_input(EQUATION[q], i);
            gsv_predict_options o = gsv_predict_options_default();
            gsv_residuals_result r;
            o.draws = 64;
            if (gsv_residuals(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
            rows = r.rows;
            for (size_t k = 0; k < rows; k++)
                z[i][k] = r.column[0].z[k];
            gsv_residuals_free(&r);
            gsv_model_free(m);
        }
        for (size_t k = 0; k < rows; k++)
            assert_near(z[0][k], z[1][k], 1e-7);
    }
    gsv_series_free(s);
}

static void a_held_input__has_no_slope(void **state)
{
    (void)state;
    gsv_series *s = one_track(true);
    gsv_model *m = model_of("state x\n input u hold\n param k = 1\n"
                            "dx = (grad(u*t, t) - k*x)*dt + 0.5*dW");
    gsv_model *e = model_of("state x\n input u hold\n param k = 1\n"
                            "dx = (u - k*x)*dt + 0.5*dW");
    gsv_options o = estimator(0);
    gsv_result a = loglik_of(m, s, &o), b = loglik_of(e, s, &o);
    assert_near(a.loglik, b.loglik, 1e-10);
    gsv_result_free(&a);
    gsv_result_free(&b);
    gsv_model_free(m);
    gsv_model_free(e);
    gsv_series_free(s);
}

/* Where the slope would have two values, with the place. */
static void slopes__are_refused_in_noises_and_observations(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place;
    } CASE[] = {
        {"state x\ninput u\ndx = -x*dt + (1 + grad(u, t)^2)*dW", "model:3:33:"},
        {"state x\ninput u\nlet g = grad(u*t, t)\ndx = -x*dt + exp(g)*x*dW",
         "model:4:23:"},
        {"state x[2]\ninput u\nparam L[2,2] lower = 1\n"
         "dx = -x*dt + exp(grad(u,t)*x)*(L @ dW)",
         "model:4:36:"},
        {"state z\ninput u\ndz = -z*dt + dW\n"
         "obs y ~ normal(z + grad(u, t), 1)",
         "model:4:16:"},
        {"state z\ninput u\ndz = -z*dt + dW\n"
         "obs y ~ normal(z, exp(grad(u, t)))",
         "model:4:19:"},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        assert_null(gsv_model_parse(CASE[i].text, "model"));
        if (strncmp(gsv_last_error(), CASE[i].place, strlen(CASE[i].place)) ||
            !strstr(gsv_last_error(), "jumps at the rows"))
            fail_msg("%s", gsv_last_error());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood__is_that_of_the_line_written_out),
        cmocka_unit_test(objectives__are_those_of_the_line_written_out),
        cmocka_unit_test(gaps__have_their_own_slopes),
        cmocka_unit_test(simulated__paths_are_those_of_the_line_written_out),
        cmocka_unit_test(observed__likelihood_is_that_of_the_line_written_out),
        cmocka_unit_test(residuals__are_those_of_the_line_written_out),
        cmocka_unit_test(a_held_input__has_no_slope),
        cmocka_unit_test(slopes__are_refused_in_noises_and_observations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
