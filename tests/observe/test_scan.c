/* SPDX-License-Identifier: MIT */
/* Noisy observations by the scan, against Kalman's filter and a grid. */
#include <stdio.h>

#include "observe_exact.h"

#define OU                                                                     \
    "state x\n param th = 1 > 0, s = 1 > 0, r = 0.3 > 0\n"                     \
    "dx = -th*x*dt + s*dW\n obs y ~ normal(x, r)\n init x ~ normal(0, 0.7)"

static struct exact_linear ou(double th, double s, double r)
{
    return (struct exact_linear){.d = 1,
                                 .noises = 1,
                                 .outputs = 1,
                                 .A = {-th},
                                 .G = {s},
                                 .H = {1.0},
                                 .r = {r},
                                 .P0 = {0.49}};
}

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

/* Of log-likelihoods over seeds from the exact one. */
struct offs {
    double mean, root;
};

static struct offs offs_of(const gsv_model *m, const gsv_series *s,
                           double exact, size_t seeds)
{
    struct offs off = {0.0, 0.0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        gsv_options o = default_options();
        o.observe = GSV_OBSERVE_SCAN;
        o.seed = seed;
        gsv_result r = loglik_of(m, s, &o);
        off.mean += (r.loglik - exact) / (double)seeds;
        off.root += (r.loglik - exact) * (r.loglik - exact) / (double)seeds;
        gsv_result_free(&r);
    }
    off.root = sqrt(off.root);
    return off;
}

static void ou__is_kalmans(void **state)
{
    (void)state;
    static const size_t ROWS[] = {10, 50, 200};
    static const char *const NAME[] = {"y"};
    enum { MOST = 200, SEEDS = SLOWER > 1 ? 2 : 12 };
    double t[MOST], x[MOST], y[MOST];
    for (size_t c = 0; c < COUNT(ROWS) - (SLOWER > 1); c++) {
        size_t n = ROWS[c];
        struct exact_linear m = ou(1.0, 1.0, 0.3);
        times(n, 0.2, t);
        exact_linear_data(&m, n, t, 7, x, y);
        double exact = exact_kalman(&m, n, t, y, NULL);
        gsv_model *model = model_of(OU);
        gsv_series *s = series_of(n, t, 1, NAME, y);
        struct offs off = offs_of(model, s, exact, SEEDS);
        print_message("N = %zu: %.5f off in the mean, %.5f root mean square\n",
                      n, off.mean, off.root);
        assert_near(off.mean, 0.0, 0.02);
        gsv_series_free(s);
        gsv_model_free(model);
    }
}

/* --- More dimensions --------------------------------------------------------
 */

/* The text of a linear model with an observation of every state. */
static void ring_text(const struct exact_linear *m, char *text, size_t size)
{
    size_t d = m->d, used = 0;
    used += (size_t)snprintf(text, size, "state x[%zu]\n", d);
    for (size_t k = 0; k < 2; k++) {
        const double *M = k ? m->G : m->A;
        used += (size_t)snprintf(text + used, size - used,
                                 "const %s[%zu,%zu] = [", k ? "G" : "A", d, d);
        for (size_t i = 0; i < d * d; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%.17g",
                                     i ? ", " : "", M[i]);
        used += (size_t)snprintf(text + used, size - used, "]\n");
    }
    used +=
        (size_t)snprintf(text + used, size - used, "dx = A @ x*dt + G @ dW\n");
    for (size_t i = 0; i < d; i++)
        used += (size_t)snprintf(text + used, size - used,
                                 "obs y%zu ~ normal(x[%zu], %.17g)\n", i + 1,
                                 i + 1, m->r[i]);
    snprintf(text + used, size - used, "init x ~ normal(0, 0.8)\n");
}

/* Some cells are missing. */
static void ring__is_kalmans(void **state)
{
    (void)state;
    static const size_t DIMENSION[] = {2, 5};
    static const char *const NAME[] = {"y1", "y2", "y3", "y4", "y5"};
    enum { N = 50, SEEDS = SLOWER > 1 ? 2 : 8 };
    double t[N], x[5 * N], y[5 * N];
    for (size_t c = 0; c < COUNT(DIMENSION) - (SLOWER > 1); c++) {
        size_t d = DIMENSION[c];
        char text[4000];
        struct exact_linear m = exact_ring(d);
        for (size_t i = 0; i < d * d; i++)
            m.P0[i] = i % (d + 1) ? 0.0 : 0.64;
        memset(m.m0, 0, sizeof m.m0);
        memset(m.b, 0, sizeof m.b);
        ring_text(&m, text, sizeof text);
        times(N, 0.2, t);
        exact_linear_data(&m, N, t, 11, x, y);
        for (size_t i = 0; i < d * N; i += 7)
            y[i] = NAN;
        double exact = exact_kalman(&m, N, t, y, NULL);
        gsv_model *model = model_of(text);
        gsv_series *s = series_of(N, t, d, NAME, y);
        struct offs off = offs_of(model, s, exact, SEEDS);
        print_message("d = %zu: %.5f off in the mean, %.5f root mean square\n",
                      d, off.mean, off.root);
        assert_near(off.mean, 0.0, 0.02 + 2.0 * off.root / sqrt(SEEDS));
        assert_true(off.root < (d == 2 ? 0.056 : 0.132));
        gsv_series_free(s);
        gsv_model_free(model);
    }
}

