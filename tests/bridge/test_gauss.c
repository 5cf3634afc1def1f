/* SPDX-License-Identifier: MIT */
/* gsv_bridge: the conditional law of Gaussian processes, for Brownian motion,
 * Ornstein-Uhlenbeck and integrated Brownian motion. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

#include "base/linalg.h"
#include "base/random.h"
#include "bridge/reference.h"
#include "girsanov.h"

enum { N = 6, PATHS = 20000 };

static double brownian(void *user, double s, double t)
{
    (void)user;
    return fmin(s, t);
}

/* Stationary, unit variance, rate 1.3. */
static double ou(void *user, double s, double t)
{
    (void)user;
    return exp(-1.3 * fabs(s - t));
}

/* W integrated from 0: s^2 (3 t - s) / 6 for s < t. */
static double integrated(void *user, double s, double t)
{
    (void)user;
    double a = fmin(s, t), b = fmax(s, t);
    return a * a * (3.0 * b - a) / 6.0;
}

static const double TIME[N] = {0.2, 0.5, 0.9, 1.4, 1.5, 2.3};

/* K(times, times), factored. */
static void factor(gsv_kernel k, double *L)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            L[i * N + j] = k(NULL, TIME[i], TIME[j]);
    assert_true(linalg_cholesky(N, L));
}

static void unconditional(const double *L, const double *z, double *y)
{
    for (size_t i = 0; i < N; i++) {
        y[i] = 0.0;
        for (size_t j = 0; j <= i; j++)
            y[i] += L[i * N + j] * z[j];
    }
}

/* The exact conditional mean and covariance at i, j. */
static void exact(gsv_kernel k, size_t i, size_t j, double y0, double y1,
                  double *mean, double *covariance)
{
    double a = TIME[0], b = TIME[N - 1];
    double k00 = k(NULL, a, a), k01 = k(NULL, a, b), k11 = k(NULL, b, b);
    double det = k00 * k11 - k01 * k01;
    double i0 = k(NULL, TIME[i], a), i1 = k(NULL, TIME[i], b);
    double j0 = k(NULL, TIME[j], a), j1 = k(NULL, TIME[j], b);
    double u0 = (k11 * i0 - k01 * i1) / det, u1 = (k00 * i1 - k01 * i0) / det;
    *mean = u0 * y0 + u1 * y1;
    *covariance = k(NULL, TIME[i], TIME[j]) - u0 * j0 - u1 * j1;
}

static void check_law(gsv_kernel k)
{
    static double z[N * PATHS];
    double L[N * N], sum[N] = {0}, cross[N * N] = {0};
    struct random_key key = {.seed = 7, .purpose = RANDOM_BRIDGE};
    random_normals(&key, 0, N, 0, PATHS, z);
    factor(k, L);
    for (size_t p = 0; p < PATHS; p++) {
        double draw[N], y[N];
        for (size_t i = 0; i < N; i++)
            draw[i] = z[i * PATHS + p];
        unconditional(L, draw, y);
        assert_int_equal(gsv_bridge(k, NULL, N, TIME, 0.7, -0.4, y), 0);
        assert_true(y[0] == 0.7 && y[N - 1] == -0.4);
        for (size_t i = 0; i < N; i++) {
            sum[i] += y[i];
            for (size_t j = 0; j < N; j++)
                cross[i * N + j] += y[i] * y[j];
        }
    }
    for (size_t i = 1; i + 1 < N; i++)
        for (size_t j = i; j + 1 < N; j++) {
            double mi, mj, cij, cii, cjj;
            exact(k, i, j, 0.7, -0.4, &mi, &cij);
            exact(k, i, i, 0.7, -0.4, &mi, &cii);
            exact(k, j, j, 0.7, -0.4, &mj, &cjj);
            double mean = sum[i] / PATHS;
            double covariance =
                cross[i * N + j] / PATHS - mean * sum[j] / PATHS;
            assert_true(fabs(mean - mi) < 5.0 * sqrt(cii / PATHS));
            assert_true(fabs(covariance - cij) <
                        5.0 * sqrt((cii * cjj + cij * cij) / PATHS));
        }
}

