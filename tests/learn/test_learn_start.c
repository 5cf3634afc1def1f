/* SPDX-License-Identifier: MIT */
/* Where a fit starts from: the noise from the quadratic variation, and the
 * scales of networks from the data's moments. */
#include "learn.h"

#include "learn/start.h"
#include "model/theta.h"

/* The search for the noise ends where three iterations gain less than 1e-3 a
 * gap, and what is left is less than the last gain. The log-likelihood falls
 * by e^2 a gap when one deviation is off by the share e: */
#define START_TOLERANCE sqrt(1e-3)

enum { ROWS = 200, MOST = 3 };

struct start {
    gsv_model *m;
    gsv_series *s;
    double variation[MOST * MOST]; /* mean of dx dx' / h */
};

/* A random walk of a model's states, each column times its factor. */
static struct start start_of(const char *text, const double *factor)
{
    struct start a = {.m = model_of(text)};
    a.s = walk_of(a.m, 2, ROWS, 0.3, 8);
    size_t n = a.s->rows, d = gsv_model_dim(a.m);
    double gaps = 2.0 * (ROWS - 1);
    for (size_t i = 0; i < d * n; i++)
        a.s->value[i] *= factor[i / n];
    for (size_t r = 0; r < 2; r++)
        for (size_t k = a.s->start[r] + 1; k < a.s->start[r + 1]; k++)
            for (size_t i = 0; i < d; i++)
                for (size_t j = 0; j < d; j++) {
                    const double *x = a.s->value + i * n + k;
                    const double *y = a.s->value + j * n + k;
                    a.variation[i * d + j] +=
                        (x[0] - x[-1]) * (y[0] - y[-1]) /
                        (a.s->time[k] - a.s->time[k - 1]) / gaps;
                }
    return a;
}

static void start_close(struct start *a)
{
    gsv_series_free(a->s);
    gsv_model_free(a->m);
}

static void start_run(struct start *a, const char *keep)
{
    bool kept[32] = {false};
    assert_true(gsv_theta_size(a->m) <= COUNT(kept));
    if (keep) assert_int_equal(theta_select(a->m, keep, kept), 0);
    if (start_noise(a->m, a->s, kept)) fail_msg("%s", gsv_last_error());
}

/* --- Noise ---------------------------------------------------------------- */

static void noise__of_one_number_is_the_quadratic_variation(void **state)
{
    (void)state;
    static const double FACTORS[] = {1e-3, 0.2, 1.0, 30.0, 1e3};
    for (size_t i = 0; i < COUNT(FACTORS); i++) {
        struct start a = start_of("state x\n param k = 2, s = 1 > 0\n"
                                  "dx = -k*x*dt + s*dW",
                                  &FACTORS[i]);
        start_run(&a, NULL);
        double exact = sqrt(a.variation[0]);
        assert_near(value_of(a.m, "s"), exact, START_TOLERANCE * exact);
        assert_true(value_of(a.m, "k") == 2.0);
        start_close(&a);
    }
}

static void noise__has_a_number_for_each_coordinate(void **state)
{
    (void)state;
    const double factor[] = {0.05, 1.0, 20.0};
    struct start a = start_of("state x[3]\n param s[3] = 1 > 0\n"
                              "dx = -x*dt + s*dW",
                              factor);
    start_run(&a, NULL);
    for (size_t i = 0; i < 3; i++) {
        double exact = sqrt(a.variation[4 * i]);
        assert_near(gsv_model_value(a.m)[i], exact, START_TOLERANCE * exact);
    }
    start_close(&a);
}

/* L L' = mean of dx dx' / h. */
static void noise__of_a_matrix_is_its_cholesky_factor(void **state)
{
    (void)state;
    const double factor[] = {0.5, 2.0};
    struct start a = start_of("state x[2]\n param L[2,2] = [1,0, 0,1] lower\n"
                              "dx = -x*dt + L @ dW",
                              factor);
    /* A walk whose columns go together. */
    size_t n = a.s->rows;
    for (size_t i = 0; i < n; i++)
        a.s->value[n + i] += 1.5 * a.s->value[i];
    double *V = a.variation, old = V[1];
    V[3] += 2.0 * 1.5 * old + 1.5 * 1.5 * V[0];
    V[1] = V[2] = old + 1.5 * V[0];
    start_run(&a, NULL);
    const double *L = gsv_model_value(a.m);
    double one = sqrt(V[0]), below = V[2] / one;
    double two = sqrt(V[3] - below * below);
    assert_near(L[0], one, START_TOLERANCE * one);
    assert_true(L[1] == 0.0);
    /* It is off by the share e of L[2,2] where the likelihood falls by e^2/2.
     */
    assert_near(L[2], below, 2.0 * START_TOLERANCE * two);
    assert_near(L[3], two, START_TOLERANCE * two);
    start_close(&a);
}

