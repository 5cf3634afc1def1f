/* SPDX-License-Identifier: MIT */
/* How the factor of a noise is taken apart, what its map is in numbers, and how
 * exact it is where it is a quadrature. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "lang/lamperti.h"
#include "model/model.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define ONE(noise)                                                             \
    "state x\nparam s = 0.7 > 0\ndx = (0.3 - 0.2*x)*dt + " noise "*dW\n"
#define TWO(param, noise)                                                      \
    "state x\nparam s = 0.7 > 0, " param "\n"                                  \
    "dx = (0.3 - 0.2*x)*dt + " noise "*dW\n"

static gsv_model *parse(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s\n%s", gsv_last_error(), text);
    return m;
}

static void evaluate(const gsv_model *m, node what, const double *x,
                     double *out)
{
    const double t = 0.3;
    struct points in = {.P = 1, .state = x, .time = &t};
    assert_int_equal(model_evaluate(m, what, &in, true, out), 0);
}

/* --- Numbers ------------------------------------------------------------- */

static void maps__are_the_known_ones(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double x, y;
    } KNOWN[] = {
        {ONE("s*x"), 2.0, 0.69314718055994531 / 0.7},
        {ONE("2*s*x"), 2.0, 0.69314718055994531 / 1.4},
        {ONE("s*sqrt(x)"), 2.25, 2.0 * 1.5 / 0.7},
        {ONE("s*x^2"), 2.0, -0.5 / 0.7},
        {TWO("p = 0.5", "s*x^p"), 2.25, 2.0 * 0.5 / 0.7},
        {TWO("p = 1", "s*x^p"), 2.0, 0.69314718055994531 / 0.7},
        {ONE("s*x*(1 - x)"), 0.75, 1.0986122886681098 / 0.7},
        {ONE("s*sqrt(x*(1 - x))"), 0.75, 0.52359877559829887 / 0.7},
        {ONE("s*sqrt(1 + x^2)"), 0.75, 0.69314718055994531 / 0.7},
        {ONE("s*(1 + x^2)"), 1.0, 0.78539816339744831 / 0.7},
        {ONE("s*exp(x)"), 0.0, -1.0 / 0.7},
        {ONE("s/cosh(x)"), 1.0, 1.1752011936438015 / 0.7},
        /* By quadrature from 0, and from 1, on: x + x^3 / 3, 2 atan(sqrt x). */
        {ONE("s/(1 + x^2)"), 3.0, 12.0 / 0.7},
        {ONE("s*sqrt(x)*(1 + x)"), 3.0, 0.52359877559829887 / 0.7},
    };
    for (size_t i = 0; i < COUNT(KNOWN); i++) {
        double y;
        gsv_model *m = parse(KNOWN[i].text);
        evaluate(m, m->unit_state, &KNOWN[i].x, &y);
        if (fabs(y - KNOWN[i].y) > 1e-14 * fabs(y))
            fail_msg("%sT(%g) is %.17g, not %.17g", KNOWN[i].text, KNOWN[i].x,
                     y, KNOWN[i].y);
        gsv_model_free(m);
    }
}

/* Quadratures against antiderivatives, far out. */
static double of_cubic(double x)
{
    return x + x * x * x / 3.0;
}

static double of_softplus_slope(double x) /* 1 / (1 + exp(-x)) */
{
    return x - exp(-x);
}

static double of_root_inverse(double x) /* 1 / sqrt(1 + x^2) */
{
    return 0.5 * (x * sqrt(1.0 + x * x) + asinh(x));
}

static double of_affine_exp(double x) /* 1 + exp(x) */
{
    return x - log1p(exp(x));
}

static double of_tanh(double x) /* tanh(x) + 2 */
{
    return (2.0 * x - log(2.0 * cosh(x) + sinh(x))) / 3.0;
}

