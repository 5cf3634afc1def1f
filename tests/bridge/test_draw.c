/* SPDX-License-Identifier: MIT */
/* The normals of bridges: the map from modes to steps is orthogonal, what it
 * leaves out is filled up, and slices are the same bits. */
#include "base/memory.h"
#include "base/sobol.h"
#include "bridge/draw.h"
#include "bridge/reference.h"
#include "exact.h"

/* --- The map ------------------------------------------------------------- */

static void basis__has_orthogonal_rows_and_columns(void **state)
{
    (void)state;
    static double O[130 * 130];
    for (size_t M = 2; M <= 130; M++) {
        size_t n = M - 1;
        for (size_t m = 0; m < n; m++)
            draw_basis_row(M, m, n, O + m * n);
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b <= a; b++) {
                double rows = 0.0, columns = 0.0;
                for (size_t k = 0; k < n; k++) {
                    rows += O[a * n + k] * O[b * n + k];
                    columns += O[k * n + a] * O[k * n + b];
                }
                assert_near(rows, a == b, 1e-12);
                assert_near(columns, a == b, 1e-12);
            }
    }
}

/* A bridge made of mode q alone is a sine. */
static void basis__brings_modes_to_sines(void **state)
{
    (void)state;
    enum { M = 24 };
    struct reference r = {.d = 1};
    reference_build(&r, GSV_REFERENCE_BROWNIAN, M, 1.0 / M);
    for (size_t q = 1; q < M; q++) {
        double row[M], xi[M] = {0.0}, Y[M], dY[M], at = 0.0, room;
        static const double zero;
        for (size_t m = 0; m + 1 < M; m++) {
            draw_basis_row(M, m, M - 1, row);
            xi[m] = row[q - 1];
        }
        bridge_walk(&r, &zero, 0, M, 1, xi, &at, Y, dY, M, &room);
        double half = sin(0.5 * EXACT_PI * (double)q / M);
        double size = sqrt(2.0 / M / (4.0 * M * half * half));
        for (size_t m = 0; m < M; m++) {
            double angle = EXACT_PI * (double)(q * m) / M;
            assert_near(Y[m], size * sin(angle), 1e-13);
        }
    }
}

/* --- The numbers --------------------------------------------------------- */

struct trial {
    struct draw w;
    double *room, *xi;
    size_t count; /* of xi */
};

static struct trial trial_new(bool sobol, size_t d, size_t M, size_t K,
                              uint64_t seed)
{
    struct trial t = {.w = {.d = d, .sobol = sobol}, .count = (M - 1) * d * K};
    t.w.key = (struct random_key){.seed = seed, .item = 3};
    t.w.basis = NEW(double, draw_basis_room(M));
    t.w.row = NEW(double, MODES);
    t.w.mode = NEW(double, draw_modes(M) * d * K);
    t.room = NEW(double, d *K);
    t.xi = NEW(double, M *d *K);
    draw_start(&t.w, M, 0, K, t.room);
    draw_steps(&t.w, 0, M, t.xi);
    return t;
}

static void trial_free(struct trial *t)
{
    mem_free(t->w.basis);
    mem_free(t->w.row);
    mem_free(t->w.mode);
    mem_free(t->room);
    mem_free(t->xi);
}

static const size_t SHAPES[][3] = {/* d, M, K */
                                   {1, 1, 4},    {1, 2, 1},   {2, 2, 8},
                                   {3, 8, 64},   {1, 129, 8}, {2, 130, 8},
                                   {1, 300, 16}, {2, 333, 5}, {1, 64, 7},
                                   {1, 4200, 2}};

static void draw__of_independent_numbers_is_random_normals(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        size_t d = SHAPES[i][0], M = SHAPES[i][1], K = SHAPES[i][2];
        struct trial t = trial_new(false, d, M, K, i);
        double *z = NEW(double, M *d *K);
        random_normals(&t.w.key, 0, (M - 1) * d, 0, K, z);
        assert_memory_equal(t.xi, z, t.count * sizeof *z);
        mem_free(z);
        trial_free(&t);
    }
}

static void draw__in_slices_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(SHAPES); i++) {
        const size_t *shape = SHAPES[i / 2];
        size_t d = shape[0], M = shape[1], K = shape[2];
        struct trial t = trial_new(i % 2, d, M, K, i);
        double *xi = NEW(double, M *d *K);
        for (size_t slice = 1; slice <= M; slice += 1 + 2 * slice) {
            memset(xi, 0, M * d * K * sizeof *xi);
            draw_start(&t.w, M, 0, K, t.room);
            for (size_t m = 0; m < M; m += slice)
                draw_steps(&t.w, m, M - m < slice ? M - m : slice,
                           xi + m * d * K);
            assert_memory_equal(xi, t.xi, t.count * sizeof *xi);
        }
        mem_free(xi);
        trial_free(&t);
    }
}

