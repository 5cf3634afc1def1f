/* SPDX-License-Identifier: MIT */
/* Noise that depends on the state, against exact densities: where the map to
 * unit diffusion is not linear, and where it has boundaries. */
#include "bridge/barrier.h"
#include "exact.h"

/* --- Closed forms --------------------------------------------------------- */

/* log I_nu(z) by its series, all terms in the log domain. */
static double log_bessel(double nu, double z)
{
    double most = -INFINITY, sum = 0.0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 3000; k++) {
            double term = (2.0 * k + nu) * log(0.5 * z) - lgamma(k + 1.0) -
                          lgamma(k + nu + 1.0);
            if (!pass) most = fmax(most, term);
            else sum += exp(term - most);
        }
    return most + log(sum);
}

struct cir {
    double k, m, s;
};

static double exact_cir(struct cir p, double x, double y, double h)
{
    double c = 2.0 * p.k / (p.s * p.s * (1.0 - exp(-p.k * h)));
    double u = c * x * exp(-p.k * h), v = c * y;
    double q = 2.0 * p.k * p.m / (p.s * p.s) - 1.0;
    return log(c) - u - v + 0.5 * q * log(v / u) +
           log_bessel(q, 2.0 * sqrt(u * v));
}

/* A track that wanders between its bounds as a sum of sines. */
static void wander(size_t n, double low, double high, double h, double *time,
                   double *x)
{
    for (size_t i = 0; i < n; i++) {
        double t = (double)i;
        double wave = 0.5 + 0.3 * sin(1.1 * t) + 0.2 * sin(0.37 * t + 1.0);
        time[i] = h * t;
        x[i] = low * pow(high / low, wave);
    }
}

static gsv_model *cir_model(struct cir p)
{
    gsv_model *m = model_of("state x\n param k = 1 > 0, m = 1 > 0, s = 1 > 0\n"
                            "dx = k*(m - x)*dt + s*sqrt(x)*dW");
    assert_int_equal(gsv_model_set(m, "k", 1, &p.k), 0);
    assert_int_equal(gsv_model_set(m, "m", 1, &p.m), 0);
    assert_int_equal(gsv_model_set(m, "s", 1, &p.s), 0);
    return m;
}

/* --- No spread at all ----------------------------------------------------- */

