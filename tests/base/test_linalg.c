/* SPDX-License-Identifier: MIT */
/* Linear algebra: every function against its defining equation, for sizes on
 * both sides of where plain loops give way to LAPACK. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/lanes.h"
#include "base/linalg.h"
#include "base/random.h"

enum { MOST = 70 };
static const size_t SIZES[] = {1, 2, 3, 4, 15, 16, 17, 40, MOST};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

static double A[MOST * MOST], F[MOST * MOST], B[MOST * MOST], C[MOST * MOST];
static int pivot[MOST];

static void fill(double *a, size_t n, uint64_t item)
{
    const struct random_key key = {.seed = 1, .item = item};
    random_normals(&key, 0, n, 0, 1, a);
}

static void assert_near(const double *found, const double *expected, size_t n,
                        double tolerance)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(found[i] - expected[i]) <= tolerance))
            fail_msg("entry %zu is %g instead of %g", i, found[i], expected[i]);
}

static double entry(const double *a, size_t rows, size_t columns, bool flip,
                    size_t i, size_t j)
{
    return flip ? a[j * rows + i] : a[i * columns + j];
}

static void product__is_the_sum_of_products(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {
        {1, 1, 1},     {2, 3, 4}, {16, 16, 16}, {17, 16, 20},
        {MOST, 5, 33}, {3, 0, 2}, {0, 3, 2}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t n = shapes[s][0], k = shapes[s][1], m = shapes[s][2];
        fill(A, n * k, 1);
        fill(B, k * m, 2);
        for (int flips = 0; flips < 4; flips++) {
            bool fa = flips & 1, fb = flips & 2;
            for (size_t i = 0; i < n; i++) {
                for (size_t j = 0; j < m; j++) {
                    double sum = 0;
                    for (size_t l = 0; l < k; l++)
                        sum +=
                            entry(A, n, k, fa, i, l) * entry(B, k, m, fb, l, j);
                    F[i * m + j] = sum;
                }
            }
            linalg_product(n, k, m, A, fa, B, fb, C);
            assert_near(C, F, n * m, 1e-12);
        }
    }
}

static void lu__solves_both_ways(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        size_t n = SIZES[s], m = n < 5 ? n : 5;
        fill(A, n * n, 3);
        fill(B, n * m, 4);
        for (int flip = 0; flip < 2; flip++) {
            memcpy(F, A, sizeof F);
            linalg_product(n, n, m, A, flip, B, false, C);
            assert_true(linalg_lu(n, F, pivot));
            linalg_lu_solve(n, m, F, pivot, flip, C);
            assert_near(C, B, n * m, 1e-10);
        }
    }
}

/* Swapped rows of a triangle: the determinant is known, pivots are needed. */
static void lu__knows_the_determinant(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        size_t n = SIZES[s];
        double logdet = 0;
        fill(A, n * n, 5);
        for (size_t i = 0; i < n; i++) {
            double *row = A + (n - 1 - i) * n;
            for (size_t j = 0; j < i; j++)
                row[j] = 0;
            row[i] += row[i] < 0 ? -5 : 5;
            logdet += log(fabs(row[i]));
        }
        assert_true(linalg_lu(n, A, pivot));
        assert_near(&(double){linalg_lu_logdet(n, A)}, &logdet, 1, 1e-11);
    }
}

static void lu__refuses_the_singular_and_the_infinite(void **state)
{
    (void)state;
    double singular[] = {1, 2, 2, 4};
    double infinite[] = {1, INFINITY, 2, 4};
    assert_false(linalg_lu(2, singular, pivot));
    assert_false(linalg_lu(2, infinite, pivot));
    for (size_t s = 0; s < N_SIZES; s++) {
        size_t n = SIZES[s];
        fill(A, n * n, 6);
        A[n - 1] = NAN;
        assert_false(linalg_lu(n, A, pivot));
        memset(A, 0, sizeof A);
        assert_false(linalg_lu(n, A, pivot));
    }
}

/* C = B B' + 1, whose upper half is spoilt: it must not be read. */
static void make_definite(size_t n)
{
    fill(B, n * n, 7);
    linalg_product(n, n, n, B, false, B, true, C);
    for (size_t i = 0; i < n; i++)
        C[i * n + i] += 1;
    memcpy(F, C, sizeof F);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            F[i * n + j] = 1e9;
}

static void cholesky__is_the_root(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        size_t n = SIZES[s];
        make_definite(n);
        assert_true(linalg_cholesky(n, F));
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++)
                assert_true(F[i * n + j] == 0);
        linalg_product(n, n, n, F, false, F, true, A);
        assert_near(A, C, n * n, 1e-11);
    }
}

static void cholesky__inverse_is_that_of_the_product(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        size_t n = SIZES[s];
        make_definite(n);
        assert_true(linalg_cholesky(n, F));
        linalg_cholesky_inverse(n, F);
        linalg_product(n, n, n, F, false, C, false, A);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                B[i * n + j] = i == j;
        assert_near(A, B, n * n, 1e-11);
    }
}

static void cholesky__refuses_what_is_not_positive_definite(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        size_t n = SIZES[s];
        static const double bad[] = {-1, 0, NAN, INFINITY};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            make_definite(n);
            F[n * n - 1] = bad[i];
            assert_false(linalg_cholesky(n, F));
        }
    }
}

