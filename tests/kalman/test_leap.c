/* SPDX-License-Identifier: MIT */
/* Events and integrals in the Kalman filter: gradients by every parameter,
 * bits, laws of the states, and what is still not linear. Values of 1 to 6
 * states are compared in tests/guided/test_guided_linear.c. */
#include "dense.h"

#include "base/memory.h"
#include "kalman/kalman.h"

#define HEAD                                                                   \
    "param k = 0.7 > 0, a = 0.4, s = 0.5 > 0, e = 0.3 > 0, F = 0.8, m = 0.2\n"
#define ONE HEAD "state x\ndx = (a - k*x)*dt + s*dW\n"
#define TWO HEAD "state g, x\ndg = -k*g*dt\ndx = (k*g - a*x)*dt + s*dW\n"
#define FIRST "init x ~ normal(m, 0.5)"
#define GUT "init g ~ normal(m, 0.1)"

static const char *const MODELS[] = {
    ONE "obs y ~ normal(x, e)\nevent x += F*dose\n" FIRST "\n",
    ONE "obs y ~ normal(x, e)\nevent x += -share*F*x\n" FIRST "\n",
    ONE "obs y ~ normal(x, e)\nevent x += F*dose - share2*x/2\n" FIRST "\n"
        "const share2 = 0.3\n",
    ONE "obs y ~ normal(x, e)\nevent x += (dose - x)*F*exp(-k*t)\n" FIRST
        " at -0.4\n",
    ONE "obs y ~ normal(integral(k*x + u)/2 + F*x, e)\ninput u hold\n" FIRST
        "\n",
    ONE "obs y ~ normal(integral(x), e)\nobs z ~ normal(F*x, e)\n"
        "input u\nevent x += dose*F*u\n" FIRST " at -0.4\n",
    TWO "obs y ~ normal(x, e)\nevent g += F*dose\nevent x += share*g\n" FIRST
        "\n" GUT "\n",
    TWO "obs y ~ normal(x, e)\nobs z ~ normal(integral(F*x - g), e)\n"
        "event g += F*dose\nevent g += share*m*x\n" FIRST "\n" GUT "\n",
    HEAD "state g, x\ninput u\ndg = -k*(1 + u^2/9)*g*dt + s*dW1\n"
         "dx = (k*g - a*x)*dt + s*dW2\nobs y ~ normal(x + integral(g*u), e)\n"
         "event g += F*dose\n" FIRST "\n" GUT "\n",
    HEAD "state g, x\ndg = -k*g*dt + s*dW1\ndx = (k*g - a*x)*dt + s*dW2\n"
         "obs y ~ normal(g, e)\nevent x += F*dose\nevent g += share*x\n" GUT
         "\n",
};

enum { ROWS = 9, TRACKS = 3, COLUMNS = 6 };
static const char *const COLUMN[] = {"y", "z", "dose", "share", "u", "x"};

static gsv_series *data(void)
{
    static double time[TRACKS * ROWS], value[COLUMNS][TRACKS * ROWS];
    static const size_t start[] = {0, ROWS, 2 * ROWS, 3 * ROWS};
    for (size_t n = 0; n < TRACKS * ROWS; n++) {
        size_t k = n % ROWS;
        time[n] = 0.5 * (double)k + 0.1 * dense_number(n);
        for (size_t c = 0; c < COLUMNS; c++)
            value[c][n] = dense_number(50 * c + n);
        if (k == 3 || k == 5) value[0][n] = NAN; /* row 5 has a dose alone */
        if (k % 2) value[1][n] = NAN;
        if (k % 4 != 1) value[2][n] = NAN;
        if (k % 3 || n < ROWS) value[3][n] = NAN;
        if (k == 5) value[5][n] = NAN;
    }
    gsv_series *s =
        gsv_series_new(TRACKS, start, COLUMNS, COLUMN, time, value[0]);
    assert_non_null(s);
    return s;
}

static gsv_model *model(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "leap");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

