/* SPDX-License-Identifier: MIT */
/* One state: laws, times and committors against closed forms and against
 * double integrals. */
#include "physics.h"

#include <math.h>

/* --- Stationary laws ------------------------------------------------------ */

static double normal(double x)
{
    return exp(-(x - 2) * (x - 2)) / sqrt(M_PI);
}

/* k = 1, m = 0.5, s = 0.6: shape 2 k m / s^2, rate 2 k / s^2. */
static double gamma_law(double x)
{
    double a = 1.0 / 0.36, b = 2.0 / 0.36;
    return exp(a * log(b) - lgamma(a) + (a - 1) * log(x) - b * x);
}

/* A density that is infinite at 0: shape 0.5. */
static double gamma_half(double x)
{
    return exp(-x) / sqrt(M_PI * x);
}

static double beta_law(double x)
{
    double a = 0.8 / 0.64, b = 1.2 / 0.64;
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1) * log(x) +
               (b - 1) * log1p(-x));
}

/* dx = k (m - x) dt + s x dW: 1/x has a gamma law. */
static double inverse_gamma(double x)
{
    double a = 1 + 2 / 0.36, b = 4 / 0.36;
    return exp(a * log(b) - lgamma(a) - (a + 1) * log(x) - b / x);
}

/* dx = -x dt + sqrt(1 + x^2) dW: (1 + x^2)^-2, Student's with 3 degrees. */
static double student(double x)
{
    return 2.0 / M_PI / ((1 + x * x) * (1 + x * x));
}

/* dx = -k (log x - m) x dt + s x dW; m is that of the Ito drift. */
static double lognormal(double x)
{
    double v = 0.09 / 2, u = log(x) - (0.7 - 0.045);
    return exp(-u * u / (2 * v)) / (x * sqrt(2 * M_PI * v));
}

static const struct {
    const char *name, *text;
    double low, high, mean, sd;
    double relaxation[2]; /* 0: not compared */
    double (*law)(double x);
} LAW[] = {
    {"normal",
     "state x\n dx = (2 - x)*dt + dW",
     0,
     4,
     2,
     M_SQRT1_2,
     {1, 0.5},
     normal},
    {"normal seen in part",
     "state x\n dx = (2 - x)*dt + dW",
     2.5,
     3,
     2,
     M_SQRT1_2,
     {1, 0.5},
     normal},
    {"gamma",
     "state x\n dx = (0.5 - x)*dt + 0.6*sqrt(x)*dW",
     0.1,
     1.5,
     0.5,
     0.3,
     {1, 0.5},
     gamma_law},
    {"gamma, infinite at 0",
     "state x\n dx = (0.5 - x)*dt + sqrt(2*x)*dW",
     0.01,
     1.5,
     0.5,
     M_SQRT1_2,
     {1, 0.5},
     gamma_half},
    {"beta",
     "state x\n dx = (0.4 - x)*dt + 0.8*sqrt(x*(1 - x))*dW",
     0.05,
     0.9,
     0.4,
     0.2412090757,
     {1, 1 / 2.64},
     beta_law},
    {"inverse gamma",
     "state x\n dx = (2 - x)*dt + 0.6*x*dW",
     0.5,
     5,
     2,
     0.9370425713,
     {1, 1 / (2 - 0.36)},
     inverse_gamma},
    {"student",
     "state x\n dx = -x*dt + sqrt(1 + x^2)*dW",
     -3,
     3,
     0,
     1,
     {0, 0},
     student},
    {"lognormal",
     "state x\n dx = -(log(x) - 0.7)*x*dt + 0.3*x*dW",
     1,
     4,
     1.9689492, /* exp(0.655 + 0.0225) */
     0,
     {1, 0.5},
     lognormal},
};

static void line__has_the_stationary_laws_of_closed_forms(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(LAW); k++) {
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        gsv_model *m;
        physics_of(LAW[k].text, &LAW[k].low, &LAW[k].high, &o, &r, &m);
        assert_true(r.stationary);
        assert_true(fabs(r.mean[0].value - LAW[k].mean) < 1e-5);
        if (LAW[k].sd > 0)
            expect_near(LAW[k].name, r.sd[0].value, LAW[k].sd,
                        k == 6 ? 1e-3 : 1e-5);
        for (size_t i = 0; i < 2; i++)
            if (LAW[k].relaxation[i] > 0)
                expect_near(LAW[k].name, r.relaxation[i].value,
                            LAW[k].relaxation[i], 1e-4);
        for (size_t i = 0; i < r.cells; i++)
            expect_near(LAW[k].name, r.density[i].value, LAW[k].law(r.x[i]),
                        1e-3);
        assert_true(r.entropy.value == 0.0);
        gsv_physics_free(&r);
        gsv_model_free(m);
    }
}

