/* SPDX-License-Identifier: MIT */
/* Correlations against their formulas, and slopes against differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/kernel.h"

/* cmocka's own compares floats. */
#define assert_near(found, expected, tolerance)                                \
    check_near((found), (expected), (tolerance), __LINE__)

static void check_near(double found, double expected, double tolerance,
                       int line)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("line %d: %.17g instead of %.17g", line, found, expected);
}

static void kernel__has_its_values(void **state)
{
    (void)state;
    assert_near(kernel_at(KERNEL_RBF, 3.0, 1.5, NULL), exp(-2.0), 1e-15);
    double a = sqrt(3.0) * 2.0;
    assert_near(kernel_at(KERNEL_MATERN32, -3.0, 1.5, NULL),
                (1.0 + a) * exp(-a), 1e-15);
    a = sqrt(5.0) * 2.0;
    assert_near(kernel_at(KERNEL_MATERN52, 3.0, 1.5, NULL),
                (1.0 + a + a * a / 3.0) * exp(-a), 1e-15);
}

static void kernel__slope_is_by_log_length(void **state)
{
    (void)state;
    for (enum kernel k = 0; k < KERNELS; k++)
        for (double distance = 0.0; distance < 4.0; distance += 0.3) {
            double slope, e = 1e-5, length = 0.8;
            double one = kernel_at(k, distance, length, &slope);
            assert_true(one <= 1.0 && one > 0.0);
            assert_true(distance > 0.0 || (one == 1.0 && slope == 0.0));
            double up = kernel_at(k, distance, length * exp(e), NULL);
            double down = kernel_at(k, distance, length * exp(-e), NULL);
            assert_near(slope, (up - down) / (2.0 * e), 1e-9);
        }
}

static void kernel__matrix_has_all_pairs(void **state)
{
    (void)state;
    enum { N = 5 };
    double K[N * N], dK[N * N];
    for (enum kernel k = 0; k < KERNELS; k++) {
        kernel_matrix(k, N, 0.25, 0.7, K, dK);
        for (size_t i = 0; i < N * N; i++) {
            double slope, away = 0.25 * ((double)(i / N) - (double)(i % N));
            assert_true(K[i] == kernel_at(k, away, 0.7, &slope));
            assert_true(dK[i] == slope);
        }
        kernel_matrix(k, N, 0.25, 0.7, K, NULL);
        assert_true(K[0] == 1.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel__has_its_values),
        cmocka_unit_test(kernel__slope_is_by_log_length),
        cmocka_unit_test(kernel__matrix_has_all_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
