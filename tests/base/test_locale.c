/* SPDX-License-Identifier: MIT */
/* A program with a locale whose decimal point is a comma gets the same texts,
 * files and numbers as any other. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "comma.h"
#include "exact.h"

static char folder[] = "/tmp/test_locale_XXXXXX";

static const char *in_folder(const char *name, char path[200])
{
    snprintf(path, 200, "%s/%s", folder, name);
    return path;
}

/* --- All that the library says -------------------------------------------- */

static void put_file(FILE *out, const char *path)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    for (int c; (c = getc(in)) != EOF;)
        putc(c, out);
    fclose(in);
}

static void put_words(FILE *out, const gsv_model *m)
{
    char *text = gsv_model_describe(m);
    assert_non_null(text);
    fputs(text, out);
    gsv_text_free(text);
}

static const char *const WRONG[] = {
    "state x\nlet a = x[1.5]\ndx = -x*dt + dW",
    "state x\nparam k = 2.5 in (0.5, 1.25)\ndx = -k*x*dt + dW",
    "state x\nparam k = 1,5\ndx = -k*x*dt + dW",
    "state x\nobs y ~ normal(x, -0.5)\ndx = -x*dt + dW",
};

/* A model with numbers in all places: bounds, formulas, maps. */
static const char MODEL[] =
    "state z = log(c)/0.75\nparam k = 1.5 in (0.25, 7.5), s = 0.5 > 0.125\n"
    "const q = 0.375\ndz = (q - k*z + 0.1234567)*dt + s*sqrt(1.5 + z^2)*dW";

static void put_fit(FILE *out)
{
    char path[200];
    gsv_model *m = gsv_model_parse("state x\nparam k = 0.5, s = 1.5 > 0, a = "
                                   "0.5\ndx = (0.5 - k*x)*dt + s*dW",
                                   "m");
    assert_non_null(m);
    FILE *csv = fopen(in_folder("data.csv", path), "w");
    fputs("time,x\n0,0.5\n", csv);
    for (int i = 1; i < 40; i++)
        fprintf(csv, "%d.%d,%d.%d\n", i / 10, i % 10, i * i % 7 % 3,
                i * i * i % 97);
    fclose(csv);
    gsv_series *s = gsv_series_read(path, 1, gsv_model_column(m));
    if (!s) fail_msg("%s", gsv_last_error());
    gsv_fit_options o = gsv_fit_options_default();
    o.iterations = 3;
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    const gsv_record *r = gsv_model_record(m);
    fputs(r->warning, out);
    for (size_t i = 0; i < gsv_model_values(m); i++) {
        uint64_t bits;
        memcpy(&bits, &gsv_model_value(m)[i], sizeof bits);
        fprintf(out, "%llx\n", (unsigned long long)bits);
    }
    if (gsv_series_write(s, in_folder("copy.csv", path)))
        fail_msg("%s", gsv_last_error());
    put_file(out, path);
    put_words(out, m);
    gsv_series_free(s);
    gsv_model_free(m);
}

static char *everything(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < COUNT(WRONG); i++) {
        assert_null(gsv_model_parse(WRONG[i], "wrong"));
        fprintf(out, "%s\n", gsv_last_error());
    }
    gsv_model *m = gsv_model_parse(MODEL, "m");
    if (!m) fail_msg("%s", gsv_last_error());
    put_words(out, m);
    double bad = 99.5;
    assert_true(gsv_model_set(m, "k", 1, &bad) != 0);
    fprintf(out, "%s\n", gsv_last_error());
    gsv_model_free(m);
    const double time[] = {0.5, 0.25}, value[] = {1.5, 2.5};
    const size_t start[] = {0, 2};
    const char *name[] = {"x"};
    assert_null(gsv_series_new(1, start, 1, name, time, value));
    fprintf(out, "%s\n", gsv_last_error());
    put_fit(out);
    fclose(out);
    return text;
}

static void texts__are_the_same_in_a_locale_with_commas(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C");
    char *usual = everything();
    assert_non_null(strstr(usual, "0.25"));
    if (!use_comma()) {
        free(usual);
        skip();
    }
    char *other = everything();
    assert_true(has_comma()); /* as the caller left it */
    setlocale(LC_ALL, "C");
    assert_string_equal(other, usual);
    free(usual);
    free(other);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts__are_the_same_in_a_locale_with_commas),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
