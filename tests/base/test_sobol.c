/* SPDX-License-Identifier: MIT */
/* Sobol' points: the table against its definition, the nets by counting points
 * in boxes, addresses that do not depend on the blocking, and the statistics
 * over many scrambles from fixed seeds, with tolerances in standard errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/quantile.h"
#include "base/sobol.h"
#include "base/sobol_table.h"

static const double TOLERANCE = 4;
static const struct random_key KEYS[] = {
    {.seed = 1},
    {.seed = 2, .purpose = RANDOM_SIMULATE},
    {.seed = 77, .iteration = 12},
    {.seed = UINT64_C(0x123456789abcdef0), .item = 5},
};
enum { N_KEYS = sizeof KEYS / sizeof *KEYS };
enum { DIMENSIONS = 1111, POINTS = 1024 };

static int make_sample(void **state)
{
    *state = NEW(double, DIMENSIONS *POINTS);
    return *state ? 0 : 1;
}

static int free_sample(void **state)
{
    mem_free(*state);
    return 0;
}

/* --- The table ----------------------------------------------------------- */

static uint32_t times(uint32_t a, uint32_t b, uint32_t modulus, uint32_t degree)
{
    uint32_t product = 0;
    for (; b; b >>= 1) {
        if (b & 1) product ^= a;
        a <<= 1;
        if (a >> degree & 1) a ^= modulus;
    }
    return product;
}

static uint32_t degree_of(uint32_t polynomial)
{
    uint32_t s = 0;
    while (polynomial >> (s + 1))
        s++;
    return s;
}

/* The least e > 0 with x^e = 1: at most 2^13, so it is found by counting. */
static uint32_t order_of_x(uint32_t polynomial)
{
    const uint32_t s = degree_of(polynomial);
    const uint32_t x = s == 1 ? 1 : 2;
    uint32_t power = x, order = 1;
    while (power != 1 && order < UINT32_C(1) << s) {
        power = times(power, x, polynomial, s);
        order++;
    }
    return order;
}

static const uint16_t *row_of(size_t r)
{
    size_t degree;
    const uint16_t *row = sobol_row(r, &degree);
    assert_int_equal(degree, degree_of(row[0]));
    return row;
}

static void table__has_every_primitive_polynomial_once(void **state)
{
    (void)state;
    assert_int_equal(SOBOL_DIMENSIONS, DIMENSIONS);
    assert_int_equal(row_of(0)[0], 1);
    /* phi(2^s - 1) / s of them for each degree s */
    static const int expected[SOBOL_DEGREE + 1] = {
        1, 1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630};
    int found[SOBOL_DEGREE + 1] = {1};
    for (size_t r = 1; r < DIMENSIONS; r++) {
        const uint32_t p = row_of(r)[0], s = degree_of(p);
        assert_true(p > row_of(r - 1)[0]);
        assert_true(p & 1);
        assert_int_equal(order_of_x(p), (UINT32_C(1) << s) - 1);
        found[s]++;
    }
    assert_memory_equal(found, expected, sizeof found);
}

static void table__has_odd_numbers_below_two_to_the_i(void **state)
{
    (void)state;
    for (size_t r = 1; r < DIMENSIONS; r++) {
        const uint32_t s = degree_of(row_of(r)[0]);
        for (uint32_t i = 0; i < s; i++) {
            const uint32_t m = row_of(r)[1 + i];
            assert_true((m & 1) && m < UINT32_C(2) << i);
        }
    }
}

/* --- Nets ---------------------------------------------------------------- */

static void points__fill_every_dyadic_interval(void **state)
{
    double *u = *state;
    for (size_t n = 64; n <= POINTS; n *= 16)
        for (size_t key = 0; key < N_KEYS; key++) {
            sobol_uniforms(&KEYS[key], 0, DIMENSIONS, 0, n, u);
            for (size_t r = 0; r < DIMENSIONS; r++) {
                bool taken[POINTS] = {false};
                for (size_t k = 0; k < n; k++) {
                    size_t box = (size_t)(u[r * n + k] * (double)n);
                    assert_true(box < n && !taken[box]);
                    taken[box] = true;
                }
            }
        }
}

