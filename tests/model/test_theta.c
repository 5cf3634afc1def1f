/* SPDX-License-Identifier: MIT */
/* The values of parameters: inside of their bounds, as theta without bounds,
 * and set by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "girsanov.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Every kind of bound and shape, and a network. */
static const char RICH[] =
    "state x\n"
    "param a = 2, b = 3 > 1, c = -4 < -1, d = 0.25 in (-1, 2)\n"
    "param v[3] = [1, 2, 3] > 0, A[2,2] = [1, 2, 3, 4]\n"
    "param L[3,3] lower = [1, 0, 0, 0.5, 2, 0, -0.5, 0.25, 3]\n"
    "net f(x, 2*x, t) -> 2 : 4 3 tanh\n"
    "dx = f[1]*dt + dW\n";

static gsv_model *parse(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

static double random_in(double low, double high)
{
    static uint64_t z = 11;
    z = z * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(z >> 11) / 9007199254740992.0;
}

static void expect_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance * (1.0 + fabs(wanted))))
        fail_msg("%.17g, not %.17g", got, wanted);
}

/* --- theta --------------------------------------------------------------- */

static void theta__has_no_place_for_scales_and_above_the_diagonal(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH);
    size_t scales = 0;
    for (size_t i = 0; i < gsv_model_params(m); i++)
        if (gsv_model_param(m, i).scale) scales += gsv_model_param(m, i).rows;
    assert_int_equal(scales, 10);
    assert_int_equal(gsv_theta_size(m), gsv_model_values(m) - 3 - scales);
    gsv_model_free(m);
}

static void theta__and_values_are_two_ways_of_saying_it(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH);
    size_t n = gsv_theta_size(m), values = gsv_model_values(m);
    double *theta = calloc(2 * n, sizeof *theta), *again = theta + n;
    double *start = calloc(values, sizeof *start);
    memcpy(start, gsv_model_value(m), values * sizeof *start);
    gsv_theta_get(m, theta);
    gsv_theta_set(m, theta);
    for (size_t i = 0; i < values; i++)
        expect_near(gsv_model_value(m)[i], start[i], 1e-15);
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < n; i++)
            theta[i] = random_in(-3.0, 3.0);
        gsv_theta_set(m, theta);
        gsv_theta_get(m, again);
        for (size_t i = 0; i < n; i++)
            expect_near(again[i], theta[i], 1e-13);
    }
    free(start);
    free(theta);
    gsv_model_free(m);
}

static void expect_inside(const gsv_model *m)
{
    for (size_t q = 0; q < gsv_model_params(m); q++) {
        gsv_param p = gsv_model_param(m, q);
        for (size_t i = 0; i < p.rows * p.columns; i++) {
            double v = gsv_model_value(m)[p.offset + i];
            size_t row = i / p.columns, column = i % p.columns;
            if (!isfinite(v) || v < p.low || v > p.high)
                fail_msg("%s is %g", p.name, v);
            if (p.lower && column >= row)
                assert_true(column == row ? v > 0.0 : v == 0.0);
        }
    }
}

static void theta__stays_inside_of_the_bounds(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH);
    size_t n = gsv_theta_size(m);
    double *theta = calloc(n, sizeof *theta);
    for (int round = 0; round < 100; round++) {
        double size = round < 50 ? 3.0 : 30.0;
        for (size_t i = 0; i < n; i++)
            theta[i] = random_in(-size, size);
        gsv_theta_set(m, theta);
        expect_inside(m);
    }
    free(theta);
    gsv_model_free(m);
}

