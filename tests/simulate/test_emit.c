/* SPDX-License-Identifier: MIT */
/* Simulated observations: their moments, where they come from, and that their
 * bits are the same whatever else is drawn. */
#include "exact.h"

#include <stdio.h>

static const double TIME[] = {0.0, 0.5, 2.0};

static gsv_simulate_options options_of(size_t tracks)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = COUNT(TIME);
    o.time = TIME;
    o.tracks = tracks;
    o.step = 0.125;
    return o;
}

static gsv_series *simulate(const gsv_model *m, const gsv_simulate_options *o)
{
    gsv_series *s = gsv_simulate(m, o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static const double *column_of(const gsv_series *s, const char *name)
{
    for (size_t c = 0; c < s->columns; c++)
        if (!strcmp(s->name[c], name)) return s->value + c * s->rows;
    fail_msg("there is no column '%s'", name);
    return NULL;
}

/* All laws of one line, of a state that is hardly noisy: x = 0.5 + t. */
#define STILL                                                                  \
    "state x\n"                                                                \
    "param r = 0.4 > 0\n"                                                      \
    "dx = dt + 1e-6*dW\n"                                                      \
    "init x ~ normal(0.5, 1e-6)\n"
#define LAWS                                                                   \
    "obs y ~ normal(3*x, r)\n"                                                 \
    "obs s ~ student(x, 2*r, 12)\n"                                            \
    "obs n ~ poisson(4*x)\n"                                                   \
    "obs b ~ negbin(4*x, 2)\n"                                                 \
    "obs k ~ binomial(n, x/5)\n"                                               \
    "obs j ~ binomial(40, x/5)\n"                                              \
    "obs e ~ poisson_process(3*x)\n"
#define MORE_LAWS                                                              \
    "obs l ~ lognormal(x, r)\n"                                                \
    "obs g ~ gamma(2*x, 5*r)\n"                                                \
    "obs s ~ beta(x/5, 5)\n"                                                   \
    "obs j[2] ~ betabinomial(20, [x/5, 1 - x/5], 3)\n"                         \
    "obs c ~ categorical([x, 2, 1])\n"                                         \
    "obs o ~ ordered(x, [0, 1, 3])\n"                                          \
    "obs z ~ zeroinflated(x/5, poisson(4*x))\n"                                \
    "obs w ~ zeroinflated(r/2, poisson_process(3*x))\n"

/* Mean and variance of a column in row k of all tracks. */
static void check_column(const gsv_series *s, const char *name, size_t k,
                         double mean, double variance, double kurtosis)
{
    const double *v = column_of(s, name);
    double n = (double)s->tracks, first = 0.0, second = 0.0;
    for (size_t r = 0; r < s->tracks; r++) {
        double off = v[r * COUNT(TIME) + k] - mean;
        first += off / n;
        second += off * off / n;
    }
    assert_near(first, 0.0, 4.5 * sqrt(variance / n));
    assert_near(second / variance, 1.0, 4.5 * sqrt((2.0 + kurtosis) / n));
}

static void emit__has_the_moments_of_each_law(void **state)
{
    (void)state;
    gsv_model *m = model_of(STILL LAWS);
    gsv_simulate_options o = options_of(20000 / SLOWER);
    gsv_series *s = simulate(m, &o);
    assert_int_equal(s->columns, 8);
    for (size_t k = 0; k < COUNT(TIME); k++) {
        double x = 0.5 + TIME[k], p = x / 5.0, q = 1.0 - p, v = 40.0 * p * q;
        double b = 4.0 * x + 8.0 * x * x;
        check_column(s, "y", k, 3.0 * x, 0.16, 0.0);
        check_column(s, "s", k, x, 0.64 * 1.2, 0.75);
        check_column(s, "n", k, 4.0 * x, 4.0 * x, 0.25 / x);
        check_column(s, "b", k, 4.0 * x, b, 3.0 + 1.0 / b);
        check_column(s, "k", k, 0.8 * x * x, 0.8 * x * x, 1.25 / (x * x));
        check_column(s, "j", k, 40.0 * p, v, (1.0 - 6.0 * p * q) / v);
        if (!k) continue;
        double before = 0.5 + TIME[k - 1];
        double rate = 1.5 * (x * x - before * before);
        check_column(s, "e", k, rate, rate, 1.0 / rate);
    }
    for (size_t r = 0; r < s->tracks; r++)
        assert_true(isnan(column_of(s, "e")[r * COUNT(TIME)]));
    for (size_t i = 0; i < s->rows; i++)
        assert_true(column_of(s, "k")[i] <= column_of(s, "n")[i]);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Values from `from` on that have the weights p. */
static void check_masses(const gsv_series *s, const char *name, size_t k,
                         double from, size_t n, const double *p)
{
    double sum = 0.0, mean = 0.0, variance = 0.0, fourth = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += p[i];
        mean += p[i] * (from + (double)i);
    }
    mean /= sum;
    for (size_t i = 0; i < n; i++) {
        double off = from + (double)i - mean;
        variance += p[i] / sum * off * off;
        fourth += p[i] / sum * pow(off, 4.0);
    }
    check_column(s, name, k, mean, variance,
                 fourth / (variance * variance) - 3.0);
}

/* betabinomial(20, p, 3), whose mean and variance are 20 p and 115 p (1 - p).
 */
static void check_trials(const gsv_series *s, const char *name, size_t k,
                         double p)
{
    double a = 3.0 * p, b = 3.0 - a, mass[21], mean = 0.0, square = 0.0;
    for (size_t i = 0; i <= 20; i++) {
        double n = (double)i, l = 20.0 - n;
        mass[i] = exp(lgamma(a + n) + lgamma(b + l) - lgamma(n + 1.0) -
                      lgamma(l + 1.0) + lgamma(21.0) - lgamma(23.0) +
                      lgamma(3.0) - lgamma(a) - lgamma(b));
        mean += mass[i] * n;
        square += mass[i] * n * n;
    }
    assert_near(mean, 20.0 * p, 1e-10);
    assert_near(square - mean * mean, 115.0 * p * (1.0 - p), 1e-9);
    check_masses(s, name, k, 0.0, 21, mass);
}

/* Zeros of probability p among poisson counts of mean m. */
static void check_inflated(const gsv_series *s, const char *name, size_t k,
                           double p, double m)
{
    double q = 1.0 - p, a = q * m, second = q * (m + m * m);
    double third = q * m * (1.0 + 3.0 * m + m * m);
    double fourth = q * m * (1.0 + m * (7.0 + m * (6.0 + m)));
    double v = second - a * a;
    fourth += a * (-4.0 * third + 6.0 * a * second - 3.0 * a * a * a);
    check_column(s, name, k, a, v, fourth / (v * v) - 3.0);
}

static double beta_kurtosis(double a, double b)
{
    double n = a + b;
    return 6.0 * ((a - b) * (a - b) * (n + 1.0) - a * b * (n + 2.0)) /
           (a * b * (n + 2.0) * (n + 3.0));
}

static double logistic(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void emit__has_the_moments_of_more_laws(void **state)
{
    (void)state;
    gsv_model *m = model_of(STILL MORE_LAWS);
    gsv_simulate_options o = options_of(20000 / SLOWER);
    gsv_series *s = simulate(m, &o);
    for (size_t k = 0; k < COUNT(TIME); k++) {
        double x = 0.5 + TIME[k], p = x / 5.0, e = exp(0.16);
        double spread = p * (1.0 - p), mean = exp(x + 0.08);
        check_column(s, "l", k, mean, mean * mean * (e - 1.0),
                     pow(e, 4) + 2.0 * pow(e, 3) + 3.0 * e * e - 6.0);
        check_column(s, "g", k, 2.0 * x, 2.0 * x * x, 3.0);
        check_column(s, "s", k, p, spread / 6.0, beta_kurtosis(x, 5.0 - x));
        check_trials(s, "j1", k, p);
        check_trials(s, "j2", k, 1.0 - p);
        check_masses(s, "c", k, 1.0, 3, (double[]){x, 2.0, 1.0});
        double below[] = {logistic(-x), logistic(1.0 - x), logistic(3.0 - x)};
        check_masses(s, "o", k, 1.0, 4,
                     (double[]){below[0], below[1] - below[0],
                                below[2] - below[1], 1.0 - below[2]});
        check_inflated(s, "z", k, p, 4.0 * x);
        if (!k) continue;
        double before = 0.5 + TIME[k - 1];
        check_inflated(s, "w", k, 0.2, 1.5 * (x * x - before * before));
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The trapezoid over the simulation's own steps. A rate of 1e12 x makes a count
 * the integral but for 1e-6 of it. */
static void emit__integrates_the_rate_along_the_path(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = -x*dt + 0.3*dW\n"
                            "obs e ~ poisson_process(1e12*(2 + x))\n"
                            "obs v ~ normal(x*integral(2 + x), 1e-9)\n"
                            "obs w ~ normal(x + integral(1), 1e-9)\n"
                            "init x ~ normal(1, 0.2)");
    const double all[] = {0.0, 0.25, 0.5, 0.75, 1.0};
    gsv_simulate_options o = options_of(3);
    o.step = 0.25;
    o.times = COUNT(all);
    o.time = all;
    gsv_series *fine = simulate(m, &o);
    const double ends[] = {0.0, 1.0};
    o.times = 2;
    o.time = ends;
    gsv_series *s = simulate(m, &o);
    for (size_t r = 0; r < 3; r++) {
        const double *x = column_of(fine, "x") + 5 * r;
        double sum = 0.0;
        assert_true(column_of(s, "x")[2 * r + 1] == x[4]);
        for (size_t k = 0; k < 4; k++)
            sum += 0.25 * (2.0 + 0.5 * (x[k] + x[k + 1]));
        assert_near(column_of(s, "e")[2 * r + 1] / 1e12, sum, 1e-5);
        assert_near(column_of(s, "v")[2 * r + 1], x[4] * sum, 1e-7);
        assert_near(column_of(s, "w")[2 * r + 1], x[4] + 1.0, 1e-7);
        assert_true(isnan(column_of(s, "v")[2 * r]));
    }
    gsv_series_free(fine);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* A vector is drawn element by element, noises independent. */
static void emit__draws_vectors(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x[2]\ndx = -x*dt + 0.01*dW\n"
                            "obs y[2] ~ normal(x, 1)\n"
                            "init x ~ normal(0, 0.01)");
    gsv_simulate_options o = options_of(10000 / SLOWER);
    gsv_series *s = simulate(m, &o);
    const double *a = column_of(s, "y1"), *b = column_of(s, "y2");
    double sum = 0.0, n = (double)s->rows;
    for (size_t i = 0; i < s->rows; i++)
        sum += a[i] * b[i] / n;
    assert_near(sum, 0.0, 4.5 / sqrt(n));
    check_column(s, "y2", 1, 0.0, 1.0, 0.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- First states --------------------------------------------------------- */

static void emit__starts_latent_states_by_their_init(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, z\nparam m = 2, s = 0.5 > 0\n"
                            "dx = -x*dt + dW\ndz = dW\n"
                            "obs y ~ normal(x, 1)\ninit x ~ normal(m, s)");
    gsv_simulate_options o = options_of(10000 / SLOWER);
    gsv_series *s = simulate(m, &o);
    check_column(s, "x", 0, 2.0, 0.25, 0.0);
    for (size_t r = 0; r < s->tracks; r++)
        assert_true(column_of(s, "z")[3 * r] == 0.0);
    gsv_series_free(s);
    o.start_mean = 1.0;
    o.start_sd = 3.0;
    s = simulate(m, &o);
    check_column(s, "x", 0, 1.0, 9.0, 0.0);
    check_column(s, "z", 0, 1.0, 9.0, 0.0);
    gsv_series_free(s);
    const double start[] = {7.0, 8.0};
    o.tracks = 1;
    o.start = start;
    s = simulate(m, &o);
    assert_true(column_of(s, "x")[0] == 7.0 && column_of(s, "z")[0] == 8.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Bits ----------------------------------------------------------------- */

static const char *const WALK = "state x\ndx = -x*dt + dW\n"
                                "init x ~ normal(1, 0.1)\n";

static gsv_model *walk_model(const char *more)
{
    char text[1000];
    snprintf(text, sizeof text, "param r = 0.4 > 0\n%s%s%s", WALK,
             "obs y ~ normal(3*x, r)\nobs s ~ student(x, 2*r, 12)\n"
             "obs n ~ poisson(4*exp(x))\nobs k ~ binomial(n, sigmoid(x))\n"
             "obs e ~ poisson_process(30*exp(x))\n",
             more);
    return model_of(text);
}

static void same_column(const gsv_series *a, const gsv_series *b,
                        const char *name)
{
    size_t rows = a->rows < b->rows ? a->rows : b->rows;
    assert_memory_equal(column_of(a, name), column_of(b, name),
                        rows * sizeof(double));
}

static void emit__has_the_same_bits_whatever_else_is_drawn(void **state)
{
    (void)state;
    static const char *const NAME[] = {"x", "y", "s", "n", "k", "e"};
    gsv_model *m = walk_model(""),
              *more = walk_model("obs w ~ negbin(exp(x), 2)\n");
    gsv_simulate_options o = options_of(333);
    o.threads = 1;
    gsv_series *one = simulate(m, &o);
    o.threads = 5;
    gsv_series *threads = simulate(m, &o), *others = simulate(more, &o);
    const size_t fewer[] = {1, 7, 64, 65, 130};
    for (size_t c = 0; c < COUNT(NAME); c++) {
        same_column(one, threads, NAME[c]);
        same_column(one, others, NAME[c]);
    }
    for (size_t i = 0; i < COUNT(fewer); i++) {
        o.tracks = fewer[i];
        gsv_series *s = simulate(m, &o);
        for (size_t c = 0; c < COUNT(NAME); c++)
            same_column(one, s, NAME[c]);
        gsv_series_free(s);
    }
    gsv_series_free(one);
    gsv_series_free(threads);
    gsv_series_free(others);
    gsv_model_free(m);
    gsv_model_free(more);
}

/* Rows, tracks, obs and seeds have numbers of their own: no value is seen
 * twice. */
static void emit__never_draws_a_number_again(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = 1e-9*dW\n"
                            "obs y ~ normal(x, 1)\nobs z ~ normal(x, 1)\n"
                            "init x ~ normal(0, 1e-9)");
    gsv_simulate_options o = options_of(100);
    double v[2 * 2 * 300];
    for (o.seed = 1; o.seed <= 2; o.seed++) {
        gsv_series *s = simulate(m, &o);
        double *to = v + 600 * (o.seed - 1);
        memcpy(to, column_of(s, "y"), 300 * sizeof *v);
        memcpy(to + 300, column_of(s, "z"), 300 * sizeof *v);
        gsv_series_free(s);
    }
    for (size_t i = 0; i < COUNT(v); i++)
        for (size_t j = 0; j < i; j++)
            assert_true(fabs(v[i] - v[j]) > 1e-8);
    gsv_model_free(m);
}

/* --- What laws do not say ------------------------------------------------- */

static gsv_series *trials_of(double second)
{
    static const char *const NAME[] = {"n", "c1", "c2", "c3"};
    const double time[] = {0.0, 1.0};
    const double value[] = {10.0, second, 1.0, 2.0, 2.0, 2.0, 3.0, 2.0};
    const size_t start[] = {0, 2};
    gsv_series *s = gsv_series_new(1, start, 4, NAME, time, value);
    assert_non_null(s);
    return s;
}

#define GIVEN                                                                  \
    "state x\ndx = -x*dt + dW\nobs k ~ binomial(n, sigmoid(x))\n"              \
    "obs j ~ binomial(n, sigmoid(-x))\n"

static void emit__takes_from_the_data_what_laws_do_not_say(void **state)
{
    (void)state;
    gsv_model *m = model_of(GIVEN "obs c[3] ~ multinomial([1, exp(x), 1])");
    gsv_series *data = trials_of(20.0);
    gsv_simulate_options o = options_of(50);
    const char *name[9];
    assert_int_equal(gsv_model_given(m, 9, name), 4);
    assert_string_equal(name[0], "n");
    assert_string_equal(name[3], "c3");
    o.input = data;
    gsv_series *s = simulate(m, &o);
    assert_int_equal(s->columns, 7); /* x, k, n, j, c1, c2, c3 */
    for (size_t i = 0; i < s->rows; i++) {
        double all = column_of(s, "c1")[i] + column_of(s, "c2")[i] +
                     column_of(s, "c3")[i];
        assert_true(column_of(s, "n")[i] == (i % 3 < 2 ? 10.0 : 20.0));
        assert_true(all == 6.0);
        assert_true(column_of(s, "k")[i] <= column_of(s, "n")[i]);
    }
    gsv_series_free(s);
    gsv_series_free(data);
    gsv_model_free(m);
}

static void refuse(const char *text, const gsv_series *input,
                   enum gsv_status status, const char *says)
{
    gsv_model *m = model_of(text);
    gsv_simulate_options o = options_of(100);
    o.input = input;
    assert_null(gsv_simulate(m, &o));
    if (!strstr(gsv_last_error(), says))
        fail_msg("'%s' does not say '%s'", gsv_last_error(), says);
    assert_int_equal(gsv_last_status(), status);
    gsv_model_free(m);
}

static void emit__says_what_it_cannot_draw(void **state)
{
    (void)state;
    gsv_series *half = trials_of(0.5);
    refuse(GIVEN, NULL, GSV_BAD_INPUT,
           "the number of trials of 'k' is the column 'n'; give --inputs");
    refuse(GIVEN, half, GSV_BAD_INPUT, "'n' is 0.5 at time 2");
    refuse("state x\ndx = dW\nobs c[2] ~ multinomial([1, exp(x)])", NULL,
           GSV_BAD_INPUT, "the law of 'c1' does not say how many");
    refuse("state x\ndx = dW\nobs k ~ binomial(j, sigmoid(x))\n"
           "obs j ~ binomial(k, sigmoid(x))",
           NULL, GSV_BAD_INPUT, "'k' itself");
    refuse("state x\ndx = dW\nobs y ~ poisson(x)\ninit x ~ normal(0, 1)", NULL,
           GSV_NUMERICAL, "the law of 'y' has arguments that it cannot have");
    refuse("state x\ndx = dW\nobs y ~ normal(log(x), 1)\ninit x ~ normal(0, 1)",
           NULL, GSV_NUMERICAL, "the law of 'y'");
    gsv_series_free(half);
}

static void emit__survives_every_failed_allocation(void **state)
{
    (void)state;
    gsv_model *m = model_of(STILL LAWS "obs c[3] ~ multinomial([1, x, 1])");
    gsv_series *data = trials_of(20.0), *s = NULL;
    gsv_simulate_options o = options_of(3);
    o.threads = 1;
    o.input = data;
    gsv_series *before = simulate(m, &o);
    for (size_t n = 1; !s && n < 1000; n++) {
        mem_fail_at(n);
        s = gsv_simulate(m, &o);
        mem_fail_at(0);
        if (!s) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
    }
    assert_non_null(s);
    same_column(s, before, "e");
    same_column(s, before, "c3");
    gsv_series_free(s);
    gsv_series_free(before);
    gsv_series_free(data);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emit__has_the_moments_of_each_law),
        cmocka_unit_test(emit__has_the_moments_of_more_laws),
        cmocka_unit_test(emit__integrates_the_rate_along_the_path),
        cmocka_unit_test(emit__draws_vectors),
        cmocka_unit_test(emit__starts_latent_states_by_their_init),
        cmocka_unit_test(emit__has_the_same_bits_whatever_else_is_drawn),
        cmocka_unit_test(emit__never_draws_a_number_again),
        cmocka_unit_test(emit__takes_from_the_data_what_laws_do_not_say),
        cmocka_unit_test(emit__says_what_it_cannot_draw),
        cmocka_unit_test(emit__survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
