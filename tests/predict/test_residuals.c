/* SPDX-License-Identifier: MIT */
/* Residuals one row ahead: exact ones, those of Kalman's filter, and what they
 * say of true and of wrong models. */
#include <stdio.h>

#include "base/random.h"
#include "base/sample_stats.h"
#include "observe_exact.h"
#include "predict/ljung_box.h"

static gsv_predict_options usual_predict(void)
{
    gsv_predict_options o = gsv_predict_options_default();
    o.threads = 1;
    return o;
}

static gsv_residuals_result residuals_of(const gsv_model *m,
                                         const gsv_series *s,
                                         const gsv_predict_options *o)
{
    gsv_residuals_result r;
    gsv_predict_options usual = usual_predict();
    if (gsv_residuals(m, s, o ? o : &usual, &r))
        fail_msg("%s", gsv_last_error());
    return r;
}

/* Tracks of a model with its own observations, in so many gaps. */
static gsv_series *data_of(const gsv_model *m, size_t rows, double gap,
                           double start, uint64_t seed)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    double *t = NEW(double, rows);
    for (size_t i = 0; i < rows; i++)
        t[i] = gap * (double)i;
    o.times = rows;
    o.time = t;
    o.seed = seed;
    o.start_mean = start;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    mem_free(t);
    return s;
}

/* --- The Ljung-Box test ----------------------------------------------------
 */

/* Tracks x rows of independent normal numbers, every hole-th missing. */
static double *white(size_t tracks, size_t rows, size_t hole, uint32_t draw,
                     double *z)
{
    const struct random_key key = {.seed = 7, .iteration = draw};
    random_normals(&key, 0, 1, 0, tracks * rows, z);
    for (size_t i = 0; hole && i < tracks * rows; i += hole)
        z[i] = NAN;
    return z;
}

static void ljung_box__false_alarms_are_one_in_a_hundred(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    static const struct {
        size_t tracks, rows, hole;
    } CASES[] = {{1, 30, 0},  {25, 3, 0},  {100, 2, 0}, {1, 12, 0},
                 {6, 20, 5},  {1, 200, 7}, {300, 1, 0}, {1, 400, 0},
                 {1, 800, 0}, {1, 801, 0}, {150, 3, 0}, {20, 60, 11}};
    double z[1200], r[GSV_LAGS];
    size_t track[1200];
    for (size_t c = 0; c < COUNT(CASES); c++) {
        size_t n = CASES[c].tracks * CASES[c].rows, alarms[2] = {0}, tests = 0;
        struct ljung_box t;
        for (size_t i = 0; i < n; i++)
            track[i] = i / CASES[c].rows;
        white(CASES[c].tracks, CASES[c].rows, CASES[c].hole, 0, z);
        assert_int_equal(ljung_box_init(&t, n, track, z), 0);
        for (uint32_t d = 1; d <= DRAWS; d++) {
            white(CASES[c].tracks, CASES[c].rows, CASES[c].hole, d, z);
            assert_true(ljung_box_fits(&t, z));
            for (int square = 0; square < 2; square++) {
                double p = ljung_box_test(&t, z, square, r);
                if (!isnan(p)) tests++;
                if (p < 0.01) alarms[square]++;
            }
        }
        ljung_box_free(&t);
        /* 1 % of 4000, and four standard errors of both samples. */
        assert_int_equal(tests, CASES[c].rows > 1 ? 2 * DRAWS : 0);
        for (int square = 0; tests && square < 2; square++)
            if (alarms[square] < 10 || alarms[square] > 70)
                fail_msg("%zu x %zu: %zu false alarms", CASES[c].tracks,
                         CASES[c].rows, alarms[square]);
    }
}

/* The error of the simulated law is that of all data with these rows, so it is
 * to be small: with 9999 simulations z^2 alarmed in 1.37 % of 59 rows. */
