/* SPDX-License-Identifier: MIT */
/* Steps in closed form: against the exact law of linear equations, their own
 * gradient by differences, and the order of their error. */
#include "exact.h"
#include "observe/jump.h"

enum { I = 3, J = 4 };

struct walk {
    gsv_model *m;
    gsv_series *s;
    struct stops stops;
    struct jumps jumps;
    struct jumper w;
};

/* Two rows, which are not looked at. */
static const double TIME[] = {0.0, 1.0}, VALUE[] = {1.0, 2.0};
static const char *const Y[] = {"y"};

static void walk_init(struct walk *k, const char *text)
{
    const size_t start[] = {0, 2};
    k->m = model_of(text);
    k->s = gsv_series_new(1, start, 1, Y, TIME, VALUE);
    assert_non_null(k->s);
    assert_int_equal(stops_init(&k->stops, k->m, k->s), 0);
    assert_int_equal(jumps_init(&k->jumps, k->m, &k->stops.gaps, true), 0);
    jumps_prepare(&k->jumps);
    assert_int_equal(jumper_init(&k->w, &k->jumps, J, true), 0);
}

static void walk_free(struct walk *k)
{
    jumper_free(&k->w);
    jumps_free(&k->jumps);
    stops_free(&k->stops);
    gsv_series_free(k->s);
    gsv_model_free(k->m);
}

static const struct moment START = {.time = 0.25};

/* log p(x1 | x0) over h of all pairs, in the data's coordinates. */
static void densities(struct walk *k, double h, const double *x0,
                      const double *x1, double *log_p)
{
    size_t d = k->jumps.d;
    struct moment end = {.time = START.time + h};
    double y0[2 * I], y1[2 * J], det[J];
    assert_true(d <= 2);
    jumper_map(&k->w, &START, I, I, x0, y0, det);
    jumper_map(&k->w, &end, J, J, x1, y1, det);
    jumper_start(&k->w, &START, h, I, I, y0);
    jumper_all(&k->w, J, J, y1, log_p);
    for (size_t p = 0; p < I * J; p++)
        log_p[p] += det[p % J];
}

static const char OU[] = "state x\nparam a = 0.7\nparam m = 0.4\n"
                         "param s = 0.6 > 0\ndx = a*(m - x)*dt + s*dW\n"
                         "obs y ~ normal(x, 1)\ninit x ~ normal(0, 1)\n";

static void step__of_a_linear_equation_is_exact(void **state)
{
    (void)state;
    static const double x0[I] = {-1.0, 0.2, 3.0}, x1[J] = {-2.0, 0.0, 0.5, 2.0};
    static const double length[] = {0.01, 1.0, 30.0};
    struct walk k;
    walk_init(&k, OU);
    bool linear, any_length;
    assert_int_equal(jumps_are_exact(k.m, &linear, &any_length), 0);
    assert_true(any_length);
    for (size_t n = 0; n < COUNT(length); n++) {
        double log_p[I * J], h = length[n];
        densities(&k, h, x0, x1, log_p);
        for (size_t p = 0; p < I * J; p++) {
            double e = exp(-0.7 * h), mean = 0.4 + e * (x0[p / J] - 0.4);
            double var = 0.36 * (1.0 - e * e) / 1.4;
            double off = x1[p % J] - mean;
            double exact = -0.5 * off * off / var -
                           0.5 * log(2.0 * 3.14159265358979323846 * var);
            assert_near(log_p[p], exact, 1e-10 * fmax(1.0, fabs(exact)));
        }
    }
    walk_free(&k);
}

static const char WELL[] = "state x\nparam s = 0.6 > 0\n"
                           "dx = (x - x^3)*dt + s*dW\n"
                           "obs y ~ normal(x, 1)\ninit x ~ normal(0, 1)\n";

/* The density over h by n steps through a fine grid. */
static double composed(struct walk *k, double h, size_t n, double x0, double x1)
{
    enum { GRID = 400 };
    static double weight[GRID], next[GRID];
    struct moment at = START;
    double low = -3.0, width = 6.0 / GRID, step = h / (double)n, s = 0.6;
    for (size_t m = 0; m < n; m++, at.time += step) {
        bool first = m == 0, last = m + 1 == n;
        size_t from = first ? 1 : GRID, to = last ? 1 : GRID;
        for (size_t j = 0; j < to; j++)
            next[j] = 0.0;
        for (size_t i = 0; i < from; i++) {
            double x = first ? x0 : low + ((double)i + 0.5) * width;
            double y = x / s, density;
            jumper_start(&k->w, &at, step, 1, 1, &y);
            for (size_t j = 0; j < to; j++) {
                double end = last ? x1 : low + ((double)j + 0.5) * width;
                double y1 = end / s;
                jumper_all(&k->w, 1, 1, &y1, &density);
                next[j] += (first ? 1.0 : weight[i] * width) * exp(density) / s;
            }
        }
        memcpy(weight, next, to * sizeof *next);
    }
    return log(weight[0]);
}

/* Twice as many steps: the error falls by four. */
static void error__is_of_second_order(void **state)
{
    (void)state;
    struct walk k;
    walk_init(&k, WELL);
    bool linear, any_length;
    assert_int_equal(jumps_are_exact(k.m, &linear, &any_length), 0);
    assert_false(any_length);
    double fine = composed(&k, 0.4, 32, 0.3, 0.8);
    double two = composed(&k, 0.4, 2, 0.3, 0.8) - fine;
    double four = composed(&k, 0.4, 4, 0.3, 0.8) - fine;
    double eight = composed(&k, 0.4, 8, 0.3, 0.8) - fine;
    print_message("errors %.2e %.2e %.2e\n", two, four, eight);
    assert_true(fabs(two / four) > 2.8 && fabs(four / eight) > 3.0);
    walk_free(&k);
}

/* Points where the drift has no value weigh nothing and spoil no others. */
static void points__without_a_drift_weigh_nothing(void **state)
{
    (void)state;
    struct walk k, alone;
    static const char LOG[] = "state x\ndx = log(x)*dt + dW\n"
                              "obs y ~ normal(x, 1)\ninit x ~ normal(2, 1)\n";
    double x0[I] = {1.0, -1.0, 2.0}, x1[J] = {0.5, 1.0, 1.5, 2.0};
    double log_p[I * J], other[I * J];
    walk_init(&k, LOG);
    walk_init(&alone, LOG);
    densities(&k, 0.1, x0, x1, log_p);
    x0[1] = 1.5;
    densities(&alone, 0.1, x0, x1, other);
    for (size_t j = 0; j < J; j++) {
        assert_true(log_p[J + j] == -INFINITY);
        assert_near(log_p[j], other[j], 1e-12);
        assert_near(log_p[2 * J + j], other[2 * J + j], 1e-12);
    }
    walk_free(&k);
    walk_free(&alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step__of_a_linear_equation_is_exact),
        cmocka_unit_test(error__is_of_second_order),
        cmocka_unit_test(points__without_a_drift_weigh_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
