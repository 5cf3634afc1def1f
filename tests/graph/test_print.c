/* SPDX-License-Identifier: MIT */
/* Formulas as text: brackets, names, small tidy-ups; and what `check` says of
 * maps. Maps are set by hand: the claims here are about their text alone. */
#include "exact.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/names.h"

/* --- Helpers ------------------------------------------------------------- */

static const char DECLARED[] = "state x, y, z[2]\n"
                               "input u, v hold\n"
                               "param a, b = 2, s = 1 > 0, m[2], A[2,2]\n"
                               "param L[2,2] lower\n"
                               "const B[2,2] = [0, 1, -1, 0]\n"
                               "net f(x, y) -> 2 : 4 tanh\n"
                               "net h(y) -> 1 : 3 relu\n"
                               "dy = dW\ndz = dW\n";

static gsv_model *with(const char *drift)
{
    char text[1024];
    snprintf(text, sizeof text, "%sdx = (%s)*dt + dW\n", DECLARED, drift);
    return model_of(text);
}

static void expect_text(const char *drift, const char *wanted)
{
    gsv_model *m = with(drift);
    const struct spec *s = m->spec;
    struct graph_names names = spec_names(s, m->column, m->column + s->dim);
    char *text = graph_element_text(s->graph, s->drift, 0, &names);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    mem_free(text);
    gsv_model_free(m);
}

/* --- Formulas ------------------------------------------------------------ */

static const struct {
    const char *drift, *text;
} FORMULA[] = {
    {"0", "0"},
    {"x", "x"},
    {"a*x - b*y", "a*x - b*y"},
    {"-x + y", "y - x"},
    {"-x - y", "-x - y"},
    {"a - (b - x)", "a - b + x"},
    {"-(a - x)", "x - a"},
    {"2*(a - x)", "2*(a - x)"},
    {"(a - x)*(b + y)", "(a - x)*(b + y)"},
    {"x*x*x", "x^3"},
    {"x^2 + x^(-2)", "x^2 + 1/x^2"},
    {"(x + y)^2", "(x + y)^2"},
    {"x^a", "x^a"},
    {"(x + 1)^(a + 1)", "(x + 1)^(a + 1)"},
    {"sqrt(x)*sqrt(x)", "x"},
    {"sqrt(x^2)", "sqrt(x^2)"},
    {"1/sqrt(x)", "1/sqrt(x)"},
    {"a*x/x", "a"},
    {"x/(a*y)", "x/(a*y)"},
    {"x/a/y", "x/(a*y)"},
    {"x/(y/a)", "x*a/y"},
    {"1/(a + x)", "1/(a + x)"},
    {"x/(y - a)^2", "x/(y - a)^2"},
    {"x + x", "2*x"},
    {"x - x", "0"},
    {"exp(log(x))", "x"},
    {"exp(2*log(x))", "x^2"},
    {"log(exp(a*x))", "a*x"},
    {"exp(-x^2/2)", "exp(-0.5*x^2)"},
    {"0.1*x + 0.25 + 1e-9", "0.1*x + 0.250000001"},
    {"sin(t)*cos(x) + abs(y)", "sin(t)*cos(x) + abs(y)"},
    {"min(x, y) + max(a, 2)", "min(x, y) + max(a, 2)"},
    {"tanh(x) + sigmoid(a*x)", "tanh(x) + sigmoid(a*x)"},
    {"u + v*x", "u + v*x"},
    {"m[2]*x", "m[2]*x"},
    {"A[1,2]*x", "A[1,2]*x"},
    {"(A @ z)[2]", "A[2,1]*z1 + A[2,2]*z2"},
    {"(B @ z)[2]", "-z1"},
    {"sum(z^2)", "z1^2 + z2^2"},
    {"L[1,1] + L[1,2] + L[2,1]", "L[1,1] + L[2,1]"},
    {"f[2] - h", "f(x, y)[2] - h(y)"},
    {"h(x*y)^2", "h(x*y)^2"},
    {"softmax(z)[2]", "softmax(z1, z2)[2]"},
};