static void ljung_box__law_of_few_rows_is_exact(void **state)
{
    (void)state;
    enum { ROWS = 59, DRAWS = 20000 };
    double z[ROWS], r[GSV_LAGS];
    size_t track[ROWS] = {0}, alarms[2] = {0};
    struct ljung_box t;
    white(1, ROWS, 0, 0, z);
    assert_int_equal(ljung_box_init(&t, ROWS, track, z), 0);
    for (uint32_t d = 1; d <= DRAWS; d++) {
        white(1, ROWS, 0, d, z);
        for (int square = 0; square < 2; square++)
            alarms[square] += ljung_box_test(&t, z, square, r) < 0.01;
    }
    ljung_box_free(&t);
    /* 1 % of 20000, and four standard errors of both samples. */
    for (int square = 0; square < 2; square++)
        if (alarms[square] < 129 || alarms[square] > 271)
            fail_msg("%zu false alarms", alarms[square]);
}

/* A correlation of 0.7 is seen in 25 tracks of 4 rows. */
static void ljung_box__sees_correlation_in_short_tracks(void **state)
{
    (void)state;
    double z[100], r[GSV_LAGS];
    size_t track[100], seen = 0;
    for (uint32_t d = 0; d < 40; d++) {
        struct ljung_box t;
        white(25, 4, 0, d, z);
        for (size_t i = 0; i < 100; i++) {
            track[i] = i / 4;
            if (i % 4) z[i] = 0.7 * z[i - 1] + sqrt(1.0 - 0.49) * z[i];
        }
        assert_int_equal(ljung_box_init(&t, 100, track, z), 0);
        if (ljung_box_test(&t, z, false, r) < 0.01) seen++;
        for (size_t lag = 1; lag <= GSV_LAGS; lag++)
            assert_int_equal(isnan(r[lag - 1]), lag > 3);
        ljung_box_free(&t);
    }
    assert_true(seen > 35);
}

/* --- Exact ones ----------------------------------------------------------- */

