/* SPDX-License-Identifier: MIT */
/* Random numbers: the published answers, addresses that do not depend on the
 * blocking, and the statistics of large samples from fixed seeds, with
 * tolerances in standard errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <Random123/threefry.h>

#include "base/memory.h"
#include "base/random.h"

/* A hundred claims of this sort: 4.5 standard errors fail once in some
 * thousand choices of the seeds. */
static const double TOLERANCE = 4.5;
static const uint64_t SEEDS[] = {1, 2, 77, UINT64_C(0x123456789abcdef0)};
enum { N_SEEDS = sizeof SEEDS / sizeof *SEEDS };
enum { ROWS = 1000, PATHS = 1000, N = ROWS * PATHS };

static int make_sample(void **state)
{
    *state = NEW(double, N);
    return *state ? 0 : 1;
}

static int free_sample(void **state)
{
    mem_free(*state);
    return 0;
}

static const double *normals(void **state, uint64_t seed)
{
    const struct random_key key = {.seed = seed, .item = 5};
    random_normals(&key, 0, ROWS, 0, PATHS, *state);
    return *state;
}

/* found - expected in standard errors of a mean of n terms. */
static void assert_close(double found, double expected, double deviation,
                         double n)
{
    double off = fabs(found - expected) * sqrt(n) / deviation;
    if (!(off < TOLERANCE))
        fail_msg("%g instead of %g: %g standard errors", found, expected, off);
}

/* --- Addresses ----------------------------------------------------------- */

/* The word under a uniform number: exact, for 33 bits fit into a double. */
static uint32_t word(double u)
{
    return (uint32_t)(u * 0x1p32 - 0.5);
}

/* The known answers that come with Random123, for counter and key of zeros,
 * of ones and of the digits of pi: every bit of either can be addressed. */
static void uniforms__are_the_published_words(void **state)
{
    (void)state;
    static const struct {
        struct random_key key;
        uint64_t quad, path;
        uint32_t answer[4];
    } known[] = {
        {{0, 0, 0, 0}, 0, 0, {0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8}},
        {{UINT64_MAX, 255, UINT32_MAX, UINT64_MAX},
         UINT64_C(0xffffffffffffff),
         UINT32_MAX,
         {0x2a881696, 0x57012287, 0xf6c7446e, 0xa16a6732}},
        {{UINT64_C(0x299f31d0a4093822), 0x98, 0xec4e6c89,
          UINT64_C(0x0370734413198a2e)},
         UINT64_C(0x082efa243f6a88),
         0x85a308d3,
         {0x59cd1dbb, 0xb8879579, 0x86b5d00c, 0xac8b6d84}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double u[4];
        random_uniforms(&known[i].key, 4 * known[i].quad, 4, known[i].path, 1,
                        u);
        for (size_t j = 0; j < 4; j++)
            assert_int_equal(word(u[j]), known[i].answer[j]);
    }
}

static void uniforms__are_the_library_s_words_at_every_address(void **state)
{
    (void)state;
    const struct random_key key = {UINT64_C(0x1111111122222222), RANDOM_NET, 9,
                                   UINT64_C(0x3333333344444444)};
    enum { row = 5, rows = 9, path = 1000, paths = 150 };
    double u[rows * paths];
    random_uniforms(&key, row, rows, path, paths, u);
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t k = 0; k < paths; k++) {
            threefry4x32_ctr_t c = {
                {(row + r) / 4, path + k, 0x44444444, 0x33333333}};
            threefry4x32_key_t s = {{0x22222222, 0x11111111, RANDOM_NET, 9}};
            threefry4x32_ctr_t w = threefry4x32(c, s);
            assert_int_equal(word(u[r * paths + k]), w.v[(row + r) % 4]);
        }
    }
}

typedef void draw(const struct random_key *key, uint64_t row, size_t rows,
                  uint64_t path, size_t paths, double *z);