/* Geometric Brownian motion has a constant drift behind its map. */
static void gbm__is_exact(void **state)
{
    (void)state;
    enum { N = 12 };
    double time[N], x[N], exact = 0.0, mu = 0.3, sigma = 0.4;
    wander(N, 0.5, 4.0, 0.25, time, x);
    for (size_t i = 1; i < N; i++) {
        double h = time[i] - time[i - 1];
        exact +=
            exact_normal(log(x[i] / x[i - 1]), (mu - 0.5 * sigma * sigma) * h,
                         sigma * sigma * h) -
            log(x[i]);
    }
    gsv_model *m = model_of("state x\n param mu = 0.3, sigma = 0.4 > 0\n"
                            "dx = mu*x*dt + sigma*x*dW");
    gsv_series *s = track_of(m, N, time, x);
    gsv_options o = default_options();
    gsv_result r = loglik_of(m, s, &o);
    assert_near(r.loglik, exact, 1e-9);
    assert_true(r.error < 1e-9);
    gsv_result_free(&r);
    o.reference = GSV_REFERENCE_BROWNIAN;
    r = loglik_of(m, s, &o);
    assert_near(r.loglik, exact, 1e-9);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The logarithm of Schwartz's price is Ornstein and Uhlenbeck's process. */
static void log_ou__is_exact(void **state)
{
    (void)state;
    enum { N = 12 };
    double time[N], x[N], exact = 0.0, k = 1.3, mu = 0.2, s = 0.5;
    wander(N, 0.4, 3.0, 0.3, time, x);
    double level = mu - 0.5 * s * s / k;
    for (size_t i = 1; i < N; i++)
        exact += exact_ou(log(x[i - 1]) - level, log(x[i]) - level, k, s,
                          time[i] - time[i - 1]) -
                 log(x[i]);
    gsv_model *m = model_of("state x\n param k = 1.3 > 0, mu = 0.2, s = 0.5 > 0"
                            "\n dx = k*(mu - log(x))*x*dt + s*x*dW");
    gsv_series *series = track_of(m, N, time, x);
    gsv_options o = default_options();
    gsv_result r = loglik_of(m, series, &o);
    assert_near(r.loglik, exact, 1e-9);
    gsv_result_free(&r);
    gsv_series_free(series);
    gsv_model_free(m);
}

/* Without reversion a square root process is Bessel's, squared: its potential
 * and its boundary are all there is, and a single step has no error. */
static void bessel__is_exact_in_one_step(void **state)
{
    (void)state;
    enum { N = 8 };
    static const double DIMENSION[] = {1.2, 2.0, 3.0, 5.5};
    double time[N], x[N];
    wander(N, 0.01, 2.0, 0.5, time, x);
    for (size_t c = 0; c < COUNT(DIMENSION); c++) {
        double delta = DIMENSION[c], nu = 0.5 * delta - 1.0, exact = 0.0;
        for (size_t i = 1; i < N; i++) {
            double h = time[i] - time[i - 1], a = x[i - 1], b = x[i];
            exact += -log(2.0 * h) + 0.5 * nu * log(b / a) - 0.5 * (a + b) / h +
                     log_bessel(nu, sqrt(a * b) / h);
        }
        gsv_model *m = model_of("state x\n param n = 2\n"
                                "dx = n*dt + 2*sqrt(x)*dW");
        assert_int_equal(gsv_model_set(m, "n", 1, &delta), 0);
        gsv_series *s = track_of(m, N, time, x);
        gsv_options o = default_options();
        o.reference = GSV_REFERENCE_BROWNIAN;
        o.form = GSV_FORM_STRATONOVICH;
        o.steps = 1;
        gsv_result r = loglik_of(m, s, &o);
        assert_near(r.loglik, exact, 1e-7);
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- The square root process ---------------------------------------------- */

/* The log-likelihood of defaults, within `most` of the exact one. */
static void check_cir(struct cir p, double low, double high, double h,
                      double most)
{
    enum { N = 10, SEEDS = 8 };
    double time[N], x[N], exact = 0.0;
    wander(N, low, high, h, time, x);
    for (size_t i = 1; i < N; i++)
        exact += exact_cir(p, x[i - 1], x[i], h);
    gsv_model *m = cir_model(p);
    gsv_series *s = track_of(m, N, time, x);
    double mean = 0.0, variance = 0.0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        gsv_options o = default_options();
        o.seed = seed;
        gsv_result r = loglik_of(m, s, &o);
        assert_true(fabs(r.loglik - exact) < fmax(most, 3.0 * r.error));
        mean += r.loglik / SEEDS;
        variance += r.error * r.error / SEEDS;
        gsv_result_free(&r);
    }
    print_message("2 k m / s^2 = %g, h = %g: %.5f, exact %.5f, error %.5f\n",
                  2.0 * p.k * p.m / (p.s * p.s), h, mean, exact,
                  sqrt(variance));
    assert_near(mean, exact, most);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void cir__defaults_are_near(void **state)
{
    (void)state;
    check_cir((struct cir){1.5, 1.0, 0.5}, 0.6, 1.6, 0.1, 0.005);
    check_cir((struct cir){1.5, 0.5, 0.35}, 0.25, 0.9, 0.3, 0.005);
}

static void cir__near_the_boundary(void **state)
{
    (void)state;
    check_cir((struct cir){1.5, 0.5, 0.79}, 0.03, 1.0, 0.1, 0.02);
    check_cir((struct cir){1.5, 0.5, 0.79}, 0.05, 1.0, 0.25, 0.02);
    check_cir((struct cir){1.5, 0.5, 1.0}, 0.02, 1.0, 0.1, 0.02);
}

/* By differences of the exact log-likelihood. */
static void cir__score_is_near(void **state)
{
    (void)state;
    enum { N = 10 };
    const struct cir p = {1.5, 1.0, 0.5};
    double time[N], x[N], score[3];
    wander(N, 0.5, 1.8, 0.1, time, x);
    for (size_t q = 0; q < 3; q++) {
        double sum = 0.0;
        for (int sign = -1; sign <= 1; sign += 2) {
            struct cir at = p;
            double *value = q == 0 ? &at.k : q == 1 ? &at.m : &at.s;
            *value += sign * 1e-5;
            for (size_t i = 1; i < N; i++)
                sum += sign * exact_cir(at, x[i - 1], x[i], 0.1);
        }
        score[q] = sum / 2e-5;
    }
    gsv_model *m = cir_model(p);
    gsv_series *s = track_of(m, N, time, x);
    gsv_options o = default_options();
    o.gradient = true;
    gsv_result r = loglik_of(m, s, &o);
    for (size_t q = 0; q < 3; q++)
        assert_near(r.gradient[q], score[q], 0.01 * (1.0 + fabs(score[q])));
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Jacobi's process: two boundaries --------------------------------------
 */

/* Polynomial number n of Jacobi at y, by its recurrence. */
static double polynomial(size_t n, double a, double b, double y)
{
    double before = 1.0, now = 0.5 * (a - b + (a + b + 2.0) * y);
    if (!n) return 1.0;
    for (size_t i = 2; i <= n; i++) {
        double k = (double)i, c = 2.0 * k + a + b;
        double first = 2.0 * k * (k + a + b) * (c - 2.0);
        double second = (c - 1.0) * (c * (c - 2.0) * y + a * a - b * b);
        double third = 2.0 * (k + a - 1.0) * (k + b - 1.0) * c;
        double next = (second * now - third * before) / first;
        before = now;
        now = next;
    }
    return now;
}

/* dX = k (m - X) dt + s sqrt(X (1 - X)) dW by its eigenfunctions: polynomials,
 * orthogonal under the stationary Beta law. */
static double exact_jacobi(struct cir p, double x, double y, double h)
{
    double low = 2.0 * p.k * p.m / (p.s * p.s);
    double high = 2.0 * p.k * (1.0 - p.m) / (p.s * p.s);
    double a = high - 1.0, b = low - 1.0, sum = 0.0;
    double log_beta = lgamma(low) + lgamma(high) - lgamma(low + high);
    for (size_t n = 0; n < 100; n++) {
        double k = (double)n;
        double rate = k * p.k + 0.5 * k * (k - 1.0) * p.s * p.s;
        double norm = lgamma(k + a + 1.0) + lgamma(k + b + 1.0) -
                      lgamma(k + 1.0) - lgamma(k + a + b + 1.0) - log_beta;
        norm -= n ? log(2.0 * k + a + b + 1.0) : log(a + b + 1.0);
        sum += exp(-rate * h - norm) * polynomial(n, a, b, 2.0 * x - 1.0) *
               polynomial(n, a, b, 2.0 * y - 1.0);
    }
    return b * log(y) + a * log(1.0 - y) - log_beta + log(sum);
}

static void jacobi__defaults_are_near(void **state)
{
    (void)state;
    enum { N = 10 };
    static const struct cir CASE[] = {{1.0, 0.4, 0.4}, {1.0, 0.5, 0.8}};
    static const double MOST[] = {0.005, 0.02};
    for (size_t c = 0; c < COUNT(CASE); c++) {
        struct cir p = CASE[c];
        double time[N], x[N], exact = 0.0;
        wander(N, 0.1, 0.9, 0.2, time, x);
        for (size_t i = 1; i < N; i++)
            exact += exact_jacobi(p, x[i - 1], x[i], 0.2);
        gsv_model *m = model_of("state x\n param k = 1, m = 0.4, s = 1 > 0\n"
                                "dx = k*(m - x)*dt + s*sqrt(x*(1 - x))*dW");
        assert_int_equal(gsv_model_set(m, "k", 1, &p.k), 0);
        assert_int_equal(gsv_model_set(m, "m", 1, &p.m), 0);
        assert_int_equal(gsv_model_set(m, "s", 1, &p.s), 0);
        gsv_series *s = track_of(m, N, time, x);
        gsv_options o = default_options();
        o.paths = 256;
        gsv_result r = loglik_of(m, s, &o);
        print_message("jacobi: %.5f +- %.5f, exact %.5f\n", r.loglik, r.error,
                      exact);
        assert_near(r.loglik, exact, MOST[c]);
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- Domains ----------------------------------------------------------------
 */

static void domain__names_the_row(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } CASE[] = {
        {"state x\n dx = -x*dt + 0.1*x*dW", "x = 0, but the noise"},
        {"state x\n dx = -x*dt + 0.1*sqrt(x)*dW", "needs x > 0"},
        {"state x\n dx = -x*dt + sqrt(x*(1 - x))*dW", "time 3 has x = 2"},
        {"state z = log(x)\n dz = -z*dt + dW", "x = 0, but the state"},
    };
    const double time[] = {1.0, 2.0, 3.0}, zero[] = {0.5, 0.0, 1.0};
    const double two[] = {0.5, 0.4, 2.0};
    for (size_t c = 0; c < COUNT(CASE); c++) {
        gsv_model *m = model_of(CASE[c].text);
        gsv_series *s = track_of(m, 3, time, c == 2 ? two : zero);
        gsv_options o = default_options();
        gsv_result r;
        assert_int_equal(gsv_loglik(m, s, &o, &r), GSV_BAD_INPUT);
        if (!strstr(gsv_last_error(), CASE[c].said))
            fail_msg("'%s' is not in: %s", CASE[c].said, gsv_last_error());
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* Brownian paths leave the range all the time, and weigh nothing there. */
static void range__is_never_left(void **state)
{
    (void)state;
    const struct cir p = {1.5, 0.5, 1.2};
    const double time[] = {0.0, 1.0, 2.0}, x[] = {0.02, 0.05, 0.01};
    double exact =
        exact_cir(p, x[0], x[1], 1.0) + exact_cir(p, x[1], x[2], 1.0);
    gsv_model *m = cir_model(p);
    gsv_series *s = track_of(m, 3, time, x);
    gsv_options o = default_options();
    o.reference = GSV_REFERENCE_BROWNIAN;
    o.form = GSV_FORM_STRATONOVICH;
    o.paths = 65536 / SLOWER;
    o.steps = 64;
    gsv_result r = loglik_of(m, s, &o);
    assert_near(r.loglik, exact, TOLERANCE * r.error + 0.01);
    assert_true(r.error < 0.05);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Boundaries ------------------------------------------------------------
 */

/* h = 1 - exp(-2 z) where a = 1; it dies out far away; slopes by differences.
 */
static void barrier__value_and_slopes(void **state)
{
    (void)state;
    static const double A[] = {-0.3, 0.2,  0.7,  1.0,  2.3,  6.0,  9.5,
                               14.0, 16.4, 16.6, 25.0, 80.0, 300.0};
    static const double LEFT[] = {0.02, 0.4, 1.7}, RIGHT[] = {0.05, 0.3, 2.5};
    double dt = 0.05, step = 1e-6;
    assert_near(barrier(1.0, 0.1, 0.2, dt), log1p(-exp(-2.0 * 0.02 / dt)),
                1e-12);
    for (size_t i = 0; i < COUNT(A); i++) {
        double a = A[i];
        assert_true(barrier_exists(a));
        assert_near(barrier(a, 30.0 + a * a, 30.0 + a * a, dt), 0.0, 1e-5);
        for (size_t j = 0; j < COUNT(LEFT); j++) {
            double l = LEFT[j], r = RIGHT[j];
            double z = l * r / dt;
            double h = 0.5 * log(2.0 * EXACT_PI * z) - z +
                       log_bessel(a - 0.5, z) +
                       0.25 * (a * a - a) * dt * (1 / (l * l) + 1 / (r * r));
            assert_near(barrier(a, l, r, dt), h, 1e-9 * (1.0 + fabs(h)));
            struct barrier_slope b = barrier_slopes(a, l, r, dt);
            double by_a =
                (barrier(a + step, l, r, dt) - barrier(a - step, l, r, dt)) /
                (2.0 * step);
            double by_l =
                (barrier(a, l + step, r, dt) - barrier(a, l - step, r, dt)) /
                (2.0 * step);
            double by_r =
                (barrier(a, l, r + step, dt) - barrier(a, l, r - step, dt)) /
                (2.0 * step);
            assert_near(b.a, by_a, 1e-4 * (1.0 + fabs(by_a)));
            assert_near(b.left, by_l, 1e-4 * (1.0 + fabs(by_l)));
            assert_near(b.right, by_r, 1e-4 * (1.0 + fabs(by_r)));
        }
    }
    assert_false(barrier_exists(NAN));
    assert_false(barrier_exists(-0.5));
    assert_false(barrier_exists(INFINITY));
}

/* References by the model's own values and by frozen ones; differences. */
static void gradient__is_that_of_the_value(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "state x\n param k = 1.5 > 0, m = 0.5 > 0, s = 1.0 > 0\n"
        "dx = k*(m - x)*dt + s*sqrt(x)*dW",
        "state x\n param mu = 0.3, s = 0.4 > 0\n"
        "dx = (mu*x - 0.1*x^2)*dt + s*x*dW",
        "state x\n param k = 1, s = 0.4 > 0\n"
        "dx = k*(1 - x)*dt + s*(1 + 0.3*sin(t))*x*dW"};
    enum { N = 8 };
    double time[N], x[N];
    wander(N, 0.05, 2.0, 0.2, time, x);
    for (size_t c = 0; c < COUNT(TEXT); c++) {
        gsv_model *m = model_of(TEXT[c]);
        gsv_series *s = track_of(m, N, time, x);
        gsv_options o = default_options();
        gsv_gradient_check check;
        assert_int_equal(gsv_check_gradient(m, s, &o, &check), 0);
        assert_true(check.worst < 1e-6);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gbm__is_exact),
        cmocka_unit_test(log_ou__is_exact),
        cmocka_unit_test(bessel__is_exact_in_one_step),
        cmocka_unit_test(cir__defaults_are_near),
        cmocka_unit_test(cir__near_the_boundary),
        cmocka_unit_test(cir__score_is_near),
        cmocka_unit_test(jacobi__defaults_are_near),
        cmocka_unit_test(domain__names_the_row),
        cmocka_unit_test(range__is_never_left),
        cmocka_unit_test(barrier__value_and_slopes),
        cmocka_unit_test(gradient__is_that_of_the_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
