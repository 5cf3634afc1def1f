/* SPDX-License-Identifier: MIT */
/* Physics of fits: the same bits on any number of threads, refusals, where the
 * data do not reach, and memory that runs out. */
#include "physics.h"

#include <math.h>

static const char WELL[] = "state x\n param a = 1, b = 1, s = 0.7 > 0\n"
                           "dx = (a*x - b*x^3)*dt + s*dW";
static void expect_same(gsv_quantity a, gsv_quantity b)
{
    assert_memory_equal(&a.value, &b.value, sizeof a.value);
    assert_memory_equal(&a.low, &b.low, sizeof a.low);
    assert_memory_equal(&a.high, &b.high, sizeof a.high);
}

static void physics__has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    gsv_physics_result t, r[2];
    gsv_model *m[2];
    for (size_t k = 0; k < 2; k++) {
        fit_physics(WELL, 50, 251, 2, k ? 3 : 1, &m[k], &t, &r[k]);
        gsv_physics_free(&t);
    }
    expect_same(r[0].passage[0].time, r[1].passage[0].time);
    expect_same(r[0].relaxation[1], r[1].relaxation[1]);
    for (size_t k = 0; k < r[0].cells; k++)
        expect_same(r[0].density[k], r[1].density[k]);
    free_all(m[0], &r[0], &r[1]);
    gsv_model_free(m[1]);
}

/* --- Refusals and notes --------------------------------------------------- */

static void physics__refuses_what_it_cannot_answer(void **state)
{
    (void)state;
    static const struct {
        const char *text, *from, *to, *message;
        double period;
    } CASE[] = {
        {"state x\n dx = (sin(t) - x)*dt + dW", NULL, NULL, "--at t=V", 0},
        {"state x\n dx = -x*dt + dW", "x < 0", NULL, "go together", 0},
        {"state x\n dx = -x*dt + dW", "y < 0", "x > 1", "unknown name 'y'", 0},
        {"state x\n dx = -x*dt + dW", "x < 0 +", "x > 1", "--from", 0},
        {"state x\n dx = -x*dt + dW", "x > 90", "x < 0", "no part", 0},
        {"state x\n dx = -x*dt + dW", "abs(x) > 1", "x < 0.1", "several", 0},
        {"state x, y\n dx = -x*dt + dW1\n dy = -y*dt + dW2", NULL, NULL,
         "one state", 1},
    };
    for (size_t k = 0; k < COUNT(CASE); k++) {
        gsv_model *m = model_of(CASE[k].text);
        double low[] = {-2, -2}, high[] = {2, 2};
        gsv_series *s = physics_data(m, low, high);
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        o.from = CASE[k].from;
        o.to = CASE[k].to;
        o.period = CASE[k].period;
        expect_error(gsv_physics(m, s, &o, &r), GSV_BAD_INPUT, CASE[k].message);
        gsv_series_free(s);
        gsv_model_free(m);
    }
    gsv_model *m = model_of("state x\n dx = -x*dt + dW");
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    expect_error(gsv_physics(m, NULL, &o, &r), GSV_BAD_INPUT, "--range x=A:B");
    gsv_model_free(m);
}

static void physics__holds_inputs_and_time(void **state)
{
    (void)state;
    gsv_model *m = model_of("input u\n state x\n"
                            "dx = (u + t - x)*dt + dW");
    double u = 5;
    size_t start[] = {0, 2};
    const double time[] = {0, 100}, value[] = {-2, 9, 1, 3};
    gsv_series *s =
        gsv_series_new(1, start, 2, gsv_model_column(m), time, value);
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    o.frozen = true;
    o.at = 0.5;
    if (gsv_physics(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
    assert_true(fabs(r.mean[0].value - 2.5) < 1e-6);
    assert_non_null(strstr(r.note, "'u' is 2"));
    gsv_physics_free(&r);
    o.inputs = 1;
    o.input = &u;
    if (gsv_physics(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
    assert_true(fabs(r.mean[0].value - 5.5) < 1e-6);
    assert_string_equal(r.note, "");
    gsv_physics_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void physics__says_where_the_data_do_not_reach(void **state)
{
    (void)state;
    double low = 0.5, high = 1.2;
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    physics_of("state x\n dx = (x - x^3)*dt + 0.7*dW", &low, &high, &o, &r, &m);
    assert_non_null(strstr(r.warning, "outside the data's range"));
    assert_true(r.beyond > 0.3);
    for (size_t k = 0; k < r.points; k++)
        assert_true(r.point[k].reached ==
                    (fabs(r.point[k].x[0].value - 1) < 0.1));
    for (size_t k = 0; k < r.cells; k++)
        assert_true(r.reached[k] == (r.x[k] >= 0.5 && r.x[k] <= 1.2));
    gsv_physics_free(&r);
    gsv_model_free(m);
}

/* They are defined everywhere, but do not return from far away. */
static void physics__of_networks_and_gps_stays_near_the_data(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "state x\n net f(x) -> 1 : 4 tanh\n dx = f*dt + dW",
        "state x\n gp f(x) -> 1 : grid 8 rbf\n dx = f*dt + dW",
        ("state x, y\n net f(x, y) -> 2 : 4 tanh\n dx = f[1]*dt + dW1\n"
         "dy = f[2]*dt + dW2")};
    for (size_t k = 0; k < COUNT(TEXT); k++) {
        double low[] = {-1, -1}, high[] = {1, 1};
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        gsv_model *m;
        o.grid = 32;
        physics_of(TEXT[k], low, high, &o, &r, &m);
        assert_true(r.stationary && r.relaxation[0].value > 0.0);
        if (strstr(r.warning, "reflecting ends"))
            assert_true(r.beyond < 0.2 && fabs(r.mean[0].value) < 1.0);
        gsv_physics_free(&r);
        gsv_model_free(m);
    }
}

/* --- Memory --------------------------------------------------------------- */

static void physics__survives_allocations_that_fail(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "state x\n dx = (x - x^3)*dt + 0.7*dW",
        "state x, y\n dx = (x - x^3)*dt + 0.7*dW1\n dy = -y*dt + dW2"};
    for (size_t k = 0; k < COUNT(TEXT); k++) {
        gsv_model *m = model_of(TEXT[k]);
        double low[] = {-1.5, -1.5}, high[] = {1.5, 1.5};
        gsv_series *s = physics_data(m, low, high);
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        o.grid = 16;
        o.threads = 1;
        enum gsv_status status = GSV_NO_MEMORY;
        /* Each of the first, then ever fewer. */
        for (size_t n = 1; status; n += 1 + n / (k ? 5 : 20)) {
            mem_fail_at(n);
            status = gsv_physics(m, s, &o, &r);
            mem_fail_at(0);
            if (status) assert_int_equal(status, GSV_NO_MEMORY);
            gsv_physics_free(&r);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(physics__has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(physics__refuses_what_it_cannot_answer),
        cmocka_unit_test(physics__holds_inputs_and_time),
        cmocka_unit_test(physics__says_where_the_data_do_not_reach),
        cmocka_unit_test(physics__of_networks_and_gps_stays_near_the_data),
        cmocka_unit_test(physics__survives_allocations_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