static void text__is_a_formula_with_few_brackets(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FORMULA); i++)
        expect_text(FORMULA[i].drift, FORMULA[i].text);
}

static void text__speaks_of_inverse_matrices(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, y\nparam A[2,2] = [1, 2, 3, 4]\n"
                            "dx = dW1 + dW2\ndy = dW2");
    struct graph *g = m->spec->graph;
    node x = m->spec->state_of_data;
    node A = graph_leaf(g, OP_PARAM, 0, 2, 2);
    struct graph_names names = spec_names(m->spec, m->column, NULL);
    char *text = graph_element_text(g, graph_solve(g, A, x), 1, &names);
    assert_string_equal(text, "inv(A)[2,1]*x + inv(A)[2,2]*y");
    mem_free(text);
    text = graph_element_text(g, graph_logdet(g, A), 0, &names);
    assert_string_equal(text, "logdet(A)");
    mem_free(text);
    names.matrix = m->spec->sigma;
    names.matrix_name = "sigma";
    text = graph_element_text(g, m->unit_state, 0, &names);
    assert_string_equal(text, "inv(sigma)[1,1]*x + inv(sigma)[1,2]*y");
    mem_free(text);
    gsv_model_free(m);
}

static void text__has_the_fewest_digits_that_suffice(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    const struct graph_names names = {0};
    const struct {
        double value;
        const char *text;
    } number[] = {{0.5, "0.5"},       {2.0, "2"},
                  {0.1, "0.1"},       {1.0 / 3.0, "0.3333333333333333"},
                  {-1e-30, "-1e-30"}, {0.0, "0"},
                  {1e6, "1e+06"}};
    for (size_t i = 0; i < COUNT(number); i++) {
        char *text =
            graph_element_text(g, graph_number(g, number[i].value), 0, &names);
        assert_string_equal(text, number[i].text);
        assert_true(strtod(text, NULL) == number[i].value);
        mem_free(text);
    }
    graph_free(g);
}

/* x <- sin(x) + cos(x), 60 times over: 2^60 terms without sharing. */
static void text__ends_where_it_becomes_too_long(void **state)
{
    (void)state;
    struct graph *g = graph_new();
    const struct graph_names names = {0};
    node a = graph_leaf(g, OP_STATE, 0, 1, 1);
    for (size_t i = 0; i < 60; i++)
        a = graph_binary(g, OP_ADD, graph_unary(g, OP_SIN, a),
                         graph_unary(g, OP_COS, a));
    char *text = graph_element_text(g, a, 0, &names);
    assert_int_equal(strlen(text) <= 200, 1);
    assert_non_null(strstr(text, "..."));
    mem_free(text);
    graph_free(g);
}

static void text__writes_conditions(void **state)
{
    (void)state;
    static const struct {
        const char *margin, *text;
    } CASE[] = {{"x", "x > 0"},         {"1 - x", "x < 1"},
                {"x - 2", "x > 2"},     {"x - a", "x > a"},
                {"x*y - 1", "x*y > 1"}, {"a - x - y", "a > x + y"},
                {"2*s*x", "x > 0"}};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        gsv_model *m = with(CASE[i].margin);
        struct graph_names names = spec_names(m->spec, m->column, NULL);
        char *text =
            graph_condition_text(m->spec->graph, m->spec->drift, 0, &names);
        assert_string_equal(text, CASE[i].text);
        mem_free(text);
        gsv_model_free(m);
    }
}

static void text__survives_every_failed_allocation(void **state)
{
    (void)state;
    gsv_model *m = with("exp(-x^2)*(a - y)/sqrt(b) + f[1]*h(x + y)");
    struct graph_names names = spec_names(m->spec, m->column, NULL);
    char *text = NULL;
    size_t n = 0;
    while (!text) {
        mem_fail_at(++n);
        text = graph_element_text(m->spec->graph, m->spec->drift, 0, &names);
        mem_fail_at(0);
        if (!text) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        assert_true(n < 1000);
    }
    assert_true(n > 30);
    mem_free(text);
    gsv_model_free(m);
}