static void lower_solve__undoes_the_product(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        size_t n = SIZES[s], m = n < 3 ? n : 3;
        make_definite(n);
        assert_true(linalg_cholesky(n, F));
        fill(B, n * m, 8);
        for (int flip = 0; flip < 2; flip++) {
            linalg_product(n, n, m, F, flip, B, false, C);
            linalg_lower_solve(n, m, F, flip, C);
            assert_near(C, B, n * m, 1e-9);
        }
    }
}

/* A definite matrix, and what every call makes of it. */
struct work {
    double given[MOST * MOST], square[MOST * MOST], L[MOST * MOST];
    double LU[MOST * MOST], X[MOST * MOST];
    double inverse[MOST * MOST], vector[MOST * MOST], value[MOST];
    int pivot[MOST];
};

static void work_there(void *context, size_t lane, size_t thread)
{
    (void)thread;
    struct work *w = (struct work *)context + lane;
    double room[64 * MOST + 1];
    memcpy(w->L, w->given, sizeof w->L);
    memcpy(w->LU, w->given, sizeof w->LU);
    linalg_product(MOST, MOST, MOST, w->given, false, w->given, true,
                   w->square);
    linalg_cholesky(MOST, w->L);
    memcpy(w->X, w->square, sizeof w->X);
    linalg_lower_solve(MOST, MOST, w->L, false, w->X);
    linalg_lu(MOST, w->LU, w->pivot);
    linalg_lu_solve(MOST, MOST, w->LU, w->pivot, false, w->X);
    memcpy(w->inverse, w->L, sizeof w->inverse);
    linalg_cholesky_inverse(MOST, w->inverse);
    memcpy(w->vector, w->given, sizeof w->vector);
    linalg_eigen(MOST, w->vector, w->value, room + lane % 2);
}

static void every_call__has_the_same_bits_side_by_side(void **state)
{
    (void)state;
    enum { LANES = 24, AGAIN = 20 };
    struct work *w = calloc(LANES, sizeof *w);
    assert_non_null(w);
    make_definite(MOST);
    for (size_t i = 0; i < LANES; i++)
        memcpy(w[i].given, F, sizeof w[i].given);
    work_there(w, 0, 0);
    for (size_t again = 0; again < AGAIN; again++) {
        lanes_run(LANES - 1, 4, &(struct lanes_job){w + 1, work_there, NULL});
        for (size_t i = 1; i < LANES; i++)
            assert_memory_equal(&w[i], w, sizeof *w);
    }
    free(w);
}

static atomic_bool stop;

static void *multiply_on(void *unused)
{
    static double square[MOST * MOST];
    while (!atomic_load(&stop))
        linalg_product(MOST, MOST, MOST, F, false, F, true, square);
    return unused;
}

/* Most forks meet a thread that is inside BLAS, which the child does not have.
 * A child that waits for it is ended by its alarm. */
static void product__works_in_a_child_forked_during_another(void **state)
{
    (void)state;
    pthread_t other;
    make_definite(MOST);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&other, NULL, multiply_on, NULL), 0);
    int wrong = 0;
    for (size_t i = 0; i < 50; i++) {
        pid_t child = fork();
        if (!child) {
            alarm(30);
            linalg_product(MOST, MOST, MOST, F, false, F, true, C);
            _exit(0);
        }
        int status = -1;
        if (child > 0) waitpid(child, &status, 0);
        wrong += status != 0;
        if (wrong) break;
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(wrong, 0);
}

/* Of upper triangles with a rotation in one corner. */
static void eigenvalues__are_those_of_triangles_and_rotations(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 40; n += n < 6 ? 1 : 17) {
        double M[1600] = {0}, re[40], im[40], room[64 * 40];
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++)
                M[i * n + j] = i == j ? (double)i : 0.1;
        M[0] = M[n + 1] = -1.0;
        M[1] = -2.0;
        M[n] = 2.0;
        assert_true(linalg_eigenvalues(n, M, re, im, room));
        assert_true(fabs(re[0] + 1.0) < 1e-9 && fabs(re[1] + 1.0) < 1e-9);
        assert_true(fabs(fabs(im[0]) - 2.0) < 1e-9 && im[0] == -im[1]);
        for (size_t i = 2; i < n; i++)
            assert_true(fabs(re[i] - (double)i) < 1e-6 && im[i] == 0.0);
    }
    double bad[] = {1, NAN, 0, 1}, re[2], im[2], room[128];
    assert_false(linalg_eigenvalues(2, bad, re, im, room));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product__is_the_sum_of_products),
        cmocka_unit_test(lu__solves_both_ways),
        cmocka_unit_test(lu__knows_the_determinant),
        cmocka_unit_test(lu__refuses_the_singular_and_the_infinite),
        cmocka_unit_test(cholesky__is_the_root),
        cmocka_unit_test(cholesky__inverse_is_that_of_the_product),
        cmocka_unit_test(cholesky__refuses_what_is_not_positive_definite),
        cmocka_unit_test(lower_solve__undoes_the_product),
        cmocka_unit_test(every_call__has_the_same_bits_side_by_side),
        cmocka_unit_test(eigenvalues__are_those_of_triangles_and_rotations),
        cmocka_unit_test(product__works_in_a_child_forked_during_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
