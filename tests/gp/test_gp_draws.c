/* SPDX-License-Identifier: MIT */
/* What is done with functions drawn from a fit's posterior: their law, and
 * simulations and forecasts that have one for every path. With a drift that is
 * linear in known features, all of it has a closed form. */
#include "learn.h"

#include "data/series_join.h"
#include "simulate/ensemble.h"

static void set(gsv_model *m, const char *name, double value)
{
    if (gsv_model_set(m, name, 1, &value)) fail_msg("%s", gsv_last_error());
}

/* All but the functions stays, and increments are normal: so the posterior is
 * exact, and a fit takes no time. */
static void fit_functions(gsv_model *m, const gsv_series *s)
{
    gsv_fit_options o = gsv_fit_options_default();
    static const char *const fix[] = {"s", "h.length", "h.amplitude",
                                      "h.poly_amplitude"};
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    o.estimator.form = GSV_FORM_ITO;
    o.estimator.paths = o.estimator.steps = 1;
    o.fix = fix;
    o.fixed = COUNT(fix);
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
}

/* --- Their law -------------------------------------------------------------
 */

static const char PLANE[] =
    "state x, y\n param s = 0.5 > 0\n"
    "gp h(x, y) -> 2 : grid 7 over [-3, 3] rbf + linear\n"
    "dx = (h[1] - x)*dt + s*dW\n dy = 2*h[2]*dt + s*dW";

static gsv_model *fitted_plane(gsv_series **s)
{
    gsv_model *m = model_of(PLANE);
    set(m, "h.length", 1.5);
    *s = learn_well(m, 1, 150, 3);
    fit_functions(m, *s);
    return m;
}

/* At nodes, where the grid carries all of the prior's variance. */
enum { SPOTS = 4, DRAWS = 4096 };
static const double SPOT[2 * SPOTS] = {0.0, 1.0, -2.0, 3.0,
                                       0.0, 1.0, 1.0,  -3.0};

