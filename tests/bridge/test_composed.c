/* SPDX-License-Identifier: MIT */
/* The form composed: exact densities without paths, their gradient and error,
 * and where it cannot be used. */
#include "exact.h"

static gsv_options composed_options(size_t steps)
{
    gsv_options o = default_options();
    o.form = GSV_FORM_COMPOSED;
    o.steps = steps;
    o.gradient = o.wide = true;
    return o;
}

/* --- Closed forms ----------------------------------------------------------
 */

static double normal(double x, double variance)
{
    return -0.5 * (x * x / variance + log(2.0 * acos(-1.0) * variance));
}

/* dX = a tanh(a X) dt + dW. */
static double benes(double x, double y, double h, const double *p)
{
    double a = p[0];
    return normal(y - x, h) + log(cosh(a * y) / cosh(a * x)) - 0.5 * a * a * h;
}

/* dX = -k X dt + s dW. */
static double ou(double x, double y, double h, const double *p)
{
    return exact_ou(x, y, p[0], p[1], h);
}

/* dX = m X dt + s X dW, of data exp(x). */
static double gbm(double x, double y, double h, const double *p)
{
    double s = p[1], mean = x + (p[0] - 0.5 * s * s) * h;
    return normal(y - mean, s * s * h) - y;
}

static const struct subject {
    const char *text;
    double (*exact)(double x, double y, double h, const double *p);
    bool positive;
    size_t values;
    double p[2];
} SUBJECTS[] = {
    {"state x\n param a = 1.5\n dx = a*tanh(a*x)*dt + dW",
     benes,
     false,
     1,
     {1.5}},
    {"state x\n param a = 0.4\n dx = a*tanh(a*x)*dt + dW",
     benes,
     false,
     1,
     {0.4}},
    {"state x\n param k = 1.3, s = 0.7\n dx = -k*x*dt + s*dW",
     ou,
     false,
     2,
     {1.3, 0.7}},
    {"state x\n param k = 3, s = 0.5\n dx = -k*x*dt + s*dW",
     ou,
     false,
     2,
     {3.0, 0.5}},
    {"state x\n param m = 0.3, s = 0.4\n dx = m*x*dt + s*x*dW",
     gbm,
     true,
     2,
     {0.3, 0.4}},
};