/* Whether the boxes of 2^-i by 2^-j have the same number of points each. */
static bool is_even(const double *x, const double *y, size_t n, uint32_t i,
                    uint32_t j)
{
    size_t count[POINTS] = {0};
    for (size_t k = 0; k < n; k++) {
        size_t a = (size_t)ldexp(x[k], (int)i), b = (size_t)ldexp(y[k], (int)j);
        if (++count[a << j | b] > n >> (i + j)) return false;
    }
    return true;
}

static uint32_t t_value(const double *x, const double *y, uint32_t m)
{
    for (uint32_t t = 0; t < m; t++) {
        uint32_t i = 0;
        while (i <= m - t && is_even(x, y, (size_t)1 << m, i, m - t - i))
            i++;
        if (i > m - t) return t;
    }
    return m;
}

/* The t-values of pairs among the first dimensions, over 2^m points. */
struct quality {
    uint32_t m;
    size_t first, apart; /* dimensions below first, at most apart */
    uint32_t worst;
    double mean;
};

static void assert_quality(const struct quality *q, double *u)
{
    const size_t n = (size_t)1 << q->m;
    uint32_t worst = 0;
    double sum = 0, pairs = 0;
    sobol_uniforms(&KEYS[0], 0, q->first, 0, n, u);
    for (size_t a = 0; a < q->first; a++)
        for (size_t b = a + 1; b < q->first && b <= a + q->apart; b++) {
            uint32_t t = t_value(u + a * n, u + b * n, q->m);
            if (t > worst) worst = t;
            sum += t;
            pairs++;
        }
    if (worst > q->worst || sum / pairs > q->mean)
        fail_msg("2^%u points, dimensions below %zu: t is %u at worst and %.3f "
                 "on average",
                 q->m, q->first, worst, sum / pairs);
}

/* What the search of tools/sobol-table reached, to be kept. With 2^6 points
 * there are but 32 first rows of a matrix, so that of 50 dimensions some share
 * theirs, which is t = 5. */
