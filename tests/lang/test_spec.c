/* SPDX-License-Identifier: MIT */
/* What is taken from a model's text: names, shapes, bounds; and what is said
 * about texts that mean nothing. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "girsanov.h"
#include "lang/spec.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* --- Wrong texts, by topic ------------------------------------------------
 * broken/TOPIC.txt has cases "==== NAME", the model's text, "----", the whole
 * message, with a blank line between cases. */

static const char FOLDER[] = TESTS_DIR "/lang/broken";

static char *file_text(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    FILE *in = fopen(path, "rb");
    if (!in) fail_msg("%s is missing", path);
    char *text = calloc(1, 100000);
    assert_non_null(text);
    assert_true(fread(text, 1, 99999, in) < 99999);
    fclose(in);
    return text;
}

static void expect_message(const char *name, const char *text,
                           const char *expected)
{
    gsv_model *m = gsv_model_parse(text, name);
    if (m) fail_msg("%s was accepted", name);
    if (strcmp(gsv_last_error(), expected) != 0)
        fail_msg("said:\n%s\nexpected:\n%s", gsv_last_error(), expected);
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
}

/* Ends the string at a mark, and returns what follows the mark. */
static char *cut(char *text, const char *mark)
{
    char *end = strstr(text, mark);
    if (!end) fail_msg("there is no \"%s\" in:\n%s", mark, text);
    *end = 0;
    return end + strlen(mark);
}

static size_t topic(const char *file)
{
    char *all = file_text(file), *at = all;
    size_t count = 0;
    assert_true(strncmp(all, "==== ", 5) == 0);
    for (char *next; at; at = next, count++) {
        next = strstr(at, "\n\n==== ");
        if (next) {
            *next = 0;
            next += 2;
        } else at[strlen(at) - 1] = 0; /* the last line break */
        char *text = cut(at, "\n"), name[300];
        snprintf(name, sizeof name, "%s.sde", at + 5);
        char *message = cut(text, "----\n");
        expect_message(name, text, message);
    }
    free(all);
    return count;
}

static void broken__every_text_has_its_message(void **state)
{
    (void)state;
    size_t count = 0;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *d; (d = readdir(folder));)
        if (strstr(d->d_name, ".txt")) count += topic(d->d_name);
    closedir(folder);
    assert_true(count >= 300);
}

/* --- Right texts: names, shapes, numbers --------------------------------- */

