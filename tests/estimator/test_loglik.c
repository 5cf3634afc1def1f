/* SPDX-License-Identifier: MIT */
/* The likelihood of linear models, where everything is known: constant drift
 * has no Monte Carlo error at all, and for linear drift the mean weight is the
 * Gaussian law of the Euler chain in unit-diffusion coordinates. */
#include <stdio.h>

#include "exact.h"

static const uint64_t SEEDS[] = {1, 2, 77};

/* Row r of a track's series as a vector. */
static void row_of(const gsv_series *s, size_t r, double *x)
{
    for (size_t i = 0; i < s->columns; i++)
        x[i] = s->value[i * s->rows + r];
}

/* --- Constant drift: dX = b dt + G dW ------------------------------------- */

static double brownian_loglik(const gsv_series *s, const double *b,
                              size_t noises, const double *G)
{
    static const double A[EXACT_MOST * EXACT_MOST];
    double x[EXACT_MOST], sum = 0.0;
    for (size_t track = 0; track < s->tracks; track++)
        for (size_t r = s->start[track]; r + 1 < s->start[track + 1]; r++) {
            row_of(s, r, x);
            struct exact_law law = exact_point(s->columns, x);
            exact_step(&law, A, b, noises, G, s->time[r + 1] - s->time[r]);
            row_of(s, r + 1, x);
            sum += exact_density(&law, x);
        }
    return sum;
}

/* Any number of paths and steps gives the exact value. The error is a root of
 * a difference of numbers near 1, so that its zero is some 1e-8. */
static void assert_exact(const gsv_model *m, const double *b, size_t noises,
                         const double *G)
{
    static const size_t paths[] = {1, 2, 7, 64, 100}, steps[] = {1, 2, 5, 33};
    gsv_series *s = walk_of(m, 2, 4, 0.4, 5);
    double expected = brownian_loglik(s, b, noises, G);
    for (size_t i = 0; i < COUNT(paths); i++)
        for (size_t j = 0; j < COUNT(steps); j++) {
            gsv_options o = usual_options();
            o.paths = paths[i];
            o.steps = steps[j];
            o.joint = (i + j) % 2;
            o.seed = i;
            gsv_result r = loglik_of(m, s, &o);
            assert_near(r.loglik, expected, 1e-9);
            assert_int_equal(r.groups, o.joint ? 2 : 6);
            assert_int_equal(r.gaps, 6);
            /* With one step there is nothing to draw: one path. */
            size_t used = steps[j] > 1 ? paths[i] : 1;
            assert_int_equal(r.paths, used);
            assert_near(r.ess_min, (double)used, 1e-9);
            if (used > 1 || steps[j] == 1) assert_near(r.error, 0.0, 1e-7);
            if (steps[j] > 1) assert_near(r.discretisation, 0.0, 1e-9);
            else assert_true(isnan(r.discretisation));
            gsv_result_free(&r);
        }
    gsv_series_free(s);
}

static const struct {
    const char *text;
    size_t d, noises;
    double b[3], G[12];
} BROWNIAN[] = {
    {"state x\n dx = dW", 1, 1, {0}, {1}},
    {"state x\n dx = 3*dt + 0.2*dW", 1, 1, {3}, {0.2}},
    {"state x\n param s = -2\n dx = dt + s*dW", 1, 1, {1}, {-2}},
    {"state x\n dx = -dt + 2*dW1 + 3*dW2", 1, 2, {-1}, {2, 3}},
    {"state x[3]\n param s = 2 > 0\n dx = s*dW",
     3,
     3,
     {0},
     {2, 0, 0, 0, 2, 0, 0, 0, 2}},
    {"state x[3]\n param s[3] = [1, 2, 3] > 0, m[3] = [-1, 4, 0.5]\n"
     "dx = m*dt + s*dW",
     3,
     3,
     {-1, 4, 0.5},
     {1, 0, 0, 0, 2, 0, 0, 0, 3}},
    {"state x[3]\n param L[3,3] = [1,0,0, .2,2,0, -.3,.4,.5] lower\n"
     "param m[3] = [1, 0, 3]\n dx = m*dt + L @ dW",
     3,
     3,
     {1, 0, 3},
     {1, 0, 0, .2, 2, 0, -.3, .4, .5}},
    {"state x[3]\n param G[3,3] = [0,1,0, 2,0.1,0, -.3,.4,5]\n dx = G @ dW",
     3,
     3,
     {0},
     {0, 1, 0, 2, 0.1, 0, -.3, .4, 5}},
    {"state x, y, z\n dx = dt + dW1 + 2*dW3\n dy = 0.5*dW2 - dW1\n"
     "dz = -2*dt + dW3",
     3,
     3,
     {1, 0, -2},
     {1, 0, 2, -1, 0.5, 0, 0, 0, 1}},
    {"state x[3]\n"
     "param G[3,4] = [1,0,.5,2, 0,3,1,1, .2,0,0,4]\n dx = 2*dt + G @ dW",
     3,
     4,
     {2, 2, 2},
     {1, 0, .5, 2, 0, 3, 1, 1, .2, 0, 0, 4}},
};

