/* SPDX-License-Identifier: MIT */
/* Adam in eigenbases: what it is where nothing is rotated, that bases stay
 * bases whatever the gradients, and what it is good for. */
#include "learn.h"

#include <float.h>

#include "learn/soap.h"

/* --- A soap on trial ------------------------------------------------------ */

struct bath {
    struct soap soap;
    struct adam adam;
    size_t n;
    double *theta, *gradient, *unit;
};

static void bath_open(struct bath *b, size_t matrices,
                      const struct soap_matrix *shape, size_t threads)
{
    const struct soap_matrix *last = &shape[matrices - 1];
    *b = (struct bath){.n = last->place + last->rows * last->columns};
    b->theta = NEW(double, b->n);
    b->gradient = NEW(double, b->n);
    b->unit = NEW(double, b->n);
    assert_true(b->theta && b->gradient && b->unit);
    for (size_t i = 0; i < b->n; i++)
        b->unit[i] = 1.0;
    assert_int_equal(adam_init(&b->adam, b->n), 0);
    assert_int_equal(soap_init(&b->soap, matrices, shape, threads), 0);
}

static void bath_close(struct bath *b)
{
    soap_free(&b->soap);
    adam_free(&b->adam);
    MEM_FREE(b->theta, b->gradient, b->unit);
}

static void bath_step(struct bath *b, double rate)
{
    adam_begin(&b->adam);
    int status =
        soap_step(&b->soap, &b->adam, rate, b->unit, b->gradient, b->theta);
    assert_int_equal(status, 0);
}

/* Single-precision normals of very different sizes, and the same for the same
 * step. */
static void draw_gradient(struct bath *b, size_t step)
{
    double *z = normals(b->n, 100 + step);
    for (size_t i = 0; i < b->n; i++)
        b->gradient[i] = (double)(float)(z[i] * pow(10.0, (double)(i % 7) - 4));
    mem_free(z);
}

/* --- Where nothing is rotated --------------------------------------------- */

static void soap__is_adam_where_sides_are_too_long(void **state)
{
    (void)state;
    static const struct soap_matrix SHAPE[] = {
        {.place = 0, .rows = 1, .columns = 1},
        {.place = 5, .rows = 1, .columns = 301},
        {.place = 306, .rows = 310, .columns = 1},
        {.place = 616, .rows = 301, .columns = 302}};
    struct bath b;
    bath_open(&b, COUNT(SHAPE), SHAPE, 1);
    struct adam adam;
    assert_int_equal(adam_init(&adam, b.n), 0);
    double *theta = NEW(double, b.n);
    for (size_t i = 0; i < b.n; i++)
        b.unit[i] = 1.0 + (double)(i % 3);
    for (size_t step = 0; step < 25; step++) {
        draw_gradient(&b, step);
        for (size_t i = 1; i < 5; i++)
            b.gradient[i] = 0.0; /* no matrix's */
        bath_step(&b, 0.01);
        adam_begin(&adam);
        adam_step(&adam, 0.01, 0, b.n, b.unit, b.gradient, theta);
        for (size_t i = 0; i < b.n; i++) {
            double size = sqrt(adam.square[i]) + fabs(adam.mean[i]);
            /* The momentum is rotated in single precision. */
            assert_near(b.adam.mean[i], adam.mean[i], 4 * FLT_EPSILON * size);
            assert_near(b.adam.square[i], adam.square[i], 1e-13 * size * size);
        }
    }
    /* A step is at most about 10 rates, rounded to single precision. */
    for (size_t i = 0; i < b.n; i++)
        assert_near(b.theta[i], theta[i], 25 * 0.3 * FLT_EPSILON);
    assert_int_equal(b.soap.size, 0);
    mem_free(theta);
    adam_free(&adam);
    bath_close(&b);
}

/* --- Bases ---------------------------------------------------------------- */

static void expect_finite(const struct bath *b, const char *what)
{
    for (size_t i = 0; i < b->n; i++)
        if (!isfinite(b->theta[i]) || !isfinite(b->adam.mean[i]) ||
            !isfinite(b->adam.square[i]))
            fail_msg("%s: number %zu is not finite", what, i);
}

