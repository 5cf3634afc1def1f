/* SPDX-License-Identifier: MIT */
/* Rules against the moments that they must have exactly. */
#include "base/quadrature.h"
#include "exact.h"

static void interval__has_the_integrals_of_powers(void **state)
{
    (void)state;
    static const size_t N[] = {1, 2, 3, 6, 17, 64};
    double t[64], w[64];
    for (size_t k = 0; k < COUNT(N); k++) {
        quadrature_interval(N[k], t, w);
        for (size_t i = 0; i < N[k]; i++) {
            assert_near(t[i] + t[N[k] - 1 - i], 1.0, 1e-15);
            assert_true(w[i] > 0.0 && t[i] > (i ? t[i - 1] : 0.0));
        }
        for (size_t power = 0; power < 2 * N[k]; power++) {
            double sum = 0.0;
            for (size_t i = 0; i < N[k]; i++)
                sum += w[i] * pow(t[i], (double)power);
            assert_near(sum, 1.0 / (double)(power + 1), 1e-14);
        }
    }
}

/* E z^p: 0 where p is odd, else (p - 1)(p - 3)... */
static double moment(int p)
{
    double m = p % 2 ? 0.0 : 1.0;
    for (int k = p - 1; k > 1; k -= 2)
        m *= k;
    return m;
}

/* Every product of up to three coordinates' powers, up to the degree. */
static void check_products(size_t d, size_t n, const double *z, const double *w)
{
    int degree = d < 3 ? 7 : d == 3 ? 5 : 3;
    for (int a = 0; a <= degree; a++)
        for (int b = 0; b <= (d > 1 ? degree - a : 0); b++)
            for (int c = 0; c <= (d > 2 ? degree - a - b : 0); c++) {
                double sum = 0.0;
                for (size_t q = 0; q < n; q++)
                    sum += w[q] * pow(z[q], a) *
                           (d > 1 ? pow(z[(d - 1) * n + q], b) : 1.0) *
                           (d > 2 ? pow(z[n + q], c) : 1.0);
                assert_near(sum, moment(a) * moment(b) * moment(c), 1e-12);
            }
}

static void normal__has_all_moments_up_to_its_degree(void **state)
{
    (void)state;
    double z[7 * 64], w[64];
    for (size_t d = 1; d <= 7; d++) {
        size_t n = quadrature_normal_count(d);
        assert_true(n <= COUNT(w));
        quadrature_normal(d, z, w);
        for (size_t q = 0; q < n; q++)
            assert_true(w[q] > 0.0);
        check_products(d, n, z, w);
    }
}

/* The mean of x^k is (k - 1)!!, up to degree 2 n - 1. */
static void hermite__has_all_moments_up_to_its_degree(void **state)
{
    (void)state;
    for (size_t n = 1; n <= HERMITE_MOST; n++) {
        double x[HERMITE_MOST], w[HERMITE_MOST], moment = 1.0;
        quadrature_hermite(n, x, w);
        for (size_t k = 0; k < 2 * n && k <= 24; k++) {
            double sum = 0.0, size = 0.0;
            for (size_t i = 0; i < n; i++) {
                sum += w[i] * pow(x[i], (double)k);
                size += w[i] * pow(fabs(x[i]), (double)k);
            }
            if (k % 2 == 0 && k > 1) moment *= (double)(k - 1);
            assert_true(fabs(sum - (k % 2 ? 0.0 : moment)) <= 1e-11 * size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval__has_the_integrals_of_powers),
        cmocka_unit_test(hermite__has_all_moments_up_to_its_degree),
        cmocka_unit_test(normal__has_all_moments_up_to_its_degree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
