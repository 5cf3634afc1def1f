/* SPDX-License-Identifier: MIT */
/* Linear steps side by side: against those of one matrix, identities and
 * differences. */
#include "base/linear.h"
#include "base/memory.h"
#include "base/random.h"
#include "exact.h"
#include "observe/stride.h"

enum { N = 5, MOST = 4, SIZE = MOST * MOST * N };

struct trial {
    size_t d;
    double h, A[SIZE];
    double *memory;
    struct stride step;
};

static void trial_init(struct trial *t, size_t d, double h, double size)
{
    struct random_key key = {.seed = 7, .item = d};
    *t = (struct trial){.d = d, .h = h};
    random_normals(&key, 0, d * d * N, 0, 1, t->A);
    for (size_t i = 0; i < d * d * N; i++)
        t->A[i] *= size;
    t->memory = NEW(double, stride_size(d, N));
    stride_place(&t->step, d, N, t->memory);
    assert_true(stride_run(&t->step, N, h, t->A));
}

/* Matrix p by itself. */
static void take(size_t d, const double *many, size_t p, double *one)
{
    for (size_t e = 0; e < d * d; e++)
        one[e] = many[e * N + p];
}

static void compare(size_t d, const double *many, size_t p,
                    const double *expected)
{
    double one[MOST * MOST], most = 0.0;
    take(d, many, p, one);
    for (size_t e = 0; e < d * d; e++)
        most = fmax(most, fabs(expected[e]));
    for (size_t e = 0; e < d * d; e++)
        assert_near(one[e], expected[e], 1e-11 * most);
}

static void step__is_that_of_each_matrix(void **state)
{
    (void)state;
    static const double size[] = {0.01, 1.0, 6.0};
    for (size_t i = 0; i < MOST * COUNT(size); i++) {
        struct trial t;
        size_t d = 1 + i % MOST;
        trial_init(&t, d, 0.7, size[i / MOST]);
        for (size_t p = 0; p < N; p++) {
            double A[MOST * MOST], Phi[MOST * MOST], Gamma[MOST * MOST];
            double Q[MOST * MOST], half[2 * MOST * MOST];
            double *scratch = NEW(double, linear_scratch(d));
            take(d, t.A, p, A);
            assert_true(linear_transition(d, t.h, A, NULL, Phi, Gamma, Q, half,
                                          half + MOST * MOST, scratch));
            compare(d, stride_Gamma(&t.step), p, Gamma);
            compare(d, stride_Q(&t.step), p, Q);
            mem_free(scratch);
        }
        mem_free(t.memory);
    }
}

/* A Psi = Gamma - h. */
static void step__has_the_integral_of_gamma(void **state)
{
    (void)state;
    for (size_t d = 1; d <= MOST; d++) {
        struct trial t;
        double product[SIZE];
        trial_init(&t, d, 1.3, 1.0);
        stride_product(d, N, t.A, false, stride_Psi(&t.step), false, product,
                       false);
        for (size_t e = 0; e < d * d * N; e++)
            assert_near(product[e],
                        stride_Gamma(&t.step)[e] -
                            (e / N % (d + 1) == 0 ? t.h : 0.0),
                        1e-11);
        mem_free(t.memory);
    }
}

/* A fixed linear function of Gamma, Psi and Q, which is symmetric. */
static double sum_of(const struct trial *t, const double *weight)
{
    size_t size = t->d * t->d * N;
    double sum = 0.0;
    for (size_t e = 0; e < size; e++)
        sum += weight[e] * stride_Gamma(&t->step)[e] +
               weight[size + e] * stride_Psi(&t->step)[e] +
               weight[2 * size + e] * stride_Q(&t->step)[e];
    return sum;
}

static void vjp__is_the_slope(void **state)
{
    (void)state;
    static const double size[] = {0.02, 1.0, 3.0};
    for (size_t i = 0; i < MOST * COUNT(size); i++) {
        struct trial t;
        size_t d = 1 + i % MOST, n = d * d * N;
        double weight[3 * SIZE], bars[3 * SIZE], A_bar[SIZE];
        struct random_key key = {.seed = 8, .item = i};
        random_normals(&key, 0, 3 * n, 0, 1, weight);
        memcpy(bars, weight, sizeof bars);
        trial_init(&t, d, 0.5, size[i / MOST]);
        stride_vjp(&t.step, t.A, bars, bars + n, bars + 2 * n, A_bar);
        for (size_t e = 0; e < n; e++) {
            double kept = t.A[e], step = 1e-5, up, down;
            t.A[e] = kept + step;
            stride_run(&t.step, N, t.h, t.A);
            up = sum_of(&t, weight);
            t.A[e] = kept - step;
            stride_run(&t.step, N, t.h, t.A);
            down = sum_of(&t, weight);
            t.A[e] = kept;
            assert_near(A_bar[e], (up - down) / (2.0 * step),
                        1e-7 * fmax(1.0, fabs(A_bar[e])));
        }
        mem_free(t.memory);
    }
}

static void factor__times_its_inverse_is_one(void **state)
{
    (void)state;
    for (size_t d = 1; d <= MOST; d++) {
        struct trial t;
        double L[SIZE], inverse[SIZE], product[SIZE], log_det[N];
        trial_init(&t, d, 1.0, 1.0);
        memcpy(L, stride_Q(&t.step), d * d * N * sizeof *L);
        stride_cholesky(d, N, L, log_det);
        for (size_t i = 0; i < d; i++)
            for (size_t j = i + 1; j < d; j++)
                memset(L + (i * d + j) * N, 0, N * sizeof *L);
        stride_product(d, N, L, false, L, true, product, false);
        for (size_t e = 0; e < d * d * N; e++)
            assert_near(product[e], stride_Q(&t.step)[e], 1e-12);
        memcpy(inverse, L, sizeof inverse);
        stride_invert_lower(d, N, inverse);
        stride_product(d, N, L, false, inverse, false, product, false);
        for (size_t e = 0; e < d * d * N; e++)
            assert_near(product[e], e / N % (d + 1) == 0 ? 1.0 : 0.0, 1e-11);
        for (size_t p = 0; p < N; p++) {
            double sum = 0.0;
            for (size_t i = 0; i < d; i++)
                sum += log(L[i * (d + 1) * N + p]);
            assert_near(log_det[p], sum, 1e-12);
        }
        mem_free(t.memory);
    }
}

static void step__refuses_what_is_not_finite(void **state)
{
    (void)state;
    struct trial t;
    trial_init(&t, 2, 1.0, 1.0);
    t.A[3] = NAN;
    assert_false(stride_run(&t.step, N, 1.0, t.A));
    t.A[3] = 1e12;
    assert_false(stride_run(&t.step, N, 1.0, t.A));
    mem_free(t.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step__is_that_of_each_matrix),
        cmocka_unit_test(step__has_the_integral_of_gamma),
        cmocka_unit_test(vjp__is_the_slope),
        cmocka_unit_test(factor__times_its_inverse_is_one),
        cmocka_unit_test(step__refuses_what_is_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