static void expect_basis(const struct soap *s, const struct soap_side *side,
                         const char *what)
{
    size_t n = side->n;
    const float *Q = s->state + side->at + n * n;
    double allowed = (double)(n + 8) * FLT_EPSILON;
    for (size_t i = 0; n > 1 && i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += (double)Q[i * n + k] * (double)Q[j * n + k];
            if (!(fabs(sum - (i == j)) <= allowed))
                fail_msg("%s: side %zu: rows %zu and %zu have the product %g",
                         what, n, i, j, sum);
        }
}

static void expect_bases(const struct bath *b, const char *what)
{
    for (size_t i = 0; i < b->soap.matrices; i++) {
        expect_basis(&b->soap, &b->soap.matrix[i].left, what);
        expect_basis(&b->soap, &b->soap.matrix[i].right, what);
    }
}

static const size_t SHAPES[][2] = {{1, 7},     {7, 1},   {2, 2},   {31, 33},
                                   {32, 32},   {33, 31}, {64, 3},  {3, 64},
                                   {64, 65},   {1, 300}, {300, 1}, {96, 97},
                                   {300, 301}, {301, 5}, {5, 301}, {1, 1}};

static size_t place_shapes(struct soap_matrix *shape)
{
    size_t place = 2;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        shape[i] = (struct soap_matrix){
            .place = place, .rows = SHAPES[i][0], .columns = SHAPES[i][1]};
        place += SHAPES[i][0] * SHAPES[i][1] + i % 3;
    }
    return COUNT(SHAPES);
}

static void bases__stay_orthonormal(void **state)
{
    (void)state;
    struct soap_matrix shape[COUNT(SHAPES)];
    struct bath b;
    bath_open(&b, place_shapes(shape), shape, 2);
    for (size_t step = 0; step < (SLOWER > 1 ? 12 : 42); step++) {
        draw_gradient(&b, step);
        bath_step(&b, 0.01);
    }
    expect_finite(&b, "normals");
    expect_bases(&b, "normals");
    bath_close(&b);
}

enum kind {
    ZERO,
    ONE_NUMBER,
    ONE_ROW,
    RANK_ONE,
    THEN_ZERO,
    TINY,
    HUGE,
    ENORMOUS,
    KINDS
};
static const char *const KIND[] = {"zero",     "one number", "one row",
                                   "rank one", "then zero",  "tiny",
                                   "huge",     "enormous"};

static double poor_element(enum kind kind, size_t step, size_t i, size_t j,
                           const double *z)
{
    double one = z[step] * z[50 + i % 50] * z[100 + j % 50];
    switch (kind) {
    case ONE_NUMBER: return i == 0 && j == 0 ? 1.0 : 0.0;
    case ONE_ROW: return i == 1 ? z[j % 50] : 0.0;
    case RANK_ONE: return one;
    case THEN_ZERO: return step < 12 ? one + (i == j) : 0.0;
    case TINY: return 1e-30 * (one + (i == j));
    case HUGE: return 1e15 * (one + (i == j));
    case ENORMOUS: return step == 5 ? 1e37 * (one + (i == j)) : one;
    default: return 0.0;
    }
}

static void poor_gradient(struct bath *b, enum kind kind, size_t step)
{
    double *z = normals(150, 7);
    for (size_t i = 0; i < b->soap.matrices; i++) {
        const struct soap_matrix *m = &b->soap.matrix[i];
        for (size_t k = 0; k < m->rows * m->columns; k++)
            b->gradient[m->place + k] =
                poor_element(kind, step, k / m->columns, k % m->columns, z);
    }
    mem_free(z);
}

static void bases__outlive_poor_gradients(void **state)
{
    (void)state;
    static const struct soap_matrix SHAPE[] = {
        {.place = 0, .rows = 64, .columns = 40},
        {.place = 2560, .rows = 3, .columns = 5},
        {.place = 2575, .rows = 1, .columns = 33}};
    for (enum kind kind = ZERO; kind < KINDS; kind++) {
        struct bath b;
        bath_open(&b, COUNT(SHAPE), SHAPE, 1);
        for (size_t step = 0; step < 45; step++) {
            poor_gradient(&b, kind, step);
            bath_step(&b, 0.01);
        }
        expect_finite(&b, KIND[kind]);
        expect_bases(&b, KIND[kind]);
        for (size_t i = 0; i < b.soap.size; i++)
            assert_true(isfinite(b.soap.state[i]));
        for (size_t i = 0; kind == ZERO && i < b.n; i++)
            assert_true(b.theta[i] == 0.0);
        bath_close(&b);
    }
}

