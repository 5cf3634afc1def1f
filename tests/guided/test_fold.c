/* SPDX-License-Identifier: MIT */
/* Exact data of a state without noise whose rate turns are refused. */
#include "guided.h"

/* Exact rows of x and v; whether x has a density there. */
static const struct fold {
    const char *text;
    double v[4];
    bool turns;
} FOLD[] = {
    {"state x, v\ndx = v^2*dt\ndv = -v*dt + dW\n", {1, 0.8, -0.1, -1}, true},
    {"state x, v\ndx = v^2*dt\ndv = -v*dt + dW\n", {1, 0.5, 0, 0.5}, true},
    {"state x, v\ndx = v^2*dt\ndv = -v*dt + dW\n", {1, 0.8, 0.7, 0.9}, false},
    {"state x, v\ndx = v^2*dt\ndv = -v*dt + dW\n", {-1, -1, -2, -1}, false},
    {"state x, v\ndx = sin(v)*dt\ndv = dW\n", {1, 1.5, 1.7, 2}, true},
    {"state x, v\ndx = (v + v^3)*dt\ndv = -v*dt + dW\n", {1, -1, 2, -2}, false},
    /* With noise of its own, or hidden, x may turn. */
    {"state x, v\ndx = v^2*dt + 0.1*v*dW\ndv = -v*dt + dW\n",
     {1, -1, 2, -2},
     false},
    {"state x, v\ndx = v^2*dt\ndv = -v*dt + dW\ninit x ~ normal(0, 1)\n"
     "obs y ~ normal(x, 1)\n",
     {1, -1, 2, -2},
     false},
    /* Two noises do not vanish together. */
    {"state x, u, v\ndx = (u^2 + sin(v))*dt\ndu = -u*dt + dW\n"
     "dv = -v*dt + dW\n",
     {1, -1, 1, -1},
     false},
};

static void check_fold(const struct fold *c)
{
    static const char *const column[] = {"x", "v", "u", "y"};
    static const size_t start[] = {0, 4};
    double time[4], value[16];
    for (size_t i = 0; i < 4; i++) {
        time[i] = 0.5 * (double)i;
        value[i] = value[12 + i] = 0.3 * (double)i;
        value[4 + i] = value[8 + i] = c->v[i];
    }
    gsv_model *m = gsv_model_parse(c->text, "fold");
    gsv_series *s = gsv_series_new(1, start, 4, column, time, value);
    gsv_options o = guided_options(8, 1);
    gsv_result r;
    if (!m || !s) fail_msg("%s: %s", c->text, gsv_last_error());
    int status = gsv_loglik(m, s, &o, &r);
    bool said = status == GSV_BAD_INPUT &&
                strstr(gsv_last_error(), "the rate of the state 'x'");
    if (said != c->turns)
        fail_msg("%s from %g: %d %s", c->text, c->v[0], status,
                 status ? gsv_last_error() : "");
    if (!status) gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void fold__refuses_exact_rates_that_turn(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FOLD); i++)
        check_fold(&FOLD[i]);
}

static void fold__may_run_out_of_memory(void **state)
{
    static const char *const column[] = {"x", "v"};
    static const size_t start[] = {0, 3};
    static const double time[] = {0, 0.5, 1}, value[] = {0, 0.4, 0.9, 1, 2, 1};
    (void)state;
    gsv_model *m = gsv_model_parse(FOLD[0].text, "fold");
    gsv_series *s = gsv_series_new(1, start, 2, column, time, value);
    gsv_options o = guided_options(8, 1);
    size_t n = 0;
    for (int status = 1; status;) {
        struct guided a;
        mem_fail_at(++n);
        status = guided_make(&a, m, s, &o, NULL);
        mem_fail_at(0);
        guided_free(&a);
        assert_true(!status || status == GSV_NO_MEMORY);
    }
    assert_true(n > 20);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fold__refuses_exact_rates_that_turn),
        cmocka_unit_test(fold__may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