static gsv_model *parse(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

static void columns__are_named_after_states_and_inputs(void **state)
{
    (void)state;
    gsv_model *m = parse("state a, x[3]\ninput u, w hold\n"
                         "dx = -x*u*w*dt + dW\nda = dW\n");
    static const char *const NAME[] = {"a", "x1", "x2", "x3", "u", "w"};
    assert_int_equal(gsv_model_columns(m), COUNT(NAME));
    assert_int_equal(gsv_model_inputs(m), 2);
    for (size_t i = 0; i < COUNT(NAME); i++)
        assert_string_equal(gsv_model_column(m)[i], NAME[i]);
    gsv_model_free(m);
}

static void params__have_names_shapes_and_bounds(void **state)
{
    (void)state;
    gsv_model *m = parse("state x\n"
                         "param a = 2 > 1, b = -1 < 0, c in (2, 4)\n"
                         "param v[3] = 1, A[2,3], L[2,2] lower\n"
                         "param d > 3, e < 3\n"
                         "net f(x) -> 2 : 4 tanh\n"
                         "dx = f[1]*dt + dW\n");
    static const struct {
        const char *name;
        int rank;
        size_t rows, columns, offset;
        double low, high;
        bool lower, weight;
    } WANTED[] = {
        {"a", 0, 1, 1, 0, 1, INFINITY, false, false},
        {"b", 0, 1, 1, 1, -INFINITY, 0, false, false},
        {"c", 0, 1, 1, 2, 2, 4, false, false},
        {"v", 1, 3, 1, 3, -INFINITY, INFINITY, false, false},
        {"A", 2, 2, 3, 6, -INFINITY, INFINITY, false, false},
        {"L", 2, 2, 2, 12, -INFINITY, INFINITY, true, false},
        {"d", 0, 1, 1, 16, 3, INFINITY, false, false},
        {"e", 0, 1, 1, 17, -INFINITY, 3, false, false},
        {"f.0.weight", 2, 4, 1, 18, -INFINITY, INFINITY, false, true},
        {"f.0.bias", 1, 4, 1, 22, -INFINITY, INFINITY, false, true},
        {"f.1.weight", 2, 2, 4, 26, -INFINITY, INFINITY, false, true},
        {"f.1.bias", 1, 2, 1, 34, -INFINITY, INFINITY, false, true},
        {"f.input_mean", 1, 1, 1, 36, -INFINITY, INFINITY, false, false},
        {"f.input_scale", 1, 1, 1, 37, 0, INFINITY, false, false},
        {"f.output_mean", 1, 2, 1, 38, -INFINITY, INFINITY, false, false},
        {"f.output_scale", 1, 2, 1, 40, 0, INFINITY, false, false},
    };
    static const double VALUE[] = {2, -1, 3, 1, 1, 1, 0, 0, 0,
                                   0, 0,  0, 1, 0, 0, 1, 4, 2};
    assert_int_equal(gsv_model_params(m), COUNT(WANTED));
    assert_int_equal(gsv_model_values(m), 42);
    for (size_t i = 0; i < COUNT(WANTED); i++) {
        gsv_param p = gsv_model_param(m, i);
        assert_string_equal(p.name, WANTED[i].name);
        assert_int_equal(p.rank, WANTED[i].rank);
        assert_true(p.rows == WANTED[i].rows && p.columns == WANTED[i].columns);
        assert_true(p.offset == WANTED[i].offset && p.lower == WANTED[i].lower);
        assert_true(p.low == WANTED[i].low && p.high == WANTED[i].high);
        assert_true(p.weight == WANTED[i].weight);
        assert_true(p.scale == (i >= COUNT(WANTED) - 4));
    }
    for (size_t i = 0; i < COUNT(VALUE); i++)
        assert_true(gsv_model_value(m)[i] == VALUE[i]);
    gsv_model_free(m);
}

/* Networks, vectors, inputs and observations together. */
static void examples__parse(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "# Lorenz, unknown drift: the paper's model\n"
        "state x, y, z\n"
        "param sigma = 1 > 0\n"
        "net   f(x, y, z) -> 3 : 32 256 32 relu\n"
        "dx = f[1]*dt + sigma*dW\n"
        "dy = f[2]*dt + sigma*dW\n"
        "dz = f[3]*dt + sigma*dW\n",
        "state x[100]\n"
        "param theta = 1 > 0, mu[100] = 0\n"
        "dx = theta*(mu - x)*dt + dW\n",
        "state q, p\n"
        "net   H(q, p) -> 1 : 64 64 tanh\n"
        "param c = 0.1 > 0, s = 0.3 > 0\n"
        "dq =  grad(H, p)*dt + s*dW\n"
        "dp = (-grad(H, q) - c*p)*dt + s*dW\n",
        "state x\n"
        "input u                      # a column, interpolated\n"
        "net   n(x, u) -> 1 : 16 tanh\n"
        "param a = 1, s = 1 > 0, e = 0.1 > 0\n"
        "dx = (-a*x + n)*dt + s*dW    # physics plus a network\n"
        "obs y ~ normal(x, e)\n",
        "state l                      # stochastic intensity\n"
        "dl = -l*dt + dW\n"
        "obs n ~ poisson(exp(l))\n",
        "state z[2]\nnet f(z) -> 2 : 64 64 tanh\ndz = f*dt + dW\n",
    };
    for (size_t i = 0; i < COUNT(TEXT); i++)
        gsv_model_free(parse(TEXT[i]));
}

/* Declarations that stand by themselves may follow their use. */
static void declarations__may_follow_equations(void **state)
{
    (void)state;
    gsv_model *m = parse("dx = -k*x*dt + s*dW\nstate x\nparam k = 2, s = 3\n");
    double x = 0.5, t = 0.0, f;
    assert_int_equal(gsv_model_drift(m, 1, &t, &x, NULL, &f), 0);
    assert_true(f == -1.0);
    gsv_model_free(m);
}

static void noises__of_one_equation_each_are_a_diagonal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool diagonal;
    } CASE[] = {
        {"state x, y\ndx = dW\ndy = 2*dW\n", true},
        {"state x, y\ndx = dW1\ndy = 2*dW2\n", true},
        {"state x, y\ndx = dW1\ndy = 2*dW\n", true},
        {"state x, y\ndx = dW1 + dW2\ndy = dW2\n", false},
        {"state x[2]\nparam L[2,2] lower\ndx = L @ dW\n", false},
        {"state x[2]\ndx = [1, t^2 + 1]*dW\n", true},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        struct source source = {"m.sde", CASE[i].text};
        struct spec *spec = spec_new(&source);
        assert_non_null(spec);
        assert_int_equal(spec->diagonal, CASE[i].diagonal);
        spec_free(spec);
    }
}

