/* SPDX-License-Identifier: MIT */
/* Fits of models whose gaps are crossed by modified bridges: against the exact
 * maximum of the square-root process, and against the truth of a pair. */
#include "bridged.h"
#include "learn.h"
#include "learn/start.h"

/* dx = k (m - x) dt + s sqrt(x) dW by short steps; p = (k, m, s). */
static double cir_step(const double *p, double gap, double x, const double *z,
                       size_t steps)
{
    double dt = gap / (double)steps;
    for (size_t i = 0; i < steps; i++) {
        double root = sqrt(x), dW = sqrt(dt) * z[i];
        x += p[0] * (p[1] - x) * dt + p[2] * root * dW +
             0.25 * p[2] * p[2] * (dW * dW - dt);
        x = fmax(x, 1e-4);
    }
    return x;
}

enum { ROWS = 300, FINE = 32 };

static gsv_series *cir_series(const gsv_model *m, double h, uint64_t seed)
{
    static const double TRUTH[] = {1.0, 1.0, 0.4};
    double time[ROWS], x[ROWS] = {1.0};
    double *z = normals((size_t)ROWS * FINE, seed);
    time[0] = 0.0;
    for (size_t i = 1; i < ROWS; i++) {
        double gap = h * (1.0 + 0.5 * sin(1.7 * (double)i));
        time[i] = time[i - 1] + gap;
        x[i] = cir_step(TRUTH, gap, x[i - 1], z + i * FINE, FINE);
    }
    mem_free(z);
    return track_of(m, ROWS, time, x);
}

static double cir_loglik(const void *context, const double *p)
{
    const gsv_series *s = context;
    double sum = 0.0;
    for (size_t i = 1; i < s->rows; i++)
        sum += exact_cir(s->value[i - 1], s->value[i], p[0], p[1], p[2],
                         s->time[i] - s->time[i - 1]);
    return sum;
}

/* What a fit that chooses its own effort promises of its score is a fifth of
 * its deviation; standard errors to a tenth. The noise is such that no path
 * comes near zero: there Euler's density has a pole of its own. */