/* With the rows brought to unit noise by what is known of it, y = x / c(t). */
static void noise__may_depend_on_time(void **state)
{
    (void)state;
    const double factor = 3.0;
    struct start a = start_of("state x\n param s = 1 > 0\n"
                              "dx = -x*dt + s*(1 + 0.5*sin(t))*dW",
                              &factor);
    double sum = 0.0;
    for (size_t r = 0; r < 2; r++)
        for (size_t k = a.s->start[r] + 1; k < a.s->start[r + 1]; k++) {
            const double *t = a.s->time + k, *x = a.s->value + k;
            double move = x[0] / (1.0 + 0.5 * sin(t[0])) -
                          x[-1] / (1.0 + 0.5 * sin(t[-1]));
            sum += move * move / (t[0] - t[-1]) / (2.0 * (ROWS - 1));
        }
    start_run(&a, NULL);
    assert_near(value_of(a.m, "s"), sqrt(sum), START_TOLERANCE * sqrt(sum));
    start_close(&a);
}

static void noise__keeps_what_is_asked_for(void **state)
{
    (void)state;
    const double factor[] = {5.0, 0.2};
    struct start a = start_of("state x, y\n param s = 0.7 > 0, r = 0.9 > 0\n"
                              "dx = s*dW\n dy = r*dW",
                              factor);
    start_run(&a, "s");
    double exact = sqrt(a.variation[3]), s = value_of(a.m, "s");
    assert_near(s, 0.7, 1e-15);
    assert_near(value_of(a.m, "r"), exact, START_TOLERANCE * exact);
    start_close(&a);
}

/* What the drift depends on, too, cannot be told from the variation alone. */
static void noise__leaves_what_the_drift_shares(void **state)
{
    (void)state;
    const double factor[] = {5.0, 0.2};
    struct start a = start_of("state x, y\n param s = 0.7 > 0, r = 0.9 > 0\n"
                              "dx = -s*x*dt + s*dW\n dy = r*dW",
                              factor);
    start_run(&a, NULL);
    assert_near(value_of(a.m, "s"), 0.7, 1e-15);
    assert_true(value_of(a.m, "r") != 0.9);
    start_close(&a);
}

static const char LOWER[] = "state x[2]\n param L[2,2] = [.3,0, .1,.3] lower\n"
                            "dx = -x*dt + L @ dW";

static void noise__of_data_that_stand_still_stays(void **state)
{
    (void)state;
    const double factor[] = {0.0, 0.0, 0.0};
    static const char *const TEXTS[] = {
        "state x\n param s = 0.3 > 0\n dx = -x*dt + s*dW",
        "state x[3]\n param s[3] = 0.3 > 0\n dx = -x*dt + s*dW", LOWER};
    for (size_t i = 0; i < COUNT(TEXTS); i++) {
        struct start a = start_of(TEXTS[i], factor);
        gsv_model *fresh = model_of(TEXTS[i]);
        start_run(&a, NULL);
        assert_true(same_bits(gsv_model_values(fresh), gsv_model_value(a.m),
                              gsv_model_value(fresh)));
        gsv_model_free(fresh);
        start_close(&a);
    }
}

static void noise__of_a_formula_without_parameters_is_nothing_to_do(void **s)
{
    (void)s;
    const double factor = 1.0;
    struct start a =
        start_of("state x\n param k = 1\n dx = -k*x*dt + 2*dW", &factor);
    start_run(&a, NULL);
    assert_true(value_of(a.m, "k") == 1.0);
    start_close(&a);
}

/* --- Scales --------------------------------------------------------------- */

/* The rows (0, h, 2h, ...) of x1 = c1 t + b t^2, x2 = c2 t - b t^2. */
static gsv_series *moving(const gsv_model *m, size_t rows, const double *c,
                          double b)
{
    double time[64], x[128];
    assert_true(rows <= COUNT(time) && gsv_model_columns(m) == 2);
    for (size_t i = 0; i < rows; i++) {
        double t = time[i] = 0.125 * (double)i;
        x[i] = 1.0 + c[0] * t + b * t * t;
        x[rows + i] = c[1] * t - b * t * t;
    }
    return track_of(m, rows, time, x);
}

static void scales_of(gsv_model *m, const gsv_series *s)
{
    if (start_scales(m, s)) fail_msg("%s", gsv_last_error());
}

#define NET(drift)                                                             \
    "state x[2]\n net f(x) -> 2 : 6 tanh\n param s = 1 > 0\n dx = " drift      \
    "*dt + s*dW"