static void loglik__of_constant_drift_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(BROWNIAN); i++) {
        gsv_model *m = model_of(BROWNIAN[i].text);
        assert_exact(m, BROWNIAN[i].b, BROWNIAN[i].noises, BROWNIAN[i].G);
        gsv_model_free(m);
    }
}

static void loglik__of_constant_drift_is_exact_in_20_dimensions(void **state)
{
    (void)state;
    enum { D = 20 };
    static const char *const text[] = {
        "state x[20]\n param s = 1\n param m[20] = 0\n dx = m*dt + s*dW",
        "state x[20]\n param s[20] = 1\n param m[20] = 0\n dx = m*dt + s*dW",
        "state x[20]\n param s[20,20] = 1, m[20] = 0\n dx = m*dt + s @ dW"};
    for (size_t n = 0; n < COUNT(text); n++) {
        double b[D], G[D * D] = {0}, s[D * D];
        for (size_t i = 0; i < D; i++) {
            b[i] = sin((double)i);
            for (size_t j = 0; j < D; j++) {
                double at = (double)(3 * i + 7 * j);
                if (i == j) G[i * D + j] = n ? 1.0 + 0.1 * (double)i : 0.7;
                else if (n == 2) G[i * D + j] = 0.2 * cos(at);
            }
            s[i] = G[i * D + i];
        }
        gsv_model *m = model_of(text[n]);
        assert_int_equal(gsv_model_set(m, "m", D, b), 0);
        assert_int_equal(gsv_model_set(m, "s",
                                       n == 0   ? 1
                                       : n == 1 ? D
                                                : D * D,
                                       n == 2 ? G : s),
                         0);
        assert_exact(m, b, D, G);
        gsv_model_free(m);
    }
}

/* --- Ornstein-Uhlenbeck --------------------------------------------------- */

static double ou_euler(const gsv_series *s, double theta, double sigma,
                       size_t M)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->columns; i++)
        for (size_t track = 0; track < s->tracks; track++)
            for (size_t r = s->start[track] + 1; r < s->start[track + 1]; r++) {
                const double *x = s->value + i * s->rows + r;
                sum += exact_ou_euler(x[-1], x[0], theta, sigma,
                                      s->time[r] - s->time[r - 1], M);
            }
    return sum;
}

static void loglik__of_ou_converges_to_the_euler_chain(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 2, 5, 16};
    gsv_model *m = model_of("state x\n param k = 0.8, s = 0.7 > 0\n"
                            "dx = -k*x*dt + s*dW");
    gsv_series *data = walk_of(m, 2, 5, 0.5, 3);
    for (size_t i = 0; i < COUNT(steps); i++)
        for (size_t j = 0; j < COUNT(SEEDS); j++) {
            gsv_options o = usual_options();
            o.paths = 20000 / SLOWER;
            o.steps = steps[i];
            o.seed = SEEDS[j];
            gsv_result r = loglik_of(m, data, &o);
            double expected = ou_euler(data, 0.8, 0.7, steps[i]);
            assert_limit(&r, expected);
            assert_true(r.error < 0.02 * sqrt(SLOWER));
            gsv_result_free(&r);
            o.joint = true;
            r = loglik_of(m, data, &o);
            assert_limit(&r, expected);
            assert_int_equal(r.groups, 2);
            gsv_result_free(&r);
        }
    gsv_series_free(data);
    gsv_model_free(m);
}

