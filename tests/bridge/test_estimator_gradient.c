/* SPDX-License-Identifier: MIT */
/* The gradient of every estimator against central differences: all references,
 * forms, sources of random numbers and corrections, over models and shapes. */
#include "exact.h"

/* What is promised. */
static const double CLOSE = 1e-6;

struct shape {
    size_t tracks, rows;
    double h;
    size_t paths, steps;
    bool joint;
};

static const enum gsv_reference REFERENCES[] = {
    GSV_REFERENCE_AUTO, GSV_REFERENCE_BROWNIAN, GSV_REFERENCE_LINEAR,
    GSV_REFERENCE_LNA};
static const enum gsv_form FORMS[] = {GSV_FORM_AUTO, GSV_FORM_ITO,
                                      GSV_FORM_MIDPOINT, GSV_FORM_STRATONOVICH};
static const enum gsv_random RANDOMS[] = {GSV_RANDOM_SOBOL, GSV_RANDOM_IID};
enum {
    EXTRAS = 3, /* plain, richardson, delta */
    WAYS = COUNT(REFERENCES) * COUNT(FORMS) * COUNT(RANDOMS) * EXTRAS
};

static gsv_options way_of(size_t n)
{
    gsv_options o = default_options();
    o.random = RANDOMS[n % COUNT(RANDOMS)];
    n /= COUNT(RANDOMS);
    o.richardson = n % EXTRAS == 1;
    o.delta = n % EXTRAS == 2;
    n /= EXTRAS;
    o.form = FORMS[n % COUNT(FORMS)];
    o.reference = REFERENCES[n / COUNT(FORMS)];
    return o;
}

static void assert_gradient(gsv_model *m, const gsv_options *way,
                            const struct shape *shape)
{
    gsv_series *s = walk_of(m, shape->tracks, shape->rows, shape->h, 3);
    gsv_options o = *way;
    gsv_gradient_check check;
    o.paths = shape->paths;
    o.steps = shape->steps;
    o.joint = shape->joint;
    if (gsv_check_gradient(m, s, &o, &check)) fail_msg("%s", gsv_last_error());
    if (!(check.worst <= CLOSE))
        fail_msg("off by %g at number %zu of '%s ...', reference %d, form %d, "
                 "random %d, richardson %d, delta %d, paths %zu, steps %zu, "
                 "joint %d",
                 check.worst, check.where, gsv_model_param(m, 0).name,
                 (int)o.reference, (int)o.form, (int)o.random, o.richardson,
                 o.delta, o.paths, o.steps, o.joint);
    gsv_series_free(s);
}

#define LORENZ                                                                 \
    "state x, y, z\n param s = 8, r = 25, b = 2, q = 1 > 0\n"                  \
    "dx = s*(y - x)*dt + q*dW\n dy = (x*(r - z) - y)*dt + q*dW\n"              \
    "dz = (x*y - b*z)*dt + q*dW"
#define QUIET_LORENZ                                                           \
    "state x, y, z\n param s = 10, r = 28, b = 2.6667, q = 0.15 > 0\n"         \
    "dx = s*(y - x)*dt + q*dW\n dy = (x*(r - z) - y)*dt + q*dW\n"              \
    "dz = (x*y - b*z)*dt + q*dW"
#define NET                                                                    \
    "state x, y\n net f(x, y) -> 2 : 3 silu\n param s = 0.5 > 0\n"             \
    "dx = f[1]*dt + s*dW\n dy = f[2]*dt + s*dW"

static const char *const MODELS[] = {
    "state x\n param k = 1 > 0, s = 1 > 0\n dx = (k*x - x^3)*dt + s*dW",
    LORENZ,
    NET,
    "state x\n input u\n net n(x, u, t) -> 1 : 3 tanh\n"
    "param a = 1, s = 1 > 0\n dx = (-a*x + n)*dt + s*dW",
    /* Full noise. */
    "state x[2]\n param A[2,2] = [-1,.5, -.5,-1], b = 0.3\n"
    "param L[2,2] = [1,0, .2,.7] lower\n"
    "dx = (A @ sin(x) + b)*dt + L @ dW",
    /* sigma(t), and with an input in it. */
    "state x\n param k = 1, s = 0.5 > 0, a = 0.6, w = 3\n"
    "dx = (-k*x^3 + cos(2*t))*dt + s*(1 + a*sin(w*t))*dW",
    "state x\n input u\n input v hold\n param a = 1, b = 0.3, s = 1 > 0\n"
    "dx = (-a*sin(x) + b*v)*dt + (s + b*exp(u))*dW",
};

/* Every way with every model; M is odd or even in turn. */
static void gradient__agrees_in_every_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = model_of(MODELS[i]);
        for (size_t n = 0; n<WAYS; n += SLOWER> 1 ? 5 : 1) {
            gsv_options o = way_of(n);
            struct shape shape = {2, 3, 0.3, 16, 4 + n % 3, n % 7 == 0};
            assert_gradient(m, &o, &shape);
        }
        gsv_model_free(m);
    }
}

