/* SPDX-License-Identifier: MIT */
/* Gaussian-process functions in models: their parameters, the gradient of the
 * likelihood against differences, likelihoods that a formula has too, and
 * where grids are put over data. */
#include <stdio.h>

#include "exact.h"

#include "learn/start.h"
#include "model/gp_rows.h"

static const double CLOSE = 2e-8;

/* All values that are learned at random, those with bounds a little off. */
static void shake(gsv_model *m, uint64_t seed)
{
    size_t n = gsv_theta_size(m);
    double *theta = NEW(double, n), *z = normals(n, seed);
    gsv_theta_get(m, theta);
    for (size_t i = 0; i < n; i++)
        theta[i] += 0.3 * z[i];
    gsv_theta_set(m, theta);
    mem_free(theta);
    mem_free(z);
}

static void expect_param(const gsv_model *m, const char *name, size_t rows,
                         size_t columns, double first, bool scale)
{
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (strcmp(p.name, name)) continue;
        assert_int_equal(p.rows, rows);
        assert_int_equal(p.columns, columns);
        assert_int_equal(p.scale, scale);
        assert_true(p.gp && !p.weight);
        assert_near(gsv_model_value(m)[p.offset], first, 1e-15);
        return;
    }
    fail_msg("there is no '%s'", name);
}

static void parameters__are_named_and_start_somewhere(void **state)
{
    (void)state;
    gsv_model *m = model_of(
        "state x, y\n const top = 4\n"
        "gp h(x, y) -> 2 : grid 8 5 over [-4, top] [0, 1] rbf + quadratic\n"
        "gp k(x) -> 1 : grid 6 matern52\n"
        "dx = (h[1] + k(y))*dt + dW\n dy = h[2]*dt + dW");
    expect_param(m, "h.value", 2, 40, 0.0, false);
    expect_param(m, "h.weight", 2, 6, 0.0, false);
    expect_param(m, "h.length", 2, 1, 2.0, false);
    expect_param(m, "h.amplitude", 2, 1, 1.0, false);
    expect_param(m, "h.poly_amplitude", 2, 1, 1.0, false);
    expect_param(m, "h.grid_low", 2, 1, -4.0, true);
    expect_param(m, "h.grid_high", 2, 1, 4.0, true);
    expect_param(m, "k.value", 1, 6, 0.0, false);
    expect_param(m, "k.length", 1, 1, 0.5, false);
    expect_param(m, "k.grid_low", 1, 1, -1.0, true);
    gsv_model_free(m);
}

/* --- The gradient --------------------------------------------------------- */

static const struct {
    const char *text;
    enum gsv_form form;
} MODELS[] = {
    /* Physics plus a gp with a polynomial; in time; in two dimensions. */
    {"state x\n param a = 1, s = 0.7 > 0\n"
     "gp h(x) -> 1 : grid 6 over [-2, 2] rbf + cubic\n"
     "dx = (a*x + h)*dt + s*dW",
     GSV_FORM_AUTO},
    {"state x\n param s = 0.7 > 0\n gp h(x, t) -> 1 : grid 4 5 over [-2, 2] "
     "[0, 1] matern32\n dx = (h - x)*dt + s*dW",
     GSV_FORM_AUTO},
    {"state x, y\n param s = 0.7 > 0\n"
     "gp h(x, y) -> 2 : grid 4 5 over [-2, 2] matern52 + linear\n"
     "dx = h[1]*dt + s*dW\n dy = (h[2] - y)*dt + s*dW",
     GSV_FORM_MIDPOINT},
    /* The divergence, and derivatives in the drift. */
    {"state x, y\n param s = 0.7 > 0\n"
     "gp h(x, y) -> 2 : grid 4 over [-2, 2] matern52 + linear\n"
     "dx = h[1]*dt + s*dW\n dy = (h[2] - y)*dt + s*dW",
     GSV_FORM_STRATONOVICH},
    {"state q, p\n param c = 0.1 > 0, s = 0.6 > 0\n"
     "gp H(q, p) -> 1 : grid 5 over [-3, 3] rbf + quadratic\n"
     "dq = grad(H, p)*dt + s*dW\n dp = (-grad(H, q) - c*p)*dt + s*dW",
     GSV_FORM_ITO},
    /* Inputs, noise that depends on the state, a state that is a map. */
    {"state x\n input u\n param a = 1, s = 0.7 > 0\n"
     "gp h(x, u) -> 1 : grid 4 over [-2, 2] rbf\n dx = (h - a*x)*dt + s*dW",
     GSV_FORM_AUTO},
    {"state x\n param s = 0.3 > 0, b = 0.2\n"
     "gp h(x) -> 1 : grid 6 over [-3, 3] rbf + linear\n"
     "dx = (h - x)*dt + s*sqrt(1 + exp(b)*x^2)*dW",
     GSV_FORM_AUTO},
    {"state z = asinh(x)\n param s = 0.5 > 0\n"
     "gp h(z) -> 1 : grid 6 over [-2, 2] matern52\n dz = h*dt + s*dW",
     GSV_FORM_AUTO},
};

static void gradient__agrees_with_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = model_of(MODELS[i].text);
        shake(m, i + 1);
        gsv_series *s = walk_of(m, 2, 4, 0.3, 3);
        gsv_options o = usual_options();
        gsv_gradient_check check;
        o.paths = 8;
        o.steps = 4;
        o.form = MODELS[i].form;
        if (gsv_check_gradient(m, s, &o, &check))
            fail_msg("%s", gsv_last_error());
        if (!(check.worst < CLOSE))
            fail_msg("model %zu: gradient off by %g at number %zu", i,
                     check.worst, check.where);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void gradient__is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of(MODELS[2].text);
    shake(m, 7);
    gsv_series *s = walk_of(m, 5, 30, 0.2, 4);
    gsv_options o = usual_options();
    o.gradient = true;
    o.threads = 1;
    gsv_result one = loglik_of(m, s, &o);
    o.threads = 3;
    gsv_result three = loglik_of(m, s, &o);
    assert_memory_equal(one.gradient, three.gradient,
                        one.values * sizeof *one.gradient);
    gsv_result_free(&one);
    gsv_result_free(&three);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Against formulas ----------------------------------------------------- */

