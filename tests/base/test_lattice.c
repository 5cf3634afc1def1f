/* SPDX-License-Identifier: MIT */
/* Lattices: uniform, unbiased, and the trapezoidal rule in one dimension. */
#include "base/lattice.h"
#include "exact.h"

enum { J = 32, KEYS = 2000 };

/* Every coordinate alone is standard normal, and any two are independent. */
static void points__are_uniform_in_every_coordinate(void **state)
{
    (void)state;
    size_t a = lattice_generator(J, 3);
    double sum[3] = {0}, square[3] = {0}, product = 0.0;
    for (uint64_t n = 0; n < KEYS; n++) {
        struct random_key key = {.seed = 1, .item = n};
        double z[3][J];
        for (size_t k = 0; k < 3; k++)
            lattice_normals(&key, a, k, J, z[k]);
        for (size_t j = 0; j < J; j++) {
            for (size_t k = 0; k < 3; k++) {
                sum[k] += z[k][j];
                square[k] += z[k][j] * z[k][j];
            }
            product += z[0][j] * z[1][j];
        }
    }
    /* If points were independent, four deviations. */
    double few = 4.0 / sqrt(J * (double)KEYS);
    for (size_t k = 0; k < 3; k++) {
        assert_near(sum[k] / (J * (double)KEYS), 0.0, few);
        assert_near(square[k] / (J * (double)KEYS), 1.0, 1.5 * few);
    }
    assert_near(product / (J * (double)KEYS), 0.0, few);
}

/* The mean of z^2 exp(-3 z^2 / 2), which vanishes at the ends: 1/8. */
static void mean__is_exact_where_the_ends_vanish(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 20; n++) {
        struct random_key key = {.seed = 3, .item = n};
        double z[J], mean = 0.0;
        lattice_normals(&key, 1, 0, J, z);
        for (size_t j = 0; j < J; j++)
            mean += z[j] * z[j] * exp(-0.5 * z[j] * z[j] * 3.0) / J;
        assert_near(mean, 0.125, 1e-4);
    }
}

/* The generator is no worse than any other odd one by its own measure: so the
 * points of two coordinates are never on one line. */
static void generator__spreads_the_points(void **state)
{
    (void)state;
    for (size_t n = 8; n <= 256; n *= 2) {
        size_t a = lattice_generator(n, 2);
        assert_true(a % 2 == 1 && a > 1 && a < n - 1);
        assert_int_equal(lattice_generator(n, 1), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points__are_uniform_in_every_coordinate),
        cmocka_unit_test(mean__is_exact_where_the_ends_vanish),
        cmocka_unit_test(generator__spreads_the_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
