/* SPDX-License-Identifier: MIT */
/* Noise that depends on the state by coefficients of unknown sign, learned from
 * a start where it does not: fits walk through all forms of Lamperti's map. */
#include "learn.h"

/* A noise, its numbers with their starts, and the truth. */
struct noise_case {
    const char *noise, *numbers;
    double truth[3];
    size_t count;
};

static const struct noise_case NOISE[] = {
    {"sqrt(2*(d0 + d1*x))", "d0 = 0.5, d1", {0.5, 0.15}, 2},
    {"(d0 + d1*x)", "d0 = 0.5, d1", {0.6, -0.1}, 2},
    {"sqrt(2*(d0 + d1*x + d2*x^2))", "d0 = 0.5, d1, d2", {0.5, 0.15, 0}, 3},
    {"sqrt(d0 + d1*x + d2*x^2)", "d0 = 0.5, d1, d2", {0.4, 0.1, 0.3}, 3},
    {"sqrt(d0 + d1*x + d2*x^2)", "d0 = 0.5, d1, d2", {0.9, 0.1, -0.1}, 3},
    {"(d0 + d1*x + d2*x^2)", "d0 = 0.5, d1, d2", {0.5, -0.2, 0.15}, 3},
    {"(d0 + d1*x + d2*x^2)", "d0 = 0.5, d1, d2", {0.8, 0.1, -0.08}, 3},
};

static const char *const NAME[] = {"d0", "d1", "d2"};

static gsv_model *model_with(const struct noise_case *c)
{
    char text[400];
    snprintf(text, sizeof text,
             "state x\n param a = 1, b = 1, %s\n"
             "dx = (a*x - b*x^3)*dt + %s*dW",
             c->numbers, c->noise);
    return model_of(text);
}

static gsv_series *data_of(const struct noise_case *c)
{
    enum { ROWS = 250 };
    static double time[ROWS];
    gsv_model *m = model_with(c);
    for (size_t i = 0; i < ROWS; i++)
        time[i] = 0.05 * (double)i;
    for (size_t i = 0; i < c->count; i++)
        assert_int_equal(gsv_model_set(m, NAME[i], 1, &c->truth[i]), 0);
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = ROWS;
    o.time = time;
    o.step = 0.005;
    o.threads = 1;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    gsv_model_free(m);
    return s;
}

static void noise__is_learned_from_a_start_without_any_slope(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(NOISE); k++) {
        const struct noise_case *c = &NOISE[k];
        gsv_model *m = model_with(c);
        gsv_series *s = data_of(c);
        gsv_fit_options o = fit_options();
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->ended, GSV_ENDED_CONVERGED);
        for (size_t i = 0; i < c->count; i++) {
            double error = r->error_of[2 + i];
            double off = gsv_model_value(m)[2 + i] - c->truth[i];
            if (!(fabs(off) < 4.0 * error))
                fail_msg("%s: d%zu is off by %g with an error of %g", c->noise,
                         i, off, error);
        }
        free_both(m, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise__is_learned_from_a_start_without_any_slope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
