/* SPDX-License-Identifier: MIT */
/* Lamperti's maps through whole models: T and its inverse, its derivative
 * against 1/g, the drift of unit diffusion against Ito's formula by
 * differences of T, gradients by parameters, domain and range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "lamperti_cases.h"
#include "model/model.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { DIM = 3, NOISES = 3 };

static const double TIME = 0.3;

/* --- Help ---------------------------------------------------------------- */

static gsv_model *parse(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s\n%s", gsv_last_error(), text);
    return m;
}

static void evaluate(const gsv_model *m, node what, double t, const double *x,
                     double *out)
{
    struct points in = {.P = 1, .state = x, .time = &t};
    assert_int_equal(model_evaluate(m, what, &in, true, out), 0);
}

/* Elements beside each other, so that they are not all the same. */
static void point_of(const struct model_case *c, size_t i, double *x)
{
    for (size_t r = 0; r < DIM; r++)
        x[r] = c->x[(i + r) % POINTS];
}

static void expect(const struct model_case *c, size_t i, const char *what,
                   double got, double wanted, double tolerance)
{
    if (fabs(got - wanted) <= tolerance * (1.0 + fabs(wanted))) return;
    fail_msg("%sat %g, %s is %.15g, should be %.15g", c->text, c->x[i], what,
             got, wanted);
}

static void for_all(void (*check)(const struct model_case *c, gsv_model *m,
                                  size_t i, const double *x))
{
    for (size_t k = 0; k < COUNT(CASE); k++) {
        gsv_model *m = parse(CASE[k].text);
        if (m->bridged) fail_msg("%sis bridged", CASE[k].text);
        for (size_t i = 0; i < POINTS; i++) {
            double x[DIM];
            point_of(&CASE[k], i, x);
            check(&CASE[k], m, i, x);
        }
        gsv_model_free(m);
    }
}

/* --- T and its inverse --------------------------------------------------- */

static void check_inverse(const struct model_case *c, gsv_model *m, size_t i,
                          const double *x)
{
    double y[DIM], back[DIM], again[DIM];
    evaluate(m, m->unit_state, TIME, x, y);
    evaluate(m, m->data_state, TIME, y, back);
    evaluate(m, m->unit_state, TIME, back, again);
    for (size_t r = 0; r < m->spec->dim; r++) {
        expect(c, i, "T^-1(T(x))", back[r], x[r], 1e-10);
        expect(c, i, "T(T^-1(y))", again[r], y[r], 1e-12);
    }
}

static void map__has_its_inverse(void **state)
{
    (void)state;
    for_all(check_inverse);
}

/* (T^-1)'(y) T'(x) v = v. */
static void check_push(const struct model_case *c, gsv_model *m, size_t i,
                       const double *x)
{
    size_t d = m->spec->dim;
    double at[2 * DIM], back[2 * DIM], v[DIM];
    for (size_t r = 0; r < d; r++)
        at[r] = x[r], at[d + r] = 1.0 + (double)r;
    evaluate(m, m->unit_state, TIME, x, back);
    evaluate(m, m->forth[2], TIME, at, back + d);
    evaluate(m, m->back[1], TIME, back, v);
    for (size_t r = 0; r < d; r++)
        expect(c, i, "what was pushed there and back", v[r], at[d + r], 1e-10);
}

static void pushes__are_inverse(void **state)
{
    (void)state;
    for_all(check_push);
}

static void map__is_a_quadrature_only_where_it_must_be(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(CASE); k++) {
        gsv_model *m = parse(CASE[k].text);
        if (m->spec->numerical != CASE[k].numerical)
            fail_msg("%sis %sa quadrature", CASE[k].text,
                     m->spec->numerical ? "" : "not ");
        gsv_model_free(m);
    }
}

/* --- Its derivatives ----------------------------------------------------- */

/* The columns of the diffusion at x. */
static size_t columns_of(const gsv_model *m, const double *x,
                         double column[NOISES][DIM])
{
    const struct spec *s = m->spec;
    double g[DIM * NOISES];
    evaluate(m, s->diffusion, TIME, x, g);
    memset(column, 0, NOISES * sizeof *column);
    for (size_t r = 0; r < s->dim; r++)
        for (size_t k = 0; k < s->noises; k++)
            if (s->diagonal) column[r][r] = g[r];
            else column[k][r] = g[r * s->noises + k];
    return s->noises;
}

