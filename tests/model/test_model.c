/* SPDX-License-Identifier: MIT */
/* Models as objects: drawn weights, files, and memory that runs out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "girsanov.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Every kind of bound, shape and network. */
static const char RICH[] =
    "state x, y[2]\n"
    "input u, w hold\n"
    "param a = 2, b = 3 > 1, c = -4 < -1, d = 0.25 in (-1, 2)\n"
    "param v[3] = [1, 2, 3] > 0, A[2,2] = [1, 2, 3, 4]\n"
    "param L[3,3] lower = [1, 0, 0, 0.5, 2, 0, -0.5, 0.25, 3]\n"
    "const g = 9.81, B[2,2] = [0, 1, -1, 0]\n"
    "net f(x, y) -> 2 : 4 3 tanh\n"
    "let H = sum(y^2)*exp(-x^2) + f[1]\n"
    "let e[2] = [L[2,1], L[3,3]]\n"
    "dx = (a*b*c*d*x + g*u + grad(H, x))*dt + (1 + v[1]*w^2)*dW\n"
    "dy = (A @ y + B @ grad(H, y) + e)*dt + [v[2], v[3]]*dW\n";

static gsv_model *parse(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

/* --- Weights ------------------------------------------------------------- */

static void draw__is_a_function_of_the_seed(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH), *other = parse(RICH);
    size_t n = gsv_model_values(m);
    const double *a = gsv_model_value(m), *b = gsv_model_value(other);
    assert_memory_equal(a, b, n * sizeof *a);
    gsv_model_draw(m, 2);
    size_t differ = 0, weights = 0;
    for (size_t q = 0; q < gsv_model_params(m); q++) {
        gsv_param p = gsv_model_param(m, q);
        for (size_t i = p.offset; i < p.offset + p.rows * p.columns; i++) {
            weights += p.weight;
            differ += a[i] != b[i];
            if (!p.weight) assert_true(a[i] == b[i]);
        }
    }
    assert_true(weights == 16 + 15 + 8 && differ == weights);
    gsv_model_draw(other, 2);
    assert_memory_equal(a, b, n * sizeof *a);
    gsv_model_draw(m, 1);
    gsv_model_free(other);
    other = parse(RICH);
    assert_memory_equal(a, gsv_model_value(other), n * sizeof *a);
    gsv_model_free(other);
    gsv_model_free(m);
}

/* The mean of n squares of normal numbers has the relative deviation
 * sqrt(2 / n). */
static void draw__by_hes_rule_keeps_a_relus_variance(void **state)
{
    (void)state;
    gsv_model *m = parse("state x\nnet f(x) -> 1 : 64 64 relu\n"
                         "dx = f*dt + dW");
    gsv_model_draw_he(m, 3);
    for (size_t q = 0; q < gsv_model_params(m); q++) {
        gsv_param p = gsv_model_param(m, q);
        const double *w = gsv_model_value(m) + p.offset;
        double square = 0.0, n = (double)(p.rows * p.columns);
        for (size_t i = 0; i < p.rows * p.columns; i++)
            square += w[i] * w[i] / n;
        if (!p.weight) continue;
        if (p.rank == 1) assert_true(square == 0.0);
        else
            assert_true(fabs(square * (double)p.columns / 2.0 - 1.0) <
                        4.0 * sqrt(2.0 / n));
    }
    gsv_model_free(m);
}

static void draw__is_uniform_within_its_bound(void **state)
{
    (void)state;
    gsv_model *m = parse("state x[4]\nnet f(x) -> 4 : 100 100 relu\n"
                         "dx = f*dt + dW\n");
    static const double FAN_IN[] = {4, 4, 100, 100, 100, 100};
    assert_int_equal(gsv_model_params(m), COUNT(FAN_IN) + 4);
    for (size_t q = 0; q < COUNT(FAN_IN); q++) {
        gsv_param p = gsv_model_param(m, q);
        double bound = 1.0 / sqrt(FAN_IN[q]), most = 0.0, square = 0.0;
        size_t n = p.rows * p.columns;
        for (size_t i = p.offset; i < p.offset + n; i++) {
            double w = gsv_model_value(m)[i];
            most = fmax(most, fabs(w));
            square += w * w / (double)n;
        }
        assert_true(most < bound);
        /* Variance bound^2 / 3, within five standard errors of its own. */
        double relative = 3.0 * square / (bound * bound) - 1.0;
        assert_true(fabs(relative) < 5.0 * sqrt(0.8 / (double)n));
    }
    gsv_model_free(m);
}

/* --- Files --------------------------------------------------------------- */

static char folder[] = "/tmp/gsv_model_XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink("m.sde");
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void put(const char *bytes, size_t n)
{
    FILE *out = fopen("m.sde", "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static void expect_refused(const char *path, const char *message)
{
    assert_null(gsv_model_read(path));
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), message);
}

static void read__makes_the_same_model_as_its_text(void **state)
{
    (void)state;
    put(RICH, strlen(RICH));
    gsv_model *m = gsv_model_read("m.sde"), *other = parse(RICH);
    assert_non_null(m);
    assert_int_equal(gsv_model_values(m), gsv_model_values(other));
    assert_memory_equal(gsv_model_value(m), gsv_model_value(other),
                        gsv_model_values(m) * sizeof(double));
    gsv_model_free(m);
    gsv_model_free(other);
}