/* Networks are in float, and these are ratios of them. */
static const double SINGLE = 1e-5;

/* Over the ends of all gaps. */
static void scales__of_inputs_are_mean_and_deviation(void **state)
{
    (void)state;
    gsv_model *m = model_of(NET("f"));
    gsv_series *s = walk_of(m, 2, 40, 0.3, 4);
    scales_of(m, s);
    const double *found =
        gsv_model_value(m) + param_named(m, "f.input_mean").offset;
    const double *scale =
        gsv_model_value(m) + param_named(m, "f.input_scale").offset;
    for (size_t c = 0; c < 2; c++) {
        double sum = 0.0, squares = 0.0, n = 2.0 * 2.0 * 39.0;
        const double *x = s->value + c * s->rows;
        for (size_t i = 0; i < s->rows; i++) {
            double twice = i % 40 == 0 || i % 40 == 39 ? 1.0 : 2.0;
            sum += twice * x[i];
            squares += twice * x[i] * x[i];
        }
        double variance = squares / n - sum / n * sum / n;
        assert_near(found[c], sum / n, 1e-12);
        assert_near(scale[c], sqrt(variance), 1e-12);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

struct output {
    double mean[2], scale[2];
};

static struct output outputs_of(const char *text, const double *c, double b)
{
    struct output o;
    gsv_model *m = model_of(text);
    gsv_series *s = moving(m, 33, c, b);
    scales_of(m, s);
    memcpy(o.mean, gsv_model_value(m) + param_named(m, "f.output_mean").offset,
           sizeof o.mean);
    memcpy(o.scale,
           gsv_model_value(m) + param_named(m, "f.output_scale").offset,
           sizeof o.scale);
    gsv_series_free(s);
    gsv_model_free(m);
    return o;
}

/* Rates that do not vary give nothing to scale by. */
static void scales__of_steady_motion_are_ones(void **state)
{
    (void)state;
    const double c[] = {2.0, -3.0};
    struct output o = outputs_of(NET("f"), c, 0.0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(isfinite(o.mean[i]));
        assert_true(o.scale[i] == 1.0);
    }
}

/* x = c t + b t^2 has rates c + b (t_k + t_k+1) over its gaps: mean c + 4 b
 * over 32 gaps of 1/8, variance b^2 (32^2 - 1) / 12 (2/8)^2. */
static void scales__of_outputs_are_the_moments_of_rates(void **state)
{
    (void)state;
    const double c[] = {1.0, 1.0}, b = 0.5;
    double deviation = b * 0.25 * sqrt((32.0 * 32.0 - 1.0) / 12.0);
    struct output o = outputs_of(NET("f"), c, b);
    assert_near(o.mean[0], 1.0 + 4.0 * b, SINGLE);
    assert_near(o.mean[1], 1.0 - 4.0 * b, SINGLE);
    struct output third = outputs_of(NET("3*f"), c, b);
    struct output less = outputs_of(NET("(f - 0.01*x)"), c, b);
    struct output other = outputs_of(NET("[f[2], -2*f[1]]"), c, b);
    for (size_t i = 0; i < 2; i++) {
        assert_near(o.scale[i], deviation, SINGLE * deviation);
        assert_near(third.mean[i], o.mean[i] / 3.0, SINGLE);
        assert_near(third.scale[i], o.scale[i] / 3.0, SINGLE);
        /* What the rest of the drift does is not the network's: x is below 13,
         * a hundredth of it below 0.13. */
        assert_true(less.mean[i] != o.mean[i]);
        assert_near(less.mean[i], o.mean[i], 0.13);
        assert_near(less.scale[i], o.scale[i], 0.13);
    }
    assert_near(other.mean[0], -0.5 * o.mean[1], SINGLE);
    assert_near(other.mean[1], o.mean[0], SINGLE);
    assert_near(other.scale[0], 0.5 * o.scale[1], SINGLE);
    assert_near(other.scale[1], o.scale[0], SINGLE);
}

/* Where outputs go through derivatives, products and other networks. */
static void scales__are_positive_wherever_networks_stand(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "state q, p\n net H(q, p) -> 1 : 8 8 tanh\n param g = 0.1\n"
        "dq = grad(H, p)*dt + 0.1*dW\n dp = (-grad(H, q) - g*p)*dt + 0.1*dW",
        "state x[2]\n net V(x) -> 1 : 8 silu\n dx = -grad(V, x)*dt + dW",
        "state x[2]\n net f(x) -> 2 : 4 tanh\n net g(f) -> 2 : 4 tanh\n"
        "dx = g*dt + dW",
        "state x, y\n net f(x, y) -> 1 : 4 tanh\n"
        "dx = f*dt + dW\n dy = f*x*dt + dW",
        "state x, y\n net f(x) -> 1 : 4 tanh\n net g(y, t) -> 1 : 4 tanh\n"
        "dx = f*g*dt + dW\n dy = (f + g)*dt + dW",
        "state x, y\n net f(x) -> 1 : 4 tanh\n"
        "dx = -x*dt + (1 + 0.1*t)*dW\n dy = 0*f*dt + dW"};
    for (size_t i = 0; i < COUNT(TEXTS); i++) {
        gsv_model *m = model_of(TEXTS[i]);
        gsv_series *s = walk_of(m, 3, 30, 0.2, 7);
        scales_of(m, s);
        for (size_t q = 0; q < gsv_model_params(m); q++) {
            gsv_param p = gsv_model_param(m, q);
            for (size_t j = 0; p.scale && j < p.rows * p.columns; j++) {
                double v = gsv_model_value(m)[p.offset + j];
                assert_true(isfinite(v));
                if (strstr(p.name, "_scale")) assert_true(v > 0.0);
            }
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void scales__that_are_there_stay(void **state)
{
    (void)state;
    const double half = 0.5;
    gsv_model *m = model_of("state x[2]\n net f(x) -> 2 : 4 tanh\n"
                            "net g(x) -> 2 : 4 tanh\n dx = (f + g)*dt + dW");
    gsv_series *s = walk_of(m, 1, 30, 0.2, 7);
    assert_int_equal(gsv_model_set(m, "g.output_mean", 1, &half), 0);
    scales_of(m, s);
    assert_true(value_of(m, "g.input_mean") == 0.0);
    assert_true(value_of(m, "g.input_scale") == 1.0);
    assert_true(value_of(m, "g.output_mean") == 0.5);
    assert_true(value_of(m, "g.output_scale") == 1.0);
    assert_true(value_of(m, "f.input_scale") != 1.0);
    size_t n = gsv_model_values(m);
    double *first = NEW(double, n);
    memcpy(first, gsv_model_value(m), n * sizeof *first);
    scales_of(m, s);
    assert_true(same_bits(n, first, gsv_model_value(m)));
    mem_free(first);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void scales__of_a_constant_column_are_its_mean_and_one(void **state)
{
    (void)state;
    gsv_model *m = model_of(NET("f"));
    gsv_series *s = walk_of(m, 1, 30, 0.2, 7);
    for (size_t i = 0; i < s->rows; i++)
        s->value[i] = 273.15;
    scales_of(m, s);
    size_t in = param_named(m, "f.input_mean").offset;
    size_t out = param_named(m, "f.output_mean").offset;
    const double *v = gsv_model_value(m);
    assert_near(v[in], 273.15, 1e-10);
    assert_true(v[in + 2] == 1.0);
    assert_true(v[in + 3] != 1.0);
    /* It has no rates, either. */
    assert_near(v[out], 0.0, 0.0);
    assert_true(v[out + 2] == 1.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void memory__may_run_out_at_the_start(void **state)
{
    (void)state;
    for (int what = 0; what < 2; what++) {
        gsv_model *m = model_of(NET("f"));
        gsv_series *s = walk_of(m, 1, 9, 0.2, 7);
        bool kept[64] = {false};
        int status = GSV_NO_MEMORY;
        size_t n = 0;
        while (status) {
            assert_int_equal(status, GSV_NO_MEMORY);
            mem_fail_at(++n);
            status = what ? start_scales(m, s) : start_noise(m, s, kept);
            mem_fail_at(0);
        }
        assert_true(n > 10);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise__of_one_number_is_the_quadratic_variation),
        cmocka_unit_test(noise__has_a_number_for_each_coordinate),
        cmocka_unit_test(noise__of_a_matrix_is_its_cholesky_factor),
        cmocka_unit_test(noise__may_depend_on_time),
        cmocka_unit_test(noise__keeps_what_is_asked_for),
        cmocka_unit_test(noise__leaves_what_the_drift_shares),
        cmocka_unit_test(noise__of_data_that_stand_still_stays),
        cmocka_unit_test(
            noise__of_a_formula_without_parameters_is_nothing_to_do),
        cmocka_unit_test(scales__of_inputs_are_mean_and_deviation),
        cmocka_unit_test(scales__of_steady_motion_are_ones),
        cmocka_unit_test(scales__of_outputs_are_the_moments_of_rates),
        cmocka_unit_test(scales__are_positive_wherever_networks_stand),
        cmocka_unit_test(scales__that_are_there_stay),
        cmocka_unit_test(scales__of_a_constant_column_are_its_mean_and_one),
        cmocka_unit_test(memory__may_run_out_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
