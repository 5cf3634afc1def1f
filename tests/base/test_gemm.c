/* SPDX-License-Identifier: MIT */
/* Products in single precision against plain loops in double precision, for
 * shapes on both sides of where a tile ends. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/gemm.h"
#include "base/memory.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const size_t SIZES[] = {1, 3, 4, 5, 8, 9, 23, 24, 25, 32, 33, 70};
enum { MOST = 70, STRIDE = MOST + 3 };

static float A[STRIDE * STRIDE], B[STRIDE * STRIDE];
static float before[STRIDE * STRIDE], C[STRIDE * STRIDE];

/* Uniform on (-1, 1). */
static float draw(void)
{
    static uint64_t seed = 1;
    uint64_t z = seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (float)((double)((z ^ z >> 31) >> 11) / 4503599627370496.0 - 1.0);
}

static void fill(float *x)
{
    for (size_t i = 0; i < (size_t)STRIDE * STRIDE; i++)
        x[i] = draw();
}

static double at(struct matrix M, size_t i, size_t j)
{
    return (double)M.at[M.transposed ? j * M.stride + i : i * M.stride + j];
}

struct product {
    size_t first, end, k, m;
    float scale, keep;
    struct matrix A, B;
};

/* A sum of k products and what is done with it: k + 3 roundings of numbers that
 * are no larger than the sum of their sizes. */
static void expect_element(const struct product *p, size_t i, size_t j)
{
    float old = before[i * STRIDE + j];
    double wanted = p->keep != 0.0f ? (double)p->keep * (double)old : 0.0;
    double size = fabs(wanted);
    for (size_t l = 0; l < p->k; l++) {
        double term = (double)p->scale * at(p->A, i, l) * at(p->B, l, j);
        wanted += term;
        size += fabs(term);
    }
    double found = (double)C[i * STRIDE + j];
    double allowed = (double)(p->k + 3) * FLT_EPSILON * size;
    if (!(fabs(found - wanted) <= allowed))
        fail_msg("rows %zu to %zu, k %zu, m %zu: (%zu, %zu) is %g instead of "
                 "%g, allowed %g",
                 p->first, p->end, p->k, p->m, i, j, found, wanted, allowed);
}

static void expect_product(const struct product *p)
{
    float *room = NEW(float, gemm_room(p->k));
    assert_non_null(room);
    memcpy(C, before, sizeof C);
    gemm(p->first, p->end, p->k, p->m, p->scale, p->A, p->B, p->keep, C, STRIDE,
         room);
    for (size_t i = 0; i < STRIDE; i++)
        for (size_t j = 0; j < STRIDE; j++) {
            size_t e = i * STRIDE + j;
            if (i >= p->first && i < p->end && j < p->m)
                expect_element(p, i, j);
            else assert_memory_equal(&C[e], &before[e], sizeof *C);
        }
    mem_free(room);
}

/* keep 0, 1, 0.95 and the transposes in turn. */
static struct product variant(size_t n, size_t k, size_t m, size_t turn)
{
    static const float KEEP[] = {0.0f, 1.0f, 0.95f};
    static const float SCALE[] = {1.0f, -1.0f, 0.05f};
    return (struct product){.end = n,
                            .k = k,
                            .m = m,
                            .scale = SCALE[turn / 4 % 3],
                            .keep = KEEP[turn / 12 % 3],
                            .A = {A, STRIDE, turn & 1},
                            .B = {B, STRIDE, turn & 2}};
}

static void gemm__is_the_product_in_all_shapes(void **state)
{
    (void)state;
    fill(A);
    fill(B);
    fill(before);
    size_t turn = 0, S = COUNT(SIZES);
    for (size_t s = 0; s < S * S * S; s++) {
        size_t n = SIZES[s / (S * S)], k = SIZES[s / S % S], m = SIZES[s % S];
        struct product p = variant(n, k, m, turn++);
        expect_product(&p);
    }
}

static void gemm__takes_all_transposes_and_factors(void **state)
{
    (void)state;
    static const size_t SHAPE[][3] = {
        {1, 1, 1}, {5, 9, 25}, {33, 24, 23}, {4, 70, 48}};
    for (size_t s = 0; s < COUNT(SHAPE); s++)
        for (size_t turn = 0; turn < 36; turn++) {
            struct product p =
                variant(SHAPE[s][0], SHAPE[s][1], SHAPE[s][2], turn);
            expect_product(&p);
        }
}

/* Whatever the rows that are asked for together, bits too. */
static void gemm__of_some_rows_is_that_of_all(void **state)
{
    (void)state;
    static float whole[STRIDE * STRIDE];
    for (size_t turn = 0; turn < 36; turn++) {
        struct product p = variant(MOST, 33, 25, turn);
        expect_product(&p);
        memcpy(whole, C, sizeof C);
        for (size_t first = 0; first < 9; first++)
            for (size_t end = first; end < first + 10; end++) {
                p.first = first;
                p.end = end;
                expect_product(&p);
                for (size_t i = first; i < end; i++)
                    assert_memory_equal(C + i * STRIDE, whole + i * STRIDE,
                                        p.m * sizeof *C);
            }
    }
}

static void gemm__that_keeps_nothing_does_not_read_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(before); i++)
        before[i] = i % 2 ? NAN : INFINITY;
    for (size_t turn = 0; turn < 12; turn++) {
        struct product p = variant(33, 25, 25, turn);
        expect_product(&p);
    }
    fill(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm__is_the_product_in_all_shapes),
        cmocka_unit_test(gemm__takes_all_transposes_and_factors),
        cmocka_unit_test(gemm__of_some_rows_is_that_of_all),
        cmocka_unit_test(gemm__that_keeps_nothing_does_not_read_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