static void quadrature__is_exact_to_twelve_digits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double (*U)(double x);
        double low, high;
    } KNOWN[] = {
        {ONE("1/(1 + x^2)"), of_cubic, -1000, 1000},
        {ONE("sigmoid(x)"), of_softplus_slope, -30, 1000},
        {ONE("1/sqrt(1 + x^2)"), of_root_inverse, -1000, 1000},
        {ONE("(1 + exp(x))"), of_affine_exp, -1000, 25},
        {ONE("(tanh(x) + 2)"), of_tanh, -300, 300},
    };
    for (size_t i = 0; i < COUNT(KNOWN); i++) {
        gsv_model *m = parse(KNOWN[i].text);
        assert_true(m->spec->numerical);
        for (int k = -60; k <= 60; k++) {
            double x = sinh(k * 0.13), y, back, again;
            if (x < KNOWN[i].low || x > KNOWN[i].high) continue;
            double wanted = KNOWN[i].U(x) - KNOWN[i].U(0.0);
            evaluate(m, m->unit_state, &x, &y);
            if (fabs(y - wanted) > 1e-12 * (1.0 + fabs(wanted)))
                fail_msg("%sT(%g) is %.17g, not %.17g", KNOWN[i].text, x, y,
                         wanted);
            evaluate(m, m->data_state, &y, &back);
            evaluate(m, m->unit_state, &back, &again);
            if (fabs(again - y) > 1e-12 * (1.0 + fabs(y)))
                fail_msg("%sT(T^-1(%.17g)) is %.17g", KNOWN[i].text, y, again);
        }
        gsv_model_free(m);
    }
}

/* --- Splitting ----------------------------------------------------------- */

/* The factors of dW1 and dW2 have the same shape, or not. */
static void shapes__are_found_equal(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool same;
    } PAIR[] = {
        {"2*x", "x", true},
        {"-x", "x/b", true},
        {"b*x*a", "x", true},
        {"sqrt(2*x)", "b*sqrt(x)", true},
        {"sqrt(b^2*x)", "sqrt(x)", true},
        {"sqrt(x/exp(b))", "sqrt(x)", true},
        {"x*x", "3*x^2", true},
        {"x^a", "b*x^a", true},
        {"x^a", "x^b", false},
        {"sqrt(b*x)", "2*sqrt(b*x)", true},
        {"2 + 4*x", "1 + 2*x", true},
        {"2 - 4*x", "1 - 2*x", true},
        {"2 + 4*x", "2 + x", false},
        {"a + 4*x", "2*(a/4 + x)", true},
        {"x*(1 - x)", "2*(x - x^2)", true},
        {"x*(1 - x)", "b*(1 - x)*x", true},
        {"sqrt(x*(1 - x))", "sqrt(x)*sqrt(1 - x)", true},
        {"sqrt(2 + 2*x^2)", "sqrt(1 + x*x)", true},
        {"exp(a + x)", "exp(x)", true},
        {"exp(2*x)/exp(x)", "exp(x)", true},
        {"exp(2*x)", "exp(x)", false},
        {"b*(2 + tanh(x))", "a*(2 + tanh(x))/3", true},
        {"x/sqrt(x)", "sqrt(x)", true},
        {"abs(-2*x)", "x", true},
        {"x", "sqrt(x)", false},
    };
    for (size_t i = 0; i < COUNT(PAIR); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "state x, y\nparam a = 0.5, b = 0.5\n"
                 "dx = -x*dt + (%s)*dW1 + (%s)*dW2\ndy = -y*dt + dW3\n",
                 PAIR[i].first, PAIR[i].second);
        gsv_model *m = parse(text);
        if (m->bridged == PAIR[i].same)
            fail_msg("%s and %s were found %s", PAIR[i].first, PAIR[i].second,
                     m->bridged ? "different" : "the same");
        gsv_model_free(m);
    }
}