static void draws__have_the_mean_and_deviation_of_the_posterior(void **state)
{
    (void)state;
    gsv_series *s;
    gsv_model *m = fitted_plane(&s);
    double t[SPOTS] = {0.0}, mean[2 * SPOTS], sd[2 * SPOTS], f[2 * SPOTS];
    double sum[2 * SPOTS] = {0.0}, square[2 * SPOTS] = {0.0}, n = DRAWS;
    gsv_functions *q = gsv_functions_new(m);
    struct ensemble e;
    assert_non_null(q);
    assert_int_equal(gsv_model_drift(m, SPOTS, t, SPOT, NULL, mean), 0);
    assert_int_equal(gsv_functions_drift(q, SPOTS, t, SPOT, NULL, sd), 0);
    assert_int_equal(ensemble_init(&e, m, false, 7, DRAWS, 1), 0);
    assert_int_equal(e.rows, DRAWS);
    ensemble_fill(&e);
    for (size_t i = 0; i < DRAWS; i++) {
        memcpy(m->value + e.first, e.table + i * e.stride,
               e.stride * sizeof *e.table);
        assert_int_equal(gsv_model_drift(m, SPOTS, t, SPOT, NULL, f), 0);
        for (size_t k = 0; k < 2 * SPOTS; k++) {
            sum[k] += (f[k] - mean[k]) / sd[k];
            square[k] += pow((f[k] - mean[k]) / sd[k], 2.0);
        }
    }
    for (size_t k = 0; k < 2 * SPOTS; k++) {
        assert_near(sum[k] / n, 0.0, 4.0 / sqrt(n));
        assert_near(square[k] / n, 1.0, 4.0 * sqrt(2.0 / n));
    }
    ensemble_free(&e);
    gsv_functions_free(q);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Simulation -------------------------------------------------------------
 */

static gsv_simulate_options few_tracks(void)
{
    static const double time[] = {0.0, 0.5, 2.0};
    gsv_simulate_options o = gsv_simulate_options_default();
    o.time = time;
    o.times = COUNT(time);
    o.tracks = 70;
    o.start_sd = 1.0;
    o.step = 0.1;
    o.seed = 5;
    return o;
}

static gsv_series *simulated(const gsv_model *m, const gsv_simulate_options *o)
{
    gsv_series *s = gsv_simulate(m, o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* One function a track, along all of it, whoever else is there. */
static void tracks__have_the_functions_of_their_numbers(void **state)
{
    (void)state;
    static const size_t TRACK[] = {0, 3, 66};
    gsv_series *s;
    gsv_model *m = fitted_plane(&s);
    gsv_simulate_options o = few_tracks();
    gsv_series *drawn = simulated(m, &o);
    gsv_functions *q = gsv_functions_new(m);
    size_t n = m->spec->parameters;
    double *kept = NEW(double, n);
    memcpy(kept, m->value, n * sizeof *kept);
    o.mean = true;
    for (size_t i = 0; i < COUNT(TRACK); i++) {
        size_t at = TRACK[i] * o.times;
        assert_int_equal(gsv_functions_draw(q, m, o.seed, TRACK[i]), 0);
        gsv_series *one = simulated(m, &o);
        for (size_t c = 0; c < 2; c++)
            assert_true(same_bits(o.times, drawn->value + c * drawn->rows + at,
                                  one->value + c * one->rows + at));
        gsv_series_free(one);
    }
    memcpy(m->value, kept, n * sizeof *kept);
    gsv_series *mean = simulated(m, &o);
    assert_false(same_bits(drawn->rows, drawn->value, mean->value));
    mem_free(kept);
    gsv_functions_free(q);
    gsv_series_free(mean);
    gsv_series_free(drawn);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void paths__are_the_same_on_threads(void **state)
{
    (void)state;
    gsv_series *s, *track[2];
    gsv_model *m = fitted_plane(&s);
    gsv_prediction p[2];
    gsv_predict_options a = gsv_predict_options_default();
    gsv_simulate_options o = few_tracks();
    a.draws = 200;
    a.step = 0.1;
    for (size_t i = 0; i < 2; i++) {
        a.threads = o.threads = i + 1;
        track[i] = simulated(m, &o);
        assert_int_equal(gsv_predict(m, s, &a, &p[i]), 0);
        assert_int_equal(p[i].functions, 200);
    }
    assert_true(
        same_bits(2 * track[0]->rows, track[0]->value, track[1]->value));
    assert_true(same_bits(p[0].columns * p[0].rows, p[0].sd, p[1].sd));
    for (size_t i = 0; i < 2; i++) {
        gsv_series_free(track[i]);
        gsv_prediction_free(&p[i]);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Who sets a gp's numbers has them, not a draw around others. */
static void set__forgets_the_posterior(void **state)
{
    (void)state;
    gsv_series *s;
    gsv_model *m = fitted_plane(&s);
    set(m, "s", 0.7);
    assert_true(gsv_model_has_posterior(m));
    set(m, "h.value", 0.0);
    assert_false(gsv_model_has_posterior(m));
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- A regression ------------------------------------------------------------
 *
 * dx = (c0 + c1 u) dt + s dW with u held from row to row: increments are a
 * linear regression, c ~ N(0, p^2 I), and with u = U behind the data
 *
 *     x(T) ~ N(x0 + T m' phi, s^2 T + T^2 phi' C phi),  phi = (1, U).
 */

static const char REGRESSION[] =
    "state x\n input u hold\n param s = 0.4 > 0\n"
    "gp h(u) -> 1 : grid 4 over [-1, 1] rbf + linear\n"
    "dx = h*dt + s*dW";

enum { ROWS = 9 };
static const double S = 0.4, PRIOR = 1.5, GAP = 0.25, AHEAD = 3.0;

static gsv_model *regression(void)
{
    gsv_model *m = model_of(REGRESSION);
    set(m, "h.amplitude", 1e-9);
    set(m, "h.poly_amplitude", PRIOR);
    return m;
}

static double input_at(size_t row)
{
    return row == ROWS - 1 ? 0.9 : 0.4 * sin(1.3 * (double)row);
}

/* The data of a truth c, and one row more, AHEAD behind them. */
static gsv_series *regression_data(const double c[2], uint64_t seed)
{
    static const char *const name[] = {"x", "u"};
    double time[ROWS + 1], value[2 * (ROWS + 1)], *z = normals(ROWS, seed);
    size_t start[2] = {0, ROWS + 1};
    for (size_t i = 0; i <= ROWS; i++) {
        double gap = i == ROWS ? AHEAD : GAP;
        time[i] = i ? time[i - 1] + gap : 0.0;
        value[ROWS + 1 + i] = input_at(i < ROWS ? i : ROWS - 1);
        value[i] = i ? value[i - 1] + gap * (c[0] + c[1] * value[ROWS + i]) +
                           S * sqrt(gap) * z[i - 1]
                     : 0.0;
    }
    mem_free(z);
    gsv_series *s = gsv_series_new(1, start, 2, name, time, value);
    assert_non_null(s);
    return s;
}

/* Mean and covariance of c given the first rows. */
static void regress(const gsv_series *s, double m[2], double C[4])
{
    double a = 1.0 / (PRIOR * PRIOR), b = 0.0, d = a, pull[2] = {0.0};
    for (size_t i = 0; i + 1 < ROWS; i++) {
        double u = s->value[s->rows + i], dx = s->value[i + 1] - s->value[i];
        a += GAP / (S * S);
        b += u * GAP / (S * S);
        d += u * u * GAP / (S * S);
        pull[0] += dx / (S * S);
        pull[1] += u * dx / (S * S);
    }
    double det = a * d - b * b;
    C[0] = d / det;
    C[1] = C[2] = -b / det;
    C[3] = a / det;
    m[0] = C[0] * pull[0] + C[1] * pull[1];
    m[1] = C[2] * pull[0] + C[3] * pull[1];
}

static gsv_predict_options one_ahead(const double *until, size_t draws)
{
    gsv_predict_options o = gsv_predict_options_default();
    o.until = until;
    o.draws = draws;
    o.step = 0.5;
    return o;
}

static void fit_known(gsv_model *m, const gsv_series *s, double until)
{
    gsv_series *known = series_until(s, &until);
    assert_non_null(known);
    fit_functions(m, known);
    gsv_series_free(known);
}

static void forecasts__have_noise_and_what_is_not_known(void **state)
{
    (void)state;
    const double c[2] = {0.7, -1.1}, until = GAP * (ROWS - 1) + 1e-9;
    gsv_series *s = regression_data(c, 3);
    gsv_model *m = regression();
    gsv_predict_options o = one_ahead(&until, 8192);
    double w[2], C[4], U = input_at(ROWS - 1), n = (double)o.draws;
    fit_known(m, s, until);
    regress(s, w, C);
    double unknown = C[0] + 2.0 * U * C[1] + U * U * C[3];
    for (size_t i = 0; i < 2; i++) {
        gsv_prediction p;
        o.mean = i;
        double variance =
            S * S * AHEAD + (o.mean ? 0.0 : AHEAD * AHEAD * unknown);
        assert_int_equal(gsv_predict(m, s, &o, &p), 0);
        assert_int_equal(p.rows, 1);
        assert_int_equal(p.functions, o.mean ? 0 : o.draws);
        assert_near(p.mean[0], s->value[ROWS - 1] + AHEAD * (w[0] + w[1] * U),
                    4.0 * sqrt(variance / n));
        assert_near(p.sd[0], sqrt(variance), 4.0 * sqrt(variance / (2.0 * n)));
        gsv_prediction_free(&p);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The gap behind the data, alone. */
static gsv_series *gap_ahead(const gsv_series *s)
{
    static const char *const name[] = {"x", "u"};
    const double *x = s->value + ROWS - 1, *u = x + s->rows;
    const double value[] = {x[0], x[1], u[0], u[1]};
    const size_t start[2] = {0, 2};
    gsv_series *two =
        gsv_series_new(1, start, 2, name, s->time + ROWS - 1, value);
    assert_non_null(two);
    return two;
}

/* E p^k of a density p = N(y; mu, a) whose mean is mu ~ N(mean, b). */
static double power_mean(double k, double y, double mean, double a, double b)
{
    return exp(exact_normal(y, mean, a / k + b)) *
           pow(2.0 * M_PI * a, 0.5 * (1.0 - k)) / sqrt(k);
}

/* Given a function the gap's increment is normal; over functions it is, too. */
static void likelihood__over_functions_has_a_closed_form(void **state)
{
    (void)state;
    enum { N = 2000 / SLOWER };
    const double c[2] = {0.7, -1.1}, until = GAP * (ROWS - 1) + 1e-9;
    gsv_series *s = regression_data(c, 3), *ahead = gap_ahead(s);
    gsv_model *m = regression(), *drawn = regression();
    gsv_options o = default_options();
    double w[2], C[4], U = input_at(ROWS - 1), moment[3] = {0.0};
    double y = ahead->value[1] - ahead->value[0], a = S * S * AHEAD;
    fit_known(m, s, until);
    regress(s, w, C);
    double mean = AHEAD * (w[0] + w[1] * U);
    double b = AHEAD * AHEAD * (C[0] + 2.0 * U * C[1] + U * U * C[3]);
    gsv_functions *q = gsv_functions_new(m);
    assert_non_null(q);
    for (uint64_t i = 0; i < N; i++) {
        double f;
        assert_int_equal(gsv_functions_draw(q, drawn, 1, i), 0);
        gsv_result r = loglik_of(drawn, ahead, &o);
        assert_int_equal(
            gsv_model_drift(drawn, 1, ahead->time, ahead->value, &U, &f), 0);
        assert_near(r.loglik, exact_normal(y, AHEAD * f, a), 1e-9);
        moment[1] += exp(r.loglik) / N;
        moment[2] += exp(2.0 * r.loglik) / N;
        gsv_result_free(&r);
    }
    for (size_t k = 1; k <= 2; k++) {
        double one = power_mean((double)k, y, mean, a, b);
        double two = power_mean(2.0 * (double)k, y, mean, a, b);
        assert_near(moment[k], one, 4.0 * sqrt((two - one * one) / N));
    }
    /* At the posterior's mean it would be another one. */
    assert_true(fabs(exp(exact_normal(y, mean, a)) / moment[1] - 1.0) > 0.2);
    gsv_functions_free(q);
    gsv_series_free(ahead);
    gsv_series_free(s);
    gsv_model_free(drawn);
    gsv_model_free(m);
}

/* Where truths come from the prior, 90 % intervals of the posterior's forecasts
 * cover 90 %; those at its mean fewer, by how much the closed form says. */
static void bands__cover_what_comes(void **state)
{
    (void)state;
    enum { TRUTHS = 80 };
    const double until = GAP * (ROWS - 1) + 1e-9, n = TRUTHS;
    double covered[2] = {0.0}, expected = 0.0, w[2], C[4];
    double *truth = normals(2 * TRUTHS, 11), U = input_at(ROWS - 1);
    gsv_model *m = regression();
    for (size_t k = 0; k < TRUTHS; k++) {
        const double c[2] = {PRIOR * truth[2 * k], PRIOR * truth[2 * k + 1]};
        gsv_series *s = regression_data(c, 100 + k);
        gsv_predict_options o = one_ahead(&until, 512);
        fit_known(m, s, until);
        regress(s, w, C);
        double noise = S * S * AHEAD;
        double unknown = AHEAD * AHEAD * (C[0] + 2.0 * U * C[1] + U * U * C[3]);
        expected +=
            erf(1.6448536269514722 * sqrt(0.5 * noise / (noise + unknown))) / n;
        for (size_t i = 0; i < 2; i++) {
            gsv_prediction p;
            o.mean = i;
            assert_int_equal(gsv_predict(m, s, &o, &p), 0);
            covered[i] += p.score[0].cover90 / n;
            gsv_prediction_free(&p);
        }
        gsv_series_free(s);
    }
    assert_near(covered[0], 0.9, 3.0 * sqrt(0.9 * 0.1 / n));
    assert_near(covered[1], expected,
                3.0 * sqrt(expected * (1.0 - expected) / n));
    assert_true(expected < 0.6);
    mem_free(truth);
    gsv_model_free(m);
}

/* --- Memory
 * -------------------------------------------------------------------
 */

struct used {
    gsv_model *m;
    gsv_series *s;
};

static int use_functions(const struct used *u)
{
    double t = 0.0, x[2] = {0.3, -0.2}, sd[2];
    gsv_functions *q = gsv_functions_new(u->m);
    int status = q ? 0 : (int)gsv_last_status();
    if (!status) status = gsv_functions_drift(q, 1, &t, x, NULL, sd);
    if (!status) status = gsv_functions_draw(q, u->m, 1, 3);
    gsv_functions_free(q);
    return status;
}

static int use_simulation(const struct used *u)
{
    gsv_simulate_options o = few_tracks();
    gsv_series *s = gsv_simulate(u->m, &o);
    gsv_series_free(s);
    return s ? 0 : (int)gsv_last_status();
}

static int use_forecasts(const struct used *u)
{
    gsv_prediction p;
    gsv_predict_options o = gsv_predict_options_default();
    o.draws = 8;
    int status = gsv_predict(u->m, u->s, &o, &p);
    if (!status) gsv_prediction_free(&p);
    return status;
}

static int use_words(const struct used *u)
{
    char *text = gsv_model_outside(u->m, u->s);
    gsv_text_free(text);
    return text ? 0 : (int)gsv_last_status();
}

/* Every allocation that may fail, one after the other. */
static void memory__may_fail_anywhere(void **state)
{
    (void)state;
    int (*const use[])(const struct used *u) = {use_functions, use_simulation,
                                                use_forecasts, use_words};
    struct used u;
    u.m = fitted_plane(&u.s);
    for (size_t i = 0; i < COUNT(use); i++) {
        int status = GSV_NO_MEMORY;
        for (size_t n = 1; status; n++) {
            mem_fail_at(n);
            status = use[i](&u);
            mem_fail_at(0);
            if (status) assert_int_equal(status, GSV_NO_MEMORY);
            else assert_true(n > 5);
        }
    }
    gsv_series_free(u.s);
    gsv_model_free(u.m);
}

/* --- Rows outside
 * ---------------------------------------------------------------
 */

static void outside__counts_rows(void **state)
{
    (void)state;
    static const char *const name[] = {"x", "u"};
    const double time[] = {0.0, 1.0, 2.0, 3.0};
    const double value[] = {0.0, 0.0, 0.0, 0.0, 0.5, 2.0, -1.0, -1.1};
    const size_t start[] = {0, 4};
    gsv_model *m = regression();
    gsv_series *s = gsv_series_new(1, start, 2, name, time, value);
    char *text = gsv_model_outside(m, s);
    assert_non_null(strstr(text, "2 of 4 rows are outside of the grid of 'h'"));
    gsv_text_free(text);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws__have_the_mean_and_deviation_of_the_posterior),
        cmocka_unit_test(tracks__have_the_functions_of_their_numbers),
        cmocka_unit_test(paths__are_the_same_on_threads),
        cmocka_unit_test(set__forgets_the_posterior),
        cmocka_unit_test(forecasts__have_noise_and_what_is_not_known),
        cmocka_unit_test(likelihood__over_functions_has_a_closed_form),
        cmocka_unit_test(bands__cover_what_comes),
        cmocka_unit_test(memory__may_fail_anywhere),
        cmocka_unit_test(outside__counts_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
