/* SPDX-License-Identifier: MIT */
/* What is left of a sum over gaps at ever shorter steps. */
#include "estimator/limit.h"

#include "exact.h"

/* Changes of gaps that are exact but for their steps. */
static struct changes changes_of(size_t n, double now, double before,
                                 double error)
{
    struct changes c = {0};
    for (size_t i = 0; i < n; i++) {
        gsv_gap g = {.discretisation = now / (double)n, .error = error};
        changes_add(&c, 1.0, &g, before / (double)n);
    }
    return c;
}

/* A sum whose changes fall by q has q / (1 - q) of the last one to come. */
static void limit__is_not_nearer_than_it_is(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 100; n *= 10)
        for (int k = 1; k <= 16; k++)
            for (int sign = -1; sign < 2; sign += 2) {
                double q = 0.05 * k, now = 0.03 * sign;
                struct changes c = changes_of(n, now, now / q, 0.0);
                double left = changes_left(&c), true_left = q / (1.0 - q);
                assert_true(left >= 0.03 * true_left - 1e-12);
                assert_true(left >= 0.03 - 1e-12);
                /* Nor much further, for orders from 1 to 2. */
                if (q >= 0.25) assert_true(left <= 0.12 + 1e-12);
                if (q >= 0.25 && q <= 0.5) assert_near(left, 0.03, 1e-12);
            }
}

/* Where a sum turns, its last change may be 0. */
static void limit__is_not_reached_by_chance(void **state)
{
    (void)state;
    struct changes c = changes_of(7, 0.0, 0.4, 0.0);
    assert_true(changes_left(&c) >= 0.1 - 1e-12);
}

/* A sum that changes more and more is far from any limit. */
static void limit__is_far_where_changes_grow(void **state)
{
    (void)state;
    struct changes c = changes_of(7, 0.1, 0.05, 0.0);
    assert_near(changes_left(&c), 0.4, 1e-12);
}

/* The ratio of two changes that are noise says nothing. */
static void limit__takes_noise_for_noise(void **state)
{
    (void)state;
    struct changes c = changes_of(50, 0.02, 0.001, 0.01);
    assert_near(changes_left(&c), 0.02, 1e-12);
}

static void changes__are_taken_out_again(void **state)
{
    (void)state;
    gsv_gap one = {.discretisation = 0.3, .error = 0.1};
    gsv_gap exact = {.discretisation = NAN, .error = 0.2};
    gsv_gap single = {.discretisation = -0.1, .error = NAN};
    struct changes c = {0};
    changes_add(&c, 1.0, &one, 0.5);
    changes_add(&c, 1.0, &exact, NAN);
    changes_add(&c, 1.0, &single, -0.2);
    assert_near(c.now, 0.2, 1e-15);
    assert_near(c.before, 0.3, 1e-15);
    assert_near(c.variance, 0.01, 1e-15);
    changes_add(&c, -1.0, &one, 0.5);
    assert_near(c.now, -0.1, 1e-15);
    assert_near(c.variance, 0.0, 1e-15);
    changes_add(&c, 1.0, &one, NAN);
    assert_near(changes_left(&c), 0.2, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit__is_not_nearer_than_it_is),
        cmocka_unit_test(limit__is_not_reached_by_chance),
        cmocka_unit_test(limit__is_far_where_changes_grow),
        cmocka_unit_test(limit__takes_noise_for_noise),
        cmocka_unit_test(changes__are_taken_out_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
