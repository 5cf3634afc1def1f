/* SPDX-License-Identifier: MIT */
/* Forecasts: against closed forms and Kalman's prediction, their scores and
 * coverage. */
#include <stdio.h>

#include "base/sample_stats.h"
#include "observe_exact.h"

static gsv_predict_options usual(void)
{
    gsv_predict_options o = gsv_predict_options_default();
    o.threads = 1;
    return o;
}

static gsv_prediction predict(const gsv_model *m, const gsv_series *s,
                              const gsv_predict_options *o)
{
    gsv_prediction p;
    if (gsv_predict(m, s, o, &p)) fail_msg("%s", gsv_last_error());
    return p;
}

/* A column's forecasts against a normal law: five standard errors of the draws
 * around mean, deviation and quantiles. */
static void assert_normal(const gsv_prediction *p, size_t c, size_t n,
                          double mean, double sd)
{
    double root = sqrt((double)p->draws);
    assert_near(p->mean[c * p->rows + n], mean, 5.0 * sd / root);
    assert_near(p->sd[c * p->rows + n], sd, 5.0 * sd / (root * sqrt(2.0)));
    for (size_t q = 0; q < p->quantiles; q++) {
        double level = p->level[q], z = normal_score(level);
        double density = exp(-0.5 * z * z) / sqrt(2.0 * acos(-1.0));
        double error = sqrt(level * (1.0 - level)) / (density * root);
        assert_near(p->quantile[(c * p->quantiles + q) * p->rows + n],
                    mean + sd * z, 5.0 * sd * error);
    }
}

static void ou__is_the_closed_form(void **state)
{
    (void)state;
    const double t[] = {0.0, 0.5, 1.5}, x[] = {0.2, 0.4, 1.7};
    const double at[] = {1.0, 1.6, 2.5, 40.0};
    gsv_model *m = model_of("state x\n param a = 0.8, s = 0.5 > 0\n"
                            "dx = a*(1 - x)*dt + s*dW");
    gsv_series *s = track_of(m, 3, t, x);
    gsv_predict_options o = usual();
    o.times = COUNT(at);
    o.time = at;
    o.draws = 8192;
    gsv_prediction p = predict(m, s, &o);
    assert_int_equal(p.rows, 3); /* one of the times is before the end */
    assert_int_equal(p.columns, 1);
    assert_string_equal(p.name[0], "x");
    for (size_t n = 0; n < p.rows; n++) {
        double phi = exp(-0.8 * (p.time[n] - 1.5));
        assert_normal(&p, 0, n, 1.0 + phi * (1.7 - 1.0),
                      0.5 * sqrt((1.0 - phi * phi) / 1.6));
        assert_true(isnan(p.actual[n]));
    }
    assert_int_equal(p.scores, 0);
    gsv_prediction_free(&p);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void noisy_ou__is_kalmans_prediction(void **state)
{
    (void)state;
    enum { N = 40 };
    static const char *const NAME[] = {"y"};
    const size_t start[2] = {0, N};
    double t[N], x[N], y[N];
    struct exact_linear exact = exact_ring(1);
    exact_times(N, 0.3, 0.4, t);
    exact_linear_data(&exact, N, t, 2, x, y);
    struct exact_law law = exact_first(&exact);
    for (size_t k = 0; k < N; k++) {
        if (k) {
            struct exact_gap g = exact_transition(&exact, t[k] - t[k - 1]);
            law = exact_predict(&law, &g);
        }
        exact_condition(&law, exact.H, exact.r[0], y[k]);
    }
    gsv_model *m = model_of("state x\n dx = -x*dt + dW\n"
                            "obs y ~ normal(x, 0.3)\n"
                            "init x ~ normal(0, sqrt(0.5))");
    gsv_series *s = gsv_series_new(1, start, 1, NAME, t, y);
    gsv_predict_options o = usual();
    o.ahead = 2.0;
    o.draws = 8192;
    o.points = 256;
    gsv_prediction p = predict(m, s, &o);
    assert_int_equal(p.rows, 20);
    assert_int_equal(p.columns, 2);
    assert_int_equal(p.states, 1);
    assert_near(p.time[19], t[N - 1] + 2.0, 1e-12);
    for (size_t n = 0; n < p.rows; n++) {
        struct exact_gap g = exact_transition(&exact, p.time[n] - t[N - 1]);
        struct exact_law ahead = exact_predict(&law, &g);
        assert_normal(&p, 0, n, ahead.mean[0], sqrt(ahead.cov[0]));
        assert_normal(&p, 1, n, ahead.mean[0], sqrt(ahead.cov[0] + 0.09));
    }
    gsv_prediction_free(&p);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The score of a normal law: z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi). */
static void crps__of_a_normal_law(void **state)
{
    (void)state;
    enum { N = 20000 };
    static const double AT[] = {-3.0, -0.4, 0.0, 1.3};
    const double pi = acos(-1.0);
    double *x = NEW(double, N);
    for (size_t i = 0; i < N; i++)
        x[i] = normal_score(((double)i + 0.5) / N);
    for (size_t i = 0; i < COUNT(AT); i++) {
        double z = AT[i], phi = exp(-0.5 * z * z) / sqrt(2.0 * pi);
        assert_near(sample_crps(N, x, z),
                    z * (2.0 * normal_probability(z) - 1.0) + 2.0 * phi -
                        1.0 / sqrt(pi),
                    2e-4);
    }
    const double two[] = {1.0, 3.0}; /* E|X - X'| = 2 without bias */
    assert_near(sample_crps(2, two, 2.0), 1.0 - 1.0, 1e-15);
    assert_near(sample_crps(1, two, 2.5), 1.5, 1e-15);
    mem_free(x);
}

/* --- Scores ----------------------------------------------------------------
 */

static gsv_series *tracks_of(const gsv_model *m, size_t tracks, size_t rows,
                             double gap)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    double *t = NEW(double, rows);
    for (size_t i = 0; i < rows; i++)
        t[i] = gap * (double)i;
    o.times = rows;
    o.time = t;
    o.tracks = tracks;
    o.threads = 1;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    mem_free(t);
    return s;
}