/* The values of the formulas at the head of theta.c. */
static void theta__maps_are_those_of_the_bounds(void **state)
{
    (void)state;
    gsv_model *m = parse("state x\nparam a = 2, b = 3 > 1, c = -4 < -1\n"
                         "param d = 0 in (-1, 2), L[2,2] lower\n"
                         "dx = dW\n");
    static const double THETA[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    double e = exp(0.5), s = 3.0 / (1.0 + exp(-0.5)) - 1.0;
    const double VALUE[] = {0.5, 1 + e, -1 - e, s, e, 0.0, 0.5, e};
    assert_int_equal(gsv_theta_size(m), COUNT(THETA));
    assert_int_equal(gsv_model_values(m), COUNT(VALUE));
    gsv_theta_set(m, THETA);
    for (size_t i = 0; i < COUNT(VALUE); i++)
        expect_near(gsv_model_value(m)[i], VALUE[i], 1e-15);
    gsv_model_free(m);
}

static void theta_vjp__agrees_with_differences(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH);
    const double step = 1e-5;
    size_t n = gsv_theta_size(m), values = gsv_model_values(m);
    double *theta = calloc(2 * n, sizeof *theta), *bar = theta + n;
    double *p_bar = calloc(values, sizeof *p_bar);
    for (size_t i = 0; i < n; i++)
        theta[i] = random_in(-1.0, 1.0);
    for (size_t i = 0; i < values; i++)
        p_bar[i] = random_in(-1.0, 1.0);
    gsv_theta_set(m, theta);
    for (size_t i = 0; i < n; i++)
        bar[i] = 7.0; /* it is added to */
    gsv_theta_vjp(m, p_bar, bar);
    for (size_t i = 0; i < n; i++) {
        double kept = theta[i], slope = 0.0;
        for (int sign = 1; sign >= -1; sign -= 2) {
            theta[i] = kept + sign * step;
            gsv_theta_set(m, theta);
            for (size_t j = 0; j < values; j++)
                slope += sign * p_bar[j] * gsv_model_value(m)[j];
        }
        theta[i] = kept;
        expect_near(bar[i] - 7.0, slope / (2.0 * step), 1e-8);
    }
    free(p_bar);
    free(theta);
    gsv_model_free(m);
}

/* --- Setting by name ----------------------------------------------------- */

static const double *value_of(const gsv_model *m, const char *name)
{
    for (size_t i = 0; i < gsv_model_params(m); i++)
        if (!strcmp(gsv_model_param(m, i).name, name))
            return gsv_model_value(m) + gsv_model_param(m, i).offset;
    fail_msg("no parameter %s", name);
    return NULL;
}

static void set__takes_numbers_lists_and_elements(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH);
    const double one = 5.0, list[] = {4.0, 5.0, 6.0}, minus = -2.0;
    assert_int_equal(gsv_model_set(m, "a", 1, &one), 0);
    assert_true(value_of(m, "a")[0] == 5.0);
    assert_int_equal(gsv_model_set(m, "c", 1, &minus), 0);
    assert_true(value_of(m, "c")[0] == -2.0);
    assert_int_equal(gsv_model_set(m, "v", 3, list), 0);
    assert_memory_equal(value_of(m, "v"), list, sizeof list);
    assert_int_equal(gsv_model_set(m, "v", 1, &one), 0);
    assert_true(value_of(m, "v")[0] == 5.0 && value_of(m, "v")[2] == 5.0);
    assert_int_equal(gsv_model_set(m, "v[2]", 1, list), 0);
    assert_true(value_of(m, "v")[1] == 4.0 && value_of(m, "v")[2] == 5.0);
    assert_int_equal(gsv_model_set(m, "A[1,2]", 1, &minus), 0);
    assert_int_equal(gsv_model_set(m, "A[2, 1]", 1, &one), 0);
    assert_true(value_of(m, "A")[1] == -2.0 && value_of(m, "A")[2] == 5.0);
    assert_true(value_of(m, "A")[0] == 1.0 && value_of(m, "A")[3] == 4.0);
    assert_int_equal(gsv_model_set(m, "L[3,1]", 1, &minus), 0);
    assert_true(value_of(m, "L")[6] == -2.0);
    assert_int_equal(gsv_model_set(m, "f.1.weight[3,4]", 1, &minus), 0);
    assert_true(value_of(m, "f.1.weight")[11] == -2.0);
    gsv_model_free(m);
}

/* One number for a lower matrix is its diagonal, as in a model's text. */
static void set__gives_a_lower_matrix_its_diagonal(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH);
    const double two = 2.0, wanted[] = {2, 0, 0, 0, 2, 0, 0, 0, 2};
    assert_int_equal(gsv_model_set(m, "L", 1, &two), 0);
    assert_memory_equal(value_of(m, "L"), wanted, sizeof wanted);
    gsv_model_free(m);
}

