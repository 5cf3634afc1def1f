/* SPDX-License-Identifier: MIT */
/* From series to gaps: what is missing, what is wrong and what is said about
 * it; inputs between the rows; options out of range; numbers that break. */
#include <stdlib.h>
#include <unistd.h>

#include "exact.h"
#include "model/gaps.h"

#define OU "state x\n param k = 1, s = 1\n dx = -k*x*dt + s*dW"
#define OU2 "state x, y\n dx = -x*dt + dW\n dy = -y*dt + dW"

/* A series from the text of a CSV file, and the model's columns of it. */
static gsv_series *csv_of(const gsv_model *m, const char *text)
{
    char path[] = "/tmp/test_gaps_XXXXXX";
    int handle = mkstemp(path);
    assert_true(handle >= 0);
    size_t length = strlen(text);
    assert_true(write(handle, text, length) == (ssize_t)length);
    close(handle);
    gsv_series *s =
        gsv_series_read(path, gsv_model_columns(m), gsv_model_column(m));
    unlink(path);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* gsv_loglik() fails with this status, and its sentence has these parts. */
static void assert_fails(const gsv_model *m, const gsv_series *s,
                         const gsv_options *o, int status,
                         const char *const part[4])
{
    gsv_result r;
    const gsv_options usual = usual_options();
    assert_int_equal(gsv_loglik(m, s, o ? o : &usual, &r), status);
    assert_int_equal(gsv_last_status(), status);
    assert_null(r.gap);
    assert_null(r.gradient);
    for (size_t i = 0; i < 4 && part[i]; i++)
        if (!strstr(gsv_last_error(), part[i]))
            fail_msg("no '%s' in '%s'", part[i], gsv_last_error());
}

#define FAILS(m, s, o, status, ...)                                            \
    assert_fails(m, s, o, status, (const char *const[4]){__VA_ARGS__})

/* --- Rows ----------------------------------------------------------------- */

static void gaps__join_where_a_row_is_missing(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU2);
    gsv_series *whole = csv_of(m, "time,x,y\n0,1,2\n1,0,1\n4,2,2\n5,3,1\n");
    gsv_series *holes = csv_of(m, "time,x,y\n-1,,\n0,1,2\n0.5,NA,NaN\n"
                                  "1,0,1\n2,,\n3,,\n4,2,2\n5,3,1\n6,,\n");
    gsv_options o = usual_options();
    gsv_result a = loglik_of(m, whole, &o), b = loglik_of(m, holes, &o);
    assert_int_equal(a.gaps, 3);
    assert_int_equal(b.gaps, 3);
    assert_true(a.loglik == b.loglik);
    static const size_t rows[][2] = {{1, 3}, {3, 6}, {6, 7}};
    for (size_t g = 0; g < 3; g++) {
        assert_int_equal(b.gap[g].from, rows[g][0]);
        assert_int_equal(b.gap[g].to, rows[g][1]);
    }
    gsv_result_free(&a);
    gsv_result_free(&b);
    gsv_series_free(whole);
    gsv_series_free(holes);
    gsv_model_free(m);
}

static void gaps__name_a_row_that_is_missing_in_part(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU2);
    gsv_series *s = csv_of(m, "series,time,x,y\na,0,1,2\na,1,0,1\nb7,0,1,1\n"
                              "b7,2.5,1,\n");
    FAILS(m, s, NULL, GSV_BAD_INPUT, ":5:", "'b7'", "2.5", "'y'");
    FAILS(m, s, NULL, GSV_BAD_INPUT, "/tmp/test_gaps_");
    gsv_series_free(s);
    const double time[] = {0, 1}, x[] = {1, NAN, 1, 2};
    s = track_of(m, 2, time, x);
    FAILS(m, s, NULL, GSV_BAD_INPUT, "data: series", "time 1", "'x'");
    gsv_series_free(s);
    gsv_model_free(m);
}