static void pairs__are_nets_of_small_t(void **state)
{
    static const struct quality found[] = {
        {6, 10, 10, 3, 1.58}, {6, 20, 20, 4, 1.66},  {6, 50, 1, 3, 1.66},
        {6, 50, 50, 5, 1.85}, {10, 10, 10, 4, 1.94}, {10, 20, 20, 5, 2.28},
        {10, 50, 1, 5, 2.25}, {10, 50, 50, 7, 2.61},
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        assert_quality(&found[i], *state);
}

/* Warnock's formula for the square of the L2 star discrepancy. */
static double discrepancy(const double *u, size_t d, size_t n)
{
    double once = 0, twice = 0;
    for (size_t k = 0; k < n; k++) {
        double product = 1;
        for (size_t i = 0; i < d; i++)
            product *= (1 - u[i * n + k] * u[i * n + k]) / 2;
        once += product;
        for (size_t l = 0; l < n; l++) {
            product = 1;
            for (size_t i = 0; i < d; i++)
                product *= 1 - fmax(u[i * n + k], u[i * n + l]);
            twice += product;
        }
    }
    const double N = (double)n;
    return pow(3, -(double)d) - 2 / N * once + twice / (N * N);
}

static void points__have_small_discrepancy(void **state)
{
    (void)state;
    enum { N = 64, SCRAMBLES = 50 };
    static const struct {
        size_t d;
        double gain; /* against the mean over independent points */
    } cases[] = {{1, 50}, {2, 18}, {3, 8}, {6, 1.8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t d = cases[i].d;
        double u[6 * N], sum = 0;
        for (uint32_t s = 0; s < SCRAMBLES; s++) {
            const struct random_key key = {.seed = 3, .iteration = s};
            sobol_uniforms(&key, 0, d, 0, N, u);
            sum += discrepancy(u, d, N);
        }
        double independent = (pow(2, -(double)d) - pow(3, -(double)d)) / N;
        double gain = independent / (sum / SCRAMBLES);
        if (gain < cases[i].gain) fail_msg("d = %zu: gain %g", d, gain);
    }
}

/* --- Addresses ----------------------------------------------------------- */

typedef void draw(const struct random_key *key, uint64_t row, size_t rows,
                  uint64_t path, size_t paths, double *z);

static void assert_same_in_parts(draw *numbers, uint64_t row, uint64_t path,
                                 double *whole)
{
    enum { ROWS = 70, PATHS = 300 };
    static const size_t parts[][4] = {
        {0, 1, 0, 1},     {3, 5, 0, 64},   {0, 70, 7, 1},
        {69, 1, 250, 50}, {1, 33, 63, 2},  {31, 3, 64, 128},
        {0, 70, 100, 13}, {12, 1, 0, 300}, {40, 30, 1, 299}};
    double part[ROWS * PATHS];
    numbers(&KEYS[3], row, ROWS, path, PATHS, whole);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t *p = parts[i];
        numbers(&KEYS[3], row + p[0], p[1], path + p[2], p[3], part);
        for (size_t r = 0; r < p[1]; r++)
            assert_memory_equal(part + r * p[3],
                                whole + (p[0] + r) * PATHS + p[2],
                                p[3] * sizeof *part);
    }
}

static void numbers__do_not_depend_on_the_blocking(void **state)
{
    static const uint64_t rows[] = {0, 17, DIMENSIONS - 20, DIMENSIONS + 9};
    static const uint64_t paths[] = {0, 1, 60, 64, 1000003, 0xfffffe00};
    for (size_t r = 0; r < 4; r++)
        for (size_t p = 0; p < 6; p++) {
            assert_same_in_parts(sobol_uniforms, rows[r], paths[p], *state);
            assert_same_in_parts(sobol_normals, rows[r], paths[p], *state);
        }
}

static void numbers__reach_the_last_point(void **state)
{
    (void)state;
    double u[2 * DIMENSIONS];
    sobol_uniforms(&KEYS[0], 0, DIMENSIONS, 0xfffffffe, 2, u);
    for (size_t i = 0; i < 2 * DIMENSIONS; i++)
        assert_true(u[i] > 0 && u[i] < 1);
}

static void numbers__beyond_the_table_are_random_numbers(void **state)
{
    (void)state;
    enum { BEFORE = 3, AFTER = 8, PATHS = 50 };
    double found[(BEFORE + AFTER) * PATHS], expected[AFTER * PATHS];
    for (size_t i = 0; i < 2; i++) {
        draw *sobol = i ? sobol_uniforms : sobol_normals;
        draw *random = i ? random_uniforms : random_normals;
        sobol(&KEYS[1], DIMENSIONS - BEFORE, BEFORE + AFTER, 9, PATHS, found);
        random(&KEYS[1], DIMENSIONS, AFTER, 9, PATHS, expected);
        assert_memory_equal(found + BEFORE * PATHS, expected, sizeof expected);
    }
}

static void numbers__of_no_rows_or_paths_are_none(void **state)
{
    (void)state;
    double z = 7;
    sobol_normals(&KEYS[0], 0, 0, 0, 5, &z);
    sobol_normals(&KEYS[0], 0, 5, 0, 0, &z);
    sobol_uniforms(&KEYS[0], DIMENSIONS, 0, 0, 5, &z);
    assert_true(z == 7);
}

/* The first point is the shift alone. */
static void keys_and_rows__have_their_own_shifts(void **state)
{
    (void)state;
    enum { ROWS = 200 };
    const struct random_key keys[] = {
        {.seed = 1},    {.seed = UINT64_C(1) << 32 | 1}, {.purpose = 1},
        {.purpose = 2}, {.purpose = RANDOM_SCRAMBLE},    {.iteration = 1},
        {.item = 1},    {.item = UINT64_C(1) << 32}};
    enum { N = sizeof keys / sizeof *keys };
    double u[N * ROWS];
    for (size_t i = 0; i < N; i++)
        sobol_uniforms(&keys[i], 0, ROWS, 0, 1, u + i * ROWS);
    for (size_t a = 0; a < N * ROWS; a++)
        for (size_t b = 0; b < a; b++)
            assert_true(u[a] != u[b]);
}

/* Fowler, Noll and Vo's hash of the bits. */
static uint64_t hash(const double *z, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &z[i], sizeof bits);
        for (size_t byte = 0; byte < 8; byte++, bits >>= 8)
            h = (h ^ (bits & 0xff)) * UINT64_C(0x100000001b3);
    }
    return h;
}

/* On every machine, with every compiler and instruction set. */
static void numbers__have_the_same_bits_everywhere(void **state)
{
    double *z = *state;
    sobol_uniforms(&KEYS[0], 0, DIMENSIONS, 0, 67, z);
    assert_int_equal(hash(z, DIMENSIONS * 67), UINT64_C(0x65acbb79a4e33954));
    sobol_normals(&KEYS[0], 0, DIMENSIONS, 0, 67, z);
    assert_int_equal(hash(z, DIMENSIONS * 67), UINT64_C(0xfc481b1b38392cee));
}

