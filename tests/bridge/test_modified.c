/* SPDX-License-Identifier: MIT */
/* Modified bridges against laws that are known: Euler's chain, geometric
 * Brownian motion, the square-root process, and a pair with stochastic
 * volatility. */
#include <complex.h>

#include "bridged.h"

static gsv_options many_paths(size_t paths, size_t steps)
{
    gsv_options o = default_options();
    o.paths = paths;
    o.steps = steps;
    return o;
}

static double value_of(const gsv_model *m, const gsv_series *s,
                       const gsv_options *o)
{
    gsv_result r = loglik_of(m, s, o);
    double value = r.loglik;
    gsv_result_free(&r);
    return value;
}

/* --- Constant noise ------------------------------------------------------- */

static const double TIME[] = {0.0, 0.5, 0.7, 1.6};
enum { ROWS = COUNT(TIME) };

/* Without a drift every weight is the density itself. */
static void modified__is_exact_without_drift(void **state)
{
    (void)state;
    gsv_model *m =
        bridged_of("state x[2]\n param L[2,2] = [0.8,0.3, -0.4,0.9]\n"
                   "dx = L @ dW");
    static const double x[2 * ROWS] = {0, 0.3, 0.1, 0.9, 1, 0.6, 1.4, 0.2};
    static const double zero[4] = {0}, L[4] = {0.8, 0.3, -0.4, 0.9};
    gsv_series *s = track_of(m, ROWS, TIME, x);
    double exact = 0.0;
    for (size_t i = 1; i < ROWS; i++) {
        struct exact_law law =
            exact_point(2, (double[2]){x[i - 1], x[ROWS + i - 1]});
        exact_step(&law, zero, zero, 2, L, TIME[i] - TIME[i - 1]);
        exact += exact_density(&law, (double[2]){x[i], x[ROWS + i]});
    }
    for (size_t M = 1; M < 12; M++)
        for (size_t K = 1; K <= 64; K *= 8) {
            gsv_options o = many_paths(K, M);
            o.richardson = K == 8;
            gsv_result r = loglik_of(m, s, &o);
            assert_near(r.loglik, exact, 1e-11);
            if (M > 1) assert_near(r.discretisation, 0.0, 1e-11);
            if (r.paths > 1) assert_near(r.error, 0.0, 1e-7);
            if (r.paths > 1) assert_near(r.ess_min, (double)r.paths, 1e-6);
            assert_int_equal(r.gap[0].reference, GSV_REFERENCE_MODIFIED);
            assert_int_equal(r.gap[0].form, GSV_FORM_EULER);
            gsv_result_free(&r);
        }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Euler's chain of a linear drift: the limit for many paths, in both walks. The
 * second one has an odd last step alone. */
static void modified__tends_to_eulers_chain(void **state)
{
    (void)state;
    static const double A[4] = {-1.0, 0.7, -0.5, -0.8}, b[2] = {0.3, -0.2};
    static const double L[4] = {0.8, 0.0, 0.4, 0.6};
    gsv_model *m =
        bridged_of("state x[2]\n param A[2,2] = [-1,0.7, -0.5,-0.8]\n"
                   "param b[2] = [0.3, -0.2]\n"
                   "param L[2,2] = [0.8,0, 0.4,0.6] lower\n"
                   "dx = (A @ x + b)*dt + L @ dW");
    const double x[4] = {0.3, 0.1, 1.0, 0.6}, time[2] = {0.0, 0.9};
    gsv_series *s = track_of(m, 2, time, x);
    for (size_t M = 1; M <= 9; M++) {
        gsv_options o = many_paths(1 << 15, M);
        struct exact_law fine = exact_point(2, (double[2]){x[0], x[2]});
        struct exact_law coarse = fine;
        o.random = M % 3 ? GSV_RANDOM_SOBOL : GSV_RANDOM_IID;
        for (size_t i = 0; i < M; i++)
            exact_step(&fine, A, b, 2, L, 0.9 / (double)M);
        for (size_t i = 0, half = (M + 1) / 2; i < half; i++)
            exact_step(&coarse, A, b, 2, L, 0.9 / (double)half);
        double l = exact_density(&fine, (double[2]){x[1], x[3]});
        double l2 = exact_density(&coarse, (double[2]){x[1], x[3]});
        gsv_result r = loglik_of(m, s, &o);
        assert_true(r.error < 0.02);
        assert_limit(&r, l);
        if (M > 1)
            assert_near(r.discretisation, l - l2, TOLERANCE * 2.0 * r.error);
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* With constant noise it is the Brownian bridge with left sums: number by
 * number, the longer steps and the gradient too. */
static void modified__is_the_brownian_bridge_of_constant_noise(void **state)
{
    (void)state;
    static const char TEXT[] = "state x, y\n param a = 1.3, p = 0.4 > 0\n"
                               "param q = 0.2\n dx = (y - x^3)*dt + p*dW1\n"
                               "dy = (a*sin(x) - y)*dt + q*dW1 + 0.7*dW2";
    gsv_model *plain = model_of(TEXT), *m = bridged_of(TEXT);
    gsv_series *s = walk_of(m, 2, 4, 0.3, 4);
    for (size_t n = 0; n < 32; n++) {
        gsv_options o = default_options();
        o.paths = 32;
        o.steps = 1 + n % 8;
        o.random = n % 3 ? GSV_RANDOM_SOBOL : GSV_RANDOM_IID;
        o.richardson = n / 8 % 2;
        o.joint = n / 16 % 2;
        o.gradient = true;
        gsv_result r = loglik_of(m, s, &o);
        o.reference = GSV_REFERENCE_BROWNIAN;
        o.form = GSV_FORM_ITO;
        gsv_result q = loglik_of(plain, s, &o);
        assert_near(r.loglik, q.loglik, 1e-10);
        if (r.paths > 1) assert_near(r.error, q.error, 1e-9);
        if (o.steps > 1) assert_near(r.discretisation, q.discretisation, 1e-9);
        for (size_t i = 0; i < r.values; i++)
            assert_near(r.gradient[i], q.gradient[i], 1e-8);
        gsv_result_free(&r);
        gsv_result_free(&q);
    }
    gsv_series_free(s);
    gsv_model_free(plain);
    gsv_model_free(m);
}

/* --- Laws of one dimension -------------------------------------------------
 */

/* The error halves with the steps; extrapolation leaves a fraction of it. */
static void assert_first_order(const gsv_model *m, const gsv_series *s,
                               double exact)
{
    double off[3];
    for (size_t i = 0; i < 3; i++) {
        gsv_options o =
            many_paths(SLOWER > 1 ? 1 << 15 : 1 << 17, (size_t)4 << i);
        off[i] = value_of(m, s, &o) - exact;
        o.richardson = true;
        double better = value_of(m, s, &o) - exact;
        if (!(fabs(better) < 0.4 * fabs(off[i])))
            fail_msg("%zu steps: extrapolation leaves %g of %g", (size_t)4 << i,
                     better, off[i]);
        if (i && !(off[i - 1] / off[i] > 1.7 && off[i - 1] / off[i] < 2.6))
            fail_msg("%zu steps: %g after %g", (size_t)4 << i, off[i],
                     off[i - 1]);
    }
}

static void modified__is_of_first_order_on_a_geometric_motion(void **state)
{
    (void)state;
    static const double x[ROWS] = {1.0, 1.3, 1.25, 1.8};
    gsv_model *m = bridged_of(GBM);
    gsv_series *s = track_of(m, ROWS, TIME, x);
    double exact = 0.0;
    for (size_t i = 1; i < ROWS; i++)
        exact += exact_gbm(x[i - 1], x[i], 0.5, 0.3, TIME[i] - TIME[i - 1]);
    assert_first_order(m, s, exact);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void modified__is_of_first_order_on_a_square_root_process(void **state)
{
    (void)state;
    static const double x[ROWS] = {1.0, 0.6, 0.75, 1.5};
    gsv_model *m = bridged_of(CIR);
    gsv_series *s = track_of(m, ROWS, TIME, x);
    double exact = 0.0;
    for (size_t i = 1; i < ROWS; i++)
        exact +=
            exact_cir(x[i - 1], x[i], 1.0, 1.0, 0.6, TIME[i] - TIME[i - 1]);
    assert_first_order(m, s, exact);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The square-root process once more, by its logarithm. */
static void modified__goes_through_a_map_of_the_data(void **state)
{
    (void)state;
    static const double x[ROWS] = {1.0, 0.6, 0.75, 1.5};
    gsv_model *m =
        logarithm_of("state z\n param k = 1, m = 1 > 0, s = 0.6 > 0\n"
                     "dz = ((k*m - s^2/2)*exp(-z) - k)*dt + s*exp(-z/2)*dW",
                     NULL);
    gsv_series *s = track_of(m, ROWS, TIME, x);
    gsv_options o = many_paths(1 << 15, 32);
    double exact = 0.0;
    for (size_t i = 1; i < ROWS; i++)
        exact +=
            exact_cir(x[i - 1], x[i], 1.0, 1.0, 0.6, TIME[i] - TIME[i - 1]);
    o.richardson = true;
    gsv_result r = loglik_of(m, s, &o);
    assert_true(r.error < 0.02);
    assert_near(r.loglik, exact, 0.01);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Stochastic volatility --------------------------------------------------
 */

/* dx = (mu - v/2) dt + sqrt(v) dW1,
 * dv = k (m - v) dt + s sqrt(v) (r dW1 + sqrt(1 - r^2) dW2). */
enum { NU = 7 };
static const double MU = 0.1, KAPPA = 2.0, MEAN = 0.5, VOL = 0.5, RHO = -0.6;

#define HESTON                                                                 \
    "state x, v\n param mu = 0.1, k = 2, m = 0.5 > 0, s = 0.5 > 0, r = -0.6\n" \
    "dx = (mu - v/2)*dt + sqrt(v)*dW1\n"                                       \
    "dv = k*(m - v)*dt + s*sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)"
/* The same with its noises the other way round: no triangular matrix. */
#define TURNED                                                                 \
    "state x, v\n param mu = 0.1, k = 2, m = 0.5 > 0, s = 0.5 > 0, r = -0.6\n" \
    "dx = (mu - v/2)*dt + sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)\n"               \
    "dv = k*(m - v)*dt + s*sqrt(v)*dW1"

/* I_NU(z) by its series. */
static double complex bessel(double complex z)
{
    double complex term = 1.0, sum = 0.0;
    for (int j = 1; j <= NU; j++)
        term *= 0.5 * z / j;
    for (int j = 0; j < 300 && cabs(term) > 1e-18 * cabs(sum); j++) {
        sum += term;
        term *= 0.25 * z * z / ((j + 1.0) * (j + 1.0 + NU));
    }
    return sum;
}

/* E[exp(-a V) | v0, v1], V the integral of v over time h (Broadie and Kaya). Of
 * integer order, so that there is no branch to take. */
static double complex transform(double complex a, double v0, double v1,
                                double h)
{
    double s2 = VOL * VOL, e0 = exp(-KAPPA * h), root = 4.0 * sqrt(v0 * v1);
    double complex g = csqrt(KAPPA * KAPPA + 2.0 * s2 * a), e = cexp(-g * h);
    double complex scale =
        g * cexp(-0.5 * (g - KAPPA) * h) * (1.0 - e0) / (KAPPA * (1.0 - e));
    double complex power =
        KAPPA * (1.0 + e0) / (1.0 - e0) - g * (1.0 + e) / (1.0 - e);
    return scale * cexp((v0 + v1) / s2 * power) *
           bessel(root * g * cexp(-0.5 * g * h) / (s2 * (1.0 - e))) /
           bessel(root * KAPPA * exp(-0.5 * KAPPA * h) / (s2 * (1.0 - e0)));
}

/* Given v's path, x1 is normal with mean x0 + A + B V and variance q^2 V: the
 * inverse of its characteristic function, given v1, by trapezoids. */
static double exact_heston(const double *from, const double *to, double h)
{
    enum { NODES = 300 };
    double q2 = 1.0 - RHO * RHO, width = 30.0 / NODES, sum = 0.0;
    double A = MU * h + RHO / VOL * (to[1] - from[1] - KAPPA * MEAN * h);
    double B = RHO * KAPPA / VOL - 0.5, x = to[0] - from[0] - A;
    assert_near(2.0 * KAPPA * MEAN / (VOL * VOL) - 1.0, NU, 1e-12);
    for (int i = 0; i <= NODES; i++) {
        double u = i * width;
        double complex a = 0.5 * u * u * q2 - I * u * B;
        sum += (i ? 1.0 : 0.5) *
               creal(cexp(-I * u * x) * transform(a, from[1], to[1], h));
    }
    return sum * width / EXACT_PI *
           exp(exact_cir(from[1], to[1], KAPPA, MEAN, VOL, h));
}

static void exact__volatility_has_the_mass_of_a_law(void **state)
{
    (void)state;
    static const double from[2] = {0.0, 0.4};
    double sum = 0.0, dx = 0.1, dv = 0.03;
    for (int i = -30; i <= 30; i++)
        for (int j = 1; j < 60; j++)
            sum += exact_heston(from, (double[2]){i * dx, j * dv}, 0.5);
    assert_near(sum * dx * dv, 1.0, 1e-4);
}

/* Each seed's estimate scatters by about its own standard error or less. */
static void assert_volatility(const char *text, size_t seeds)
{
    static const double time[] = {0.0, 0.4, 0.6, 1.2};
    static const double x[2 * ROWS] = {0.0, 0.3, 0.1, -0.5,
                                       0.5, 0.4, 0.6, 0.35};
    gsv_model *m = model_of(text);
    gsv_series *s = track_of(m, ROWS, time, x);
    double exact = 0.0, sum = 0.0, squares = 0.0, n = (double)seeds;
    for (size_t i = 1; i < ROWS; i++)
        exact += log(exact_heston((double[2]){x[i - 1], x[ROWS + i - 1]},
                                  (double[2]){x[i], x[ROWS + i]},
                                  time[i] - time[i - 1]));
    for (size_t i = 0; i < seeds; i++) {
        gsv_options o = many_paths(512, 32);
        o.richardson = o.delta = true;
        o.seed = 1 + i;
        gsv_result r = loglik_of(m, s, &o);
        sum += r.loglik;
        squares += r.loglik * r.loglik;
        assert_int_equal(r.gap[0].reference, GSV_REFERENCE_MODIFIED);
        gsv_result_free(&r);
    }
    double mean = sum / n;
    double error = sqrt((squares / n - mean * mean) / (n - 1.0));
    if (!(error < 0.02 && fabs(mean - exact) < 2.0 * error))
        fail_msg("%g +- %g instead of %g", mean, error, exact);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void modified__knows_stochastic_volatility(void **state)
{
    (void)state;
    assert_volatility(HESTON, 24);
    assert_volatility(TURNED, 24);
}

/* A matrix that is factored point by point gives what a triangular one gives
 * that is written out, with its gradient: the two differ by a zero that only
 * looks like a number. */
static void modified__does_not_mind_how_the_matrix_is_written(void **state)
{
    (void)state;
#define TRIPLE(extra)                                                          \
    "state x, y, z\n param c = 0.4\n"                                          \
    "dx = -x*dt + (1 + c*y^2)*dW1\n"                                           \
    "dy = -y*dt + c*dW1 + (2 + sin(z))*dW2" extra "\n"                         \
    "dz = c*x*dt + x*dW1 + c*y*dW2 + 1.5*dW3"
    gsv_model *m[2] = {model_of(TRIPLE("")), model_of(TRIPLE("+ 1e-300*dW3"))};
    gsv_series *s = walk_of(m[0], 2, 5, 0.3, 4);
    gsv_result r[2];
    for (size_t i = 0; i < 2; i++) {
        gsv_options o = many_paths(64, 7);
        o.gradient = true;
        r[i] = loglik_of(m[i], s, &o);
    }
    assert_near(r[0].loglik, r[1].loglik, 1e-10);
    assert_near(r[0].gradient[0], r[1].gradient[0], 1e-9);
    for (size_t i = 0; i < 2; i++) {
        gsv_result_free(&r[i]);
        gsv_model_free(m[i]);
    }
    gsv_series_free(s);
}

/* --- Options -----------------------------------------------------------------
 */

static void modified__refuses_what_does_not_apply(void **state)
{
    (void)state;
    static const double x[ROWS] = {1.0, 0.6, 0.75, 1.5};
    gsv_model *m = bridged_of(CIR);
    gsv_model *plain = model_of("state x\n dx = -x*dt + dW");
    gsv_series *s = track_of(m, ROWS, TIME, x);
    gsv_result r;
    for (int i = GSV_REFERENCE_AUTO; i <= GSV_REFERENCE_MODIFIED; i++)
        for (int j = GSV_FORM_AUTO; j <= GSV_FORM_EULER; j++) {
            gsv_options o = default_options();
            o.reference = (enum gsv_reference)i;
            o.form = (enum gsv_form)j;
            bool fits = (!i || i == GSV_REFERENCE_MODIFIED) &&
                        (!j || j == GSV_FORM_EULER);
            bool plain_fits =
                i != GSV_REFERENCE_MODIFIED && j != GSV_FORM_EULER;
            int status = gsv_loglik(m, s, &o, &r);
            assert_int_equal(status, fits ? 0 : GSV_BAD_INPUT);
            if (!fits) assert_non_null(strstr(gsv_last_error(), "to auto"));
            gsv_result_free(&r);
            status = gsv_loglik(plain, s, &o, &r);
            assert_int_equal(status, plain_fits ? 0 : GSV_BAD_INPUT);
            gsv_result_free(&r);
        }
    gsv_options o = default_options();
    o.steps = 50000000;
    assert_int_equal(gsv_loglik(m, s, &o, &r), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "fewer steps"));
    gsv_series_free(s);
    gsv_model_free(plain);
    gsv_model_free(m);
}

/* With few steps the estimate says that they are too long. */
static void modified__flags_steps_that_are_too_long(void **state)
{
    (void)state;
    static const double x[2] = {1.0, 2.2}, time[2] = {0.0, 1.0};
    gsv_model *m = bridged_of(GBM);
    gsv_series *s = track_of(m, 2, time, x);
    for (size_t M = 2; M <= 64; M *= 32) {
        gsv_options o = many_paths(4096, M);
        gsv_result r = loglik_of(m, s, &o);
        bool flag = r.gap[0].flags & GSV_FLAG_STEPS;
        assert_int_equal(flag, M == 2);
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modified__is_exact_without_drift),
        cmocka_unit_test(modified__tends_to_eulers_chain),
        cmocka_unit_test(modified__is_the_brownian_bridge_of_constant_noise),
        cmocka_unit_test(modified__is_of_first_order_on_a_geometric_motion),
        cmocka_unit_test(modified__is_of_first_order_on_a_square_root_process),
        cmocka_unit_test(modified__goes_through_a_map_of_the_data),
        cmocka_unit_test(exact__volatility_has_the_mass_of_a_law),
        cmocka_unit_test(modified__knows_stochastic_volatility),
        cmocka_unit_test(modified__does_not_mind_how_the_matrix_is_written),
        cmocka_unit_test(modified__refuses_what_does_not_apply),
        cmocka_unit_test(modified__flags_steps_that_are_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