static void gaps__pass_over_tracks_of_one_row(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU);
    gsv_series *with = csv_of(m, "series,time,x\na,0,1\nb,0,3\nb,1,2\nc,9,9\n"
                                 "d,0,1\nd,1,\ne,0,1\ne,2,0\n");
    for (int joint = 0; joint < 2; joint++) {
        gsv_options o = usual_options();
        o.joint = joint;
        gsv_result r = loglik_of(m, with, &o);
        assert_int_equal(r.gaps, 2);
        assert_int_equal(r.groups, 2);
        assert_int_equal(r.gap[0].track, 1);
        assert_int_equal(r.gap[1].track, 4);
        gsv_result_free(&r);
    }
    gsv_series_free(with);
    gsv_model_free(m);
}

static void gaps__must_be_there(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU);
    static const char *const text[] = {"time,x\n0,1\n", "time,x\n0,1\n1,\n",
                                       "series,time,x\na,0,1\nb,0,1\n"};
    for (size_t i = 0; i < COUNT(text); i++) {
        gsv_series *s = csv_of(m, text[i]);
        FAILS(m, s, NULL, GSV_BAD_INPUT, "no two rows", "/tmp/test_gaps_");
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

static void gaps__need_the_models_columns(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU2);
    const double time[] = {0, 1}, x[] = {1, 2, 3, 4};
    static const size_t start[] = {0, 2};
    static const char *const name[] = {"y", "z"};
    gsv_series *s = gsv_series_new(1, start, 2, name, time, x);
    FAILS(m, s, NULL, GSV_BAD_INPUT, "no column 'x'", "data");
    gsv_series_free(s);
    gsv_model_free(m);
}

static void gaps__take_columns_by_name_in_any_order(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, y\n dx = -2*x*dt + dW\n dy = dW");
    const double time[] = {0, 1}, x[] = {7, 8, 5, 6, 1, 2};
    static const size_t start[] = {0, 2};
    static const char *const name[] = {"other", "y", "x"};
    gsv_series *a = gsv_series_new(1, start, 3, name, time, x);
    const double sorted[] = {1, 2, 5, 6};
    gsv_series *b = track_of(m, 2, time, sorted);
    gsv_options o = usual_options();
    gsv_result r = loglik_of(m, a, &o), q = loglik_of(m, b, &o);
    assert_true(r.loglik == q.loglik);
    gsv_result_free(&r);
    gsv_result_free(&q);
    gsv_series_free(a);
    gsv_series_free(b);
    gsv_model_free(m);
}

/* --- Inputs --------------------------------------------------------------- */

static void inputs__are_linear_or_held_between_their_knots(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n input u\n input v hold\n"
                            "dx = (u + v)*dt + dW");
    /* u misses its first and fourth row, v its first and last. */
    gsv_series *s = csv_of(m, "series,time,x,u,v\nz,0,0,9,9\nz,1,0,9,9\n"
                              "a,0,0,,\na,1,0,2,5\na,2,0,4,6\na,3,0,,7\n"
                              "a,4,0,0,\n");
    struct gaps g;
    assert_int_equal(gaps_init(&g, m, s), 0);
    static const struct {
        double time;
        bool before;
        double u, slope, v;
    } at[] = {
        {0, false, 2, 0, 5}, {0.5, false, 2, 0, 5},    {1, false, 2, 2, 5},
        {1, true, 2, 0, 5},  {1.25, false, 2.5, 2, 5}, {2, false, 4, -2, 6},
        {2, true, 4, 2, 5},  {2.5, false, 3, -2, 6},   {3, false, 2, -2, 7},
        {3, true, 2, -2, 6}, {4, false, 0, 0, 7},      {4, true, 0, -2, 7},
        {9, false, 0, 0, 7}};
    for (size_t i = 0; i < COUNT(at); i++) {
        double value[4] = {-1, -1, -1, -1}, slope[4] = {-1, -1, -1, -1};
        gap_inputs(&g, 1, at[i].time, at[i].before, value, slope, 3);
        assert_near(value[0], at[i].u, 1e-15);
        assert_near(value[3], at[i].v, 0.0);
        assert_near(slope[0], at[i].slope, 1e-15);
        assert_near(slope[3], 0.0, 0.0);
        assert_true(value[1] == -1.0 && value[2] == -1.0);
    }
    gaps_free(&g);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* dX = u(t) dt + dW has no weights' variance where u is held. */