static void expect_cir(double h, uint64_t seed)
{
    gsv_model *m = bridged_of(CIR);
    gsv_series *s = cir_series(m, h, seed);
    gsv_fit_options o = fit_options();
    struct learn_peak q = {.n = 3};
    const gsv_record *r = fit_must(m, s, &o);
    memcpy(q.at, gsv_model_value(m), 3 * sizeof *q.at);
    learn_maximum(cir_loglik, s, &q);
    assert_int_equal(r->ended, GSV_ENDED_CONVERGED);
    assert_int_equal(r->optimizer, GSV_OPTIMIZER_LBFGS);
    for (size_t i = 0; i < q.n; i++) {
        double error = sqrt(q.cov[i * q.n + i]);
        assert_near(gsv_model_value(m)[i], q.at[i], 0.2 * error);
        assert_near(r->error_of[i], error, 0.1 * error);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void cir__is_fitted_as_promised(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (SLOWER > 1 ? 1 : 2); seed++) {
        expect_cir(0.1, seed);
        expect_cir(0.4, seed);
    }
}

/* --- A pair ------------------------------------------------------------------
 */

#define PAIR                                                                   \
    "state x, v\n"                                                             \
    "param mu = 0, k = 1, m = 1 > 0, s = 1 > 0, r = 0 in (-1, 1)\n"            \
    "dx = (mu - v/2)*dt + sqrt(v)*dW1\n"                                       \
    "dv = k*(m - v)*dt + s*sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)"
static const double TRUTH[] = {0.1, 2.0, 0.5, 0.5, -0.6};

static gsv_series *pair_series(const gsv_model *m, size_t rows, double h)
{
    enum { MOST = 1000 };
    static double time[MOST], value[2 * MOST];
    double *z = normals(2 * FINE * rows, 5), *next = z;
    double x = 0.0, v = 0.5, dt = h / FINE, root = sqrt(dt);
    assert_true(rows <= MOST);
    for (size_t i = 0; i < rows; i++) {
        time[i] = h * (double)i;
        value[i] = x;
        value[rows + i] = v;
        for (size_t j = 0; j < FINE; j++, next += 2) {
            double one = root * next[0], two = root * next[1];
            double both =
                TRUTH[4] * one + sqrt(1.0 - TRUTH[4] * TRUTH[4]) * two;
            x += (TRUTH[0] - 0.5 * v) * dt + sqrt(v) * one;
            v += TRUTH[1] * (TRUTH[2] - v) * dt + TRUTH[3] * sqrt(v) * both;
            v = fmax(v, 1e-4);
        }
    }
    mem_free(z);
    return track_of(m, rows, time, value);
}

static void pair__is_found_again(void **state)
{
    (void)state;
    gsv_model *m = model_of(PAIR);
    gsv_series *s = pair_series(m, 1000, 0.1);
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    assert_int_equal(r->ended, GSV_ENDED_CONVERGED);
    for (size_t i = 0; i < COUNT(TRUTH); i++) {
        assert_true(r->error_of[i] > 0.0);
        assert_near(gsv_model_value(m)[i], TRUTH[i], 3.5 * r->error_of[i]);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The start of the noise is that of the quadratic variation: near the truth,
 * and no other number has moved. */
static void start__takes_the_noise_from_the_quadratic_variation(void **state)
{
    (void)state;
    static const bool kept[5] = {0};
    gsv_model *m = model_of(PAIR);
    gsv_series *s = pair_series(m, 1000, 0.02);
    assert_int_equal(start_noise(m, s, kept), 0);
    assert_near(value_of(m, "s"), 0.5, 0.03);
    assert_near(value_of(m, "r"), -0.6, 0.06);
    assert_near(value_of(m, "mu"), 0.0, 0.0);
    assert_near(value_of(m, "k"), 1.0, 0.0);
    assert_near(value_of(m, "m"), 1.0, 0.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Networks, and fits that go on -------------------------------------------
 */

#define NET                                                                    \
    "state x, v\n net f(x, v) -> 2 : 8 silu\n"                                 \
    "param s = 1 > 0, r = 0 in (-1, 1)\n"                                      \
    "dx = f[1]*dt + sqrt(v)*dW1\n"                                             \
    "dv = f[2]*dt + s*sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)"

static gsv_fit_options net_options(void)
{
    gsv_fit_options o = fit_options();
    o.iterations = 300;
    o.patience = 0.0;
    return o;
}

static void net__learns_a_drift_beside_such_noise(void **state)
{
    (void)state;
    gsv_model *m = model_of(NET);
    gsv_series *s = pair_series(m, 1000, 0.1);
    gsv_fit_options o = net_options();
    const gsv_record *r = fit_must(m, s, &o);
    assert_int_equal(r->optimizer, GSV_OPTIMIZER_SOAP);
    assert_near(value_of(m, "s"), 0.5, 0.05);
    assert_near(value_of(m, "r"), -0.6, 0.08);
    gsv_series_free(s);
    gsv_model_free(m);
}

static bool stop_late(void *user, const gsv_progress *p)
{
    return p->iteration == *(const size_t *)user;
}

/* Stopped in the second stage, whose reference and form are kept. */
static void net__goes_on_to_the_same_fit(void **state)
{
    (void)state;
    gsv_model *whole = model_of(NET), *parts = model_of(NET);
    gsv_series *s = pair_series(whole, 200, 0.1);
    gsv_fit_options o = net_options();
    size_t last = 250;
    fit_must(whole, s, &o);
    o.checkpoint = "a.fit";
    o.progress = stop_late;
    o.user = &last;
    const gsv_record *r = fit_must(parts, s, &o);
    assert_int_equal(r->ended, GSV_ENDED_STOPPED);
    o.resume = "a.fit";
    last = 0;
    fit_must(parts, s, &o);
    assert_same_fit(whole, parts);
    gsv_series_free(s);
    gsv_model_free(whole);
    gsv_model_free(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cir__is_fitted_as_promised),
        cmocka_unit_test(pair__is_found_again),
        cmocka_unit_test(start__takes_the_noise_from_the_quadratic_variation),
        cmocka_unit_test(net__learns_a_drift_beside_such_noise),
        cmocka_unit_test(net__goes_on_to_the_same_fit),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