/* --- The distribution function's inverse ---------------------------------- */

/* Newton's steps on P(Z < -z) = u from a near z, for u <= 1/2. */
static double exact_quantile(double u, double z)
{
    long double y = -z;
    for (int i = 0; i < 3; i++) {
        long double off = erfcl(y * sqrtl(0.5L)) / 2 - (long double)u;
        y += off * 2.50662827463100050242L * expl(y * y / 2);
    }
    return (double)-y;
}

static void assert_exact(double u)
{
    const double z = normal_quantile(2 * u - 1);
    const double off = fabs(z - exact_quantile(u, z));
    if (!(off < 2.5e-10)) fail_msg("u = %.17g: %g off", u, off);
    assert_true(normal_quantile(1 - 2 * u) == -z);
}

static void quantile__is_exact_to_ten_digits(void **state)
{
    (void)state;
    for (uint32_t w = 0; w < 20000; w++)
        assert_exact((w + 0.5) * 0x1p-32);
    for (uint64_t w = 20000; w < UINT64_C(1) << 31; w += 1 + w / 5000)
        assert_exact(((double)w + 0.5) * 0x1p-32);
    for (uint32_t w = 0; w < 20000; w++)
        assert_exact(0.5 - (w + 0.5) * 0x1p-32);
}

static void normals__are_quantiles_of_the_uniforms(void **state)
{
    (void)state;
    enum { ROWS = 40, N = ROWS * 500 };
    double u[N], z[N];
    sobol_uniforms(&KEYS[2], 0, ROWS, 0, N / ROWS, u);
    sobol_normals(&KEYS[2], 0, ROWS, 0, N / ROWS, z);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(z[i] - normal_quantile(2 * u[i] - 1)) < 1e-13);
}

/* --- Scrambles ----------------------------------------------------------- */

/* found - expected in standard errors of a mean of n terms. */
static void assert_close(double found, double expected, double deviation,
                         double n)
{
    double off = fabs(found - expected) * sqrt(n) / deviation;
    if (!(off < TOLERANCE))
        fail_msg("%g instead of %g: %g standard errors", found, expected, off);
}

/* Every coordinate of every point is uniform, and independent of the others of
 * the point: means of u, of its bits 5 to 9 and of products. */
static void scrambles__make_each_point_uniform(void **state)
{
    (void)state;
    enum { SCRAMBLES = 10000, ROWS = 5, POINT = 37 };
    double mean[ROWS] = {0}, fine[ROWS] = {0}, product[ROWS] = {0};
    for (uint32_t s = 0; s < SCRAMBLES; s++) {
        const struct random_key key = {.seed = 9, .iteration = s};
        double u[ROWS];
        sobol_uniforms(&key, 20, ROWS, POINT, 1, u);
        for (size_t r = 0; r < ROWS; r++) {
            mean[r] += u[r] / SCRAMBLES;
            fine[r] += (32 * u[r] - floor(32 * u[r])) / SCRAMBLES;
            product[r] += u[r] * u[(r + 1) % ROWS] / SCRAMBLES;
        }
    }
    for (size_t r = 0; r < ROWS; r++) {
        assert_close(mean[r], 0.5, sqrt(1.0 / 12), SCRAMBLES);
        assert_close(fine[r], 0.5, sqrt(1.0 / 12), SCRAMBLES);
        assert_close(product[r], 0.25, sqrt(7.0 / 144), SCRAMBLES);
    }
}

/* Two points in one interval of length 2^-5 by the first digits: the matrix
 * scramble makes the digits that follow independent, which the shift alone
 * would not. Points 0 and 32 part at digit 6 of every coordinate. */
static void scrambles__mix_the_low_digits(void **state)
{
    (void)state;
    enum { SCRAMBLES = 4000, PLACE = 7 };
    double same = 0;
    for (uint32_t s = 0; s < SCRAMBLES; s++) {
        const struct random_key key = {.seed = 10, .iteration = s};
        double u[33];
        sobol_uniforms(&key, 0, 1, 0, 33, u);
        uint32_t a = (uint32_t)(u[0] * 0x1p32), b = (uint32_t)(u[32] * 0x1p32);
        assert_int_equal((a ^ b) >> 26, 1);
        same += ((a ^ b) >> (32 - PLACE) & 1) == 0;
    }
    assert_close(same / SCRAMBLES, 0.5, 0.5, SCRAMBLES);
}