/* T at x + h v. */
static void along(const gsv_model *m, const double *x, double h,
                  const double *v, double *y)
{
    double moved[DIM];
    for (size_t r = 0; r < m->spec->dim; r++)
        moved[r] = x[r] + h * v[r];
    evaluate(m, m->unit_state, TIME, moved, y);
}

/* A distance that stays within the domain. */
static double room_at(const gsv_model *m, const double *x)
{
    double margin[4 * DIM], least = 1.0;
    size_t n = m->domain ? graph_size(m->spec->graph, m->domain) : 0;
    assert_true(n <= COUNT(margin));
    if (n) evaluate(m, m->domain, TIME, x, margin);
    for (size_t i = 0; i < n; i++)
        least = fmin(least, margin[i]);
    return 2e-3 * least;
}

/* T's first and second derivatives along v by differences of 4th order. */
static void differences(const gsv_model *m, const double *x, const double *v,
                        double *first, double *second)
{
    double y[5][DIM], most = 0.0;
    for (size_t r = 0; r < m->spec->dim; r++)
        most = fmax(most, fabs(v[r]));
    double h = room_at(m, x) / (most > 0.0 ? most : 1.0);
    for (int k = -2; k <= 2; k++)
        along(m, x, k * h, v, y[k + 2]);
    for (size_t r = 0; r < m->spec->dim; r++) {
        first[r] = (8.0 * (y[3][r] - y[1][r]) - (y[4][r] - y[0][r])) / 12.0 / h;
        second[r] = (16.0 * (y[3][r] + y[1][r]) - (y[4][r] + y[0][r]) -
                     30.0 * y[2][r]) /
                    (12.0 * h * h);
    }
}

/* T' g is orthogonal: 1 in one dimension. */
static void check_slope(const struct model_case *c, gsv_model *m, size_t i,
                        const double *x)
{
    double column[NOISES][DIM], first[NOISES][DIM], second[DIM];
    size_t n = columns_of(m, x, column), d = m->spec->dim;
    for (size_t k = 0; k < n; k++)
        differences(m, x, column[k], first[k], second);
    for (size_t r = 0; r < d; r++)
        for (size_t q = 0; q < d; q++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += first[k][r] * first[k][q];
            expect(c, i, "T' g g' T''", sum, r == q, 1e-7);
        }
}

static void map__makes_diffusion_one(void **state)
{
    (void)state;
    for_all(check_slope);
}

static double determinant(size_t d, double a[DIM][DIM])
{
    if (d == 1) return a[0][0];
    if (d == 2) return a[0][0] * a[1][1] - a[0][1] * a[1][0];
    double sum = 0.0;
    for (size_t i = 0; i < 3; i++) {
        size_t j = (i + 1) % 3, k = (i + 2) % 3;
        sum += a[0][i] * (a[1][j] * a[2][k] - a[1][k] * a[2][j]);
    }
    return sum;
}

static void check_jacobian(const struct model_case *c, gsv_model *m, size_t i,
                           const double *x)
{
    double slope[DIM][DIM], second[DIM], log_jacobian;
    for (size_t k = 0; k < m->spec->dim; k++) {
        double unit[DIM] = {0};
        unit[k] = 1.0;
        differences(m, x, unit, slope[k], second);
    }
    evaluate(m, m->log_jacobian, TIME, x, &log_jacobian);
    expect(c, i, "log |det dT/dx|", log_jacobian,
           log(fabs(determinant(m->spec->dim, slope))), 1e-7);
}

static void log_jacobian__is_that_of_the_map(void **state)
{
    (void)state;
    for_all(check_jacobian);
}

/* --- Ito's formula ------------------------------------------------------- */

