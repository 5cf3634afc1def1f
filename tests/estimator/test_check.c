/* SPDX-License-Identifier: MIT */
/* The check of a gradient: right ones pass, wrong ones do not, also where both
 * the gradient and the differences are estimates. */
#include "estimator/check.h"
#include "estimator/loglik.h"
#include "exact.h"

/* Values are far from the maximum, where a gradient is large against its
 * standard error. Equations are mildly curved: where particles are drawn again
 * often, one jump among the seeds hides any error. */
static const struct {
    const char *text;
    size_t points; /* particles; 0: the default estimator   */
    bool jumps;    /* whether they are resampled, or a lag is used */
} MODELS[] = {
    {"state x\n param k = 1 > 0, s = 0.7 > 0, e = 0.2 > 0\n"
     "dx = -k*x*dt + s*dW\n obs y ~ normal(x, e)\n init x ~ normal(0, 1)",
     0, false},
    {"state x\n param k = 1 > 0, s = 0.7 > 0, e = 0.2 > 0\n"
     "dx = -k*x*dt + s*dW\n obs y ~ normal(x, e)\n init x ~ normal(0, 1)",
     64, false},
    {"state x\n param k = 3 > 0, s = 0.4 > 0, e = 0.2 > 0\n"
     "dx = -k*x*dt + s*dW\n obs y ~ student(x, e, 3)\n init x ~ normal(0, 1)",
     128, true},
    {"state x\n param a = 1 > 0, s = 0.6 > 0, e = 0.25 > 0\n"
     "dx = a*(x - x^3)*dt + s*dW\n obs y ~ normal(x, e)\n"
     "init x ~ normal(0, 1)",
     512, true},
    {"state x, v, w\n param k = 1 > 0, s = 0.4 > 0, e = 0.4 > 0\n"
     "dx = (0.3*w - k*sin(x))*dt + s*dW\n dv = (x - v)*dt + s*dW\n"
     "dw = (v - w)*dt + s*dW\n"
     "obs y ~ student(x, e, 3)\n init x ~ normal(0, 1)\n"
     "init v ~ normal(0, 1)\n init w ~ normal(0, 1)",
     128, true},
};

enum { ROWS = 24 };

static gsv_series *data(void)
{
    static const char *const COLUMN[] = {"y"};
    const size_t start[2] = {0, ROWS};
    double time[ROWS], y[ROWS], *z = normals(ROWS, 5);
    for (size_t i = 0; i < ROWS; i++) {
        time[i] = 0.25 * (double)i;
        y[i] = 1.3 * sin(2.0 * time[i]) + 0.4 * z[i];
    }
    mem_free(z);
    gsv_series *s = gsv_series_new(1, start, 1, COLUMN, time, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* The gradient with one number at three halves of what it is. */
static int wrong_at(size_t i, const gsv_model *m, const gsv_series *s,
                    const gsv_options *o, const double *reference,
                    gsv_result *r)
{
    int status = loglik_frozen(m, s, o, reference, r);
    if (!status) r->gradient[i] *= 1.5;
    return status;
}

#define WRONG(i)                                                               \
    static int wrong_##i(const gsv_model *m, const gsv_series *s,              \
                         const gsv_options *o, const double *reference,        \
                         gsv_result *r)                                        \
    {                                                                          \
        return wrong_at(i, m, s, o, reference, r);                             \
    }
WRONG(0)
WRONG(1)
WRONG(2)

static gsv_gradient_check check_of(size_t i, gradient_function *gradient)
{
    gsv_model *m = model_of(MODELS[i].text);
    gsv_series *s = data();
    gsv_options o = default_options();
    gsv_gradient_check c;
    o.steps = 1;
    o.points = MODELS[i].points;
    if (o.points) o.observe = GSV_OBSERVE_GUIDED;
    if (check_gradient(m, s, &o, gradient, &c))
        fail_msg("%s", gsv_last_error());
    print_message("model %zu: off by %.2g +- %.2g at %zu, %zu seeds\n", i,
                  c.worst, c.error, c.where, c.seeds);
    gsv_series_free(s);
    gsv_model_free(m);
    return c;
}

static void right__agrees(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_gradient_check c = check_of(i, loglik_frozen);
        assert_true(c.agrees);
        assert_true((c.seeds > 1) == MODELS[i].jumps);
        assert_true((c.error > 0.0) == MODELS[i].jumps);
    }
}

static void wrong__does_not(void **state)
{
    (void)state;
    static gradient_function *const WRONG[] = {wrong_0, wrong_1, wrong_2};
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_gradient_check c = check_of(i, WRONG[i % COUNT(WRONG)]);
        assert_false(c.agrees);
        assert_int_equal(c.where, i % COUNT(WRONG));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right__agrees),
        cmocka_unit_test(wrong__does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