/* On a grid a quadratic is exact: 1 + x y - x^2 at the nodes is that in
 * between; and so is a polynomial with the weights of the scaled arguments. */
static void drift__is_that_of_the_function_on_the_nodes(void **state)
{
    (void)state;
    gsv_model *m =
        model_of("state x, y\n gp h(x, y) -> 1 : grid 5 4 over [-2, 2] [0, 3] "
                 "rbf\n dx = h*dt + dW\n dy = grad(h, x)*dt + dW");
    double value[20], x[] = {-1.3, 0.2, 2.0, 0.7, 2.9, 0.0}, f[6], t[3] = {0};
    for (size_t i = 0; i < 20; i++) {
        double u = (double)(i / 4) - 2.0, v = (double)(i % 4);
        value[i] = 1.0 + u * v - u * u;
    }
    assert_int_equal(gsv_model_set(m, "h.value", 20, value), 0);
    assert_int_equal(gsv_model_drift(m, 3, t, x, NULL, f), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_near(f[i], 1.0 + x[i] * x[3 + i] - x[i] * x[i], 1e-13);
        assert_near(f[3 + i], x[3 + i] - 2.0 * x[i], 1e-13);
    }
    gsv_model_free(m);
}

static void likelihood__is_that_of_the_same_formula(void **state)
{
    (void)state;
    gsv_model *a = model_of("state x\n param s = 0.8 > 0\n"
                            "gp h(x) -> 1 : grid 4 over [-5, 15] rbf + cubic\n"
                            "dx = (x + h)*dt + s*dW");
    gsv_model *b = model_of("state x\n param s = 0.8 > 0\n"
                            "dx = (x + 0.3 - 2*((x - 5)/10) - 4*((x - 5)/10)^2 "
                            "+ 0.5*((x - 5)/10)^3)*dt + s*dW");
    const double weight[] = {0.3, -2.0, -4.0, 0.5};
    assert_int_equal(gsv_model_set(a, "h.weight", 4, weight), 0);
    gsv_series *s = walk_of(b, 2, 6, 0.4, 5);
    gsv_options o = usual_options();
    gsv_result first = loglik_of(a, s, &o), second = loglik_of(b, s, &o);
    assert_near(first.loglik, second.loglik, 1e-10);
    gsv_result_free(&first);
    gsv_result_free(&second);
    gsv_series_free(s);
    gsv_model_free(a);
    gsv_model_free(b);
}

/* --- Data ----------------------------------------------------------------- */

static gsv_series *rows_of(const gsv_model *m)
{
    const double time[] = {0, 1, 2, 3, 4}, x[] = {1, 2, 6, 3, 1};
    return track_of(m, 5, time, x);
}

static void grids__are_put_over_the_data(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n gp h(2*x, t) -> 1 : grid 4 rbf\n"
                            "gp k(x) -> 1 : grid 4 over [1.5, 3] rbf\n"
                            "dx = (h + k)*dt + dW");
    gsv_series *s = rows_of(m);
    struct gp_count n;
    assert_int_equal(gp_outside(m, s, 0, &n), 0);
    assert_int_equal(n.rows, 5);
    assert_int_equal(n.outside, 5);
    assert_int_equal(start_grids(m, s), 0);
    const double box[] = {0.0, -0.8, 14.0, 4.8}, length[] = {3.5, 1.4};
    for (size_t i = 0; i < 4; i++)
        assert_near(m->value[m->spec->gp[0].box + i], box[i], 1e-14);
    for (size_t i = 0; i < 2; i++)
        assert_near(m->value[m->spec->gp[0].length + i], length[i], 1e-14);
    assert_int_equal(gp_outside(m, s, 0, &n), 0);
    assert_int_equal(n.outside, 0);
    assert_near(m->value[m->spec->gp[1].box], 1.5, 0.0);
    assert_int_equal(gp_outside(m, s, 1, &n), 0);
    assert_int_equal(n.outside, 3);
    /* What has a place keeps it. */
    m->value[m->spec->gp[0].box] = -7.0;
    assert_int_equal(start_grids(m, s), 0);
    assert_near(m->value[m->spec->gp[0].box], -7.0, 0.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void grids__of_latent_states_need_a_place(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n gp h(x) -> 1 : grid 4 rbf\n"
                            "dx = h*dt + dW\n obs y ~ normal(x, 0.1)");
    const double time[] = {0, 1, 2}, y[] = {1, 2, 3};
    const size_t start[] = {0, 3};
    const char *const name[] = {"y"};
    gsv_series *s = gsv_series_new(1, start, 1, name, time, y);
    assert_non_null(s);
    assert_int_equal(start_grids(m, s), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(),
                        "data says nothing of the arguments of the gp 'h', so "
                        "its grid has no place; write one after it, such as "
                        "'over [-3, 3]'");
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters__are_named_and_start_somewhere),
        cmocka_unit_test(gradient__agrees_with_differences),
        cmocka_unit_test(gradient__is_the_same_for_any_number_of_threads),
        cmocka_unit_test(drift__is_that_of_the_function_on_the_nodes),
        cmocka_unit_test(likelihood__is_that_of_the_same_formula),
        cmocka_unit_test(grids__are_put_over_the_data),
        cmocka_unit_test(grids__of_latent_states_need_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