static void ou__is_the_closed_form(void **state)
{
    (void)state;
    enum { N = 60 };
    gsv_model *m = model_of("state x\n param a = 0.8, s = 0.5 > 0\n"
                            "dx = a*(1 - x)*dt + s*dW");
    gsv_series *s = data_of(m, N, 0.7, 0.3, 5);
    gsv_residuals_result r = residuals_of(m, s, NULL);
    double phi = exp(-0.8 * 0.7);
    double sd = 0.5 * sqrt((1.0 - phi * phi) / 1.6);
    assert_int_equal(r.rows, N - 1);
    assert_int_equal(r.draws, 0);
    for (size_t n = 0; n < r.rows; n++) {
        double mean = 1.0 + phi * (s->value[n] - 1.0);
        assert_near(r.column[0].z[n], (s->value[n + 1] - mean) / sd, 1e-6);
    }
    gsv_residuals_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Two states with correlated noise, with gaps of many lengths; what is added to
 * the drift hides from the model that it is linear. */
static void simulated__are_near_exact_ones(void **state)
{
    (void)state;
    enum { N = 40 };
    static const char *const TEXT[2] = {
        "state x, y\n"
        "dx = (-x + 0.5*y)*dt + 0.6*dW1\n"
        "dy = (-0.3*y - x)*dt + 0.2*dW1 + 0.4*dW2",
        "state x, y\n"
        "dx = (-x + 0.5*y + 1e-200*sin(x))*dt + 0.6*dW1\n"
        "dy = (-0.3*y - x)*dt + 0.2*dW1 + 0.4*dW2"};
    gsv_model *m = model_of(TEXT[0]), *hidden = model_of(TEXT[1]);
    gsv_series *s = data_of(m, N, 0.4, 0.0, 3);
    gsv_residuals_result a = residuals_of(m, s, NULL);
    gsv_residuals_result b = residuals_of(hidden, s, NULL);
    assert_int_equal(a.draws, 0);
    assert_int_equal(b.draws, 1024);
    double squares = 0.0;
    for (size_t c = 0; c < 2; c++)
        for (size_t n = 0; n < a.rows; n++) {
            double u = a.column[c].u[n];
            double error = sqrt(fmax(u * (1.0 - u), 1e-3) / 1024.0);
            double off = (b.column[c].u[n] - u) / error;
            squares += off * off;
            assert_true(fabs(off) < 5.0);
        }
    double mean = squares / (2.0 * (double)a.rows);
    print_message("mean square in standard errors %.3f\n", mean);
    assert_true(mean > 0.5 && mean < 1.6);
    gsv_residuals_free(&a);
    gsv_residuals_free(&b);
    gsv_series_free(s);
    gsv_model_free(m);
    gsv_model_free(hidden);
}

/* u of every row and output of a linear model, by Kalman's filter. */
static void kalman_ranks(const struct exact_linear *m, size_t n,
                         const double *t, const double *y, double *u)
{
    struct exact_law law = exact_first(m);
    size_t d = m->d;
    for (size_t k = 0; k < n; k++) {
        if (k) {
            struct exact_gap g = exact_transition(m, t[k] - t[k - 1]);
            law = exact_predict(&law, &g);
        }
        for (size_t i = 0; i < m->outputs; i++)
            u[i * n + k] = normal_probability(
                (y[i * n + k] - law.mean[i]) /
                sqrt(law.cov[i * d + i] + m->r[i] * m->r[i]));
        for (size_t i = 0; i < m->outputs; i++)
            exact_condition(&law, m->H + i * d, m->r[i], y[i * n + k]);
    }
}

/* Mean square of what u are off, in standard errors of 1024 draws: 1 where
 * nothing but the draws is at random. */
static double off_kalman(const char *text, struct exact_linear m, double noise)
{
    enum { N = 80, MOST = 2 };
    static const char *const NAME[] = {"y1", "y2"};
    const size_t start[2] = {0, N};
    double t[N], x[MOST * N], y[MOST * N], u[MOST * N], squares = 0.0;
    for (size_t i = 0; i < m.outputs; i++)
        m.r[i] = noise;
    exact_times(N, 0.3, 0.4, t);
    exact_linear_data(&m, N, t, 11, x, y);
    kalman_ranks(&m, N, t, y, u);
    gsv_model *model = model_of(text);
    gsv_model_set(model, "r", 1, &noise);
    gsv_series *s = gsv_series_new(1, start, m.outputs, NAME, t, y);
    gsv_residuals_result r = residuals_of(model, s, NULL);
    for (size_t n = 0; n < r.rows * m.outputs; n++) {
        double exact = u[n / r.rows * N + n % r.rows + 1];
        double off = r.column[n / r.rows].u[n % r.rows] - exact;
        squares += off * off * 1024.0 / fmax(exact * (1.0 - exact), 1e-3);
    }
    squares /= (double)(r.rows * m.outputs);
    print_message("%zu states, noise %g: %.3f\n", m.d, noise, squares);
    gsv_residuals_free(&r);
    gsv_series_free(s);
    gsv_model_free(model);
    return squares;
}

static void noisy__are_kalmans(void **state)
{
    (void)state;
    static const double NOISE[] = {0.1, 0.3, 0.6};
    static const char *const TEXT[] = {
        "state x\n param r = 1 > 0\n dx = -x*dt + dW\n"
        "obs y1 ~ normal(x, r)\n init x ~ normal(0, sqrt(0.5))",
        "state x, z\n param r = 1 > 0\n dx = (-x + 0.6*z)*dt + dW1\n"
        "dz = (0.6*x - 1.2*z)*dt + 0.9*dW2\n"
        "obs y1 ~ normal(x, r)\n obs y2 ~ normal(z, r)\n"
        "init x ~ normal(0, sqrt(0.5))\n init z ~ normal(0, sqrt(0.5))"};
    for (size_t d = 1; d <= 2; d++)
        for (size_t c = 0; c < COUNT(NOISE); c++)
            assert_true(off_kalman(TEXT[d - 1], exact_ring(d), NOISE[c]) < 2.0);
}

/* --- True and wrong models -------------------------------------------------
 */

#define WELL "state x\n param s = 0.7 > 0, a = 1\n dx = a*(x - x^3)*dt + s*dW"

static void residuals__say_whether_the_noise_is_right(void **state)
{
    (void)state;
    enum { N = SLOWER > 1 ? 600 : 2000 };
    gsv_model *m = model_of(WELL);
    gsv_series *s = data_of(m, N, 0.2, 1.0, 9);
    gsv_predict_options o = usual_predict();
    o.draws = 256;
    gsv_residuals_result r = residuals_of(m, s, &o);
    const gsv_residual *c = &r.column[0];
    print_message("true: p %.3f, mean %.3f, sd %.3f, Ljung-Box %.3f, %.3f\n",
                  c->uniform_p, c->mean, c->sd, c->ljung_p, c->square_p);
    assert_int_equal(c->rows, N - 1);
    assert_true(c->uniform_p > 1e-3 && c->ljung_p > 1e-3 && c->square_p > 1e-3);
    assert_near(c->mean, 0.0, 4.0 / sqrt(N));
    assert_near(c->sd, 1.0, 4.0 / sqrt(2.0 * N));
    gsv_residuals_free(&r);
    const double half = 0.35;
    gsv_model_set(m, "s", 1, &half);
    r = residuals_of(m, s, &o);
    assert_true(r.column[0].uniform_p < 1e-6);
    assert_true(r.column[0].sd > 1.4);
    gsv_residuals_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* A drift that is missing shows as correlation. */
static void residuals__say_whether_the_drift_is_right(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n param a = 2\n dx = -a*x*dt + dW");
    gsv_series *s = data_of(m, 1000, 0.3, 0.0, 4);
    const double none = 1e-9;
    gsv_model_set(m, "a", 1, &none);
    gsv_residuals_result r = residuals_of(m, s, NULL);
    print_message("without drift: lag 1 %.3f, p %.2g\n",
                  r.column[0].correlation[0], r.column[0].ljung_p);
    assert_true(r.column[0].ljung_p < 1e-3);
    gsv_residuals_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void counts__are_uniform_when_spread(void **state)
{
    (void)state;
    enum { N = SLOWER > 1 ? 60 : 400 };
    gsv_model *m = model_of("state x\n dx = -0.5*x*dt + 0.5*dW\n"
                            "obs k ~ poisson(exp(1 + x))\n"
                            "init x ~ normal(0, 0.5)");
    gsv_series *s = data_of(m, N, 0.5, 0.0, 6);
    gsv_predict_options o = usual_predict();
    o.draws = 256;
    o.points = 32;
    gsv_residuals_result r = residuals_of(m, s, &o);
    const gsv_residual *c = &r.column[0];
    print_message("counts: p %.3f, mean %.3f, sd %.3f, Ljung-Box %.3f\n",
                  c->uniform_p, c->mean, c->sd, c->ljung_p);
    assert_int_equal(r.columns, 1);
    assert_true(c->uniform_p > 1e-3 && c->ljung_p > 1e-3);
    assert_near(c->sd, 1.0, 4.0 / sqrt(2.0 * N));
    gsv_residuals_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* One column each. */
static const char *const LAW[] = {
    "lognormal(x, 0.3)",
    "gamma(exp(x), 2)",
    "beta(sigmoid(x), 6)",
    "betabinomial(12, sigmoid(x), 3)",
    "categorical(softmax([x, 0, -x]))",
    "ordered(2*x, [-1, 0.5])",
    "zeroinflated(0.3, poisson(exp(1 + x)))",
    "negbin(exp(1 + x), 2)",
};

static void laws__have_uniform_residuals(void **state)
{
    (void)state;
    enum { N = SLOWER > 1 ? 60 : 400 };
    char text[900] = "state x\n dx = -0.5*x*dt + 0.5*dW\n"
                     "init x ~ normal(0, 0.5)\n";
    for (size_t i = 0; i < COUNT(LAW); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "obs v%zu ~ %s\n", i, LAW[i]);
    gsv_model *m = model_of(text);
    gsv_series *s = data_of(m, N, 0.5, 0.0, 7);
    gsv_predict_options o = usual_predict();
    o.draws = 256;
    o.points = 32;
    gsv_residuals_result r = residuals_of(m, s, &o);
    assert_int_equal(r.columns, COUNT(LAW));
    for (size_t i = 0; i < r.columns; i++) {
        const gsv_residual *c = &r.column[i];
        print_message("%s: p %.3f, mean %.3f, sd %.3f\n", LAW[i], c->uniform_p,
                      c->mean, c->sd);
        assert_int_equal(c->rows, N - 1);
        assert_true(c->uniform_p > 1e-3 && c->ljung_p > 1e-3);
        assert_near(c->sd, 1.0, 4.0 / sqrt(2.0 * N));
    }
    gsv_residuals_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void bits__are_the_same_on_any_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of(WELL);
    gsv_series *s = data_of(m, 30, 0.2, 1.0, 2);
    gsv_predict_options o = usual_predict();
    o.draws = 100;
    o.threads = 1;
    gsv_residuals_result a = residuals_of(m, s, &o);
    o.threads = 3;
    gsv_residuals_result b = residuals_of(m, s, &o);
    assert_memory_equal(a.column[0].u, b.column[0].u,
                        a.rows * sizeof *a.column[0].u);
    gsv_residuals_free(&a);
    gsv_residuals_free(&b);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Tests of uniformity and independence ----------------------------------
 */

/* P(chi-squared > x) with 2 and 4 degrees of freedom in closed form; with 1 it
 * is that of a squared normal number. */
static void tails__are_closed_forms(void **state)
{
    (void)state;
    static const double X[] = {0.01, 0.5, 1.0, 3.0, 10.0, 50.0};
    for (size_t i = 0; i < COUNT(X); i++) {
        double e = exp(-0.5 * X[i]), p = 2.0 * normal_probability(-sqrt(X[i]));
        assert_near(chi_squared_tail(X[i], 1.0) / p, 1.0, 1e-9);
        assert_near(chi_squared_tail(X[i], 2.0) / e, 1.0, 1e-12);
        assert_near(chi_squared_tail(X[i], 4.0) / (e * (1.0 + 0.5 * X[i])), 1.0,
                    1e-12);
    }
    assert_near(chi_squared_tail(0.0, 10.0), 1.0, 0.0);
}

/* Tables of Kolmogorov's law: 5 % at 1.3581, 1 % at 1.6276. */
static void distances__have_kolmogorovs_law(void **state)
{
    (void)state;
    const size_t many = 100000000;
    assert_near(uniform_p_value(many, 1.3581e-4), 0.05, 1e-4);
    assert_near(uniform_p_value(many, 1.6276e-4), 0.01, 1e-4);
    const double u[] = {0.1, 0.2, 0.9};
    assert_near(uniform_distance(3, u), 2.0 / 3.0 - 0.2, 1e-15);
}

static void ranks__take_ties_apart(void **state)
{
    (void)state;
    const double x[] = {1, 2, 2, 3};
    assert_near(sample_rank(4, x, 2.0, 0.5), (1.0 + 0.5 * 3.0) / 5.0, 1e-15);
    assert_near(sample_rank(4, x, 0.0, 0.5), 0.1, 1e-15);
    assert_near(sample_rank(4, x, 9.0, 0.5), 0.9, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ljung_box__false_alarms_are_one_in_a_hundred),
        cmocka_unit_test(ljung_box__law_of_few_rows_is_exact),
        cmocka_unit_test(ljung_box__sees_correlation_in_short_tracks),
        cmocka_unit_test(ou__is_the_closed_form),
        cmocka_unit_test(simulated__are_near_exact_ones),
        cmocka_unit_test(noisy__are_kalmans),
        cmocka_unit_test(residuals__say_whether_the_noise_is_right),
        cmocka_unit_test(residuals__say_whether_the_drift_is_right),
        cmocka_unit_test(counts__are_uniform_when_spread),
        cmocka_unit_test(laws__have_uniform_residuals),
        cmocka_unit_test(bits__are_the_same_on_any_threads),
        cmocka_unit_test(tails__are_closed_forms),
        cmocka_unit_test(distances__have_kolmogorovs_law),
        cmocka_unit_test(ranks__take_ties_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