/* f~ = dT/dt + T' f + sum over columns of T''[g, g] / 2. */
static void check_drift(const struct model_case *c, gsv_model *m, size_t i,
                        const double *x)
{
    double column[NOISES][DIM], first[DIM], second[DIM], sum[DIM], y[DIM];
    double later[DIM], earlier[DIM], got[DIM], drift[DIM];
    size_t n = columns_of(m, x, column), d = m->spec->dim;
    evaluate(m, m->unit_state, TIME + 1e-4, x, later);
    evaluate(m, m->unit_state, TIME - 1e-4, x, earlier);
    evaluate(m, m->spec->drift, TIME, x, drift);
    differences(m, x, drift, first, second);
    for (size_t r = 0; r < d; r++)
        sum[r] = first[r] + (later[r] - earlier[r]) / 2e-4;
    for (size_t k = 0; k < n; k++) {
        differences(m, x, column[k], first, second);
        for (size_t r = 0; r < d; r++)
            sum[r] += 0.5 * second[r];
    }
    evaluate(m, m->unit_state, TIME, x, y);
    evaluate(m, m->unit_drift, TIME, y, got);
    for (size_t r = 0; r < d; r++)
        expect(c, i, "f~", got[r], sum[r], 1e-5);
}

static void unit_drift__is_ito_s(void **state)
{
    (void)state;
    for_all(check_drift);
}

/* --- Gradients ----------------------------------------------------------- */

/* A weighted sum of a node's elements, and its gradient by all parameters. */
static double weighted(const gsv_model *m, node what, const double *x)
{
    double value[2 * DIM], sum = 0.0;
    evaluate(m, what, TIME, x, value);
    for (size_t r = 0; r < graph_size(m->spec->graph, what); r++)
        sum += (1.0 + (double)r) * value[r];
    return sum;
}

static void gradient(const gsv_model *m, node what, const double *x,
                     double *p_bar)
{
    struct uniforms u;
    struct workspace w;
    struct points in = {.P = 1, .state = x, .time = &TIME};
    double bar[2 * DIM];
    const double *output_bar = bar;
    struct program *p =
        program_new(m->spec->graph, 1, &what, m->spec->parameters, true);
    assert_non_null(p);
    assert_int_equal(uniforms_init(&u, p), 0);
    assert_int_equal(workspace_init(&w, p, 1, true, false), 0);
    double *uniform_bar = NEW(double, program_uniforms(p));
    assert_non_null(uniform_bar);
    for (size_t r = 0; r < COUNT(bar); r++)
        bar[r] = 1.0 + (double)r;
    program_prepare(p, m->value, &u);
    program_forward(p, &u, &w, &in);
    program_vjp(p, &u, &w, &in, &output_bar, NULL, uniform_bar);
    program_finish(p, &u, uniform_bar);
    memcpy(p_bar, uniform_bar, m->spec->parameters * sizeof *p_bar);
    mem_free(uniform_bar);
    workspace_free(&w);
    uniforms_free(&u);
    program_free(p);
}

static void check_node(const struct model_case *c, gsv_model *m, size_t i,
                       const char *name, node what, const double *x)
{
    double p_bar[16], h = 1e-4;
    assert_true(m->spec->parameters <= COUNT(p_bar));
    gradient(m, what, x, p_bar);
    for (size_t j = 0; j < m->spec->parameters; j++) {
        double kept = m->value[j], at[5];
        for (int k = -2; k <= 2; k++) {
            m->value[j] = kept + k * h;
            at[k + 2] = weighted(m, what, x);
        }
        m->value[j] = kept;
        double wanted = (8.0 * (at[3] - at[1]) - (at[4] - at[0])) / (12.0 * h);
        expect(c, i, name, p_bar[j], wanted, 1e-7);
    }
}

/* The divergence is a derivative already: its gradient is the inverse's second
 * derivative. */
static void check_gradients(const struct model_case *c, gsv_model *m, size_t i,
                            const double *x)
{
    double y[DIM];
    struct graph *g = m->spec->graph;
    node leaf = graph_leaf(g, OP_STATE, 0, m->spec->dim, 1);
    node divergence = graph_divergence(g, m->unit_drift, leaf);
    evaluate(m, m->unit_state, TIME, x, y);
    check_node(c, m, i, "the gradient of T", m->unit_state, x);
    check_node(c, m, i, "the gradient of log |T'|", m->log_jacobian, x);
    check_node(c, m, i, "the gradient of T^-1", m->data_state, y);
    check_node(c, m, i, "the gradient of f~", m->unit_drift, y);
    check_node(c, m, i, "the gradient of div f~", divergence, y);
}

static void gradients__agree_with_differences(void **state)
{
    (void)state;
    for_all(check_gradients);
}

