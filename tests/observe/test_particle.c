/* SPDX-License-Identifier: MIT */
/* Noisy observations by particles, against Kalman's filter and a grid. */
#include <stdio.h>

#include "observe_exact.h"

static void times(size_t n, double h, double *t)
{
    for (size_t i = 0; i < n; i++)
        t[i] = i ? t[i - 1] + h * (1.0 + 0.3 * sin((double)i)) : 0.0;
}

static gsv_series *series_of(size_t n, const double *t, size_t columns,
                             const char *const *name, const double *y)
{
    const size_t start[2] = {0, n};
    gsv_series *s = gsv_series_new(1, start, columns, name, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static gsv_options particles(size_t points)
{
    gsv_options o = default_options();
    o.observe = GSV_OBSERVE_PARTICLE;
    o.points = points;
    return o;
}

/* Of log-likelihoods over seeds: their mean less the exact one, and its
 * standard error. */
struct offs {
    double mean, error;
};

static struct offs offs_of(const gsv_model *m, const gsv_series *s,
                           gsv_options o, double exact, size_t seeds)
{
    double sum = 0.0, squares = 0.0, n = (double)seeds;
    for (o.seed = 1; o.seed <= seeds; o.seed++) {
        gsv_result r = loglik_of(m, s, &o);
        sum += r.loglik - exact;
        squares += (r.loglik - exact) * (r.loglik - exact);
        gsv_result_free(&r);
    }
    return (struct offs){
        sum / n, sqrt(fmax(0.0, squares / n - sum / n * (sum / n)) / (n - 1))};
}

/* --- Linear models ---------------------------------------------------------
 */

/* The text of a ring with every drift times a and every noise times s, and an
 * observation of every state. */
static void ring_text(const struct exact_linear *m, char *text, size_t size)
{
    size_t d = m->d, used = 0;
    used += (size_t)snprintf(text, size,
                             "param a = 1, s = 1 > 0, r = 1 > 0, v = 0.8 > 0\n"
                             "state x[%zu]\n",
                             d);
    for (size_t k = 0; k < 2; k++) {
        const double *M = k ? m->G : m->A;
        used += (size_t)snprintf(text + used, size - used,
                                 "const %s[%zu,%zu] = [", k ? "G" : "A", d, d);
        for (size_t i = 0; i < d * d; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%.17g",
                                     i ? ", " : "", M[i]);
        used += (size_t)snprintf(text + used, size - used, "]\n");
    }
    used += (size_t)snprintf(text + used, size - used,
                             "dx = a*(A @ x)*dt + s*(G @ dW)\n");
    for (size_t i = 0; i < d; i++)
        used += (size_t)snprintf(text + used, size - used,
                                 "obs y%zu ~ normal(x[%zu], r*%.17g)\n", i + 1,
                                 i + 1, m->r[i]);
    snprintf(text + used, size - used, "init x ~ normal(0, v)\n");
}

enum { N = 50, MOST = 5 };
static const char *const NAME[] = {"y1", "y2", "y3", "y4", "y5"};

/* A ring, its data with missing cells, and the library's model of it. */
struct ring {
    struct exact_linear exact;
    double t[N], y[MOST * N];
    gsv_model *model;
    gsv_series *series;
};

static struct exact_linear plain_ring(size_t d)
{
    struct exact_linear m = exact_ring(d);
    for (size_t i = 0; i < d * d; i++)
        m.P0[i] = i % (d + 1) ? 0.0 : 0.64;
    memset(m.m0, 0, sizeof m.m0);
    memset(m.b, 0, sizeof m.b);
    return m;
}

static void open_ring(struct ring *r, size_t d)
{
    char text[4000];
    double x[MOST * N];
    r->exact = plain_ring(d);
    ring_text(&r->exact, text, sizeof text);
    times(N, 0.2, r->t);
    exact_linear_data(&r->exact, N, r->t, 11, x, r->y);
    for (size_t i = 3; i < d * N; i += 7)
        r->y[i] = NAN;
    r->model = model_of(text);
    r->series = series_of(N, r->t, d, NAME, r->y);
}

static void close_ring(struct ring *r)
{
    gsv_series_free(r->series);
    gsv_model_free(r->model);
}

static double kalman(const struct ring *r, size_t n)
{
    double y[MOST * N];
    for (size_t i = 0; i < r->exact.outputs; i++)
        memcpy(y + i * n, r->y + i * N, n * sizeof *y);
    return exact_kalman(&r->exact, n, r->t, y, NULL);
}

/* All weights are the same: every stop adds what Kalman's filter does. */
static void ring__is_kalmans(void **state)
{
    (void)state;
    static const size_t DIMENSION[] = {1, 2, 5};
    for (size_t c = 0; c < COUNT(DIMENSION); c++) {
        struct ring r;
        open_ring(&r, DIMENSION[c]);
        gsv_options o = particles(16);
        gsv_result l = loglik_of(r.model, r.series, &o);
        double sum = 0.0;
        for (size_t n = 0; n < l.groups; n++) {
            sum += l.gap[n].loglik;
            assert_near(sum, kalman(&r, l.gap[n].to + 1), 1e-8);
            assert_near(l.gap[n].ess, 16.0, 1e-6);
        }
        assert_near(l.loglik, kalman(&r, N), 1e-8);
        assert_near(l.error, 0.0, 1e-6);
        assert_int_equal(l.flagged, 0);
        gsv_result_free(&l);
        close_ring(&r);
    }
}

/* By differences, of the parameters a, s, r, v of ring_text(). */
static double kalman_slope(const struct ring *r, size_t i)
{
    static const double STEP = 1e-5;
    double value[2];
    for (size_t k = 0; k < 2; k++) {
        struct ring moved = *r;
        double f = 1.0 + (k ? STEP : -STEP);
        for (size_t e = 0; e < EXACT_DD; e++) {
            if (i == 0) moved.exact.A[e] *= f;
            if (i == 1) moved.exact.G[e] *= f;
            if (i == 3) moved.exact.P0[e] *= f * f;
        }
        for (size_t e = 0; i == 2 && e < EXACT_D; e++)
            moved.exact.r[e] *= f;
        value[k] = kalman(&moved, N);
    }
    return (value[1] - value[0]) / (2.0 * STEP) / (i == 3 ? 0.8 : 1.0);
}

enum { VALUES = 4 };

/* Mean over seeds of the gradient, and its standard error. */
static void mean_gradient(const struct ring *r, gsv_options o, size_t seeds,
                          double *mean, double *error)
{
    double n = (double)seeds;
    for (size_t i = 0; i < VALUES; i++)
        mean[i] = error[i] = 0.0;
    o.gradient = true;
    for (o.seed = 1; o.seed <= seeds; o.seed++) {
        gsv_result l = loglik_of(r->model, r->series, &o);
        for (size_t i = 0; i < VALUES; i++) {
            mean[i] += l.gradient[i] / n;
            error[i] += l.gradient[i] * l.gradient[i] / n;
        }
        gsv_result_free(&l);
    }
    for (size_t i = 0; i < VALUES; i++)
        error[i] = sqrt((error[i] - mean[i] * mean[i]) / (n - 1.0));
}

/* Particles are draws from the exact law of all states. The drift's slope, the
 * first, is that of densities of one step, which is not Kalman's: the scan has
 * it, too. */
static void ring__has_kalmans_gradient(void **state)
{
    (void)state;
    enum { SEEDS = SLOWER > 1 ? 3 : 8 };
    struct ring r;
    double mean[VALUES], error[VALUES], scan[VALUES], scan_error[VALUES];
    open_ring(&r, 2);
    mean_gradient(&r, particles(64), SEEDS, mean, error);
    gsv_options o = particles(16);
    o.observe = GSV_OBSERVE_SCAN;
    mean_gradient(&r, o, 3, scan, scan_error);
    for (size_t i = 0; i < VALUES; i++) {
        double exact = i ? kalman_slope(&r, i) : scan[0];
        double both = error[i] + (i ? 0.0 : scan_error[0]);
        print_message("%zu: %g, exactly %g, error %g\n", i, mean[i], exact,
                      both);
        assert_near(mean[i], exact, 3.5 * both);
        assert_true(error[i] < 0.05 * (1.0 + fabs(exact)));
    }
    close_ring(&r);
}

/* --- States observed as they are -------------------------------------------
 */

/* One state is in the data as it is, the other one nowhere; in one row nothing
 * is, in the second track there is one row. The first row's exact state has no
 * density. */
static void mixed__is_kalmans(void **state)
{
    (void)state;
    static const char *const COLUMN[] = {"x", "n"};
    enum { ROWS = 20 };
    double t[ROWS + 1], x[2 * ROWS], y[2 * (ROWS + 1)], seen[2 * ROWS];
    const size_t start[3] = {0, ROWS, ROWS + 1};
    struct exact_linear m = {.d = 2,
                             .noises = 2,
                             .outputs = 2,
                             .A = {-1.0, 1.0, 0.0, -0.5},
                             .G = {0.4, 0.0, 0.2, 0.6},
                             .H = {1.0, 0.0, 0.0, 1.0},
                             .r = {0.0, 0.3},
                             .P0 = {1.0, 0.0, 0.0, 0.25}};
    times(ROWS, 0.25, t);
    exact_linear_data(&m, ROWS, t, 9, x, seen);
    seen[5] = seen[8] = seen[ROWS + 5] = seen[ROWS + 6] = NAN;
    double exact = exact_kalman(&m, ROWS, t, seen, NULL) -
                   exact_normal(seen[0], 0, 1) +
                   exact_normal(0.4, 0.0, 0.25 + 0.09);
    t[ROWS] = 0.0;
    for (size_t i = 0; i < 2; i++)
        memcpy(y + i * (ROWS + 1), seen + i * ROWS, ROWS * sizeof *y);
    y[ROWS] = 1.0;
    y[2 * ROWS + 1] = 0.4;
    gsv_model *model = model_of("state x, l\n dx = (l - x)*dt + 0.4*dW1\n"
                                "dl = -0.5*l*dt + 0.2*dW1 + 0.6*dW2\n"
                                "obs n ~ normal(l, 0.3)\n"
                                "init l ~ normal(0, 0.5)");
    gsv_series *s = gsv_series_new(2, start, 2, COLUMN, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    gsv_options o = particles(8);
    gsv_result l = loglik_of(model, s, &o);
    assert_near(l.loglik, exact, 1e-8);
    gsv_result_free(&l);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* --- A double well ---------------------------------------------------------
 */

static double well(double x, const double *p)
{
    (void)p;
    return x - x * x * x;
}

/* The mean of exp(log-likelihood) is unbiased but for the steps in time. */
static void well__is_the_grids(void **state)
{
    (void)state;
    static const char *const COLUMN[] = {"y"};
    enum { ROWS = SLOWER > 1 ? 20 : 60, SEEDS = SLOWER > 1 ? 2 : 6 };
    double t[ROWS], x[ROWS], y[ROWS];
    struct exact_noise noise = {.y = y, .r = 0.2};
    struct exact_diffusion m = {.drift = well,
                                .s = 0.5,
                                .d0 = 1.0,
                                .log_density = exact_noise_density,
                                .user = &noise};
    struct exact_range range = {.low = -3.0, .high = 3.0, .cells = 301};
    times(ROWS, 0.2, t);
    exact_diffusion_data(&m, ROWS, t, 0.2, 5, x, y);
    double exact = exact_grid_filter(&m, &range, ROWS, t, NULL, NULL);
    gsv_model *model = model_of("state x\n dx = (x - x^3)*dt + 0.5*dW\n"
                                "obs y ~ normal(x, 0.2)\n"
                                "init x ~ normal(0, 1)");
    gsv_series *s = series_of(ROWS, t, 1, COLUMN, y);
    struct offs off = offs_of(model, s, particles(256), exact, SEEDS);
    print_message("well: %.5f off in the mean, error %.5f\n", off.mean,
                  off.error);
    assert_near(off.mean, 0.0, 0.01 + 3.0 * off.error);
    assert_true(off.error * sqrt(SEEDS) < 0.1);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* --- Gradients and bits ----------------------------------------------------
 */

/* Two tracks, missing rows, counts, a link, a first state with parameters. */
static const char MIXED[] =
    "state x, l\n param k = 1 > 0, s = 0.5 > 0, e = 0.3 > 0, m = 0.2, c = 1 > "
    "0\n"
    "dx = k*(sin(l) - x)*dt + s*dW\n dl = (m - l)*dt + 0.4*dW\n"
    "obs y ~ normal(x, e)\n obs n ~ poisson(c*exp(l))\n"
    "init x ~ normal(m, e)\n init l ~ normal(0, 0.5)";

static gsv_series *mixed_data(void)
{
    static const char *const COLUMN[] = {"y", "n"};
    const size_t start[3] = {0, 5, 9};
    const double time[9] = {0, 0.2, 0.5, 0.6, 1.0, 0, 0.3, 0.4, 0.9};
    const double value[18] = {0.1, 0.3, NAN, 0.2, -0.1, 0.5, 0.4, NAN, 0.6,
                              1,   0,   2,   NAN, 3,    1,   NAN, NAN, 2};
    gsv_series *s = gsv_series_new(2, start, 2, COLUMN, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Tracks are short: nothing is drawn again, points are held. */
static void gradient__is_that_of_the_value(void **state)
{
    (void)state;
    gsv_model *m = model_of(MIXED);
    gsv_series *s = mixed_data();
    gsv_options o = particles(64);
    gsv_gradient_check check;
    o.steps = 2;
    gsv_result r = loglik_of(m, s, &o);
    assert_true(r.ess_min > 32.0);
    gsv_result_free(&r);
    assert_int_equal(gsv_check_gradient(m, s, &o, &check), 0);
    if (!(check.worst < 1e-6))
        fail_msg("off by %g at %zu", check.worst, check.where);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void bits__are_the_same_on_any_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of(MIXED);
    gsv_series *s = mixed_data();
    gsv_options o = particles(64);
    o.gradient = true;
    gsv_result one = loglik_of(m, s, &o);
    for (o.threads = 2; o.threads < 4; o.threads++) {
        gsv_result r = loglik_of(m, s, &o);
        assert_true(r.loglik == one.loglik);
        assert_memory_equal(r.gradient, one.gradient,
                            r.values * sizeof *r.gradient);
        gsv_result_free(&r);
    }
    gsv_result_free(&one);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void particles__have_bounds(void **state)
{
    (void)state;
    gsv_model *m = model_of(MIXED);
    gsv_series *s = mixed_data();
    gsv_options o = particles(1);
    gsv_result r;
    assert_int_equal(gsv_loglik(m, s, &o, &r), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "1 particles"));
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Fits -------------------------------------------------------------------
 */

/* Estimates and standard errors (2, 2). */
static void fit_by(enum gsv_observe observe, const gsv_series *s,
                   double found[4])
{
    gsv_model *m = model_of(
        "state x\n param a = 1, s = 0.7 > 0\n dx = a*(x - x^3)*dt + s*dW\n"
        "obs y ~ normal(x, 0.3)\n init x ~ normal(0, 1)");
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.observe = observe;
    o.estimator.steps = 2;
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    const gsv_record *r = gsv_model_record(m);
    memcpy(found, gsv_model_value(m), 2 * sizeof *found);
    memcpy(found + 2, r->error_of, 2 * sizeof *found);
    print_message("a %.3f +- %.3f, s %.3f +- %.3f\n", found[0], found[2],
                  found[1], found[3]);
    gsv_model_free(m);
}

/* Although the likelihood jumps; the scan's does not. */
static void fit__has_the_scans_errors(void **state)
{
    (void)state;
    enum { ROWS = 100 };
    double time[ROWS], scan[4], particle[4];
    for (size_t i = 0; i < ROWS; i++)
        time[i] = 0.4 * (double)i;
    gsv_model *m = model_of("state x\n dx = (x - x^3)*dt + 0.7*dW\n"
                            "obs y ~ normal(x, 0.3)\n init x ~ normal(0, 1)");
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = ROWS;
    o.time = time;
    o.seed = 2;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    fit_by(GSV_OBSERVE_SCAN, s, scan);
    fit_by(GSV_OBSERVE_PARTICLE, s, particle);
    for (size_t i = 0; i < 2; i++) {
        assert_near(particle[i], scan[i], 0.5 * scan[2 + i]);
        assert_near(particle[2 + i], scan[2 + i], 0.3 * scan[2 + i]);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring__is_kalmans),
        cmocka_unit_test(ring__has_kalmans_gradient),
        cmocka_unit_test(mixed__is_kalmans),
        cmocka_unit_test(well__is_the_grids),
        cmocka_unit_test(gradient__is_that_of_the_value),
        cmocka_unit_test(bits__are_the_same_on_any_threads),
        cmocka_unit_test(particles__have_bounds),
        cmocka_unit_test(fit__has_the_scans_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