/* One state is in the data as it is, the other one nowhere: given the first
 * row, whose exact state has no density. */
static void mixed__is_kalmans(void **state)
{
    (void)state;
    static const char *const NAME[] = {"x"};
    enum { N = 40, SEEDS = 6 };
    double t[N], x[2 * N], y[N];
    struct exact_linear m = {.d = 2,
                             .noises = 2,
                             .outputs = 1,
                             .A = {-1.0, 1.0, 0.0, -0.5},
                             .G = {0.4, 0.0, 0.2, 0.6},
                             .H = {1.0, 0.0},
                             .P0 = {1.0, 0.0, 0.0, 0.25}};
    times(N, 0.25, t);
    exact_linear_data(&m, N, t, 9, x, y);
    double exact = exact_kalman(&m, N, t, y, NULL) - exact_normal(y[0], 0, 1);
    gsv_model *model = model_of("state x, l\n dx = (l - x)*dt + 0.4*dW1\n"
                                "dl = -0.5*l*dt + 0.2*dW1 + 0.6*dW2\n"
                                "init l ~ normal(0, 0.5)");
    gsv_series *s = series_of(N, t, 1, NAME, y);
    struct offs off = offs_of(model, s, exact, SEEDS);
    print_message("mixed: %.5f off in the mean, %.5f root mean square\n",
                  off.mean, off.root);
    assert_near(off.mean, 0.0, 0.01 + 2.0 * off.root / sqrt(SEEDS));
    assert_true(off.root < 0.1);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* --- A double well -----------------------------------------------------------
 */

static double well(double x, const double *p)
{
    (void)p;
    return x - x * x * x;
}

static void well__is_the_grids(void **state)
{
    (void)state;
    static const char *const NAME[] = {"y"};
    enum { N = SLOWER > 1 ? 20 : 100, SEEDS = SLOWER > 1 ? 1 : 6 };
    double t[N], x[N], y[N];
    struct exact_noise noise = {.y = y, .r = 0.2};
    struct exact_diffusion m = {.drift = well,
                                .s = 0.5,
                                .d0 = 1.0,
                                .log_density = exact_noise_density,
                                .user = &noise};
    struct exact_range range = {.low = -3.0, .high = 3.0, .cells = 301};
    times(N, 0.2, t);
    exact_diffusion_data(&m, N, t, 0.2, 5, x, y);
    double exact = exact_grid_filter(&m, &range, N, t, NULL, NULL);
    gsv_model *model = model_of("state x\n dx = (x - x^3)*dt + 0.5*dW\n"
                                "obs y ~ normal(x, 0.2)\n"
                                "init x ~ normal(0, 1)");
    gsv_series *s = series_of(N, t, 1, NAME, y);
    struct offs off = offs_of(model, s, exact, SEEDS);
    print_message("well: %.5f off in the mean, %.5f root mean square\n",
                  off.mean, off.root);
    assert_near(off.mean, 0.0, 0.02 + 2.0 * off.root / sqrt(SEEDS));
    assert_true(off.root < 0.066);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* --- Gradients and bits
 * ------------------------------------------------------- */

/* Two tracks, missing rows, counts, a link, a first state with parameters. */
static const char MIXED[] =
    "state x, l\n param k = 1 > 0, s = 0.5 > 0, e = 0.3 > 0, m = 0.2, c = 1 > "
    "0\n"
    "dx = k*(sin(l) - x)*dt + s*dW\n dl = (m - l)*dt + 0.4*dW\n"
    "obs y ~ normal(x, e)\n obs n ~ poisson(c*exp(l))\n"
    "init x ~ normal(m, e)\n init l ~ normal(0, 0.5)";

static gsv_series *mixed_data(void)
{
    static const char *const NAME[] = {"y", "n"};
    const size_t start[3] = {0, 5, 9};
    const double time[9] = {0, 0.2, 0.5, 0.6, 1.0, 0, 0.3, 0.4, 0.9};
    const double value[18] = {0.1, 0.3, NAN, 0.2, -0.1, 0.5, 0.4, NAN, 0.6,
                              1,   0,   2,   NAN, 3,    1,   NAN, NAN, 2};
    gsv_series *s = gsv_series_new(2, start, 2, NAME, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void gradient__is_that_of_the_value(void **state)
{
    (void)state;
    gsv_model *m = model_of(MIXED);
    gsv_series *s = mixed_data();
    gsv_options o = default_options();
    gsv_gradient_check check;
    o.steps = 2;
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
    gsv_options o = default_options();
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

/* --- Fits
 * ------------------------------------------------------------------------ */

/* The maximum of Kalman's likelihood, by small moves around what was found. */
static void fit__is_kalmans_maximum(void **state)
{
    (void)state;
    static const char *const NAME[] = {"y"};
    enum { N = SLOWER > 1 ? 30 : 150 };
    double t[N], x[N], y[N];
    struct exact_linear m = ou(1.0, 1.0, 0.3);
    times(N, 0.2, t);
    exact_linear_data(&m, N, t, 3, x, y);
    gsv_model *model =
        model_of("state x\n param th = 0.3 > 0, s = 2 > 0, r = 1 > 0\n"
                 "dx = -th*x*dt + s*dW\n obs y ~ normal(x, r)\n init x ~ "
                 "normal(0, 0.7)");
    gsv_series *s = series_of(N, t, 1, NAME, y);
    gsv_fit_options o = gsv_fit_options_default();
    if (gsv_fit(model, s, &o)) fail_msg("%s", gsv_last_error());
    const double *v = gsv_model_value(model);
    struct exact_linear here = ou(v[0], v[1], v[2]);
    double best = exact_kalman(&here, N, t, y, NULL);
    print_message("found th %.4f s %.4f r %.4f: %.5f\n", v[0], v[1], v[2],
                  best);
    for (size_t i = 0; i < 27; i++) {
        size_t third = i / 9, second = i / 3 % 3, first = i % 3;
        double move[3] = {(double)first - 1.0, (double)second - 1.0,
                          (double)third - 1.0};
        struct exact_linear near =
            ou(v[0] * exp(0.05 * move[0]), v[1] * exp(0.05 * move[1]),
               v[2] * exp(0.05 * move[2]));
        assert_true(exact_kalman(&near, N, t, y, NULL) < best + 0.02);
    }
    gsv_series_free(s);
    gsv_model_free(model);
}

/* The record of a fit with these hidden states' estimator, for its intervals.
 */
static const gsv_record *fit_with(gsv_model *m, const gsv_series *s,
                                  enum gsv_observe observe)
{
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.observe = observe;
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    return gsv_model_record(m);
}

/* One end of an interval, by its distance from the estimate. Open ends are open
 * in both. */
static void assert_same_end(double scan, double kalman, double estimate)
{
    if (isfinite(kalman))
        assert_near(scan, kalman, 0.05 * fabs(kalman - estimate));
    else assert_true(scan == kalman);
}

/* Slopes are from the gradient of the scan, whose points stay where they are;
 * Kalman's filter has no points. In some of these series r is at its bound. */
static void intervals__are_kalmans(void **state)
{
    (void)state;
    static const char *const NAME[] = {"y"};
    static const size_t ROWS[] = {40, 50, 60, 60};
    enum { MOST = 60 };
    double t[MOST], x[MOST], y[MOST];
    for (size_t c = 0; c < COUNT(ROWS) - (SLOWER > 1); c++) {
        size_t n = ROWS[c];
        struct exact_linear truth = ou(1.0, 1.0, 0.3);
        times(n, 0.5, t);
        exact_linear_data(&truth, n, t, 12 + c, x, y);
        gsv_series *s = series_of(n, t, 1, NAME, y);
        gsv_model *m = model_of(OU), *exact = model_of(OU);
        const gsv_record *scan = fit_with(m, s, GSV_OBSERVE_SCAN);
        const gsv_record *kalman = fit_with(exact, s, GSV_OBSERVE_KALMAN);
        for (size_t i = 0; i < gsv_model_values(m); i++) {
            double estimate = gsv_model_value(exact)[i];
            print_message("%zu rows, number %zu: %.4f to %.4f, exact %.4f to "
                          "%.4f\n",
                          n, i, scan->low[i], scan->high[i], kalman->low[i],
                          kalman->high[i]);
            assert_same_end(scan->low[i], kalman->low[i], estimate);
            assert_same_end(scan->high[i], kalman->high[i], estimate);
        }
        gsv_series_free(s);
        gsv_model_free(m);
        gsv_model_free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ou__is_kalmans),
        cmocka_unit_test(ring__is_kalmans),
        cmocka_unit_test(mixed__is_kalmans),
        cmocka_unit_test(well__is_the_grids),
        cmocka_unit_test(gradient__is_that_of_the_value),
        cmocka_unit_test(bits__are_the_same_on_any_threads),
        cmocka_unit_test(fit__is_kalmans_maximum),
        cmocka_unit_test(intervals__are_kalmans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
