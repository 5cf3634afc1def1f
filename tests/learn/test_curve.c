/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "learn/curve.h"

/* The numbers of a point are functions of its iteration. */
static void add(struct curve *c, size_t iteration)
{
    double i = (double)iteration;
    curve_add(c, (double[GSV_CURVES]){i, 1.0, -1.0 / i, 2.0 * i});
}

static void expect_even(const struct curve *c, size_t last)
{
    double stride = c->at[1][0] - c->at[0][0];
    assert_true(c->at[0][0] == 1.0);
    assert_true(c->at[c->points - 1][0] == (double)last);
    for (size_t i = 0; i < c->points; i++) {
        double n = c->at[i][GSV_CURVE_ITERATION];
        assert_true(c->at[i][GSV_CURVE_LOGLIK] == -1.0 / n);
        assert_true(c->at[i][GSV_CURVE_HELDOUT] == 2.0 * n);
        if (i + 1 < c->points) assert_true(n == 1.0 + stride * (double)i);
    }
}

static void curve__keeps_all_of_a_short_fit(void **state)
{
    (void)state;
    struct curve c = {0};
    for (size_t i = 1; i <= CURVE_MOST; i++) {
        add(&c, i);
        assert_int_equal(c.points, i);
    }
    expect_even(&c, CURVE_MOST);
}

static void curve__is_even_and_never_too_long(void **state)
{
    (void)state;
    struct curve c = {0};
    for (size_t i = 1; i <= 5000; i++) {
        add(&c, i);
        assert_true(c.points <= CURVE_MOST);
        if (i > 2) expect_even(&c, i);
    }
    assert_true(c.points > CURVE_MOST / 2);
}

/* Wherever a fit was stopped, and however far it went back. */
static void curve__is_the_same_after_a_resume(void **state)
{
    (void)state;
    struct curve whole = {0};
    for (size_t i = 1; i <= 1000; i++)
        add(&whole, i);
    for (size_t stop = 1; stop <= 1000; stop += 37)
        for (size_t back = 0; back < 3 && back < stop; back++) {
            gsv_record r = {0};
            struct curve first = {0}, c = {0};
            for (size_t i = 1; i <= stop; i++)
                add(&first, i);
            assert_int_equal(curve_write(&first, &r), 0);
            curve_read(&c, &r);
            for (size_t i = stop + 1 - back; i <= 1000; i++)
                add(&c, i);
            assert_int_equal(c.points, whole.points);
            assert_memory_equal(c.at, whole.at, c.points * sizeof c.at[0]);
            mem_free(r.curve);
        }
}

/* A file may say anything. */
static void curve__survives_a_damaged_record(void **state)
{
    (void)state;
    double cell[GSV_CURVES * CURVE_MOST];
    gsv_record r = {.points = CURVE_MOST, .curve = cell};
    static const double VALUES[] = {0.0, 1.0, -5.0, 1e300, INFINITY, NAN};
    for (size_t k = 0; k < sizeof VALUES / sizeof *VALUES; k++) {
        struct curve c = {0};
        for (size_t i = 0; i < GSV_CURVES * CURVE_MOST; i++)
            cell[i] = VALUES[k];
        curve_read(&c, &r);
        for (size_t i = 1; i < 1000; i++) {
            add(&c, i);
            assert_true(c.points >= 1 && c.points <= CURVE_MOST);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curve__keeps_all_of_a_short_fit),
        cmocka_unit_test(curve__is_even_and_never_too_long),
        cmocka_unit_test(curve__is_the_same_after_a_resume),
        cmocka_unit_test(curve__survives_a_damaged_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