/* Gaps of length h between normal numbers, or their exponentials. */
static gsv_series *walk(const gsv_model *m, bool positive, double h)
{
    enum { ROWS = 12 };
    static const size_t start[] = {0, ROWS};
    double time[ROWS], *value = normals(ROWS, 3);
    for (size_t i = 0; i < ROWS; i++) {
        time[i] = h * (double)i * (1.0 + 0.02 * (double)i);
        value[i] *= 0.8 * sqrt(h);
        if (positive) value[i] = exp(value[i]);
    }
    gsv_series *s =
        gsv_series_new(1, start, 1, gsv_model_data_column(m), time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    mem_free(value);
    return s;
}

static double exact_of(const struct subject *u, const gsv_series *s,
                       const double *p)
{
    double sum = 0.0;
    for (size_t i = 1; i < s->rows; i++) {
        double x = s->value[i - 1], y = s->value[i];
        if (u->positive) {
            x = log(x);
            y = log(y);
        }
        sum += u->exact(x, y, s->time[i] - s->time[i - 1], p);
    }
    return sum;
}

/* With more steps it comes as near as rounding allows, and its gradient is that
 * of the closed form. */
static void composed__is_the_density(void **state)
{
    (void)state;
    static const double h[] = {0.01, 0.3, 1.0, 2.0};
    for (size_t n = 0; n < COUNT(SUBJECTS) * COUNT(h); n++) {
        const struct subject *u = &SUBJECTS[n / COUNT(h)];
        gsv_model *m = model_of(u->text);
        gsv_series *s = walk(m, u->positive, h[n % COUNT(h)]);
        gsv_options o = composed_options(128);
        gsv_result r = loglik_of(m, s, &o);
        double exact = exact_of(u, s, u->p);
        assert_near(r.loglik, exact, 2e-5 * (1.0 + fabs(exact)));
        assert_true(r.error == 0.0 && !r.flagged);
        assert_int_equal(r.gap[0].form, GSV_FORM_COMPOSED);
        for (size_t i = 0; i < u->values; i++) {
            double p[2][2], e = 1e-5;
            memcpy(p[0], u->p, sizeof p[0]);
            memcpy(p[1], u->p, sizeof p[1]);
            p[0][i] -= e;
            p[1][i] += e;
            double slope =
                (exact_of(u, s, p[1]) - exact_of(u, s, p[0])) / (2.0 * e);
            assert_near(r.gradient[i], slope, 1e-4 * (1.0 + fabs(slope)));
        }
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* Every doubling of an even number of steps lessens the error sixteenfold. */
static void composed__is_of_fourth_order(void **state)
{
    (void)state;
    const struct subject *u = &SUBJECTS[3];
    gsv_model *m = model_of(u->text);
    gsv_series *s = walk(m, false, 1.0);
    double exact = exact_of(u, s, u->p), before = INFINITY;
    for (size_t M = 8; M <= 64; M *= 2) {
        gsv_options o = composed_options(M);
        gsv_result r = loglik_of(m, s, &o);
        double off = fabs(r.loglik - exact);
        assert_true(off < before / 10.0);
        before = off;
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The check is a run with half of the steps, of odd numbers too. */
static void discretisation__is_that_of_two_runs(void **state)
{
    (void)state;
    gsv_model *m = model_of(SUBJECTS[3].text);
    gsv_series *s = walk(m, false, 1.0);
    for (size_t M = 2; M <= 17; M++) {
        gsv_options o = composed_options(M), half = composed_options(M);
        half.steps = (M + 1) / 2;
        gsv_result r = loglik_of(m, s, &o), q = loglik_of(m, s, &half);
        assert_near(r.discretisation, r.loglik - q.loglik, 1e-10);
        gsv_result_free(&r);
        gsv_result_free(&q);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void composed__has_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of(SUBJECTS[4].text);
    gsv_series *s = walk(m, true, 0.5);
    gsv_options o = composed_options(24);
    gsv_result r = loglik_of(m, s, &o);
    for (size_t threads = 2; threads <= 4; threads++) {
        o.threads = threads;
        gsv_result q = loglik_of(m, s, &o);
        assert_true(q.loglik == r.loglik);
        assert_memory_equal(q.gradient, r.gradient, 2 * sizeof *r.gradient);
        gsv_result_free(&q);
    }
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Where it cannot be used -----------------------------------------------
 */

static void composed__says_what_it_needs(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        gsv_options o;
        const char *reason;
    } row[] = {
        {"state x, y\n dx = -x*dt + dW1\n dy = -y*dt + dW2",
         {.steps = 8},
         "one state"},
        {"state x\n dx = sin(t)*dt + dW", {.steps = 8}, "without time"},
        {"state x\n net f(x) -> 1 : 4\n dx = f*dt + dW",
         {.steps = 8},
         "networks"},
        {"state x\n dx = (2 - x)*dt + sqrt(x)*dW", {.steps = 8}, "boundary"},
        {"state x\n dx = -x*dt + dW", {.steps = 257}, "at most 256"},
        {"state x\n dx = -x*dt + dW",
         {.steps = 8, .joint = true},
         "draws no paths"},
        {"state x\n dx = -x*dt + dW",
         {.steps = 8, .reference = GSV_REFERENCE_LNA},
         "draws no paths"},
        {"state x\n dx = 40*x*dt + dW", {.steps = 8}, "has no value"},
    };
    for (size_t i = 0; i < COUNT(row); i++) {
        gsv_model *m = model_of(row[i].text);
        gsv_series *s = walk_of(m, 1, 6, 1.0, 2);
        for (size_t k = 0; k < s->rows * s->columns; k++)
            s->value[k] =
                1.0 + fabs(s->value[k]) * (i == COUNT(row) - 1 ? 9 : 1);
        gsv_options o = row[i].o;
        gsv_result r;
        o.form = GSV_FORM_COMPOSED;
        o.threads = 1;
        assert_true(gsv_loglik(m, s, &o, &r) != 0);
        if (!strstr(gsv_last_error(), row[i].reason))
            fail_msg("%zu: %s", i, gsv_last_error());
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* Gaps over a barrier, whose paths tell little, have no random error by
 * default; a form that was asked for stays. */
static void hard_gaps__are_composed(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n param a = 2, s = 0.6\n"
                            "dx = a*(x - x^3)*dt + s*dW");
    static const size_t start[] = {0, 7};
    double time[] = {0, 1, 2, 3, 4, 5, 6},
           value[] = {1, -1, 0.9, 1.1, -1, -1, 1};
    gsv_series *s =
        gsv_series_new(1, start, 1, gsv_model_data_column(m), time, value);
    gsv_options o = default_options();
    o.paths = o.steps = 0;
    gsv_result r = loglik_of(m, s, &o);
    gsv_options fine = composed_options(256);
    gsv_result exact = loglik_of(m, s, &fine);
    assert_near(r.loglik, exact.loglik, 0.01);
    assert_true(r.error < 0.05 && !r.flagged);
    o.form = GSV_FORM_STRATONOVICH;
    gsv_result q = loglik_of(m, s, &o);
    for (size_t i = 0; i < q.groups; i++)
        assert_true(q.gap[i].form != GSV_FORM_COMPOSED);
    gsv_result_free(&r);
    gsv_result_free(&q);
    gsv_result_free(&exact);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composed__is_the_density),
        cmocka_unit_test(composed__is_of_fourth_order),
        cmocka_unit_test(discretisation__is_that_of_two_runs),
        cmocka_unit_test(composed__has_the_same_bits_on_any_threads),
        cmocka_unit_test(composed__says_what_it_needs),
        cmocka_unit_test(hard_gaps__are_composed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