enum { D = 6, K = 64, SCRAMBLES = 200 };

static double additive(const double *z)
{
    double sum = 0;
    for (size_t i = 0; i < D; i++)
        sum += z[i] + z[i] * z[i];
    return sum;
}

static double products(const double *z)
{
    double sum = 0;
    for (size_t i = 0; i + 1 < D; i++)
        sum += z[i] * z[i] * z[i + 1] * z[i + 1];
    return sum;
}

static double exponential(const double *z)
{
    double sum = 0;
    for (size_t i = 0; i < D; i++)
        sum += z[i];
    return exp(0.25 * sum);
}

/* Mean and variance over scrambles of the mean of f over K points. */
static void integrate(draw *normals, double (*f)(const double *z), double *mean,
                      double *variance)
{
    double sum = 0, square = 0;
    for (uint32_t s = 0; s < SCRAMBLES; s++) {
        const struct random_key key = {.seed = 4, .iteration = s};
        double z[D * K], estimate = 0;
        normals(&key, 0, D, 0, K, z);
        for (size_t k = 0; k < K; k++) {
            double point[D];
            for (size_t i = 0; i < D; i++)
                point[i] = z[i * K + k];
            estimate += f(point) / K;
        }
        sum += estimate;
        square += estimate * estimate;
    }
    *mean = sum / SCRAMBLES;
    *variance = square / SCRAMBLES - *mean * *mean;
}

static void integrals__are_unbiased_and_of_small_variance(void **state)
{
    (void)state;
    static const struct {
        double (*f)(const double *z);
        double exact, gain;
    } cases[] = {{additive, D, 20},
                 {products, D - 1, 3},
                 {exponential, 1.20623024942098072 /* exp(D/32) */, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double mean, variance, ignored, independent;
        integrate(sobol_normals, cases[i].f, &mean, &variance);
        integrate(random_normals, cases[i].f, &ignored, &independent);
        assert_close(mean, cases[i].exact, sqrt(variance), SCRAMBLES);
        double gain = independent / variance;
        if (gain < cases[i].gain) fail_msg("case %zu: gain %g", i, gain);
    }
}

/* Mean and variance of every coordinate, over its K points alone. */
static void normals__have_mean_zero_and_variance_one(void **state)
{
    double *z = *state;
    double mean = 0, variance = 0;
    sobol_normals(&KEYS[1], 0, DIMENSIONS, 0, POINTS, z);
    for (size_t r = 0; r < DIMENSIONS; r++) {
        double sum = 0, square = 0;
        for (size_t k = 0; k < POINTS; k++) {
            double x = z[r * POINTS + k];
            sum += x;
            square += x * x;
        }
        assert_true(fabs(sum / POINTS) < 0.01);
        assert_true(fabs(square / POINTS - 1) < 0.05);
        mean += sum / POINTS / DIMENSIONS;
        variance += square / POINTS / DIMENSIONS;
    }
    assert_true(fabs(mean) < 1e-4 && fabs(variance - 1) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table__has_every_primitive_polynomial_once),
        cmocka_unit_test(table__has_odd_numbers_below_two_to_the_i),
        cmocka_unit_test(points__fill_every_dyadic_interval),
        cmocka_unit_test(pairs__are_nets_of_small_t),
        cmocka_unit_test(points__have_small_discrepancy),
        cmocka_unit_test(numbers__do_not_depend_on_the_blocking),
        cmocka_unit_test(numbers__reach_the_last_point),
        cmocka_unit_test(numbers__beyond_the_table_are_random_numbers),
        cmocka_unit_test(numbers__of_no_rows_or_paths_are_none),
        cmocka_unit_test(keys_and_rows__have_their_own_shifts),
        cmocka_unit_test(numbers__have_the_same_bits_everywhere),
        cmocka_unit_test(quantile__is_exact_to_ten_digits),
        cmocka_unit_test(normals__are_quantiles_of_the_uniforms),
        cmocka_unit_test(scrambles__make_each_point_uniform),
        cmocka_unit_test(scrambles__mix_the_low_digits),
        cmocka_unit_test(integrals__are_unbiased_and_of_small_variance),
        cmocka_unit_test(normals__have_mean_zero_and_variance_one),
    };
    return cmocka_run_group_tests(tests, make_sample, free_sample);
}