static void check_blocking(draw *numbers)
{
    const struct random_key key = {.seed = 3, .purpose = RANDOM_PILOT};
    enum { rows = 23, paths = 301 };
    static const size_t row_cuts[] = {0, 1, 2, 5, 6, 16, rows};
    static const size_t path_cuts[] = {0, 1, 3, 10, 27, 60, 190, paths};
    static double whole[rows * paths], part[rows * paths];
    numbers(&key, 2, rows, 7, paths, whole);
    for (size_t i = 0; i + 1 < sizeof row_cuts / sizeof *row_cuts; i++) {
        for (size_t j = 0; j + 1 < sizeof path_cuts / sizeof *path_cuts; j++) {
            size_t r0 = row_cuts[i], r1 = row_cuts[i + 1];
            size_t k0 = path_cuts[j], k1 = path_cuts[j + 1];
            numbers(&key, 2 + r0, r1 - r0, 7 + k0, k1 - k0, part);
            for (size_t r = r0; r < r1; r++)
                assert_memory_equal(part + (r - r0) * (k1 - k0),
                                    whole + r * paths + k0,
                                    (k1 - k0) * sizeof *part);
        }
    }
}

static void numbers__do_not_depend_on_the_blocking(void **state)
{
    (void)state;
    check_blocking(random_normals);
    check_blocking(random_uniforms);
}

static void numbers__write_nothing_outside_the_block(void **state)
{
    (void)state;
    const struct random_key key = {.seed = 1};
    double z[6] = {-9, 0, 0, 0, 0, -9};
    random_normals(&key, 3, 2, 0, 2, z + 1);
    assert_true(z[0] == -9 && z[5] == -9);
    random_normals(&key, 0, 0, 0, 4, z);
    random_normals(&key, 0, 4, 0, 0, z);
    assert_true(z[0] == -9 && z[5] == -9);
}

static void numbers__differ_with_every_part_of_the_key(void **state)
{
    (void)state;
    const struct random_key keys[] = {{0, 0, 0, 0},
                                      {1, 0, 0, 0},
                                      {UINT64_C(1) << 32, 0, 0, 0},
                                      {0, RANDOM_START, 0, 0},
                                      {0, 0, 1, 0},
                                      {0, 0, 0, 1},
                                      {0, 0, 0, UINT64_C(1) << 32}};
    enum { n = sizeof keys / sizeof *keys, size = 4096 };
    static double z[n][size];
    for (size_t i = 0; i < n; i++) {
        random_normals(&keys[i], 0, 64, 0, size / 64, z[i]);
        for (size_t j = 0; j < i; j++) {
            double sum = 0;
            for (size_t k = 0; k < size; k++)
                sum += z[i][k] * z[j][k];
            assert_close(sum / size, 0, 1, size);
        }
    }
}

/* --- Statistics ---------------------------------------------------------- */

static void normals__have_the_moments(void **state)
{
    for (size_t s = 0; s < N_SEEDS; s++) {
        const double *z = normals(state, SEEDS[s]);
        double m[5] = {0};
        for (size_t i = 0; i < N; i++)
            for (size_t p = 1; p < 5; p++)
                m[p] += pow(z[i], (double)p) / N;
        assert_close(m[1], 0, 1, N);
        assert_close(m[2], 1, sqrt(2), N);
        assert_close(m[3], 0, sqrt(15), N);
        assert_close(m[4], 3, sqrt(96), N);
    }
}

static void normals__have_the_tails(void **state)
{
    double over[5] = {0}, under[5] = {0}, n = (double)N * N_SEEDS;
    for (size_t s = 0; s < N_SEEDS; s++) {
        const double *z = normals(state, SEEDS[s]);
        for (size_t i = 0; i < N; i++) {
            for (size_t t = 0; t < 5; t++) {
                over[t] += z[i] > (double)t;
                under[t] += z[i] < -(double)t;
            }
        }
    }
    for (size_t t = 0; t < 5; t++) {
        double p = 0.5 * erfc((double)t / sqrt(2));
        assert_close(over[t] / n, p, sqrt(p * (1 - p)), n);
        assert_close(under[t] / n, p, sqrt(p * (1 - p)), n);
    }
}

/* Mean of the products of numbers that lie row, path apart; and of their
 * squares less 1, which shows a common radius. */
static void check_pairs(const double *z, size_t first, size_t step, size_t row,
                        size_t path)
{
    double product = 0, squares = 0, n = 0;
    for (size_t r = first; r + row < ROWS; r += step) {
        for (size_t k = 0; k + path < PATHS; k++, n++) {
            double a = z[r * PATHS + k], b = z[(r + row) * PATHS + k + path];
            product += a * b;
            squares += (a * a - 1) * (b * b - 1);
        }
    }
    assert_close(product / n, 0, 1, n);
    assert_close(squares / n, 0, 2, n);
}