static void inputs__move_the_state_by_their_integral(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n input u hold\n dx = u*dt + dW");
    gsv_series *s = csv_of(m, "time,x,u\n0,1,2\n0.5,2,-1\n1.5,2,7\n");
    double expected =
        exact_normal(2, 1 + 2 * 0.5, 0.5) + exact_normal(2, 2 - 1, 1);
    gsv_options o = usual_options();
    gsv_result r = loglik_of(m, s, &o);
    assert_near(r.loglik, expected, 1e-12);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);

    /* Left sums of a linear input: its value at the left ends. */
    m = model_of("state x\n input u\n dx = u*dt + 2*dW");
    s = csv_of(m, "time,x,u\n0,1,2\n0.5,2,-1\n");
    o.steps = 3;
    r = loglik_of(m, s, &o);
    /* With z = x / 2: the chain moves by (2 + 1 + 0) / 6. */
    assert_near(r.loglik, exact_normal(2, 1.5, 2.0),
                TOLERANCE * r.error + 0.5 * r.error * r.error + 1e-9);
    assert_true(r.error < 0.1);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* 0.3 / 3 * 2 is less than 0.2, where u changes, but means it: the chain moves
 * by u dt in the last step. */
static void inputs__change_at_steps_that_are_rounded(void **state)
{
    (void)state;
    static const double shift[] = {0.0, -1e6, 1.7e9};
    gsv_model *m = model_of("state x\n input u hold\n dx = u*dt + dW");
    for (size_t i = 0; i < COUNT(shift); i++) {
        double time[4] = {0.0, 0.1, 0.2, 0.3};
        const double x[8] = {0, NAN, NAN, 1, 0, 0, 1, 5};
        for (size_t r = 0; r < 4; r++)
            time[r] += shift[i];
        gsv_series *s = track_of(m, 4, time, x);
        gsv_options o = usual_options();
        o.steps = 3;
        o.paths = 10000 / SLOWER;
        gsv_result r = loglik_of(m, s, &o);
        assert_limit(&r, exact_normal(1, 0.1, 0.3));
        assert_true(r.error > 0.0);
        gsv_result_free(&r);
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

/* The noise of a gap is that of its first row until the next one, exactly. */
static void inputs__in_the_noise_are_held_to_the_end_of_a_gap(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n input u hold\n dx = exp(u)*dW");
    gsv_series *s = csv_of(m, "time,x,u\n0,1,2\n0.5,2,-1\n1.5,2,7\n2,0,1\n");
    double expected = exact_normal(2, 1, 0.5 * exp(4)) +
                      exact_normal(2, 2, exp(-2)) +
                      exact_normal(0, 2, 0.5 * exp(14));
    gsv_options o = usual_options();
    gsv_result r = loglik_of(m, s, &o);
    assert_near(r.loglik, expected, 1e-12);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Inside of a gap, T would jump where no path knows of it. */
static void inputs__of_the_noise_may_not_jump_inside_a_gap(void **state)
{
    (void)state;
    static const char *const jumps = "time,x,u\n0,1,0\n1,,1\n2,2,0\n";
    static const char *const stays = "time,x,u\n0,1,3\n0.5,1,\n1,,3\n2,2,0\n";
    gsv_model *noise = model_of("state x\n input u hold\n dx = exp(u)*dW");
    gsv_model *drift = model_of("state x\n input u hold\n dx = u*dt + dW");
    gsv_model *linear = model_of("state x\n input u\n dx = exp(u)*dW");
    gsv_series *s = csv_of(noise, jumps);
    FAILS(noise, s, NULL, GSV_BAD_INPUT, "'u'", "time 1", "linear");
    const gsv_options o = usual_options();
    gsv_result r = loglik_of(drift, s, &o);
    gsv_result_free(&r);
    r = loglik_of(linear, s, &o);
    gsv_result_free(&r);
    gsv_series_free(s);
    s = csv_of(noise, stays);
    r = loglik_of(noise, s, &o);
    assert_near(r.loglik,
                exact_normal(1, 1, 0.5 * exp(6)) +
                    exact_normal(2, 1, 1.5 * exp(6)),
                1e-12);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(noise);
    gsv_model_free(drift);
    gsv_model_free(linear);
}

static void inputs__must_be_there(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n input u\n dx = u*dt + dW");
    gsv_series *s = csv_of(m, "series,time,x,u\na,0,1,2\na,1,1,\n"
                              "b,0,1,\nb,1,2,\n");
    FAILS(m, s, NULL, GSV_BAD_INPUT, "'u'", "'b'", "missing");
    gsv_series_free(s);
    const double time[] = {0, 1}, x[] = {1, 2};
    static const size_t start[] = {0, 2};
    static const char *const name[] = {"x"};
    s = gsv_series_new(1, start, 1, name, time, x);
    FAILS(m, s, NULL, GSV_BAD_INPUT, "no column 'u'");
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Options -------------------------------------------------------------- */

static void options__out_of_range_are_refused(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU);
    gsv_series *s = csv_of(m, "time,x\n0,1\n1,2\n");
    static const struct {
        size_t paths, steps;
        double step;
        const char *part;
    } bad[] = {{(size_t)-1, 1, 0, "paths"},     {1, (size_t)-1, 0, "steps"},
               {1, 1, -0.1, "step is -0.1"},    {1, 1, NAN, "step is"},
               {1, 1, INFINITY, "step is inf"}, {1, 1, 1e-9, "1e-09"},
               {1, 1, 5e-324, "longer"}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        gsv_options o = usual_options();
        o.paths = bad[i].paths;
        o.steps = bad[i].steps;
        o.step = bad[i].step;
        FAILS(m, s, &o, GSV_BAD_INPUT, bad[i].part);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void options__step_sets_the_steps_of_each_gap(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU);
    gsv_series *s = csv_of(m, "time,x\n0,1\n0.1,1\n0.4,1\n1.4,2\n");
    static const struct {
        double step;
        size_t most, all;
    } with[] = {{0.1, 10, 14}, {0.15, 7, 10}, {0.7, 2, 4}, {5, 1, 3}};
    for (size_t i = 0; i < COUNT(with); i++) {
        gsv_options o = usual_options();
        o.paths = 10;
        o.steps = 0; /* not looked at */
        o.step = with[i].step;
        gsv_result r = loglik_of(m, s, &o);
        assert_int_equal(r.steps, with[i].most);
        size_t paths = with[i].most > 1 ? 10 : 1; /* one step: no noise */
        assert_true(r.drift_evaluations == paths * with[i].all);
        assert_true(isnan(r.discretisation) == (with[i].most == 1));
        assert_true(isnan(r.gap[2].discretisation) == (with[i].most == 1));
        assert_true(isnan(r.gap[0].discretisation));
        /* A track's check is there where any of its gaps has one. */
        o.joint = true;
        gsv_result joint = loglik_of(m, s, &o);
        assert_true(isnan(joint.gap[0].discretisation) == (with[i].most == 1));
        if (with[i].most > 1) assert_true(joint.discretisation != 0.0);
        else assert_true(isnan(joint.discretisation));
        gsv_result_free(&joint);
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Numbers that break --------------------------------------------------- */

static void numbers__that_break_are_named_by_series_and_time(void **state)
{
    (void)state;
    static const char *const text[] = {
        "state x\n param a = 1\n dx = a*log(x)*dt + dW",
        "state x\n param a = 1\n dx = a*sqrt(x)*dt + dW",
        "state x\n param a = 1\n dx = a*dt/(x - x) + dW",
        "state x\n param a = 1\n dx = -x*dt + a*sqrt(2 - t)*dW",
        "state x\n param a = 0\n dx = -x*dt + a*dW"};
    for (size_t i = 0; i < COUNT(text); i++)
        for (int how = 0; how < 4; how++) {
            gsv_model *m = model_of(text[i]);
            gsv_series *s =
                csv_of(m, "series,time,x\na,0,50\na,1,50\nb2,1.5,50\n"
                          "b2,2.25,-3\nb2,3,-2\n");
            gsv_options o = usual_options();
            o.steps = 32;
            o.gradient = how % 2;
            o.joint = how / 2;
            if (i == 2 || i == 4)
                FAILS(m, s, &o, GSV_NUMERICAL, "'a'", "time 0");
            else FAILS(m, s, &o, GSV_NUMERICAL, "'b2'", "time 1.5");
            gsv_series_free(s);
            gsv_model_free(m);
        }
}

static void numbers__too_large_are_an_error_not_a_value(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n dx = 1e200*x*dt + dW");
    gsv_series *s = csv_of(m, "time,x\n0,1\n1,2\n");
    FAILS(m, s, NULL, GSV_NUMERICAL, "'", "time 0");
    gsv_series_free(s);
    gsv_model_free(m);
    m = model_of("state x\n dx = -x*dt + dW");
    const double time[] = {0, 1}, x[] = {1e300, -1e300};
    s = track_of(m, 2, time, x);
    FAILS(m, s, NULL, GSV_NUMERICAL, "time 0");
    gsv_series_free(s);
    gsv_model_free(m);
}

/* |det sigma| has no sign: noise may be negative. */
static void numbers__of_negative_noise_are_those_of_positive_noise(void **state)
{
    (void)state;
    static const char *const text[][2] = {
        {"state x\n dx = -x*dt - 0.7*dW", "state x\n dx = -x*dt + 0.7*dW"},
        {"state x, y\n dx = -x*dt + dW1\n dy = -x*dt + dW1 - 2*dW2",
         "state x, y\n dx = -x*dt + dW1\n dy = -x*dt + dW1 + 2*dW2"}};
    for (size_t i = 0; i < COUNT(text); i++) {
        double l[2], error[2];
        for (size_t j = 0; j < 2; j++) {
            gsv_model *m = model_of(text[i][j]);
            gsv_series *s = walk_of(m, 1, 4, 0.3, 1);
            gsv_options o = usual_options();
            o.paths = 10000 / SLOWER;
            gsv_result r = loglik_of(m, s, &o);
            l[j] = r.loglik;
            error[j] = r.error;
            gsv_result_free(&r);
            gsv_series_free(s);
            gsv_model_free(m);
        }
        assert_near(l[0], l[1], TOLERANCE * hypot(error[0], error[1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps__join_where_a_row_is_missing),
        cmocka_unit_test(gaps__name_a_row_that_is_missing_in_part),
        cmocka_unit_test(gaps__pass_over_tracks_of_one_row),
        cmocka_unit_test(gaps__must_be_there),
        cmocka_unit_test(gaps__need_the_models_columns),
        cmocka_unit_test(gaps__take_columns_by_name_in_any_order),
        cmocka_unit_test(inputs__are_linear_or_held_between_their_knots),
        cmocka_unit_test(inputs__move_the_state_by_their_integral),
        cmocka_unit_test(inputs__change_at_steps_that_are_rounded),
        cmocka_unit_test(inputs__in_the_noise_are_held_to_the_end_of_a_gap),
        cmocka_unit_test(inputs__of_the_noise_may_not_jump_inside_a_gap),
        cmocka_unit_test(inputs__must_be_there),
        cmocka_unit_test(options__out_of_range_are_refused),
        cmocka_unit_test(options__step_sets_the_steps_of_each_gap),
        cmocka_unit_test(numbers__that_break_are_named_by_series_and_time),
        cmocka_unit_test(numbers__too_large_are_an_error_not_a_value),
        cmocka_unit_test(
            numbers__of_negative_noise_are_those_of_positive_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