/* --- Bits ----------------------------------------------------------------- */

static void expect_same_bath(const struct bath *a, const struct bath *b)
{
    assert_true(same_bits(a->n, a->theta, b->theta));
    assert_true(same_bits(a->n, a->adam.mean, b->adam.mean));
    assert_true(same_bits(a->n, a->adam.square, b->adam.square));
    assert_memory_equal(a->soap.state, b->soap.state,
                        a->soap.size * sizeof *a->soap.state);
}

static void soap__has_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    struct soap_matrix shape[COUNT(SHAPES)];
    struct bath one;
    size_t n = place_shapes(shape), steps = SLOWER > 1 ? 4 : 12;
    bath_open(&one, n, shape, 1);
    for (size_t step = 0; step < steps; step++) {
        draw_gradient(&one, step);
        bath_step(&one, 0.01);
    }
    for (size_t threads = 2; threads <= 3; threads++) {
        struct bath b;
        bath_open(&b, n, shape, threads);
        for (size_t step = 0; step < steps; step++) {
            draw_gradient(&b, step);
            bath_step(&b, 0.01);
        }
        expect_same_bath(&b, &one);
        bath_close(&b);
    }
    bath_close(&one);
}

/* What a checkpoint keeps is enough, whenever it is. */
static void soap__goes_on_from_what_is_kept(void **state)
{
    (void)state;
    static const struct soap_matrix SHAPE[] = {
        {.place = 0, .rows = 40, .columns = 33},
        {.place = 1320, .rows = 1, .columns = 9},
        {.place = 1329, .rows = 301, .columns = 4}};
    for (size_t stop = 0; stop < 23; stop++) {
        struct bath a, b;
        bath_open(&a, COUNT(SHAPE), SHAPE, 1);
        bath_open(&b, COUNT(SHAPE), SHAPE, 1);
        for (size_t step = 0; step < 24; step++) {
            draw_gradient(&a, step);
            bath_step(&a, 0.01);
            memcpy(b.gradient, a.gradient, a.n * sizeof *a.gradient);
            if (step > stop) bath_step(&b, 0.01);
            if (step != stop) continue;
            soap_keep(&a.soap);
            memcpy(b.soap.kept, a.soap.kept, a.soap.size * sizeof *b.soap.kept);
            soap_take(&b.soap);
            memcpy(b.theta, a.theta, a.n * sizeof *a.theta);
            memcpy(b.adam.mean, a.adam.mean, a.n * sizeof *a.theta);
            memcpy(b.adam.square, a.adam.square, a.n * sizeof *a.theta);
            b.adam.steps = a.adam.steps;
        }
        expect_same_bath(&a, &b);
        soap_reset(&a.soap);
        bath_close(&a);
        bath_close(&b);
    }
}

/* --- What it is good for -------------------------------------------------- */

enum { ROWS = 12, COLUMNS = 16 };

/* A symmetric matrix with eigenvalues from 1 down to 10^-decades, in the basis
 * of a reflection, which no axis is near to. */
static void make_form(size_t n, uint64_t seed, double decades, double *A)
{
    double *u = normals(n, seed), length = 0.0;
    for (size_t i = 0; i < n; i++)
        length += u[i] * u[i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++) {
                double one = (i == k) - 2.0 * u[i] * u[k] / length;
                double two = (j == k) - 2.0 * u[j] * u[k] / length;
                double share = (double)k / (double)(n - 1);
                sum += pow(10.0, -decades * share) * one * two;
            }
            A[i * n + j] = sum;
        }
    mem_free(u);
}

/* to (ROWS, COLUMNS) = factor A W B. */
static void multiply(double factor, const double *A, const double *B,
                     const double *W, double *to)
{
    double AW[ROWS * COLUMNS] = {0};
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < ROWS; k++)
            for (size_t j = 0; j < COLUMNS; j++)
                AW[i * COLUMNS + j] += A[i * ROWS + k] * W[k * COLUMNS + j];
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < COLUMNS; k++)
                sum += AW[i * COLUMNS + k] * B[k * COLUMNS + j];
            to[i * COLUMNS + j] = factor * sum;
        }
}