static void normals__are_uncorrelated(void **state)
{
    for (size_t s = 0; s < N_SEEDS; s++) {
        const double *z = normals(state, SEEDS[s]);
        check_pairs(z, 0, 2, 1, 0); /* cosine and sine of one angle */
        check_pairs(z, 1, 2, 1, 0); /* neighbours of two angles     */
        check_pairs(z, 0, 1, 2, 0);
        check_pairs(z, 0, 1, 4, 0);
        check_pairs(z, 0, 1, 0, 1);
        check_pairs(z, 0, 1, 0, 64);
        check_pairs(z, 0, 1, 1, 1);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: P(sqrt(n) D > 2.2) = 2 exp(-2 2.2^2) = 1e-4. */
static void normals__follow_the_normal_law(void **state)
{
    double *z = *state;
    for (size_t s = 0; s < N_SEEDS; s++) {
        normals(state, SEEDS[s]);
        qsort(z, N, sizeof *z, by_size);
        double D = 0;
        for (size_t i = 0; i < N; i++) {
            double F = 0.5 * erfc(-z[i] / sqrt(2));
            D = fmax(D, fabs(F - ((double)i + 0.5) / N) + 0.5 / N);
        }
        assert_true(sqrt(N) * D < 2.2);
    }
}

static void normals__are_box_muller_to_1e_6(void **state)
{
    const struct random_key key = {.seed = 11};
    double *u = *state, *z = NEW(double, N);
    assert_non_null(z);
    random_uniforms(&key, 0, ROWS, 0, PATHS, u);
    random_normals(&key, 0, ROWS, 0, PATHS, z);
    double worst = 0;
    for (size_t r = 0; r < ROWS; r += 2) {
        for (size_t k = 0; k < PATHS; k++) {
            size_t i = r * PATHS + k, j = i + PATHS;
            double radius = sqrt(-2 * log(u[i] + 0x1p-33));
            double angle = 2 * acos(-1) * (u[j] - 0x1p-33);
            worst = fmax(worst, fabs(z[i] - radius * cos(angle)));
            worst = fmax(worst, fabs(z[j] - radius * sin(angle)));
        }
    }
    mem_free(z);
    assert_true(worst < 1e-6);
}

/* No machine's vector instructions or libm may show in the numbers. */
static void normals__have_the_same_bits_on_every_machine(void **state)
{
    (void)state;
    static const double golden[] = {0x1.78d61ep-1, 0x1.51a63ep-2, 0x1.fd5c04p+0,
                                    -0x1.a8b4dcp-2};
    const struct random_key key = {.seed = 1};
    double z[4];
    random_normals(&key, 0, 4, 0, 1, z);
    assert_memory_equal(z, golden, sizeof z);
}

static void uniforms__fill_256_bins_evenly(void **state)
{
    double *u = *state;
    for (size_t s = 0; s < N_SEEDS; s++) {
        const struct random_key key = {.seed = SEEDS[s]};
        double bin[256] = {0}, low[256] = {0}, chi = 0, chi_low = 0;
        random_uniforms(&key, 0, ROWS, 0, PATHS, u);
        for (size_t i = 0; i < N; i++) {
            assert_true(u[i] > 0 && u[i] < 1);
            bin[word(u[i]) >> 24]++;
            low[word(u[i]) & 255]++;
        }
        for (size_t i = 0; i < 256; i++) {
            chi += pow(bin[i] - N / 256.0, 2) / (N / 256.0);
            chi_low += pow(low[i] - N / 256.0, 2) / (N / 256.0);
        }
        assert_close(chi, 255, sqrt(2 * 255), 1);
        assert_close(chi_low, 255, sqrt(2 * 255), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniforms__are_the_published_words),
        cmocka_unit_test(uniforms__are_the_library_s_words_at_every_address),
        cmocka_unit_test(numbers__do_not_depend_on_the_blocking),
        cmocka_unit_test(numbers__write_nothing_outside_the_block),
        cmocka_unit_test(numbers__differ_with_every_part_of_the_key),
        cmocka_unit_test(normals__have_the_moments),
        cmocka_unit_test(normals__have_the_tails),
        cmocka_unit_test(normals__are_uncorrelated),
        cmocka_unit_test(normals__follow_the_normal_law),
        cmocka_unit_test(normals__are_box_muller_to_1e_6),
        cmocka_unit_test(normals__have_the_same_bits_on_every_machine),
        cmocka_unit_test(uniforms__fill_256_bins_evenly),
    };
    return cmocka_run_group_tests(tests, make_sample, free_sample);
}