/* Each gap by itself: where it is, and its own share. */
static void loglik__gaps_have_their_own_shares(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n dx = -x*dt + dW");
    gsv_series *data = walk_of(m, 2, 4, 0.5, 8);
    gsv_options o = usual_options();
    o.paths = 20000 / SLOWER;
    o.steps = 6;
    gsv_result r = loglik_of(m, data, &o);
    double sum = 0.0, variance = 0.0, check = 0.0;
    assert_int_equal(r.groups, 6);
    for (size_t g = 0; g < r.groups; g++) {
        const gsv_gap *gap = &r.gap[g];
        size_t from = g + g / 3;
        const double *x = data->value + from;
        double h = data->time[from + 1] - data->time[from];
        assert_int_equal(gap->track, g / 3);
        assert_int_equal(gap->from, from);
        assert_int_equal(gap->to, from + 1);
        assert_near(gap->loglik, exact_ou_euler(x[0], x[1], 1.0, 1.0, h, 6),
                    TOLERANCE * gap->error + 1e-4);
        assert_true(gap->ess >= r.ess_min && gap->ess <= (double)o.paths);
        sum += gap->loglik;
        variance += gap->error * gap->error;
        check += gap->discretisation;
    }
    assert_near(r.loglik, sum, 1e-12);
    assert_near(r.error, sqrt(variance), 1e-12);
    assert_near(r.discretisation, check, 1e-12);
    assert_int_equal(r.steps, 6);
    assert_int_equal(r.paths, o.paths);
    assert_true(r.drift_evaluations == 6 * 6 * (uint64_t)o.paths);
    gsv_result_free(&r);
    gsv_series_free(data);
    gsv_model_free(m);
}

static void loglik__in_100_dimensions_converges_too(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x[100]\n param k = 1 > 0, s = 1 > 0\n"
                            "dx = -k*x*dt + s*dW");
    gsv_series *data = walk_of(m, 1, 4, 0.12, 4);
    for (size_t j = 0; j < COUNT(SEEDS); j++) {
        gsv_options o = usual_options();
        o.paths = 4000 / SLOWER;
        o.steps = 8;
        o.seed = SEEDS[j];
        gsv_result r = loglik_of(m, data, &o);
        assert_true(r.ess_min > 0.4 * (double)o.paths);
        assert_limit(&r, ou_euler(data, 1.0, 1.0, 8));
        gsv_result_free(&r);
    }
    gsv_series_free(data);
    gsv_model_free(m);
}

/* --- Matrices ------------------------------------------------------------- */

enum { D5 = 5 };
static const double A5[D5 * D5] = {
    -1.0, 0.8, 0.0, 0.0, 0.2,  -0.8, -1.0, 0.3, 0.0, 0.0, 0.0,  -0.3, -0.5,
    0.4,  0.0, 0.1, 0.0, -0.4, -0.7, 0.5,  0.0, 0.2, 0.0, -0.5, -0.9};
static const double B5[D5] = {0.1, -0.2, 0.0, 0.3, 0.05};
static const double L5[D5 * D5] = {
    0.5, 0.0, 0.0, 0.0,  0.0, 0.2, 0.6, 0.0, 0.0, 0.0,  0.1, -0.1, 0.4,
    0.0, 0.0, 0.3, 0.05, 0.2, 0.7, 0.0, 0.0, 0.1, -0.2, 0.1, 0.5};

static double linear_euler(const gsv_series *s, const double *A,
                           const double *b, size_t noises, const double *G,
                           size_t M)
{
    double x[EXACT_MOST], sum = 0.0;
    for (size_t r = 0; r + 1 < s->rows; r++) {
        row_of(s, r, x);
        struct exact_law law = exact_point(s->columns, x);
        double dt = (s->time[r + 1] - s->time[r]) / (double)M;
        for (size_t m = 0; m < M; m++)
            exact_step(&law, A, b, noises, G, dt);
        row_of(s, r + 1, x);
        sum += exact_density(&law, x);
    }
    return sum;
}

