/* SPDX-License-Identifier: MIT */
/* The rows of all options: each is complete, its default is allowed, and text
 * is read within its bounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/option_rules.h"

/* All structs that have options. */
union any {
    gsv_options estimator;
    gsv_fit_options fit;
    gsv_simulate_options simulate;
    gsv_predict_options predict;
    gsv_paths_options paths;
};

static bool is_number(const gsv_option *row)
{
    return row->type == GSV_TYPE_COUNT || row->type == GSV_TYPE_REAL;
}

static void rows__are_complete(void **state)
{
    (void)state;
    size_t count;
    const gsv_option *row = gsv_option_table(&count);
    assert_true(count > 60);
    for (size_t i = 0; i < count; i++) {
        char text[300];
        assert_non_null(row[i].field);
        assert_true(row[i].uses != 0);
        assert_true((row[i].type == GSV_TYPE_CHOICE) == (row[i].word != NULL));
        if (is_number(&row[i])) assert_true(row[i].low < row[i].high);
        if (!row[i].flag) continue;
        assert_true(!strncmp(row[i].flag, "--", 2));
        assert_non_null(row[i].help);
        assert_true((row[i].type == GSV_TYPE_SWITCH) == !row[i].value);
        assert_true(strlen(gsv_option_help(&row[i], sizeof text, text)) < 120);
    }
}

/* One flag and one use is one option. */
static void rows__of_a_struct_and_a_use_are_different(void **state)
{
    (void)state;
    size_t count;
    const gsv_option *row = gsv_option_table(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (row[i].of == row[j].of && !strcmp(row[i].field, row[j].field))
                assert_false(row[i].uses & row[j].uses);
}

static void defaults__pass_their_checks(void **state)
{
    (void)state;
    size_t count;
    const gsv_option *row = gsv_option_table(&count);
    for (size_t i = 0; i < count; i++) {
        union any o;
        memset(&o, 0, sizeof o);
        gsv_option_set(&row[i], &o, row[i].preset);
        assert_int_equal(check_rows(&o, 1, &row[i]), GSV_OK);
        if (row[i].type < GSV_TYPE_ARRAY)
            assert_true(gsv_option_get(&row[i], &o) == row[i].preset);
    }
}

/* Of each row: its bounds are read, what is outside them is not. */
static void text__is_read_within_the_bounds(void **state)
{
    (void)state;
    size_t count, tried = 0;
    const gsv_option *row = gsv_option_table(&count);
    for (size_t i = 0; i < count; i++) {
        union any o;
        memset(&o, 0, sizeof o);
        if (!is_number(&row[i])) continue;
        const double inside[] = {row[i].low, row[i].high};
        const double outside[] = {row[i].low - 1.0, 2.0 * row[i].high};
        for (size_t k = 0; k < 2; k++) {
            char text[40];
            bool zero = row[i].zero && inside[k] == 0.0;
            bool end = k && row[i].below;
            snprintf(text, sizeof text, "%.17g", inside[k]);
            if (isfinite(inside[k])) {
                enum gsv_status status = gsv_option_read(&row[i], &o, text);
                assert_int_equal(status, zero || end ? GSV_BAD_INPUT : GSV_OK);
                if (!status)
                    assert_true(gsv_option_get(&row[i], &o) == inside[k]);
            }
            snprintf(text, sizeof text, "%.17g", outside[k]);
            assert_int_equal(gsv_option_read(&row[i], &o, text), GSV_BAD_INPUT);
            assert_non_null(strstr(gsv_last_error(), "expected"));
            tried++;
        }
    }
    assert_true(tried > 60);
}

static void words__are_read_by_value(void **state)
{
    (void)state;
    size_t count;
    const gsv_option *row = gsv_option_table(&count);
    for (size_t i = 0; i < count; i++) {
        union any o;
        memset(&o, 0, sizeof o);
        for (int k = 0; row[i].word && row[i].word[k]; k++) {
            bool offered = *row[i].word[k];
            assert_int_equal(gsv_option_read(&row[i], &o, row[i].word[k]),
                             offered ? GSV_OK : GSV_BAD_INPUT);
            if (offered) assert_true(gsv_option_get(&row[i], &o) == k);
        }
        if (row[i].word)
            assert_int_equal(gsv_option_read(&row[i], &o, "aut"),
                             GSV_BAD_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__are_complete),
        cmocka_unit_test(rows__of_a_struct_and_a_use_are_different),
        cmocka_unit_test(defaults__pass_their_checks),
        cmocka_unit_test(text__is_read_within_the_bounds),
        cmocka_unit_test(words__are_read_by_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