/* Some paths alone are the same as among all, whatever came before. */
static void draw__of_some_paths_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(SHAPES); i++) {
        const size_t *shape = SHAPES[i / 2];
        size_t d = shape[0], M = shape[1], K = shape[2], part = (K + 1) / 2;
        struct trial t = trial_new(i % 2, d, M, K, i);
        double *xi = NEW(double, M *d *K);
        draw_start(&t.w, M > 5 ? 5 : M, 0, K, t.room);
        for (size_t k = 0; k < K; k += part) {
            size_t n = K - k < part ? K - k : part;
            draw_start(&t.w, M, k, n, t.room);
            draw_steps(&t.w, 0, M, xi);
            for (size_t row = 0; row < (M - 1) * d; row++)
                assert_memory_equal(xi + row * n, t.xi + row * K + k,
                                    n * sizeof *xi);
        }
        mem_free(xi);
        trial_free(&t);
    }
}

/* O' xi gives the points back, and of the space beyond the modes xi has what
 * the independent numbers have: an orthogonal map of independent normals. */
static void draw__has_the_points_on_its_modes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        size_t d = SHAPES[i][0], M = SHAPES[i][1], K = SHAPES[i][2];
        size_t n = M - 1, modes = draw_modes(M), dK = d * K;
        struct trial t = trial_new(true, d, M, K, i);
        double *z = NEW(double, modes *dK), *O = NEW(double, n *modes);
        double *rest = NEW(double, M *dK), *on = NEW(double, modes *dK);
        if (n) sobol_normals(&t.w.key, 0, modes * d, 0, K, z);
        if (n) random_normals(&t.w.key, 0, n * d, 0, K, rest);
        for (size_t m = 0; m < n; m++)
            draw_basis_row(M, m, modes, O + m * modes);
        for (size_t e = 0; e < modes * dK; e++) {
            size_t q = e / dK, at = e % dK;
            double found = 0.0;
            for (size_t m = 0; m < n; m++) {
                found += O[m * modes + q] * t.xi[m * dK + at];
                on[e] += O[m * modes + q] * rest[m * dK + at];
            }
            assert_near(found, z[e], 1e-11);
        }
        for (size_t e = 0; e < n * dK; e++) {
            size_t m = e / dK, at = e % dK;
            double expected = n > modes ? rest[e] : 0.0;
            for (size_t q = 0; q < modes; q++)
                expected +=
                    O[m * modes + q] *
                    (z[q * dK + at] - (n > modes ? on[q * dK + at] : 0));
            assert_near(t.xi[e], expected, 1e-11);
        }
        mem_free(z);
        mem_free(O);
        mem_free(rest);
        mem_free(on);
        trial_free(&t);
    }
}

/* Over scrambles: mean 0 and covariance I. Of some 45000 numbers the largest
 * is within 6 standard errors. */
static void draw__has_unit_covariance(void **state)
{
    (void)state;
    enum { K = 16 };
    static const size_t steps[] = {8, 40, 300};
    for (size_t i = 0; i < COUNT(steps); i++) {
        size_t M = steps[i], n = M - 1;
        size_t scrambles = M > 100 ? 60 : 500;
        double *mean = NEW(double, n), *cov = NEW(double, n *n);
        double N = (double)(K * scrambles);
        for (size_t seed = 0; seed < scrambles; seed++) {
            struct trial t = trial_new(true, 1, M, K, seed + 100);
            for (size_t a = 0; a < n; a++)
                for (size_t k = 0; k < K; k++) {
                    mean[a] += t.xi[a * K + k] / N;
                    for (size_t b = 0; b <= a; b++)
                        cov[a * n + b] += t.xi[a * K + k] * t.xi[b * K + k] / N;
                }
            trial_free(&t);
        }
        for (size_t a = 0; a < n; a++) {
            assert_near(mean[a], 0.0, 6.0 / sqrt(N));
            for (size_t b = 0; b < a; b++)
                assert_near(cov[a * n + b], 0.0, 6.0 / sqrt(N));
            assert_near(cov[a * n + a], 1.0, 6.0 * sqrt(2.0 / N));
        }
        mem_free(mean);
        mem_free(cov);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(basis__has_orthogonal_rows_and_columns),
        cmocka_unit_test(basis__brings_modes_to_sines),
        cmocka_unit_test(draw__of_independent_numbers_is_random_normals),
        cmocka_unit_test(draw__in_slices_gives_the_same_bits),
        cmocka_unit_test(draw__of_some_paths_gives_the_same_bits),
        cmocka_unit_test(draw__has_the_points_on_its_modes),
        cmocka_unit_test(draw__has_unit_covariance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