/* The chain commutes with sigma^-1, so that it may stay in x. */
static void loglik__of_matrix_drift_and_noise_converges(void **state)
{
    (void)state;
    static const char *const noise[] = {
        "param L[5,5] = 1\n dx = (A @ x + b)*dt + L @ dW",
        "param G[5,7] = 0\n dx = (A @ x + b)*dt + G @ dW"};
    /* Seven noises: those of L5, and two more. */
    double G7[D5 * 7];
    for (size_t i = 0; i < D5; i++)
        for (size_t j = 0; j < 7; j++)
            G7[i * 7 + j] =
                j < D5 ? L5[i * D5 + j] : 0.2 + 0.1 * (double)(i * (j - D5));
    for (size_t n = 0; n < 2; n++) {
        char text[400];
        snprintf(text, sizeof text,
                 "state x[5]\nparam A[5,5] = 0\n"
                 "param b[5] = 0\n%s",
                 noise[n]);
        gsv_model *m = model_of(text);
        assert_int_equal(gsv_model_set(m, "A", D5 * D5, A5), 0);
        assert_int_equal(gsv_model_set(m, "b", D5, B5), 0);
        assert_int_equal(n ? gsv_model_set(m, "G", D5 * 7, G7)
                           : gsv_model_set(m, "L", D5 * D5, L5),
                         0);
        gsv_series *data = walk_of(m, 1, 5, 0.2, 6);
        for (size_t j = 0; j < COUNT(SEEDS); j++) {
            gsv_options o = usual_options();
            o.paths = 16000 / SLOWER;
            o.steps = 5;
            o.seed = SEEDS[j];
            gsv_result r = loglik_of(m, data, &o);
            assert_limit(&r, linear_euler(data, A5, B5, n ? 7 : D5, n ? G7 : L5,
                                          o.steps));
            assert_true(r.error < 0.1);
            gsv_result_free(&r);
        }
        gsv_series_free(data);
        gsv_model_free(m);
    }
}

/* --- sigma(t) ------------------------------------------------------------- */

/* sigma(t) = v(t) L with v = 0.5 + 0.3 sin(3 t); in y = sigma^-1 x the chain
 * has A~ = L^-1 A L - v'/v and b~ = L^-1 b cos(2 t) / v. d = 2. */
static double v_of(double t)
{
    return 0.5 + 0.3 * sin(3.0 * t);
}

static const double A2[4] = {-0.8, 0.4, 0.0, -0.5}, B2[2] = {0.7, -0.3},
                    L2[4] = {1.0, 0.0, 0.6, 0.8};

static void unit_of(const double *x, double v, double *y)
{
    y[0] = x[0] / (L2[0] * v);
    y[1] = (x[1] / v - L2[2] * y[0]) / L2[3];
}

static double unit_euler(const gsv_series *s, size_t M)
{
    static const double I[4] = {1, 0, 0, 1};
    double x[2], y[2], sum = 0.0, b[2];
    for (size_t r = 0; r + 1 < s->rows; r++) {
        double t0 = s->time[r], t1 = s->time[r + 1], dt = (t1 - t0) / (double)M;
        row_of(s, r, x);
        unit_of(x, v_of(t0), y);
        struct exact_law law = exact_point(2, y);
        for (size_t m = 0; m < M; m++) {
            double t = t0 + dt * (double)m, v = v_of(t), A[4];
            for (size_t j = 0; j < 2; j++) {
                /* Column j of A L, then of L^-1 A L. */
                const double c[2] = {A2[0] * L2[j] + A2[1] * L2[2 + j],
                                     A2[2] * L2[j] + A2[3] * L2[2 + j]};
                double u[2];
                unit_of(c, 1.0, u);
                A[j] = u[0];
                A[2 + j] = u[1];
            }
            A[0] -= 0.9 * cos(3.0 * t) / v;
            A[3] -= 0.9 * cos(3.0 * t) / v;
            const double c[2] = {B2[0] * cos(2.0 * t), B2[1] * cos(2.0 * t)};
            unit_of(c, v, b);
            exact_step(&law, A, b, 2, I, dt);
        }
        row_of(s, r + 1, x);
        unit_of(x, v_of(t1), y);
        sum +=
            exact_density(&law, y) - log(L2[0] * L2[3] * v_of(t1) * v_of(t1));
    }
    return sum;
}

