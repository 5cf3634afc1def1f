/* SPDX-License-Identifier: MIT */
/* Counts of events along a path, obs ~ poisson_process: against closed forms
 * and a filter on a grid that carries the number of events so far. */
#include <stdio.h>
#include <stdlib.h>

#include "observe_exact.h"

static gsv_series *series_of(size_t tracks, const size_t *start, size_t columns,
                             const char *const *name, const double *t,
                             const double *y)
{
    gsv_series *s = gsv_series_new(tracks, start, columns, name, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* log p of the data by an estimator. */
static double loglik_by(enum gsv_observe how, size_t points, const char *text,
                        const gsv_series *s)
{
    gsv_model *m = model_of(text);
    gsv_options o = default_options();
    o.observe = how;
    o.points = points;
    gsv_result r = loglik_of(m, s, &o);
    double found = r.loglik;
    gsv_result_free(&r);
    gsv_model_free(m);
    return found;
}

static double log_poisson(double n, double mean)
{
    return n * log(mean) - mean - lgamma(n + 1.0);
}

/* --- Closed forms ----------------------------------------------------------
 */

#define NORMAL_PART                                                            \
    "state x\n param c = 3 > 0\n dx = -x*dt + dW\n obs y ~ normal(x, 0.3)\n"   \
    "init x ~ normal(0, 0.7)\n"

/* Two tracks, first rows that count, a missing count, a row that has nothing
 * but the end of one count and the start of another. */
static void constant_rate__is_poisson(void **state)
{
    (void)state;
    static const char *const NAME[] = {"y", "n"};
    enum { N = 9 };
    const size_t start[3] = {0, 5, N};
    const double t[N] = {0, 0.2, 0.5, 0.6, 1.0, 0, 0.3, 0.4, 0.9};
    const double y[2 * N] = {0.1, 0.3, 0.2, 0.2, -0.1, 0.5, NAN, 0.1, 0.6,
                             7,   2,   0,   NAN, 3,    9,   NAN, 1,   2};
    gsv_series *s = series_of(2, start, 2, NAME, t, y);
    const enum gsv_observe HOW[] = {GSV_OBSERVE_SCAN};
    double counts = 0.0;
    for (size_t i = 0; i < N; i++)
        if (i % 5 && !isnan(y[N + i]))
            counts += log_poisson(y[N + i], 3.0 * (t[i] - t[i - 1]));
    for (size_t k = 0; k < COUNT(HOW); k++) {
        double with = loglik_by(
            HOW[k], 64,
            NORMAL_PART "obs n ~ poisson_process(c*(sin(x)^2 + cos(x)^2))", s);
        double without = loglik_by(HOW[k], 64, NORMAL_PART, s);
        assert_near(with - without, counts, k ? 1e-9 : 1e-4);
    }
    gsv_series_free(s);
}

/* --- A filter with the number of events ------------------------------------
 */

/* dx = k (m - x) dt + s dW, first N(m0, d0^2), rate exp(x). */
struct exact_events {
    double k, m, s, m0, d0;
};

enum { CELLS = 161, SUBSTEPS = 16, MOST_EVENTS = 40 };

/* f (MOST_EVENTS + 1, CELLS): densities of x with so many events; those that
 * happen where x stands still, with these means. */
static void happen(size_t n, const double *mean, double *f)
{
    for (size_t i = 0; i < CELLS; i++)
        for (size_t c = n + 1; c-- > 0;) {
            double sum = 0.0;
            for (size_t b = 0; b <= c; b++)
                sum += f[(c - b) * CELLS + i] *
                       exp(log_poisson((double)b, mean[i]));
            f[c * CELLS + i] = sum;
        }
}

/* K[to, from], with the width of a cell. */
static void kernel_of(const struct exact_events *e, double h, const double *x,
                      double *K)
{
    double F = exp(-e->k * h), v = e->s * e->s * (1.0 - F * F) / (2.0 * e->k);
    for (size_t i = 0; i < CELLS; i++)
        for (size_t j = 0; j < CELLS; j++)
            K[i * CELLS + j] =
                (x[1] - x[0]) *
                exp(exact_normal(x[i], e->m + F * (x[j] - e->m), v));
}

static void move(size_t n, const double *K, double *f)
{
    double to[CELLS];
    for (size_t c = 0; c <= n; c++, f += CELLS) {
        for (size_t i = 0; i < CELLS; i++) {
            to[i] = 0.0;
            for (size_t j = 0; j < CELLS; j++)
                to[i] += K[i * CELLS + j] * f[j];
        }
        memcpy(f, to, sizeof to);
    }
}

/* Half of a substep's events, the move, the other half: errors are of the order
 * of a substep squared. Rows h apart; n[0] is not looked at. */
static double events_filter(const struct exact_events *e, size_t rows, double h,
                            const double *n)
{
    static double K[CELLS * CELLS], f[(MOST_EVENTS + 1) * CELLS];
    double x[CELLS], mean[CELLS], sd = e->s / sqrt(2.0 * e->k), total = 0.0;
    for (size_t i = 0; i < CELLS; i++) {
        x[i] = e->m + 6.0 * sd * (2.0 * (double)i / (CELLS - 1) - 1.0);
        mean[i] = 0.5 * h / SUBSTEPS * exp(x[i]);
        f[i] = exp(exact_normal(x[i], e->m0, e->d0 * e->d0));
    }
    kernel_of(e, h / SUBSTEPS, x, K);
    for (size_t row = 1; row < rows; row++) {
        size_t seen = (size_t)n[row];
        double sum = 0.0;
        memset(f + CELLS, 0, seen * CELLS * sizeof *f);
        for (size_t k = 0; k < SUBSTEPS; k++) {
            happen(seen, mean, f);
            move(seen, K, f);
            happen(seen, mean, f);
        }
        memmove(f, f + seen * CELLS, CELLS * sizeof *f);
        for (size_t i = 0; i < CELLS; i++)
            sum += (x[1] - x[0]) * f[i];
        for (size_t i = 0; i < CELLS; i++)
            f[i] /= sum;
        total += log(sum);
    }
    return total;
}

/* Data of a model, without its states: the columns of its values. */
static gsv_series *drawn(const gsv_model *m, size_t rows, double h,
                         size_t tracks, uint64_t seed)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    double *t = calloc(rows, sizeof *t);
    assert_non_null(t);
    for (size_t i = 0; i < rows; i++)
        t[i] = h * (double)i;
    o.times = rows;
    o.time = t;
    o.tracks = tracks;
    o.seed = seed;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    free(t);
    return s;
}

#define LOG_RATE                                                               \
    "state x\n param k = 1 > 0, m = 1.5, s = 0.5 > 0\n"                        \
    "dx = k*(m - x)*dt + s*dW\n obs n ~ poisson_process(exp(x))\n"             \
    "init x ~ normal(1.5, 0.35)"

/* Gaps that are short against the relaxation time, 1; what is left out grows
 * with their length. */
static void log_rate__is_the_grids(void **state)
{
    (void)state;
    static const double GAP[] = {0.05, 0.1, 0.2};
    enum { N = 31, POINTS = 64 };
    const struct exact_events e = {1.0, 1.5, 0.5, 1.5, 0.35};
    for (size_t c = 0; c < COUNT(GAP) - (SLOWER > 1); c++) {
        gsv_model *m = model_of(LOG_RATE);
        gsv_series *s = drawn(m, N, GAP[c], 1, 5 + c);
        double exact = events_filter(&e, N, GAP[c], s->value + s->rows);
        double scan = loglik_by(GSV_OBSERVE_SCAN, POINTS, LOG_RATE, s);
        print_message("gaps of %g: %.6f, scan %+.6f\n", GAP[c], exact,
                      scan - exact);
        assert_near(scan, exact, 4e-3);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- Gradients and bits ----------------------------------------------------
 */

/* Two rates, an input that holds and one that does not, a map, noise in time,
 * a drift that is not linear, and a state that no rate looks at. */
static const char RICH[] =
    "state x, l\n input u hold, v\n"
    "param k = 1 > 0, s = 0.5 > 0, m = 0.2, c = 2 > 0, e = 0.3 > 0\n"
    "dx = k*(1 + u/4 - x)*dt + s*sqrt(x)*dW\n"
    "dl = (sin(l) + m - l)*dt + (0.4 + 0.1*s*sin(t))*dW\n"
    "obs n ~ poisson_process(c*(0.1 + x)*exp(l/2 + v))\n"
    "obs p ~ poisson_process(exp(m + u*l))\n obs y ~ normal(x, e)\n"
    "init x ~ normal(1, 0.1)\n init l ~ normal(m, 0.3)";

static gsv_series *rich_data(void)
{
    static const char *const NAME[] = {"n", "p", "y", "u", "v"};
    enum { N = 9 };
    const size_t start[3] = {0, 5, N};
    const double t[N] = {0, 0.2, 0.5, 0.6, 1.0, 0, 0.3, 0.4, 0.9};
    const double y[5 * N] = {NAN, 1,   0,   NAN, 2,   4,   1,   NAN, 2,
                             NAN, 0,   2,   NAN, 1,   NAN, NAN, NAN, 0,
                             0.9, 1.1, NAN, NAN, 1.2, 1,   NAN, 0.8, 1.1,
                             1,   1,   0,   0,   1,   1,   0,   0,   1,
                             0,   0.1, 0.2, 0.3, 0.1, 0,   0.1, 0.1, 0.2};
    return series_of(2, start, 5, NAME, t, y);
}

static void gradient__is_that_of_the_value(void **state)
{
    (void)state;
    const enum gsv_observe HOW[] = {GSV_OBSERVE_SCAN};
    gsv_model *m = model_of(RICH);
    gsv_series *s = rich_data();
    for (size_t k = 0; k < COUNT(HOW); k++) {
        gsv_options o = default_options();
        gsv_gradient_check check;
        o.observe = HOW[k];
        o.steps = 2;
        if (gsv_check_gradient(m, s, &o, &check))
            fail_msg("%s", gsv_last_error());
        print_message("%s: off by %.1e\n", k ? "guided" : "scan", check.worst);
        if (!(check.worst < 1e-6))
            fail_msg("off by %g at %zu", check.worst, check.where);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void bits__are_the_same_on_any_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of(RICH);
    gsv_series *s = rich_data();
    gsv_options o = default_options();
    o.observe = GSV_OBSERVE_SCAN;
    o.gradient = true;
    o.threads = 1;
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

/* --- Rates that are none ---------------------------------------------------
 */

/* Points where the rate is negative weigh nothing, in the gradient either;
 * where it is negative everywhere, that is said. */
static void negative_rate__weighs_nothing(void **state)
{
    (void)state;
    static const char *const NAME[] = {"n"};
    static const char *const RATE[] = {"x", "sqrt(x)", "-1 - x^2"};
    const size_t start[2] = {0, 4};
    const double t[4] = {0, 0.1, 0.2, 0.3}, n[4] = {NAN, 1, 0, 2};
    gsv_series *s = series_of(1, start, 1, NAME, t, n);
    for (size_t k = 0; k < COUNT(RATE); k++) {
        char text[300];
        snprintf(text, sizeof text,
                 "state x\n param c = 0.5\n dx = (c - x)*dt + dW\n"
                 "obs n ~ poisson_process(%s)\n init x ~ normal(0.5, 1)",
                 RATE[k]);
        gsv_model *m = model_of(text);
        gsv_options o = default_options();
        gsv_result r = {0};
        o.gradient = true;
        int status = gsv_loglik(m, s, &o, &r);
        assert_int_equal(status, k == 2 ? GSV_NUMERICAL : 0);
        if (!status) assert_true(isfinite(r.loglik) && isfinite(r.gradient[0]));
        gsv_result_free(&r);
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

/* --- Fits ------------------------------------------------------------------
 */

/* A rate that hardly moves: its mean is known to what counts say, within four
 * standard errors. */
static void fit__finds_the_mean_rate(void **state)
{
    (void)state;
    enum { N = SLOWER > 1 ? 11 : 41, TRACKS = 2 };
    static const char TEXT[] =
        "state x\n param m = 2\n dx = 4*(m - x)*dt + 0.3*dW\n"
        "obs n ~ poisson_process(exp(x))\n init x ~ normal(2, 0.1)";
    const double h = 0.1, mean = exp(2.0) * h * (N - 1) * TRACKS;
    gsv_model *m = model_of(TEXT);
    gsv_series *s = drawn(m, N, h, TRACKS, 8);
    gsv_fit_options o = gsv_fit_options_default();
    o.errors = GSV_ERRORS_NONE;
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    double found = gsv_model_value(m)[0];
    print_message("m = 2 found as %.3f\n", found);
    /* Of x itself: 0.3/4 over the square root of the time. */
    double error = sqrt(1.0 / mean + 0.09 / 16.0 / (h * (N - 1) * TRACKS));
    assert_near(found, 2.0, 4.0 * error);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_rate__is_poisson),
        cmocka_unit_test(log_rate__is_the_grids),
        cmocka_unit_test(gradient__is_that_of_the_value),
        cmocka_unit_test(bits__are_the_same_on_any_threads),
        cmocka_unit_test(negative_rate__weighs_nothing),
        cmocka_unit_test(fit__finds_the_mean_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