/* --- Nonsense ------------------------------------------------------------ */

static uint32_t random_below(uint32_t n)
{
    static uint64_t z = 3;
    z = z * 6364136223846793005u + 1443005040888963407u;
    return (uint32_t)(z >> 33) % n;
}

/* A random expression: right as syntax, and mostly nonsense. */
static void scribble(char *out, size_t size, int depth)
{
    static const char *const LEAF[] = {
        "x",  "y",    "v",  "w",   "A", "L", "r", "B",    "c",     "u",
        "f",  "e",    "t",  "dt",  "1", "2", "0", "3.5",  "dW",    "dW1",
        "dt", "x[1]", "dW", "dW2", "k", "M", "B", "f[2]", "[x, y]"};
    static const char *const FORM[] = {
        "%s + %s",     "%s*%s",      "%s*%s",         "%s - %s",
        "(%s) @ (%s)", "(%s)*(%s)",  "(%s)/(%s)",     "(%s)^(%s)",
        "sin(%s)",     "sum(%s)",    "softmax(%s)",   "-(%s)",
        "(%s)[1]",     "(%s)[2,1]",  "max(%s, %s)",   "dot(%s, %s)",
        "f(%s)",       "f(%s, %s)",  "[%s, %s]",      "grad(%s, %s)",
        "grad(%s, x)", "%s + %s*dt", "%s + (%s) @ dW"};
    char a[400], b[400];
    if (depth == 0 || random_below(5) == 0) {
        snprintf(out, size, "%s", LEAF[random_below(COUNT(LEAF))]);
        return;
    }
    scribble(a, sizeof a, depth - 1);
    scribble(b, sizeof b, depth - 1);
    const char *form = FORM[random_below(COUNT(FORM))];
    const char *parts[] = {a, b};
    size_t used = 0, part = 0;
    for (; *form && used + 1 < size; form++) {
        if (form[0] != '%') {
            out[used++] = *form;
            continue;
        }
        size_t n = strlen(parts[part]);
        if (n > size - used - 1) n = size - used - 1;
        memcpy(out + used, parts[part++], n);
        used += n;
        form++;
    }
    out[used] = 0;
}

static void nonsense__is_refused_or_understood(void **state)
{
    (void)state;
    static const char *const LAW[8] = {
        "", "obs o[2] ~ normal(1, ",   "", "init x ~ normal(0, ",
        "", "obs o[2] ~ multinomial(", "", "obs o ~ binomial(N, "};
    size_t good = 0;
    for (int i = 0; i < 20000; i++) {
        char text[6000], z[1000], dx[1000], dy[1000];
        scribble(z, sizeof z, (int)random_below(3));
        scribble(dx, sizeof dx, (int)random_below(4));
        scribble(dy, sizeof dy, (int)random_below(3));
        snprintf(text, sizeof text,
                 "state x[2], y\ninput u\nparam A[2,2] = 1, v[3] = 1, w = 2\n"
                 "param L[2,2] lower, r[1,2] = 1, M[2,3] = 1, k[2] = 1\n"
                 "const B[3,3] = 2, c = 0\nnet f(x) -> 2 : 3 tanh\n"
                 "let e = sum(x^2)*u\nlet z = %s\n"
                 "dx = dW + %s\ndy = dW + (%s)*dt\n%s%s%s",
                 random_below(2) ? z : "1", dx, random_below(2) ? dy : "1",
                 LAW[i % 8], *LAW[i % 8] ? z : "", *LAW[i % 8] ? ")\n" : "");
        gsv_model *m = gsv_model_parse(text, "nonsense");
        good += m != NULL;
        if (!m && gsv_last_status() != GSV_BAD_INPUT) fail_msg("%s", text);
        gsv_model_free(m);
    }
    assert_true(good > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken__every_text_has_its_message),
        cmocka_unit_test(columns__are_named_after_states_and_inputs),
        cmocka_unit_test(params__have_names_shapes_and_bounds),
        cmocka_unit_test(examples__parse),
        cmocka_unit_test(declarations__may_follow_equations),
        cmocka_unit_test(noises__of_one_equation_each_are_a_diagonal),
        cmocka_unit_test(nonsense__is_refused_or_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