/* Small groups in one item, chunks, blocks of paths, slices of steps, M = 1,
 * more steps than modes; whole tracks of each. */
static void gradient__agrees_however_it_is_cut(void **state)
{
    (void)state;
    static const struct shape shape[] = {
        {1, 2, 0.3, 1, 1, false},   {2, 3, 0.3, 16, 1, true},
        {1, 3, 0.3, 1, 2, false},   {1, 3, 0.3, 2, 3, true},
        {20, 5, 0.2, 4, 3, false},  {20, 5, 0.2, 4, 4, true},
        {1, 2, 0.3, 512, 5, false}, {1, 3, 0.3, 128, 33, true},
        {1, 2, 0.5, 8, 300, false}, {1, 3, 0.5, 16, 301, true}};
    for (size_t j = 0; j < 2; j++) {
        gsv_model *m = model_of(j ? MODELS[6] : MODELS[0]);
        for (size_t i = 0; i < COUNT(shape); i++) {
            bool slow = shape[i].paths > 100 || shape[i].steps > 100;
            bool many = shape[i].tracks > 10;
            size_t stride = (slow ? 17 : many ? 5 : 1) * (SLOWER > 1 ? 5 : 1);
            for (size_t n = i % stride; n < WAYS; n += stride) {
                gsv_options o = way_of(n);
                assert_gradient(m, &o, &shape[i]);
            }
        }
        gsv_model_free(m);
    }
}

/* One block holds 8192 points at most; where there are many tracks or gaps,
 * the gradient of each is summed while its paths come. */
static void gradient__agrees_over_several_blocks(void **state)
{
    (void)state;
    static const struct shape shape[] = {{1, 2, 0.3, 2048, 8, false},
                                         {1, 2, 0.3, 16, 1025, false},
                                         {1, 3, 0.3, 1024, 9, true}};
    for (size_t i = 0; i < COUNT(shape); i++) {
        gsv_model *m = model_of(MODELS[0]);
        for (size_t n = i; n<WAYS; n += SLOWER> 1 ? 30 : 10) {
            gsv_options o = way_of(n);
            assert_gradient(m, &o, &shape[i]);
        }
        gsv_model_free(m);
    }
}

/* --- References that move with the noise ---------------------------------- */

/* b stands in the coordinates of the data: T takes it to those of the noise at
 * the time of each step, with all of L. */