static void bridge__has_the_conditional_law(void **state)
{
    (void)state;
    check_law(brownian);
    check_law(ou);
    check_law(integrated);
}

/* A process from a fixed point: W from 0, whose bridge is known. */
static void bridge__from_a_fixed_start_is_the_brownian_bridge(void **state)
{
    (void)state;
    const double time[4] = {0.0, 1.0, 3.0, 4.0};
    double y[4] = {0.0, 0.3, -0.2, 0.5};
    assert_int_equal(gsv_bridge(brownian, NULL, 4, time, 2.0, 1.0, y), 0);
    assert_true(fabs(y[1] - (0.3 + 2.0 + 0.25 * (1.0 - 0.5 - 2.0))) < 1e-15);
    assert_true(fabs(y[2] - (-0.2 + 2.0 + 0.75 * (1.0 - 0.5 - 2.0))) < 1e-15);
    assert_true(y[0] == 2.0 && y[3] == 1.0);
}

/* The mean of an OU bridge by the recursion of the references: unit diffusion
 * and rate a is the stationary kernel exp(-a|s - t|) / 2a. */
static double ou_unit(void *user, double s, double t)
{
    double a = *(double *)user;
    return exp(-a * fabs(s - t)) / (2.0 * a);
}

static void bridge__of_ou_has_the_recursions_mean(void **state)
{
    (void)state;
    enum { M = 8 };
    double rate = 1.7, dt = 0.25, y0 = 1.2, y1 = -0.5, time[M + 1];
    double memory[4096], y[M + 1] = {0};
    struct reference r;
    assert_true(reference_size(1, M) < 4096);
    reference_place(&r, 1, M, memory);
    r.A[0] = -rate;
    r.b[0] = 0.0;
    assert_true(reference_build(&r, GSV_REFERENCE_LINEAR, M, dt));
    for (size_t m = 0; m <= M; m++)
        time[m] = dt * (double)m;
    assert_int_equal(gsv_bridge(ou_unit, &rate, M + 1, time, y0, y1, y), 0);
    double at = y0;
    for (size_t m = 0; m + 1 < M; m++) {
        at = r.B[m] * at + r.h[m] + r.G[m] * y1;
        assert_true(fabs(y[m + 1] - (at)) < 1e-12);
    }
}

static void bridge__refuses_what_cannot_be(void **state)
{
    (void)state;
    double y[3] = {0.0, 1.0, 2.0}, bad[3] = {0.0, NAN, 1.0};
    const double time[3] = {0.0, 1.0, 2.0}, back[3] = {0.0, 2.0, 1.0};
    assert_int_equal(gsv_bridge(ou, NULL, 1, time, 0, 0, y), GSV_BAD_INPUT);
    assert_int_equal(gsv_bridge(ou, NULL, 3, back, 0, 0, y), GSV_BAD_INPUT);
    assert_int_equal(gsv_bridge(ou, NULL, 3, time, NAN, 0, y), GSV_BAD_INPUT);
    assert_int_equal(gsv_bridge(ou, NULL, 3, time, 0, 0, bad), GSV_BAD_INPUT);
    double flat[2] = {0.0, 0.0};
    const double same[2] = {-2.0, -1.0}; /* min(s, t) is negative there */
    assert_int_equal(gsv_bridge(brownian, NULL, 2, same, 0, 1, flat),
                     GSV_NUMERICAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bridge__has_the_conditional_law),
        cmocka_unit_test(bridge__from_a_fixed_start_is_the_brownian_bridge),
        cmocka_unit_test(bridge__of_ou_has_the_recursions_mean),
        cmocka_unit_test(bridge__refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