/* Tracks are independent, the rows of one are not: errors are those of the
 * number of tracks. */
static void coverage__is_nominal(void **state)
{
    (void)state;
    enum { TRACKS = SLOWER > 1 ? 40 : 400, ROWS = 12 };
    gsv_model *m = model_of("state x\n dx = (x - x^3)*dt + 0.7*dW");
    gsv_series *s = tracks_of(m, TRACKS, ROWS, 0.3);
    double *until = NEW(double, TRACKS);
    for (size_t r = 0; r < TRACKS; r++)
        until[r] = 2.0;
    gsv_predict_options o = usual();
    o.until = until;
    o.draws = 256;
    gsv_prediction p = predict(m, s, &o);
    assert_int_equal(p.scores, 1);
    const gsv_score *c = &p.score[0];
    print_message("CRPS %.4f of %.4f, in 50 %% %.3f, in 90 %% %.3f\n", c->crps,
                  c->climatology, c->cover50, c->cover90);
    assert_int_equal(c->rows, TRACKS * 5);
    assert_near(c->cover50, 0.5, 4.0 * sqrt(0.25 / TRACKS));
    assert_near(c->cover90, 0.9, 4.0 * sqrt(0.09 / TRACKS));
    assert_true(c->crps < c->climatology);
    gsv_prediction_free(&p);
    mem_free(until);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* One row ahead a score is that of the normal law, in the mean sd / sqrt(pi);
 * a lead more has a wider one. */
static void rolling__scores_every_lead(void **state)
{
    (void)state;
    enum { ROWS = SLOWER > 1 ? 100 : 600 };
    gsv_model *m = model_of("state x\n dx = -x*dt + dW");
    gsv_series *s = tracks_of(m, 1, ROWS, 0.5);
    gsv_predict_options o = usual();
    o.rolling = 3;
    o.draws = 256;
    gsv_prediction p = predict(m, s, &o);
    assert_int_equal(p.scores, 3);
    for (size_t k = 0; k < 3; k++) {
        const gsv_score *c = &p.score[k];
        double phi = exp(-0.5 * (double)(k + 1));
        double expected = sqrt((1.0 - phi * phi) / 2.0 / acos(-1.0));
        print_message("lead %zu: %.4f, expected %.4f\n", c->lead, c->crps,
                      expected);
        assert_int_equal(c->lead, k + 1);
        assert_int_equal(c->rows, ROWS - 1 - k);
        /* a score's deviation is about its mean; leads overlap */
        assert_near(c->crps / expected, 1.0,
                    4.0 * sqrt((double)(k + 1) / ROWS));
        assert_near(c->cover90, 0.9, 4.0 * sqrt(0.09 * (double)(k + 1) / ROWS));
    }
    assert_near(p.score[0].climatology, sqrt(0.5 / acos(-1.0)), 0.1);
    gsv_prediction_free(&p);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- The rest ---------------------------------------------------------------
 */

static void bits__are_the_same_on_any_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n dx = -x*dt + 0.5*dW\n"
                            "obs k ~ poisson(exp(x))\n"
                            "init x ~ normal(0, 0.5)");
    gsv_series *s = tracks_of(m, 2, 12, 0.4);
    gsv_predict_options o = usual();
    o.draws = 150;
    o.points = 16;
    gsv_prediction a = predict(m, s, &o);
    o.threads = 3;
    gsv_prediction b = predict(m, s, &o);
    size_t cells = a.rows * a.columns;
    assert_int_equal(a.rows, 40);
    assert_memory_equal(a.quantile, b.quantile,
                        cells * a.quantiles * sizeof *a.quantile);
    assert_memory_equal(a.mean, b.mean, cells * sizeof *a.mean);
    gsv_prediction_free(&a);
    gsv_prediction_free(&b);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* dx = u dt + noise, with inputs of each track's own behind its last row. */
static void inputs__are_those_of_the_track(void **state)
{
    (void)state;
    const size_t start[] = {0, 3, 6};
    static const char *const NAME[] = {"x", "u"};
    const double t[] = {0, 1, 3, 0, 1, 3};
    const double v[] = {0, 0, NAN, 0, 0, NAN, 5, 5, 5, -2, -2, -2};
    const double at[] = {3.0};
    gsv_model *m = model_of("state x\n input u\n dx = u*dt + 0.1*dW");
    gsv_series *s = gsv_series_new(2, start, 2, NAME, t, v);
    gsv_predict_options o = usual();
    o.times = 1;
    o.time = at;
    gsv_prediction p = predict(m, s, &o);
    assert_int_equal(p.rows, 2);
    assert_false(p.held);
    assert_normal(&p, 0, 0, 10.0, 0.1 * sqrt(2.0));
    assert_normal(&p, 0, 1, -4.0, 0.1 * sqrt(2.0));
    gsv_prediction_free(&p);
    const double later[] = {4.0};
    o.time = later;
    p = predict(m, s, &o);
    assert_true(p.held);
    gsv_prediction_free(&p);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void join__puts_later_rows_below(void **state)
{
    (void)state;
    const size_t one[] = {0, 2}, two[] = {0, 3};
    static const char *const NAME[] = {"x", "u"}, *const OTHER[] = {"u"};
    const double t[] = {0, 1}, v[] = {1, 2, 3, 4};
    const double later[] = {1, 2, 3}, u[] = {5, 6, 7};
    gsv_series *a = gsv_series_new(1, one, 2, NAME, t, v);
    gsv_series *b = gsv_series_new(1, two, 1, OTHER, later, u);
    gsv_series *s = gsv_series_join(a, b);
    assert_non_null(s);
    assert_int_equal(s->rows, 4);
    assert_true(s->time[2] == 2.0 && s->value[4 + 2] == 6.0);
    assert_true(isnan(s->value[2]) && s->value[1] == 2.0);
    gsv_series_free(s);
    gsv_series_free(b);
    gsv_series_free(a);
}

static void mistakes__are_named(void **state)
{
    (void)state;
    const double t[] = {0.0, 0.5, 1.5}, x[] = {0.2, 0.4, 1.7}, early = 1.0;
    gsv_model *m = model_of("state x\n dx = -x*dt + dW");
    gsv_series *s = track_of(m, 3, t, x);
    gsv_prediction p;
    gsv_predict_options o = usual();
    o.times = 1;
    o.time = &early;
    assert_int_equal(gsv_predict(m, s, &o, &p), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "nothing to forecast"));
    o = usual();
    o.parameters = true;
    assert_int_equal(gsv_predict(m, s, &o, &p), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "standard errors"));
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Every allocation that may fail, one after the other. */
static void memory__may_fail_anywhere(void **state)
{
    (void)state;
    const double t[] = {0.0, 0.5, 1.5}, x[] = {0.2, 0.4, 1.7};
    const double until = 0.6;
    gsv_model *m = model_of("state x\n dx = (x - x^3)*dt + dW");
    gsv_series *s = track_of(m, 3, t, x);
    gsv_predict_options o = usual();
    o.draws = 8;
    o.until = &until;
    int status = GSV_NO_MEMORY;
    for (size_t n = 1; status; n++) {
        gsv_prediction p;
        mem_fail_at(n);
        status = gsv_predict(m, s, &o, &p);
        mem_fail_at(0);
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        else gsv_prediction_free(&p);
    }
    status = GSV_NO_MEMORY;
    for (size_t n = 1; status; n++) {
        gsv_residuals_result r;
        mem_fail_at(n);
        status = gsv_residuals(m, s, &o, &r);
        mem_fail_at(0);
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        else gsv_residuals_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ou__is_the_closed_form),
        cmocka_unit_test(noisy_ou__is_kalmans_prediction),
        cmocka_unit_test(crps__of_a_normal_law),
        cmocka_unit_test(coverage__is_nominal),
        cmocka_unit_test(rolling__scores_every_lead),
        cmocka_unit_test(bits__are_the_same_on_any_threads),
        cmocka_unit_test(inputs__are_those_of_the_track),
        cmocka_unit_test(join__puts_later_rows_below),
        cmocka_unit_test(mistakes__are_named),
        cmocka_unit_test(memory__may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
