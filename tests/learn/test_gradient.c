/* SPDX-License-Identifier: MIT */
/* The gradient against central differences of the same estimate, over every
 * kind of model, data and blocking; and where it is known exactly. */
#include <stdio.h>

#include "exact.h"

/* Asked for is 1e-6; what rounding leaves of the differences is below this. */
static const double CLOSE = 2e-8;

struct shape {
    size_t tracks, rows;
    double h;
    size_t paths, steps;
    bool joint;
};

static const struct shape USUAL = {2, 4, 0.3, 9, 6, false};

static void assert_gradient(gsv_model *m, const struct shape *shape)
{
    gsv_series *s = walk_of(m, shape->tracks, shape->rows, shape->h, 3);
    gsv_options o = usual_options();
    gsv_gradient_check check;
    o.paths = shape->paths;
    o.steps = shape->steps;
    o.joint = shape->joint;
    if (gsv_check_gradient(m, s, &o, &check)) fail_msg("%s", gsv_last_error());
    if (!(check.worst < CLOSE))
        fail_msg("gradient off by %g at number %zu of '%s ...'", check.worst,
                 check.where, gsv_model_param(m, 0).name);
    gsv_series_free(s);
}

#define LORENZ                                                                 \
    "state x, y, z\n param s = 8, r = 25, b = 2, q = 1 > 0\n"                  \
    "dx = s*(y - x)*dt + q*dW\n dy = (x*(r - z) - y)*dt + q*dW\n"              \
    "dz = (x*y - b*z)*dt + q*dW"

static const char *const MODELS[] = {
    "state x\n param k = 1 > 0, s = 1 > 0\n dx = -k*x*dt + s*dW",
    "state x[7]\n param k = 1, m[7] = 0.2, s[7] = [1,2,3,.4,.5,.6,.7]\n"
    "dx = k*(m - x)*dt + s*dW",
    LORENZ,
    /* Matrices. */
    "state x[3]\n param A[3,3] = [-1,.5,0, -.5,-1,.2, .1,0,-2], b[3] = 0.3\n"
    "param L[3,3] = [1,0,0, .2,.7,0, -.3,.4,.5] lower\n"
    "dx = (A @ x + b)*dt + L @ dW",
    "state x[3]\n param G[3,3] = [0,1,0, 2,0.1,0, -.3,.4,5]\n"
    "dx = -x*dt + G @ dW",
    /* sigma(t). */
    "state x\n param k = 1, s = 0.5 > 0, a = 0.6, w = 3\n"
    "dx = (-k*x + cos(2*t))*dt + s*(1 + a*sin(w*t))*dW",
    "state x[2]\n param L[2,2] = [1,0, .6,.8] lower, w = 2\n"
    "dx = -x*dt + ((2 + sin(w*t))*L) @ dW",
    /* Shared noises; more noises than states, constant and changing. */
    "state x, y\n param a = 1, b = 0.5, c = 2\n"
    "dx = -x*y*dt + a*dW1 + b*dW2\n dy = sin(x)*dt + c*dW2 - b*dW1",
    "state x, y\n param a = 1, b = 0.5, c = 2\n"
    "dx = -x*y*dt + a*dW1 + b*dW2 + dW3\n dy = sin(x)*dt + c*dW2 - b*dW3",
    "state x, y\n param a = 1, b = 0.5, c = 2\n"
    "dx = -x*dt + a*dW1 + b*sin(t)*dW2 + dW3\n dy = c*dW2 - b*t*dW3 + dW1",
    "state x\n param a = 1, b = 0.5\n dx = -x^3*dt + a*dW1 + b*dW2",
    /* Inputs, in the drift and in the noise. */
    "state x\n input u\n param a = 1, b = 0.5, s = 1 > 0\n"
    "dx = (-a*x + b*u)*dt + s*dW",
    "state x\n input u hold\n param a = 1, b = 0.5, s = 1 > 0\n"
    "dx = (-a*x + b*u)*dt + s*dW",
    "state x\n input u\n input v hold\n param a = 1, b = 0.5, s = 1 > 0\n"
    "dx = (-a*x + b*v)*dt + (s + b*exp(u))*dW",
    /* Networks, and a Hamiltonian whose drift is the gradient of one. */
    "state x, y\n net f(x, y) -> 2 : 8 8 relu\n param s = 0.5 > 0\n"
    "dx = f[1]*dt + s*dW\n dy = f[2]*dt + s*dW",
    "state x, y\n net f(x, y, t) -> 2 : 8 tanh\n param s = 0.5 > 0\n"
    "dx = f[1]*dt + s*dW\n dy = f[2]*dt + s*dW",
    "state x\n input u\n net n(x, u) -> 1 : 6 6 silu\n"
    "param a = 1, s = 1 > 0\n dx = (-a*x + n)*dt + s*dW",
    "state q, p\n net H(q, p) -> 1 : 6 6 tanh\n"
    "param c = 0.1 > 0, s = 0.3 > 0\n dq = grad(H, p)*dt + s*dW\n"
    "dp = (-grad(H, q) - c*p)*dt + s*dW",
    /* A network in the noise. */
    "state x\n net g(t) -> 1 : 5 tanh\n dx = -x*dt + exp(g)*dW",
    /* Every kind of bound. */
    "state x\n param a = -1 < 0, b = 0.5 in (0, 2), c = 3 > 2, e = -1\n"
    "dx = (a*x + b*c)*dt + e*dW",
    "state x[2]\n param a[2] = [-1, -3] < -0.5, s[2] = [1, 2] in (0, 5)\n"
    "dx = a*x*dt + s*dW",
};