static void set__says_what_is_wrong(void **state)
{
    (void)state;
    static const double upper[] = {1, 2, 0, 0, 1, 0, 0, 0, 1};
    static const double flat[] = {1, 0, 0, 0, 0, 0, 0, 0, 1};
    static const double two[] = {1, 2}, one = 1, nothing = 0, minus = -1;
    static const double nan = NAN, inf = INFINITY, mixed[] = {1, 2, -3};
    const struct {
        const char *name;
        size_t n;
        const double *value;
        const char *message;
    } CASE[] = {
        {"sigma", 1, &one,
         "there is no parameter 'sigma'; the model has: a, b, c, d, v, A, L, "
         "f.0.weight, f.0.bias, f.1.weight, f.1.bias, f.2.weight, f.2.bias"},
        {"", 1, &one,
         "there is no parameter ''; the model has: a, b, c, d, v, A, L, "
         "f.0.weight, f.0.bias, f.1.weight, f.1.bias, f.2.weight, f.2.bias"},
        {"v", 2, two, "'v' has 3 elements, but 2 values are given"},
        {"v[1]", 2, two, "'v[1]' has 1 element, but 2 values are given"},
        {"v", 0, two, "'v' has 3 elements, but 0 values are given"},
        {"v[4]", 1, &one, "'v[4]' is not an element of 'v', which is 3 x 1"},
        {"v[0]", 1, &one, "'v[0]' is not an element of 'v', which is 3 x 1"},
        {"v[-1]", 1, &one, "'v[-1]' is not an element of 'v', which is 3 x 1"},
        {"v[", 1, &one, "'v[' is not an element of 'v', which is 3 x 1"},
        {"v[]", 1, &one, "'v[]' is not an element of 'v', which is 3 x 1"},
        {"v[1", 1, &one, "'v[1' is not an element of 'v', which is 3 x 1"},
        {"v[1]x", 1, &one, "'v[1]x' is not an element of 'v', which is 3 x 1"},
        {"v[1,1]", 1, &one,
         "'v[1,1]' is not an element of 'v', which is 3 x 1"},
        {"A[2]", 1, &one, "'A[2]' is not an element of 'A', which is 2 x 2"},
        {"A[1,3]", 1, &one,
         "'A[1,3]' is not an element of 'A', which is 2 x 2"},
        {"A[0,1]", 1, &one,
         "'A[0,1]' is not an element of 'A', which is 2 x 2"},
        {"A[1,99999999999999999999]", 1, &one,
         "'A[1,99999999999999999999]' is not an element of 'A', which is 2 x "
         "2"},
        {"b", 1, &one, "1 is outside of the bounds of 'b' (1, inf)"},
        {"c", 1, &nothing, "0 is outside of the bounds of 'c' (-inf, -1)"},
        {"d", 1, &minus, "-1 is outside of the bounds of 'd' (-1, 2)"},
        {"v", 3, mixed, "-3 is outside of the bounds of 'v' (0, inf)"},
        {"a", 1, &nan, "'a' cannot be nan"},
        {"a", 1, &inf, "'a' cannot be inf"},
        {"L", 9, upper,
         "'L' is lower triangular: above its diagonal it is 0 and cannot be "
         "2"},
        {"L", 9, flat, "0 is outside of the bounds of 'L' (0, inf)"},
        {"L[1,2]", 1, &one,
         "'L' is lower triangular: above its diagonal it is 0 and cannot be "
         "1"},
        {"L[2,2]", 1, &minus, "-1 is outside of the bounds of 'L' (0, inf)"},
    };
    gsv_model *m = parse(RICH);
    size_t values = gsv_model_values(m);
    double *before = calloc(values, sizeof *before);
    memcpy(before, gsv_model_value(m), values * sizeof *before);
    for (size_t i = 0; i < COUNT(CASE); i++) {
        assert_int_equal(
            gsv_model_set(m, CASE[i].name, CASE[i].n, CASE[i].value),
            GSV_BAD_INPUT);
        assert_string_equal(gsv_last_error(), CASE[i].message);
        /* A call that fails changes nothing. */
        assert_memory_equal(before, gsv_model_value(m),
                            values * sizeof *before);
    }
    free(before);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theta__has_no_place_for_scales_and_above_the_diagonal),
        cmocka_unit_test(theta__and_values_are_two_ways_of_saying_it),
        cmocka_unit_test(theta__stays_inside_of_the_bounds),
        cmocka_unit_test(theta__maps_are_those_of_the_bounds),
        cmocka_unit_test(theta_vjp__agrees_with_differences),
        cmocka_unit_test(set__takes_numbers_lists_and_elements),
        cmocka_unit_test(set__gives_a_lower_matrix_its_diagonal),
        cmocka_unit_test(set__says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