/* The product of what was split is what there was. */
static void split__loses_nothing(void **state)
{
    (void)state;
    static const char *const FACTOR[] = {
        "2*x",
        "-a*x/b",
        "sqrt(b^2*x)*b",
        "abs(-2*x)^1.5",
        "sqrt(b*x)/x",
        "(2 - 4*x)^3*exp(a - x)",
        "sqrt(3*x - x^2)",
        "(a*x - b*x^2)^a",
        "(2 + 3*tanh(x))^(-2)*x",
        "(x^a)^b*sqrt(sqrt(x)/4)",
    };
    for (size_t i = 0; i < COUNT(FACTOR); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "state x\nparam a = 0.7, b = 0.6\ndx = -x*dt + (%s)*dW\n",
                 FACTOR[i]);
        gsv_model *m = parse(text);
        struct graph *g = m->spec->graph;
        node leaf = graph_leaf(g, OP_STATE, 0, 1, 1), constant, shape;
        node factor = m->spec->diffusion;
        assert_true(lamperti_split(g, factor, leaf, &constant, &shape));
        assert_false(graph_depends(g, constant, OP_STATE));
        double x = 0.37, whole, part[2];
        evaluate(m, factor, &x, &whole);
        evaluate(m, constant, &x, &part[0]);
        evaluate(m, shape, &x, &part[1]);
        if (fabs(part[0] * part[1] - whole) > 1e-14 * fabs(whole))
            fail_msg("%s is %g, not %g times %g", FACTOR[i], whole, part[0],
                     part[1]);
        gsv_model_free(m);
    }
}

static void split__refuses_what_is_not_by_elements(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "state x, y\ndx = -x*dt + y*dW\ndy = -y*dt + dW\n",
        "state x, y\ndx = -x*dt + x*y*dW\ndy = -y*dt + dW\n",
        "state x[2]\ndx = -x*dt + sum(x)*dW\n",
        "state x[2]\nparam A[2,2] = 1\ndx = -x*dt + (A @ x)*dW\n",
        "state x[2]\ndx = -x*dt + [x[2], x[1]]*dW\n",
        "state x\nnet f(x) -> 1 : 4 tanh\ndx = -x*dt + f*dW\n",
        "state x\ndx = -x*dt + x*dW1 + sqrt(x)*dW2\n",
        /* Never positive at all. */
        "state x\ndx = -x*dt + (-2 - tanh(x))*dW\n",
    };
    for (size_t i = 0; i < COUNT(TEXT); i++) {
        gsv_model *m = parse(TEXT[i]);
        if (!m->bridged) fail_msg("%sis not bridged", TEXT[i]);
        gsv_model_free(m);
    }
}

/* An expression that doubles itself many times over is given up, not walked. */
static void split__gives_up_what_grows_without_end(void **state)
{
    (void)state;
    char text[4000] = "state x\nlet a0 = 2 + tanh(x)\n";
    for (int i = 1; i < 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "let a%d = tanh(a%d*a%d) + a%d\n", i, i - 1, i - 1, i - 1);
    strcat(text, "dx = -x*dt + a59*a59*dW\n");
    gsv_model *m = parse(text);
    gsv_model_free(m);
}

/* --- Memory -------------------------------------------------------------- */

static void maps__survive_every_allocation_that_fails(void **state)
{
    (void)state;
    static const char *const TEXT[] = {ONE("s*x^0.3*(1 - x)^0.7"),
                                       TWO("p = 0.8", "s*x^p")};
    for (size_t i = 0; i < COUNT(TEXT); i++) {
        gsv_model *m = NULL;
        size_t n = 0;
        while (!m && n < 20000) {
            mem_fail_at(++n);
            m = gsv_model_parse(TEXT[i], "test.sde");
            mem_fail_at(0);
            if (!m) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        }
        assert_true(m && n > 50);
        assert_false(m->bridged);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps__are_the_known_ones),
        cmocka_unit_test(quadrature__is_exact_to_twelve_digits),
        cmocka_unit_test(shapes__are_found_equal),
        cmocka_unit_test(split__loses_nothing),
        cmocka_unit_test(split__refuses_what_is_not_by_elements),
        cmocka_unit_test(split__gives_up_what_grows_without_end),
        cmocka_unit_test(maps__survive_every_allocation_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
