/* SPDX-License-Identifier: MIT */
/* Kronecker products against the matrix itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/kron.h"
#include "base/memory.h"
#include "base/random.h"

/* cmocka's own compares floats. */
#define assert_near(found, expected, tolerance)                                \
    check_near((found), (expected), (tolerance), __LINE__)

static void check_near(double found, double expected, double tolerance,
                       int line)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("line %d: %.17g instead of %.17g", line, found, expected);
}

static double *normals(size_t n, uint64_t item)
{
    const struct random_key key = {.seed = 7, .item = item};
    double *a = NEW(double, n);
    assert_non_null(a);
    random_normals(&key, 0, n, 0, 1, a);
    return a;
}

/* Entry (i, j) of the matrix. */
static double entry(const struct kron *k, size_t i, size_t j)
{
    double all = 1.0;
    for (size_t s = 0; s < k->axes; s++) {
        size_t a = k->axes - 1 - s, n = k->columns[a];
        all *= k->factor[a][i % k->rows[a] * n + j % n];
        i /= k->rows[a];
        j /= n;
    }
    return all;
}

static void check(const struct kron *k, bool transposed, size_t m)
{
    size_t rows = 1, columns = kron_columns(k);
    for (size_t i = 0; i < k->axes; i++)
        rows *= k->rows[i];
    size_t in = transposed ? rows : columns, out = transposed ? columns : rows;
    double *X = normals(in * m, 10), *Y = NEW(double, out *m);
    double *room = NEW(double, kron_room(k, m));
    assert_true(Y && room);
    kron_product(k, transposed, m, X, Y, room);
    for (size_t i = 0; i < out; i++)
        for (size_t c = 0; c < m; c++) {
            double sum = 0.0;
            for (size_t j = 0; j < in; j++)
                sum += X[j * m + c] *
                       (transposed ? entry(k, j, i) : entry(k, i, j));
            assert_near(Y[i * m + c], sum, 1e-11);
        }
    mem_free(X);
    mem_free(Y);
    mem_free(room);
}

static void kron__product_is_that_of_the_matrix(void **state)
{
    (void)state;
    static const struct kron shapes[] = {
        {.axes = 1, .rows = {5}, .columns = {3}},
        {.axes = 2, .rows = {4, 7}, .columns = {6, 2}},
        {.axes = 3, .rows = {3, 4, 5}, .columns = {5, 1, 4}},
        {.axes = 4, .rows = {2, 3, 2, 3}, .columns = {2, 2, 3, 4}},
        {.axes = 2, .rows = {20, 33}, .columns = {21, 20}},
    };
    static const size_t sides[] = {1, 2, 9, 40};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct kron k = shapes[s];
        double *A[KRON_AXES];
        for (size_t i = 0; i < k.axes; i++)
            k.factor[i] = A[i] = normals(k.rows[i] * k.columns[i], i);
        for (size_t m = 0; m < sizeof sides / sizeof *sides; m++) {
            check(&k, false, sides[m]);
            check(&k, true, sides[m]);
        }
        for (size_t i = 0; i < k.axes; i++)
            mem_free(A[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kron__product_is_that_of_the_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