static void gradient__agrees_for_every_kind_of_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = model_of(MODELS[i]);
        assert_gradient(m, &USUAL);
        gsv_model_free(m);
    }
}

static void gradient__agrees_when_paths_are_joint(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        struct shape shape = USUAL;
        shape.joint = true;
        gsv_model *m = model_of(MODELS[i]);
        assert_gradient(m, &shape);
        gsv_model_free(m);
    }
}

/* One step, odd steps, one path, many tracks, many chunks, many blocks of
 * paths, and slices of steps, an odd one last. */
static void gradient__agrees_however_it_is_cut(void **state)
{
    (void)state;
    static const struct shape shape[] = {
        {1, 2, 0.3, 1, 1, false},     {1, 2, 0.3, 1, 7, true},
        {2, 3, 0.3, 25, 1, false},    {1, 3, 0.3, 13, 5, false},
        {20, 5, 0.2, 8, 4, false},    {20, 5, 0.2, 8, 4, true},
        {14, 6, 0.2, 16, 3, false},   {1, 2, 0.3, 3001, 3, false},
        {1, 3, 0.3, 700, 40, true},   {1, 2, 0.5, 20, 3000, false},
        {1, 3, 0.5, 20, 3001, false}, {2, 3, 0.5, 3, 3001, true},
        {14, 6, 0.2, 300, 30, false}};
    static const char *const text[] = {
        "state x\n param k = 1 > 0, s = 1 > 0\n dx = -k*x*dt + s*dW",
        "state x[2]\n input u\n param a = 1, w = 2\n"
        "param L[2,2] = [1,0, .6,.8] lower\n"
        "dx = a*(sin(x) + u)*dt + ((2 + sin(w*t))*L) @ dW"};
    for (size_t j = 0; j < COUNT(text); j++)
        for (size_t i = 0; i < COUNT(shape); i++) {
            if (shape[i].paths * shape[i].steps > 10000 && j && SLOWER > 1)
                continue;
            gsv_model *m = model_of(text[j]);
            assert_gradient(m, &shape[i]);
            gsv_model_free(m);
        }
}

/* --- A drift in C --------------------------------------------------------- */

