/* SPDX-License-Identifier: MIT */
/* Columns that are differences of others are recognised, in all ways in which
 * they are made and written, and true velocities are not. */
#include <stdio.h>
#include <stdlib.h>

#include "exact.h"

enum { ROWS = 60, TRACKS = 2 };
enum kind { TRUE, FORWARD, BACKWARD, CENTRAL, NOISY, KINDS };

static const char TEXT[] = "state x, v\nparam g = 1, s = 1 > 0, q = 1 > 0\n"
                           "dx = v*dt + q*dW\ndv = -g*v*dt + s*dW\n";
static const char NOISY_TEXT[] =
    "state u\nparam g = 1, s = 1 > 0, e = 1 > 0\n"
    "du = -g*u*dt + s*dW\nobs v ~ normal(u, e)\ninit u ~ normal(0, 1)\n";

/* As written with so many digits. */
static double written(double x, int digits)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, x);
    return strtod(text, NULL);
}

/* Positions and velocities of a particle; the rows of a track are uneven. */
static gsv_series *series_make(enum kind kind, double gap, int digits)
{
    static double t[TRACKS * ROWS], y[2 * TRACKS * ROWS];
    static const size_t start[] = {0, ROWS, 2 * ROWS};
    static const char *const name[] = {"x", "v"};
    double *x = y, *v = y + TRACKS * ROWS, *z = normals(2 * TRACKS * ROWS, 3);
    for (size_t k = 0; k < TRACKS * ROWS; k++) {
        bool first = k % ROWS == 0;
        double h = gap * (k % 4 ? 1.0 : 1.5);
        t[k] = first ? 0.0 : t[k - 1] + h;
        v[k] = first ? 0.3 : v[k - 1] * exp(-h) + sqrt(h) * z[2 * k];
        x[k] = first ? 2.0
                     : x[k - 1] + 0.5 * h * (v[k] + v[k - 1]) +
                           0.3 * h * sqrt(h) * z[2 * k + 1];
    }
    for (size_t k = TRACKS * ROWS; kind != TRUE && k-- > 0;) {
        size_t row = k % ROWS, last = row + 1 == ROWS;
        size_t low = kind == FORWARD || !row ? k : k - 1;
        size_t high = kind == BACKWARD || last ? k : k + 1;
        double d = high > low ? (x[high] - x[low]) / (t[high] - t[low]) : NAN;
        v[k] = kind == NOISY ? v[k] + 0.01 * z[k] : written(d, digits);
    }
    for (size_t k = 0; k < TRACKS * ROWS; k++)
        x[k] = written(x[k], digits);
    mem_free(z);
    gsv_series *s = gsv_series_new(TRACKS, start, 2, name, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void differences__are_recognised(void **state)
{
    static const double GAP[] = {1e-3, 0.02, 1.0};
    static const int DIGITS[] = {7, 17};
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++)
        for (enum kind kind = 0; kind < KINDS; kind++)
            for (size_t g = 0; g < COUNT(GAP); g++)
                for (size_t d = 0; d < COUNT(DIGITS); d++) {
                    gsv_model *m = model_of(noisy ? NOISY_TEXT : TEXT);
                    gsv_series *s = series_make(kind, GAP[g], DIGITS[d]);
                    char *text = gsv_model_differences(m, s);
                    assert_non_null(text);
                    bool made = kind != TRUE && kind != NOISY;
                    bool found = strstr(text, "the column 'v' is made of "
                                              "differences of 'x'") == text;
                    if (made)
                        found = found &&
                                strstr(text, kind == CENTRAL ? "have 5/12 of"
                                                             : "have 2/3 of");
                    if (found != made)
                        fail_msg("kind %d, gap %g, %d digits: '%s'", (int)kind,
                                 GAP[g], DIGITS[d], text);
                    gsv_text_free(text);
                    gsv_series_free(s);
                    gsv_model_free(m);
                }
}

/* Too few rows, empty columns and constant ones say nothing. */
static void differences__need_rows(void **state)
{
    static const double t[] = {0, 1, 2}, y[] = {1, 2, 4, 1, 2, 2};
    static const size_t start[] = {0, 3};
    static const char *const name[] = {"x", "v"};
    (void)state;
    gsv_model *m = model_of(TEXT);
    gsv_series *s = gsv_series_new(1, start, 2, name, t, y);
    char *text = gsv_model_differences(m, s);
    assert_string_equal(text, "");
    gsv_text_free(text);
    gsv_series_free(s);
    double time[20], value[40] = {0};
    for (size_t k = 0; k < 20; k++)
        time[k] = (double)k;
    s = gsv_series_new(1, (size_t[]){0, 20}, 2, name, time, value);
    text = gsv_model_differences(m, s);
    assert_string_equal(text, "");
    gsv_text_free(text);
    assert_null(gsv_model_differences(NULL, s));
    assert_null(gsv_model_differences(m, NULL));
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences__are_recognised),
        cmocka_unit_test(differences__need_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