/* The quadratic -1/2 <W, A W B>, with the noise of batches in its gradient,
 * whose covariance is a Kronecker product too. */
struct hill {
    double A[ROWS * ROWS], B[COLUMNS * COLUMNS];
    double root_A[ROWS * ROWS], root_B[COLUMNS * COLUMNS];
    uint64_t seed;
};

static void hill_make(struct hill *h, double decades, uint64_t seed)
{
    h->seed = seed;
    make_form(ROWS, seed, decades, h->A);
    make_form(COLUMNS, seed + 1, decades, h->B);
    make_form(ROWS, seed, 0.5 * decades, h->root_A);
    make_form(COLUMNS, seed + 1, 0.5 * decades, h->root_B);
}

static double height(const struct hill *h, const double *W)
{
    double sum = 0.0, AWB[ROWS * COLUMNS];
    multiply(1.0, h->A, h->B, W, AWB);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
        sum += W[i] * AWB[i];
    return -0.5 * sum;
}

static void climb_up(const struct hill *h, size_t step, const double *W,
                     double *gradient)
{
    double noise[ROWS * COLUMNS];
    double *z = normals((size_t)ROWS * COLUMNS, 1000 * h->seed + step);
    multiply(-1.0, h->A, h->B, W, gradient);
    multiply(0.1, h->root_A, h->root_B, z, noise);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
        gradient[i] += noise[i];
    mem_free(z);
}

/* What is left of the distance from the top after so many iterations, at a rate
 * that falls to 0. */
static double left_after(const struct hill *h, size_t iterations, bool rotated,
                         double rate)
{
    static const struct soap_matrix SHAPE = {.rows = ROWS, .columns = COLUMNS};
    double unit[ROWS * COLUMNS];
    struct bath b;
    bath_open(&b, 1, &SHAPE, 1);
    double *z = normals(b.n, h->seed + 2);
    memcpy(b.theta, z, b.n * sizeof *z);
    for (size_t j = 0; j < b.n; j++)
        unit[j] = 1.0;
    for (size_t i = 0; i < iterations; i++) {
        double now = rate * (1.0 - (double)i / (double)iterations);
        climb_up(h, i, b.theta, b.gradient);
        if (rotated) {
            bath_step(&b, now);
            continue;
        }
        adam_begin(&b.adam);
        adam_step(&b.adam, now, 0, b.n, unit, b.gradient, b.theta);
    }
    double left = height(h, b.theta) / height(h, z);
    mem_free(z);
    bath_close(&b);
    return left;
}

/* At the best rate of each. */
static void soap__is_better_than_adam_in_a_rotated_basis(void **state)
{
    (void)state;
    static const double RATES[] = {3e-3, 1e-2, 3e-2}, DECADES[] = {2.0, 3.0};
    for (size_t d = 0; d < COUNT(DECADES); d++) {
        double adam = 0.0, soap = 0.0;
        for (uint64_t seed = 1; seed<40; seed += SLOWER> 1 ? 30 : 10) {
            struct hill h;
            double left[2] = {1.0, 1.0};
            hill_make(&h, DECADES[d], seed);
            for (size_t i = 0; i < 2 * COUNT(RATES); i++)
                left[i % 2] =
                    fmin(left[i % 2], left_after(&h, 500, i % 2, RATES[i / 2]));
            adam += left[0];
            soap += left[1];
        }
        if (!(soap < 0.5 * adam))
            fail_msg("%g decades: %g is left, and %g by Adam", DECADES[d], soap,
                     adam);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soap__is_adam_where_sides_are_too_long),
        cmocka_unit_test(bases__stay_orthonormal),
        cmocka_unit_test(bases__outlive_poor_gradients),
        cmocka_unit_test(soap__has_the_same_bits_on_any_threads),
        cmocka_unit_test(soap__goes_on_from_what_is_kept),
        cmocka_unit_test(soap__is_better_than_adam_in_a_rotated_basis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