static void read__says_which_file_is_wrong(void **state)
{
    (void)state;
    unlink("m.sde");
    expect_refused("m.sde",
                   "cannot open the model m.sde: No such file or directory");
    expect_refused(".", "cannot read the model .: Is a directory");
    put("state x\n\0dx = dW\n", 16);
    expect_refused("m.sde", "m.sde has zero bytes: it is not a model's text");
    put("", 0);
    expect_refused("m.sde",
                   "m.sde:1:1: the model has no state; begin with a line such "
                   "as 'state x'\n    \n    ^");
    put("state x\ndx = dw\n", 16);
    expect_refused("m.sde", "m.sde:2:6: unknown name 'dw'; did you mean 'dW'?\n"
                            "    dx = dw\n"
                            "         ^~");
    size_t n = (1 << 20) + 1;
    char *large = malloc(n);
    memset(large, '#', n);
    put(large, n);
    expect_refused("m.sde", "m.sde is larger than 1 MiB: it is not a model");
    memcpy(large, "state x\ndx = dW\n", 16);
    put(large, n - 1);
    gsv_model *m = gsv_model_read("m.sde");
    assert_non_null(m);
    gsv_model_free(m);
    free(large);
}

/* --- Points, and memory -------------------------------------------------- */

static void drift__needs_inputs_where_the_model_has_them(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH);
    double t = 0.0, x[3] = {0}, out[9];
    assert_int_equal(gsv_model_drift(m, 1, &t, x, NULL, out), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(),
                        "the model has inputs, but none are given");
    assert_int_equal(gsv_model_diffusion(m, 1, &t, x, NULL, out),
                     GSV_BAD_INPUT);
    assert_int_equal(gsv_model_drift(m, 0, NULL, NULL, x, NULL), 0);
    assert_int_equal(gsv_model_diffusion(m, 0, NULL, NULL, x, NULL), 0);
    gsv_model_free(m);
}

static gsv_model *make_rich(void)
{
    return gsv_model_parse(RICH, "rich.sde");
}

static gsv_model *make_wide(void)
{
    return gsv_model_parse("state x, y\nparam a = 1\n"
                           "dx = -x*dt + sin(t)*dW1 + a*dW\n"
                           "dy = -y*dt + 2*dW1 + dW\n",
                           "wide.sde");
}

static gsv_model *make_reactions(void)
{
    return gsv_model_parse("state S, I, x[2]\nparam b = 1 > 0\n"
                           "reaction S + I -> 2 I : b*S*I\n"
                           "reaction x[1] -> 3 x[2] : x[1]\n"
                           "dS = -S*dt + 0.1*dW\n",
                           "reactions.sde");
}

/* Chains that share noises, and one that is stretched. */
static gsv_model *make_chains(void)
{
    return gsv_model_parse("state x, v, a, y, w\nparam s = 0.5 > 0, r = 0.2\n"
                           "dx = (v - x^3)*dt\ndv = a*dt\n"
                           "da = -x*dt + s*dW1 + r*dW2\ndy = (w + a)*dt\n"
                           "dw = -y*dt + s*dW1 - r*dW2\n",
                           "chains.sde");
}

static gsv_model *make_stretched(void)
{
    return gsv_model_parse("state x[2], v[2]\nparam s[2] = 0.5 > 0\n"
                           "param B[2,2] = [1, 0.2, 0, 1]\n"
                           "dx = v*dt\ndv = -(B @ x)*dt + s*sqrt(1 + x^2)*dW\n",
                           "stretched.sde");
}

static gsv_model *make_read(void)
{
    return gsv_model_read("m.sde");
}

/* Every allocation in turn fails: an answer without a model, nothing leaks. */
static void memory__may_run_out_while_a_model_is_made(void **state)
{
    (void)state;
    static gsv_model *(*const MAKE[])(void) = {make_rich,      make_wide,
                                               make_reactions, make_chains,
                                               make_stretched, make_read};
    static const size_t LEAST[] = {100, 30, 60, 100, 100, 100};
    put(RICH, strlen(RICH));
    for (size_t i = 0; i < COUNT(MAKE); i++) {
        gsv_model *m = NULL;
        size_t n = 0;
        while (!m) {
            mem_fail_at(++n);
            m = MAKE[i]();
            mem_fail_at(0);
            if (!m) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        }
        assert_true(n > LEAST[i]);
        gsv_model_free(m);
    }
}

static void memory__may_run_out_while_complaining(void **state)
{
    (void)state;
    for (size_t n = 1; n < 100; n++) {
        mem_fail_at(n);
        assert_null(gsv_model_parse("state x\nparam sigma = 1\n"
                                    "dx = -x*dt + sgima*dW\n",
                                    "m.sde"));
        mem_fail_at(0);
    }
}

static void memory__may_run_out_at_points(void **state)
{
    (void)state;
    gsv_model *m = parse(RICH);
    double t[2] = {0}, x[6] = {0}, u[4] = {0}, out[18];
    for (int what = 0; what < 2; what++) {
        int status = GSV_NO_MEMORY;
        size_t n = 0;
        while (status) {
            assert_int_equal(status, GSV_NO_MEMORY);
            mem_fail_at(++n);
            status = what ? gsv_model_diffusion(m, 2, t, x, u, out)
                          : gsv_model_drift(m, 2, t, x, u, out);
            mem_fail_at(0);
        }
        assert_true(n > 8);
    }
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draw__is_a_function_of_the_seed),
        cmocka_unit_test(draw__by_hes_rule_keeps_a_relus_variance),
        cmocka_unit_test(draw__is_uniform_within_its_bound),
        cmocka_unit_test(read__makes_the_same_model_as_its_text),
        cmocka_unit_test(read__says_which_file_is_wrong),
        cmocka_unit_test(drift__needs_inputs_where_the_model_has_them),
        cmocka_unit_test(memory__may_run_out_while_a_model_is_made),
        cmocka_unit_test(memory__may_run_out_while_complaining),
        cmocka_unit_test(memory__may_run_out_at_points),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