static void loglik__of_changing_noise_converges_to_the_unit_chain(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x[2]\n"
                            "const A[2,2] = [-0.8, 0.4, 0, -0.5]\n"
                            "const b[2] = [0.7, -0.3]\n"
                            "param L[2,2] = [1, 0, 0.6, 0.8] lower\n"
                            "let v = 0.5 + 0.3*sin(3*t)\n"
                            "dx = (A @ x + b*cos(2*t))*dt + (v*L) @ dW");
    gsv_series *data = walk_of(m, 1, 6, 0.2, 7);
    static const size_t steps[] = {1, 4, 9};
    for (size_t i = 0; i < COUNT(steps); i++)
        for (size_t j = 0; j < COUNT(SEEDS); j++) {
            gsv_options o = usual_options();
            o.paths = 40000 / SLOWER;
            o.steps = steps[i];
            o.seed = SEEDS[j];
            gsv_result r = loglik_of(m, data, &o);
            assert_limit(&r, unit_euler(data, steps[i]));
            assert_true(r.error < 0.15);
            gsv_result_free(&r);
        }
    gsv_series_free(data);
    gsv_model_free(m);
}

/* Without drift, X is Gaussian with the integral of G G' as its covariance.
 * l(dt) + (l(dt) - l(2 dt)) is free of the first order in dt. */
static void G_of(double t, double *G)
{
    const double now[6] = {1.0, sin(t), 0.5, 0.3, t, 1.0};
    memcpy(G, now, sizeof now);
}

static double without_drift(const gsv_series *s)
{
    enum { SIMPSON = 40 };
    double x[2], G[6], sum = 0.0;
    for (size_t r = 0; r + 1 < s->rows; r++) {
        double h = s->time[r + 1] - s->time[r];
        row_of(s, r, x);
        struct exact_law law = exact_point(2, x);
        for (size_t q = 0; q <= SIMPSON; q++) {
            double w = q % 2 ? 4.0 : q && q < SIMPSON ? 2.0 : 1.0;
            G_of(s->time[r] + h * (double)q / SIMPSON, G);
            for (size_t i = 0; i < 4; i++)
                for (size_t n = 0; n < 3; n++)
                    law.cov[i] += w * h / (3.0 * SIMPSON) * G[i / 2 * 3 + n] *
                                  G[i % 2 * 3 + n];
        }
        row_of(s, r + 1, x);
        sum += exact_density(&law, x);
    }
    return sum;
}

static void loglik__of_changing_noise_alone_is_gaussian(void **state)
{
    (void)state;
    enum { REPEATS = 16 };
    gsv_model *m = model_of("state x, y\n"
                            "dx = dW1 + sin(t)*dW2 + 0.5*dW3\n"
                            "dy = 0.3*dW1 + t*dW2 + dW3");
    gsv_series *data = walk_of(m, 1, 5, 0.3, 9);
    double mean = 0.0, squares = 0.0;
    for (size_t i = 0; i < REPEATS; i++) {
        gsv_options o = usual_options();
        o.paths = 3000 / SLOWER;
        o.steps = 16;
        o.seed = i;
        gsv_result r = loglik_of(m, data, &o);
        double l = r.loglik + r.discretisation;
        mean += l / REPEATS;
        squares += l * l / REPEATS;
        gsv_result_free(&r);
    }
    double error = sqrt((squares - mean * mean) / (REPEATS - 1));
    assert_near(mean, without_drift(data), TOLERANCE * error + 1e-3);
    assert_true(error < 0.02);
    gsv_series_free(data);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loglik__of_constant_drift_is_exact),
        cmocka_unit_test(loglik__of_constant_drift_is_exact_in_20_dimensions),
        cmocka_unit_test(loglik__of_ou_converges_to_the_euler_chain),
        cmocka_unit_test(loglik__gaps_have_their_own_shares),
        cmocka_unit_test(loglik__in_100_dimensions_converges_too),
        cmocka_unit_test(loglik__of_matrix_drift_and_noise_converges),
        cmocka_unit_test(loglik__of_changing_noise_converges_to_the_unit_chain),
        cmocka_unit_test(loglik__of_changing_noise_alone_is_gaussian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