static void gradient__agrees_where_the_noise_turns_the_reference(void **state)
{
    (void)state;
    static const double close = 1e-7;
    const size_t stride = SLOWER > 1 ? 7 : 1;
    gsv_model *m =
        model_of("state x[2]\n param A[2,2] = [-1,.5, -.5,-1], b = 0.3\n"
                 "param L[2,2] = [1,0, .4,.7] lower, a = 0.5, w = 2\n"
                 "dx = (A @ sin(x) + b*x^2)*dt + (1 + a*sin(w*t))*(L @ dW)");
    gsv_series *s = walk_of(m, 2, 4, 0.3, 6);
    for (size_t n = 0; n < WAYS; n += stride) {
        gsv_options o = way_of(n);
        gsv_gradient_check check;
        o.paths = 8;
        o.steps = 4 + n % 5;
        o.joint = n % 11 < 4;
        assert_int_equal(gsv_check_gradient(m, s, &o, &check), 0);
        if (!(check.worst <= close))
            fail_msg("way %zu: off by %g at number %zu", n, check.worst,
                     check.where);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static double noise_gradient(const gsv_model *m, const gsv_series *s,
                             size_t paths)
{
    gsv_options o = default_options();
    o.reference = GSV_REFERENCE_LNA;
    o.form = GSV_FORM_MIDPOINT;
    o.paths = paths;
    o.steps = 8;
    o.gradient = true;
    gsv_result r = loglik_of(m, s, &o);
    double q_bar = r.gradient[r.values - 1];
    gsv_result_free(&r);
    return q_bar;
}

/* Where drift dominates, the bridges' middle line must not move with the
 * noise: two paths are enough. */
static void gradient__by_the_noise_needs_few_paths(void **state)
{
    (void)state;
    enum { TIMES = 101 };
    double time[TIMES], start[3] = {1.0, 1.0, 20.0};
    gsv_model *m = model_of(QUIET_LORENZ);
    for (size_t i = 0; i < TIMES; i++)
        time[i] = 0.05 * (double)i;
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = TIMES;
    o.time = time;
    o.start = start;
    o.seed = 7;
    o.threads = 1;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    double many = noise_gradient(m, s, 64);
    for (size_t paths = 2; paths < 64; paths *= 2) {
        double few = noise_gradient(m, s, paths);
        assert_near(few, many, 0.01 * fabs(many));
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Gaps of different lengths -------------------------------------------- */

/* With a step some gaps have one step and others many. */
static void gradient__agrees_where_the_steps_differ(void **state)
{
    (void)state;
    static const double time[] = {0.0, 0.05, 0.4, 0.45, 1.7};
    static const double x[] = {0.3, 0.5, -0.2, -0.3, 0.4};
    gsv_model *m = model_of(MODELS[0]);
    gsv_series *s = track_of(m, COUNT(time), time, x);
    for (size_t n = 0; n < 2 * WAYS; n++) {
        gsv_options o = way_of(n / 2);
        gsv_gradient_check check;
        o.paths = 8;
        o.step = 0.1;
        o.joint = n % 2;
        assert_int_equal(gsv_check_gradient(m, s, &o, &check), 0);
        if (!(check.worst <= CLOSE))
            fail_msg("way %zu: off by %g", n, check.worst);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- A drift in C --------------------------------------------------------- */

/* f_1 = p1 x_1 - x_1^3 + t, f_2 = p2 sin(x_1). */
static void drift(void *user, size_t n, const double *x, const double *p,
                  double *f)
{
    (void)user;
    for (size_t k = 0; k < n; k++) {
        f[k] = p[0] * x[k] - x[k] * x[k] * x[k] + x[2 * n + k];
        f[n + k] = p[1] * sin(x[k]);
    }
}

static void drift_vjp(void *user, size_t n, const double *x, const double *p,
                      const double *f_bar, double *x_bar, double *p_bar)
{
    (void)user;
    for (size_t k = 0; k < n; k++) {
        double a = f_bar[k], b = f_bar[n + k];
        if (x_bar)
            x_bar[k] += a * (p[0] - 3.0 * x[k] * x[k]) + b * p[1] * cos(x[k]);
        if (x_bar) x_bar[2 * n + k] += a;
        if (p_bar) p_bar[0] += a * x[k];
        if (p_bar) p_bar[1] += b * sin(x[k]);
    }
}

static gsv_model *callback_model(void)
{
    static const double p[2] = {1.0, -0.7};
    const gsv_callback c = {.inputs = 3,
                            .outputs = 2,
                            .parameters = 2,
                            .parameter = p,
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
    for (size_t n = 0; n < WAYS; n++) {
        gsv_options o = way_of(n);
        const struct shape shape = {2, 3, 0.3, 16, 3 + n % 3, n % 5 == 0};
        assert_gradient(m, &o, &shape);
    }
    gsv_model_free(m);
}

/* The same as the model's text, Jacobians by differences or not. */
static void callback__is_the_same_as_the_models_text(void **state)
{
    (void)state;
    gsv_model *a = callback_model();
    gsv_model *b = model_of("state x1, x2\n param p[2] = [1, -0.7]\n"
                            "param s[2] = [0.8, 1.5] > 0\n"
                            "dx1 = (p[1]*x1 - x1^3 + t)*dt + s[1]*dW\n"
                            "dx2 = p[2]*sin(x1)*dt + s[2]*dW");
    gsv_series *s = walk_of(a, 2, 5, 0.3, 4);
    for (size_t n = 0; n < WAYS; n++) {
        gsv_options o = way_of(n);
        o.gradient = true;
        gsv_result r = loglik_of(a, s, &o), q = loglik_of(b, s, &o);
        assert_near(r.loglik, q.loglik, 1e-9);
        for (size_t i = 0; i < 4; i++)
            assert_near(r.gradient[(i + 2) % 4], q.gradient[i], 1e-8);
        gsv_result_free(&r);
        gsv_result_free(&q);
    }
    gsv_series_free(s);
    gsv_model_free(a);
    gsv_model_free(b);
}

/* --- Around it ------------------------------------------------------------ */

static void gradient__does_not_change_the_value(void **state)
{
    (void)state;
    gsv_model *m = model_of(LORENZ);
    gsv_series *s = walk_of(m, 1, 4, 0.05, 5);
    for (size_t n = 0; n < WAYS; n++) {
        gsv_options o = way_of(n);
        gsv_result plain = loglik_of(m, s, &o);
        o.gradient = true;
        gsv_result r = loglik_of(m, s, &o);
        assert_near(r.loglik, plain.loglik, 1e-11 * fabs(r.loglik));
        assert_near(r.khat_max, plain.khat_max, 1e-6);
        gsv_result_free(&r);
        gsv_result_free(&plain);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient__agrees_in_every_way),
        cmocka_unit_test(gradient__agrees_however_it_is_cut),
        cmocka_unit_test(gradient__agrees_over_several_blocks),
        cmocka_unit_test(gradient__agrees_where_the_noise_turns_the_reference),
        cmocka_unit_test(gradient__by_the_noise_needs_few_paths),
        cmocka_unit_test(gradient__agrees_where_the_steps_differ),
        cmocka_unit_test(gradient__agrees_for_a_drift_in_c),
        cmocka_unit_test(callback__is_the_same_as_the_models_text),
        cmocka_unit_test(gradient__does_not_change_the_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
