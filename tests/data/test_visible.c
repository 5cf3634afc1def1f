/* SPDX-License-Identifier: MIT */
/* Text from files as a terminal may have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "girsanov.h"

static void visible__leaves_no_control_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } CASES[] = {
        {"", ""},
        {"plain ~", "plain ~"},
        {"a\tb\nc\rd", "a\\tb\\nc\\rd"},
        {"\x1b[31m\x07\x7f\x01", "\\x1b[31m\\x07\\x7f\\x01"},
        {"Z\u00fcrich \u6771 \U0001f600", "Z\u00fcrich \u6771 \U0001f600"},
        {"\xc2\x9b"
         "31m\xc2\x80\xc2\xa0",
         "\\xc2\\x9b31m\\xc2\\x80\xc2\xa0"},
        {"\x9b\xff\xc3", "\\x9b\\xff\\xc3"},
        {"\xc0\x9b\xe0\x80\x9b", "\\xc0\\x9b\\xe0\\x80\\x9b"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe2\x82", "\\xe2\\x82"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char all[100] = "", shown[GSV_VISIBLE];
        const char *text = CASES[i].text;
        for (size_t n; (n = gsv_visible(text, shown)); text += n)
            strcat(all, shown);
        assert_string_equal(all, CASES[i].shown);
        assert_int_equal(*text, 0);
    }
}

/* Every character of one and two bytes: an escape or itself, never more than
 * there is room for. */
static void visible__has_every_byte(void **state)
{
    (void)state;
    for (unsigned i = 1; i < 256; i++)
        for (unsigned k = 0; k < 256; k++) {
            const char text[3] = {(char)i, (char)k, 0};
            char shown[GSV_VISIBLE + 1] = {[GSV_VISIBLE] = '!'};
            size_t n = gsv_visible(text, shown);
            assert_true(n == 1 || n == 2);
            assert_int_equal(shown[GSV_VISIBLE], '!');
            assert_true(*shown == '\\' || !strncmp(shown, text, n));
            for (const char *c = shown; *c; c++)
                assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visible__leaves_no_control_characters),
        cmocka_unit_test(visible__has_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