/* --- Passages ------------------------------------------------------------- */

/* int_a^b s(y) int_low^y m(z) dz dy by the trapezoidal rule, for a < b. */
static double double_integral(double (*drift)(double), double (*a)(double),
                              double low, double from, double to)
{
    enum { N = 200000 };
    double h = (to - low) / N, phi = 0, M = 0, T = 0, m0 = 0, g0 = 0, r0 = 0;
    for (size_t k = 0; k <= N; k++) {
        double x = low + h * (double)k, r = 2 * drift(x) / a(x);
        if (k) phi += 0.5 * h * (r + r0);
        double m = 2 / a(x) * exp(phi);
        if (k) M += 0.5 * h * (m + m0);
        double g = exp(-phi) * M;
        if (k && x > from) T += 0.5 * h * (g + g0);
        m0 = m;
        g0 = g;
        r0 = r;
    }
    return T;
}

static double S; /* the noise of the double well */

static double well_drift(double x)
{
    return x - x * x * x;
}

static double well_noise(double x)
{
    (void)x;
    return S * S;
}

static double cir_drift(double x)
{
    return 0.5 - x;
}

static double cir_noise(double x)
{
    return 0.36 * x;
}

static void line__times_a_double_well_as_the_double_integral(void **state)
{
    (void)state;
    static const double NOISE[] = {1.0, 0.7, 0.5, 0.35, 0.25};
    double low = -1.5, high = 1.5, last = 10;
    for (size_t k = 0; k < COUNT(NOISE); k++) {
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        gsv_model *m;
        char text[100];
        S = NOISE[k];
        snprintf(text, sizeof text, "state x\n dx = (x - x^3)*dt + %g*dW", S);
        physics_of(text, &low, &high, &o, &r, &m);
        assert_int_equal(r.points, 3);
        assert_int_equal(r.passages, 2);
        assert_int_equal(r.point[1].stability, GSV_UNSTABLE);
        expect_near("x", r.point[2].x[0].value, 1, 1e-9);
        expect_near("eigenvalue", r.point[2].rate[0].value, -2, 1e-6);
        double T = double_integral(well_drift, well_noise, -2.3, -1, 1);
        expect_near(text, r.passage[0].time.value, T, 1e-4);
        expect_near(text, r.passage[1].time.value, T, 1e-4);
        expect_near("barrier", r.passage[0].barrier.value, 0.5 / (S * S), 1e-5);
        double kramers = M_SQRT2 * M_PI * exp(0.5 / (S * S));
        expect_near("Kramers", r.passage[0].kramers.value, kramers, 1e-4);
        double off = fabs(log(kramers / T));
        if (k > 2) assert_true(off < last); /* better for higher barriers */
        last = off;
        /* Two wells exchange at twice the rate of leaving one. */
        if (S < 0.3)
            expect_near("relaxation", r.relaxation[0].value, T / 2, 0.05);
        for (size_t i = 0; i < r.cells; i++)
            if (fabs(r.x[i]) < 1e-9)
                assert_true(fabs(r.committor[i] - 0.5) < 1e-6);
        gsv_physics_free(&r);
        gsv_model_free(m);
    }
    assert_true(last < 0.06);
}

static void line__times_regions_under_state_dependent_noise(void **state)
{
    (void)state;
    double low = 0.05, high = 2;
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    o.from = "x < 0.0001";
    o.to = "x > 1";
    physics_of("state x\n dx = (0.5 - x)*dt + 0.6*sqrt(x)*dW", &low, &high, &o,
               &r, &m);
    double T = double_integral(cir_drift, cir_noise, 1e-7, 1e-4, 1.0);
    expect_near("time", r.passage[0].time.value, T, 1e-3);
    assert_true(isnan(r.passage[0].kramers.value));
    assert_string_equal(r.passage[0].to, "x > 1");
    gsv_physics_free(&r);
    gsv_model_free(m);
}

/* --- Ranges --------------------------------------------------------------- */