/* --- Maps in words -------------------------------------------------------- */

static node of(struct graph *g, enum op op, node a)
{
    return graph_unary(g, op, a);
}

/* What the text is expected to say, line by line and in this order. */
static void expect_words(const gsv_model *m, size_t lines,
                         const char *const *line)
{
    char *text = gsv_model_describe(m);
    const char *from = text;
    assert_non_null(text);
    for (size_t i = 0; i < lines; i++) {
        const char *found = strstr(from, line[i]);
        if (!found) fail_msg("no line '%s' in\n%s", line[i], text);
        from = found + strlen(line[i]);
        assert_true(*from == '\n');
    }
    gsv_text_free(text);
}

/* dr = k (m - r) dt + s sqrt(r) dW: u = 2 sqrt(r), y = u / s. */
static void describe__shows_lampertis_map(void **state)
{
    (void)state;
    gsv_model *m = model_of("state r\nparam k = 2, m = 1, s = 0.5 > 0\n"
                            "dr = k*(m - r)*dt + s*sqrt(r)*dW");
    struct spec *s = m->spec;
    struct graph *g = s->graph;
    node r = s->state_of_data, two = graph_number(g, 2.0);
    s->noise = NOISE_STRETCHED;
    s->sigma = graph_leaf(g, OP_PARAM, 2, 1, 1);
    s->shape = of(g, OP_SQRT, r);
    s->stretch = graph_binary(g, OP_MUL, two, s->shape);
    s->unstretch = graph_binary(g, OP_MUL, graph_number(g, 0.25),
                                graph_binary(g, OP_MUL, r, r));
    s->stretch_domain = r;
    s->stretch_range = r;
    assert_int_equal(to_unit_diffusion(m), 0);
    expect_words(
        m, 6,
        (const char *const[]){
            "states          r",
            "noise           diagonal, depends on the state, 1 source",
            "map             stretched by Lamperti's map, so that dy = f~ dt + "
            "dW",
            "  y = 2*sqrt(r)/s",
            "  f~ = (2*k*(m - 0.25*s^2*y^2)/(s*y) - 0.5*s/y)/s",
            "domain          r > 0"});
    gsv_model_free(m);
}

static void describe__shows_states_of_the_data(void **state)
{
    (void)state;
    gsv_model *m = model_of("state y\nparam k = 2, s = 0.5 > 0\n"
                            "dy = -k*y*dt + s*dW");
    struct spec *s = m->spec;
    s->mapped = true;
    node y = s->state_of_data;
    s->state_of_data = of(s->graph, OP_LOG, y);
    s->data_of_state = of(s->graph, OP_EXP, y);
    s->map_domain = y;
    assert_int_equal(to_unit_diffusion(m), 0);
    expect_words(m, 7,
                 (const char *const[]){
                     "data            y", "functions       of the data",
                     "  z = log(y)", "map             so that dY = f~ dt + dW",
                     "  Y = log(y)/s", "  f~ = -k*Y", "domain          y > 0"});
    gsv_model_free(m);
}

static void describe__says_that_there_is_no_map(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, v\ndx = exp(v)*dW\ndv = dW");
    m->spec->noise = NOISE_BRIDGED;
    expect_words(
        m, 2,
        (const char *const[]){
            "noise           diagonal, depends on the state, 2 sources",
            "map             no map to unit diffusion: modified diffusion "
            "bridges"});
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text__is_a_formula_with_few_brackets),
        cmocka_unit_test(text__speaks_of_inverse_matrices),
        cmocka_unit_test(text__has_the_fewest_digits_that_suffice),
        cmocka_unit_test(text__ends_where_it_becomes_too_long),
        cmocka_unit_test(text__writes_conditions),
        cmocka_unit_test(text__survives_every_failed_allocation),
        cmocka_unit_test(describe__shows_lampertis_map),
        cmocka_unit_test(describe__shows_states_of_the_data),
        cmocka_unit_test(describe__says_that_there_is_no_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