static gsv_result result_of(const gsv_model *m, const gsv_series *s,
                            gsv_options o)
{
    gsv_result r;
    if (gsv_loglik(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
    return r;
}

static void leap__has_the_gradient_of_the_value(void **state)
{
    (void)state;
    gsv_series *s = data();
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = model(MODELS[i]);
        gsv_gradient_check c;
        gsv_options o = gsv_options_default();
        if (!m->linear.is) fail_msg("model %zu: %s", i, m->linear.why);
        assert_int_equal(gsv_check_gradient(m, s, &o, &c), 0);
        if (!(c.worst < 1e-7))
            fail_msg("model %zu: %g at %zu", i, c.worst, c.where);
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

/* The guided filter is exact for these, but for coefficients that move. */
static void leap__has_the_value_of_the_guided_filter(void **state)
{
    (void)state;
    gsv_series *s = data();
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = model(MODELS[i]);
        gsv_options o = gsv_options_default();
        o.steps = kalman_is_exact(m) ? 1 : 512;
        gsv_result closed = result_of(m, s, o);
        o.observe = GSV_OBSERVE_GUIDED;
        o.points = 2;
        gsv_result guided = result_of(m, s, o);
        assert_int_equal(closed.observe, GSV_OBSERVE_KALMAN);
        if (fabs(closed.loglik - guided.loglik) >
            (kalman_is_exact(m) ? 1e-8 : 1e-4))
            fail_msg("model %zu: %.12g, not %.12g", i, closed.loglik,
                     guided.loglik);
        gsv_result_free(&closed);
        gsv_result_free(&guided);
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

static void leap__has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    gsv_series *s = data();
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = model(MODELS[i]);
        gsv_options o = gsv_options_default();
        o.gradient = true;
        o.threads = 1;
        gsv_result one = result_of(m, s, o);
        o.threads = 3;
        gsv_result three = result_of(m, s, o);
        assert_memory_equal(&one.loglik, &three.loglik, sizeof(double));
        assert_memory_equal(one.gradient, three.gradient,
                            gsv_model_values(m) * sizeof(double));
        gsv_result_free(&one);
        gsv_result_free(&three);
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

/* --- States --------------------------------------------------------------- */

/* A dose adds what decays from it to the states: without doses the data less
 * this have the same laws, less this. */
static double response(const gsv_series *s, size_t track, double time)
{
    double sum = 0.0;
    for (size_t n = s->start[track]; n < s->start[track + 1]; n++) {
        double dose = s->value[2 * s->rows + n];
        if (!isnan(dose) && s->time[n] < time)
            sum += 0.8 * dose * exp(-0.7 * (time - s->time[n]));
    }
    return sum;
}

static gsv_smoothed smoothed(const gsv_model *m, const gsv_series *s)
{
    static const double TIME[] = {0.2, 0.7, 1.1, 1.9, 2.6, 3.3, 3.9};
    gsv_smoothed r;
    gsv_paths_options o = gsv_paths_options_default();
    o.times = COUNT(TIME);
    o.time = TIME;
    o.draws = 3;
    if (gsv_paths(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
    return r;
}

static void leap__moves_the_laws_of_the_states(void **state)
{
    (void)state;
    gsv_series *s = data(), *less = data();
    gsv_model *m = model(MODELS[0]),
              *still = model(ONE "obs y ~ normal(x, e)\n" FIRST "\n");
    for (size_t r = 0; r < TRACKS; r++)
        for (size_t n = s->start[r]; n < s->start[r + 1]; n++)
            less->value[n] -= response(s, r, s->time[n]);
    gsv_smoothed a = smoothed(m, s), b = smoothed(still, less);
    assert_int_equal(a.rows, b.rows);
    assert_true(a.rows > 2 * TRACKS);
    for (size_t i = 0; i < a.rows; i++) {
        double moved = response(s, a.track[i], a.time[i]);
        assert_true(fabs(a.mean[i] - b.mean[i] - moved) < 1e-10);
        assert_true(fabs(a.sd[i] - b.sd[i]) < 1e-10);
    }
    gsv_smoothed_free(&a);
    gsv_smoothed_free(&b);
    gsv_model_free(m);
    gsv_model_free(still);
    gsv_series_free(s);
    gsv_series_free(less);
}

/* --- What is not linear --------------------------------------------------- */

static void leap__says_what_is_not_linear(void **state)
{
    static const struct {
        const char *text, *why;
    } CASES[] = {
        {ONE "obs y ~ normal(x, e)\nevent x += F*dose*x^2\n",
         "the jump of the event in line 5"},
        {ONE "obs y ~ normal(integral(x^2), e)\n", "the integral in line 4"},
        {ONE "obs y ~ normal(x*integral(x), e)\n", "the mean of 'obs y'"},
        {ONE "obs y ~ normal(x, e*integral(exp(x)))\n",
         "the deviation of 'obs y'"},
        {ONE "obs y ~ poisson(integral(x + 9))\n", "the law poisson"}};
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_model *m = model(CASES[i].text);
        assert_false(m->linear.is);
        if (!strstr(m->linear.why, CASES[i].why))
            fail_msg("%s: not '%s'", m->linear.why, CASES[i].why);
        gsv_model_free(m);
    }
}

/* Whichever allocation fails, it is said, and nothing is left behind. */
static void memory__may_end(void **state)
{
    (void)state;
    gsv_series *s = data();
    gsv_model *m = model(MODELS[7]);
    gsv_options o = gsv_options_default();
    gsv_result r;
    int status = GSV_NO_MEMORY;
    o.gradient = true;
    for (size_t n = 1; status; n++) {
        mem_fail_at(n);
        status = gsv_loglik(m, s, &o, &r);
        mem_fail_at(0);
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
    }
    gsv_result_free(&r);
    gsv_model_free(m);
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leap__has_the_gradient_of_the_value),
        cmocka_unit_test(leap__has_the_value_of_the_guided_filter),
        cmocka_unit_test(leap__has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(leap__moves_the_laws_of_the_states),
        cmocka_unit_test(leap__says_what_is_not_linear),
        cmocka_unit_test(memory__may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