/* div f~ and f~' by the state, by differences of f~. */
static void check_divergence(const struct model_case *c, gsv_model *m, size_t i,
                             const double *x)
{
    struct graph *g = m->spec->graph;
    size_t d = m->spec->dim;
    double y[DIM], at[4][DIM], sum = 0.0, got, h = 1e-4;
    evaluate(m, m->unit_state, TIME, x, y);
    for (size_t r = 0; r < d; r++) {
        static const int place[] = {-2, -1, 1, 2};
        double kept = y[r];
        for (size_t k = 0; k < 4; k++) {
            y[r] = kept + place[k] * h;
            evaluate(m, m->unit_drift, TIME, y, at[k]);
        }
        y[r] = kept;
        sum += (8.0 * (at[2][r] - at[1][r]) - (at[3][r] - at[0][r])) / 12.0 / h;
    }
    node leaf = graph_leaf(g, OP_STATE, 0, d, 1);
    evaluate(m, graph_divergence(g, m->unit_drift, leaf), TIME, y, &got);
    expect(c, i, "div f~", got, sum, 1e-6);
}

static void divergence__agrees_with_differences(void **state)
{
    (void)state;
    for_all(check_divergence);
}

/* --- Domain and range ---------------------------------------------------- */

static double least_of(const gsv_model *m, node what, const double *x)
{
    double value[4 * DIM], least = INFINITY;
    size_t n = graph_size(m->spec->graph, what);
    assert_true(n <= COUNT(value));
    evaluate(m, what, TIME, x, value);
    for (size_t i = 0; i < n; i++)
        least = fmin(least, value[i]);
    return least;
}

static void check_inside(const struct model_case *c, gsv_model *m, size_t i,
                         const double *x)
{
    double y[DIM];
    evaluate(m, m->unit_state, TIME, x, y);
    if (m->domain && !(least_of(m, m->domain, x) > 0.0))
        fail_msg("%s%g is not in the domain", c->text, c->x[i]);
    if (m->range && !(least_of(m, m->range, y) > 0.0))
        fail_msg("%s%g is not in the range", c->text, y[0]);
}

static void domain_and_range__have_what_is_inside(void **state)
{
    (void)state;
    for_all(check_inside);
}

static void expect_outside(const struct model_case *c, const gsv_model *m,
                           const char *name, node what, double bad)
{
    const double at[DIM] = {bad, bad, bad};
    if (isnan(bad)) return;
    if (isinf(bad) && what) return;
    if (!what) fail_msg("%shas no %s", c->text, name);
    if (!(least_of(m, what, at) < 0.0))
        fail_msg("%s%g is in the %s", c->text, bad, name);
}

/* Where a case says that nothing is outside, there are no conditions, but for
 * powers that may come to 1, where the range becomes everything. */
static void domain_and_range__leave_out_what_is_outside(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(CASE); k++) {
        const struct model_case *c = &CASE[k];
        gsv_model *m = parse(c->text);
        expect_outside(c, m, "domain", m->domain, c->bad_x);
        expect_outside(c, m, "range", m->range, c->bad_y);
        if (isnan(c->bad_x) && m->domain) fail_msg("%shas a domain", c->text);
        if (isnan(c->bad_y) && m->range && !strstr(c->text, "^p"))
            fail_msg("%shas a range", c->text);
        gsv_model_free(m);
    }
}

/* Where its parameters can turn a base negative, the domain watches it. */
static void domain__has_bases_that_may_turn(void **state)
{
    (void)state;
    gsv_model *m = parse(TWO("a = 1.3", "s*(a + tanh(x))"));
    const double x = -2.0;
    assert_true(m->domain != 0);
    assert_true(least_of(m, m->domain, &x) > 0.0);
    m->value[1] = 0.9;
    assert_true(least_of(m, m->domain, &x) < 0.0);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map__is_a_quadrature_only_where_it_must_be),
        cmocka_unit_test(map__has_its_inverse),
        cmocka_unit_test(pushes__are_inverse),
        cmocka_unit_test(map__makes_diffusion_one),
        cmocka_unit_test(log_jacobian__is_that_of_the_map),
        cmocka_unit_test(unit_drift__is_ito_s),
        cmocka_unit_test(gradients__agree_with_differences),
        cmocka_unit_test(divergence__agrees_with_differences),
        cmocka_unit_test(domain_and_range__have_what_is_inside),
        cmocka_unit_test(domain_and_range__leave_out_what_is_outside),
        cmocka_unit_test(domain__has_bases_that_may_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