/* Without a force a box has a uniform law, and its slowest mode is a cosine. */
static void line__reflects_at_given_ends(void **state)
{
    (void)state;
    double low = -1, high = 3;
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    const double end[] = {low, high};
    o.ends = 2;
    o.end = end;
    physics_of("state x\n dx = 0*dt + 0.5*dW", &low, &high, &o, &r, &m);
    expect_near("mean", r.mean[0].value, 1, 1e-6);
    expect_near("sd", r.sd[0].value, 4 / sqrt(12), 1e-5);
    expect_near("relaxation", r.relaxation[0].value, 16 / (M_PI * M_PI * 0.125),
                1e-4);
    gsv_physics_free(&r);
    gsv_model_free(m);
}

static void line__says_where_there_is_no_law(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "state x\n dx = dt + dW", "state x\n dx = x*dt + dW",
        "state x\n dx = 0.1*x*dt + 0.3*x*dW",
        "state x\n dx = (x^3 - x)*dt + dW",
        "state x\n dx = -0.2*x/(1 + x^2)*dt + dW"};
    double low = 0.5, high = 2;
    for (size_t k = 0; k < COUNT(TEXT); k++) {
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        gsv_model *m;
        physics_of(TEXT[k], &low, &high, &o, &r, &m);
        if (r.stationary) fail_msg("%s has no stationary law", TEXT[k]);
        assert_true(isnan(r.mean[0].value) && r.passages == 0);
        assert_true(isfinite(r.potential[0].value));
        assert_non_null(strstr(r.warning, "no stationary law"));
        gsv_physics_free(&r);
        gsv_model_free(m);
    }
}

/* The current of dx = (F - A sin x) dt + s dW by a double sum. */
static double ring_current(double F, double A, double s)
{
    enum { N = 1500 };
    static double phi[2 * N + 1];
    double h = 2 * M_PI / N, sum = 0;
    for (size_t k = 0; k <= 2 * N; k++) {
        double x = h * (double)k;
        phi[k] = 2 / (s * s) * (F * x + A * (cos(x) - 1));
    }
    for (size_t k = 0; k < N; k++)
        for (size_t j = 0; j <= N; j++)
            sum += h * h / 3 *
                   (j % N == 0 ? 1
                    : j % 2    ? 4
                               : 2) *
                   exp(phi[k] - phi[k + j]);
    return -expm1(-phi[N]) / (2 / (s * s) * sum);
}

static void line__turns_on_a_ring(void **state)
{
    (void)state;
    static const double CASE[][3] = {
        {0.7, 0, 0.5}, {-0.7, 0, 0.5}, {0.3, 1, 0.7}, {-0.3, 1, 0.7},
        {0, 1, 0.7},   {1e-4, 1, 0.7}, {1.5, 1, 0.3}};
    double low = 0, high = 6, L = 2 * M_PI;
    for (size_t k = 0; k < COUNT(CASE); k++) {
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        gsv_model *m;
        const double *c = CASE[k];
        char text[100];
        o.period = L;
        snprintf(text, sizeof text,
                 "state x\n dx = (%g - %g*sin(x))*dt + %g*dW", c[0], c[1],
                 c[2]);
        physics_of(text, &low, &high, &o, &r, &m);
        double J = ring_current(c[0], c[1], c[2]);
        if (!(fabs(r.current - J) <= 1e-3 * fabs(J) + 1e-12))
            fail_msg("%s: current %g instead of %g", text, r.current, J);
        double rate = J * 2 * c[0] * L / (c[2] * c[2]);
        assert_true(fabs(r.entropy.value - rate) <= 1e-3 * rate + 1e-12);
        gsv_physics_free(&r);
        gsv_model_free(m);
    }
}

/* Without noise the velocity is sqrt(F^2 - A^2). */
static void line__turns_on_a_steep_ring(void **state)
{
    (void)state;
    double low = 0, high = 6;
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    o.period = 2 * M_PI;
    physics_of("state x\n dx = (1.5 - sin(x))*dt + 0.02*dW", &low, &high, &o,
               &r, &m);
    expect_near("current", r.current * 2 * M_PI, sqrt(1.25), 1e-3);
    gsv_physics_free(&r);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line__has_the_stationary_laws_of_closed_forms),
        cmocka_unit_test(line__times_a_double_well_as_the_double_integral),
        cmocka_unit_test(line__times_regions_under_state_dependent_noise),
        cmocka_unit_test(line__reflects_at_given_ends),
        cmocka_unit_test(line__says_where_there_is_no_law),
        cmocka_unit_test(line__turns_on_a_ring),
        cmocka_unit_test(line__turns_on_a_steep_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