/* f_1 = p1 x_1 - x_1^3 + t, f_2 = p2 x_1. */
static void drift(void *user, size_t n, const double *x, const double *p,
                  double *f)
{
    double scale = *(const double *)user;
    for (size_t k = 0; k < n; k++) {
        f[k] = scale * (p[0] * x[k] - x[k] * x[k] * x[k] + x[2 * n + k]);
        f[n + k] = scale * p[1] * x[k];
    }
}

static void drift_vjp(void *user, size_t n, const double *x, const double *p,
                      const double *f_bar, double *x_bar, double *p_bar)
{
    double scale = *(const double *)user;
    for (size_t k = 0; k < n; k++) {
        double a = scale * f_bar[k], b = scale * f_bar[n + k];
        if (x_bar) x_bar[k] += a * (p[0] - 3.0 * x[k] * x[k]) + b * p[1];
        if (x_bar) x_bar[2 * n + k] += a;
        if (p_bar) {
            p_bar[0] += a * x[k];
            p_bar[1] += b * x[k];
        }
    }
}

static gsv_model *callback_model(void)
{
    static double scale = 0.5;
    static const double p[2] = {1.0, -0.7};
    const gsv_callback c = {.inputs = 3,
                            .outputs = 2,
                            .parameters = 2,
                            .parameter = p,
                            .user = &scale,
                            .value = drift,
                            .vjp = drift_vjp};
    gsv_model *m = model_of("state x1, x2\nexternal f(x1, x2, t) -> 2\n"
                            "param s[2] = [0.8, 1.5] > 0\n"
                            "dx1 = f[1]*dt + s[1]*dW\n"
                            "dx2 = f[2]*dt + s[2]*dW");
    if (gsv_model_external(m, "f", &c)) fail_msg("%s", gsv_last_error());
    return m;
}

static void gradient__agrees_for_a_drift_in_c(void **state)
{
    (void)state;
    gsv_model *m = callback_model();
    assert_gradient(m, &USUAL);
    gsv_model_free(m);
}

static void callback__is_the_same_as_the_models_text(void **state)
{
    (void)state;
    gsv_model *a = callback_model();
    gsv_model *b = model_of("state x1, x2\n param p[2] = [1, -0.7]\n"
                            "param s[2] = [0.8, 1.5] > 0\n"
                            "dx1 = 0.5*(p[1]*x1 - x1^3 + t)*dt + s[1]*dW\n"
                            "dx2 = 0.5*p[2]*x1*dt + s[2]*dW");
    gsv_series *s = walk_of(a, 2, 5, 0.3, 4);
    gsv_options o = usual_options();
    o.gradient = true;
    gsv_result r = loglik_of(a, s, &o), q = loglik_of(b, s, &o);
    assert_near(r.loglik, q.loglik, 1e-11);
    assert_int_equal(r.values, 4);
    assert_int_equal(q.values, 4);
    for (size_t i = 0; i < 4; i++)
        assert_near(r.gradient[(i + 2) % 4], q.gradient[i], 1e-10);
    gsv_result_free(&r);
    gsv_result_free(&q);
    gsv_series_free(s);
    gsv_model_free(a);
    gsv_model_free(b);
}

/* --- Where it is known ---------------------------------------------------- */

