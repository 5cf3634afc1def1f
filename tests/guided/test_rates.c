/* SPDX-License-Identifier: MIT */
/* Networks in equations without noise: gradients against differences, and
 * against a linear model's in closed form. */
#include "gradient.h"
#include "model/model.h"

enum { ROWS = 12 };

/* --- Against differences -------------------------------------------------- */

static const struct rate {
    const char *name, *text, *columns;
} RATES[] = {
    {"all seen",
     "state q, p\nparam g = 0.5, s = 0.5 > 0\nnet f(q, p) -> 1 : 3 tanh\n"
     "dq = (p + 0.2*f)*dt\ndp = (-q - g*p)*dt + s*dW\n",
     "qp"},
    {"positions",
     "state q, p\nparam g = 0.5, s = 0.5 > 0\nnet f(q, p) -> 1 : 3 silu\n"
     "dq = (p + 0.2*f)*dt\ndp = (f - q - g*p)*dt + s*dW\n"
     "init p ~ normal(0, 1)\n",
     "q"},
    {"noisy positions",
     "state x, p\nparam g = 0.5, s = 0.5 > 0, e = 0.1 > 0\n"
     "net f(p) -> 1 : 3 tanh\ndx = (p + 0.2*f)*dt\n"
     "dp = (-x - g*p)*dt + s*dW\ninit x ~ normal(0, 1)\n"
     "init p ~ normal(0, 1)\nobs q ~ normal(x, e)\n",
     "q"},
};

/* Two series of an oscillator with friction and pushes, at uneven times. */
static gsv_series *swings(const char *columns)
{
    size_t start[] = {0, ROWS, 2 * ROWS}, n = strlen(columns);
    double time[2 * ROWS], value[4 * ROWS], *z = normals(2 * ROWS, 7);
    const char *name[2];
    for (size_t i = 0; i < 2 * ROWS; i++) {
        size_t k = i % ROWS;
        double t = 0.2 * (double)k + 0.05 * (double)(k % 3), push = 0.03 * z[i];
        double state[] = {cos(t + (double)(i / ROWS)) + 0.2 * push,
                          -sin(t + (double)(i / ROWS)) + push};
        time[i] = t;
        for (size_t c = 0; c < n; c++)
            value[c * 2 * ROWS + i] = state[columns[c] == 'p'];
    }
    for (size_t c = 0; c < n; c++)
        name[c] = columns[c] == 'p' ? "p" : "q";
    mem_free(z);
    return gsv_series_new(2, start, n, name, time, value);
}

static void networks_of_rates__have_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(RATES); i++) {
        const struct rate *e = &RATES[i];
        gsv_series *s = swings(e->columns);
        struct gradient_trial t = {.m = gradient_model(e->text),
                                   .s = s,
                                   .o = {.observe = GSV_OBSERVE_GUIDED,
                                         .points = 32,
                                         .steps = 2,
                                         .seed = 1,
                                         .threads = 1}};
        bool agrees = gradient_agrees(&t);
        /* Of differences inside there is no more than this. */
        if (!agrees && !(t.off <= 1e-4 * t.size))
            fail_msg("%s: off by %g, allowed %g of %g", e->name, t.off,
                     t.allowed, t.size);
        gsv_model_free(t.m);
        gsv_series_free(s);
    }
}

/* --- Against a closed form ------------------------------------------------ */

/* A network without a hidden layer is a line. Its weight and bias have the
 * gradient of a formula's, which the Kalman filter has without differences. */
static void networks_of_rates__have_the_gradient_of_a_linear_model(void **state)
{
    static const char FORM[] = "state q, p\nparam g = 0.5, s = 0.5 > 0\n%s\n"
                               "dq = (%s - 0.3*q)*dt\ndp = -g*p*dt + s*dW\n"
                               "init p ~ normal(0, 1)\n";
    (void)state;
    gsv_series *s = swings("q");
    double value[2], gradient[2][8];
    for (int net = 0; net < 2; net++) {
        char text[400];
        snprintf(text, sizeof text, FORM,
                 net ? "net f(p) -> 1 :" : "param a = 1.4, b = -0.2",
                 net ? "f" : "a*p + b");
        gsv_model *m = model_of(text);
        assert_true(gsv_model_values(m) >= 4 && gsv_model_values(m) <= 8);
        m->value[2] = 1.4;
        m->value[3] = -0.2;
        gsv_options o = gsv_options_default();
        gsv_result r;
        o.gradient = o.wide = true;
        if (net) o.observe = GSV_OBSERVE_GUIDED;
        o.steps = net ? 32 : 0;
        if (gsv_loglik(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
        assert_int_equal(r.observe,
                         net ? GSV_OBSERVE_GUIDED : GSV_OBSERVE_KALMAN);
        value[net] = r.loglik;
        memcpy(gradient[net], r.gradient, 4 * sizeof *r.gradient);
        gsv_result_free(&r);
        gsv_model_free(m);
    }
    assert_near(value[1], value[0], 1e-5);
    for (size_t i = 0; i < 4; i++)
        assert_near(gradient[1][i], gradient[0][i],
                    1e-6 * (1.0 + fabs(gradient[0][i])));
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_of_rates__have_gradients),
        cmocka_unit_test(
            networks_of_rates__have_the_gradient_of_a_linear_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