/* dX = m dt + s dW: every path has the same weight, so there is no error. */
static void gradient__of_constant_drift_is_exact(void **state)
{
    (void)state;
    const double b = 0.7, sigma = -1.3;
    gsv_model *m = model_of("state x\n param m = 0.7, s = -1.3\n"
                            "dx = m*dt + s*dW");
    gsv_series *s = walk_of(m, 2, 6, 0.4, 5);
    double expected[2] = {0.0, 0.0};
    for (size_t r = 0; r + 1 < s->rows; r++) {
        if (r + 1 == s->start[1]) continue;
        double h = s->time[r + 1] - s->time[r];
        double off = s->value[r + 1] - s->value[r] - b * h;
        expected[0] += off / (sigma * sigma);
        expected[1] += off * off / (sigma * sigma * sigma * h) - 1.0 / sigma;
    }
    static const size_t paths[] = {1, 3, 70, 900};
    for (size_t i = 0; i < COUNT(paths); i++) {
        gsv_options o = usual_options();
        o.paths = paths[i];
        o.steps = 1 + 3 * i;
        o.joint = i % 2;
        o.gradient = true;
        gsv_result r = loglik_of(m, s, &o);
        assert_near(r.gradient[0], expected[0], 1e-10);
        assert_near(r.gradient[1], expected[1], 1e-10);
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void gradient__does_not_change_the_value(void **state)
{
    (void)state;
    gsv_model *m = model_of(LORENZ);
    gsv_series *s = walk_of(m, 1, 3, 0.05, 5);
    gsv_options o = usual_options();
    gsv_result plain = loglik_of(m, s, &o);
    o.gradient = true;
    gsv_result r = loglik_of(m, s, &o);
    assert_null(plain.gradient);
    assert_int_equal(r.values, 4);
    assert_near(r.loglik, plain.loglik, 1e-12 * fabs(r.loglik));
    gsv_result_free(&r);
    gsv_result_free(&plain);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void gradient__in_float_is_near_the_one_in_double(void **state)
{
    (void)state;
    static const char *const act[] = {"relu", "tanh", "silu", "softplus"};
    for (size_t i = 0; i < COUNT(act); i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "state x[3]\n net f(x) -> 3 : 32 64 32 %s\n"
                 "param s = 0.5 > 0\n dx = f*dt + s*dW",
                 act[i]);
        gsv_model *m = model_of(text);
        gsv_series *s = walk_of(m, 2, 5, 0.2, 5);
        gsv_options o = usual_options();
        o.paths = 32;
        o.gradient = true;
        gsv_result narrow = loglik_of(m, s, &o);
        o.wide = true;
        gsv_result wide = loglik_of(m, s, &o);
        double scale = 0.0;
        for (size_t j = 0; j < wide.values; j++)
            scale = fmax(scale, fabs(wide.gradient[j]));
        for (size_t j = 0; j < wide.values; j++)
            assert_near(narrow.gradient[j], wide.gradient[j], 1e-4 * scale);
        assert_near(narrow.loglik, wide.loglik, 1e-4);
        assert_true(narrow.loglik != wide.loglik);
        gsv_result_free(&narrow);
        gsv_result_free(&wide);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void check_gradient__leaves_the_model_as_it_was(void **state)
{
    (void)state;
    gsv_model *m = model_of(MODELS[3]);
    gsv_gradient_check check;
    double kept[21];
    assert_int_equal(gsv_model_values(m), COUNT(kept));
    memcpy(kept, gsv_model_value(m), sizeof kept);
    gsv_series *s = walk_of(m, 1, 3, 0.2, 5);
    gsv_options o = usual_options();
    assert_int_equal(gsv_check_gradient(m, s, &o, &check), 0);
    assert_memory_equal(kept, gsv_model_value(m), sizeof kept);
    o.paths = SIZE_MAX;
    assert_int_equal(gsv_check_gradient(m, s, &o, &check), GSV_BAD_INPUT);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient__agrees_for_every_kind_of_model),
        cmocka_unit_test(gradient__agrees_when_paths_are_joint),
        cmocka_unit_test(gradient__agrees_however_it_is_cut),
        cmocka_unit_test(gradient__agrees_for_a_drift_in_c),
        cmocka_unit_test(callback__is_the_same_as_the_models_text),
        cmocka_unit_test(gradient__of_constant_drift_is_exact),
        cmocka_unit_test(gradient__does_not_change_the_value),
        cmocka_unit_test(gradient__in_float_is_near_the_one_in_double),
        cmocka_unit_test(check_gradient__leaves_the_model_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
