/* SPDX-License-Identifier: MIT */
/* Noisy observations by the scan, against Kalman's filter and a grid. */
#include "observe_exact.h"

#define OU                                                                     \
    "state x\n param th = 1 > 0, s = 1 > 0, r = 0.3 > 0\n"                     \
    "dx = -th*x*dt + s*dW\n obs y ~ normal(x, r)\n init x ~ normal(0, 0.7)"

static struct exact_linear ou(double th, double s, double r)
{
    return (struct exact_linear){.d = 1,
                                 .noises = 1,
                                 .outputs = 1,
                                 .A = {-th},
                                 .G = {s},
                                 .H = {1.0},
                                 .r = {r},
                                 .P0 = {0.49}};
}

static void times(size_t n, double h, double *t)
{
    for (size_t i = 0; i < n; i++)
        t[i] = i ? t[i - 1] + h * (1.0 + 0.3 * sin((double)i)) : 0.0;
}

static gsv_series *series_of(size_t n, const double *t, size_t columns,
                             const char *const *name, const double *y)
{
    const size_t start[2] = {0, n};
    gsv_series *s = gsv_series_new(1, start, columns, name, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void ou__is_kalmans(void **state)
{
    (void)state;
    static const size_t ROWS[] = {10, 50, 200};
    static const char *const NAME[] = {"y"};
    enum { MOST = 200, SEEDS = 12 };
    double t[MOST], x[MOST], y[MOST];
    for (size_t c = 0; c < COUNT(ROWS); c++) {
        size_t n = ROWS[c];
        struct exact_linear m = ou(1.0, 1.0, 0.3);
        times(n, 0.2, t);
        exact_linear_data(&m, n, t, 7, x, y);
        double exact = exact_kalman(&m, n, t, y, NULL), mean = 0.0, sd = 0.0;
        gsv_model *model = model_of(OU);
        gsv_series *s = series_of(n, t, 1, NAME, y);
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            gsv_options o = default_options();
            o.seed = seed;
            gsv_result r = loglik_of(model, s, &o);
            mean += (r.loglik - exact) / SEEDS;
            sd += (r.loglik - exact) * (r.loglik - exact) / SEEDS;
            if (seed == 1)
                print_message("  error said %.4f, ess %.1f, %.3f s\n", r.error,
                              r.ess_min, r.seconds);
            gsv_result_free(&r);
        }
        print_message("N = %zu: %.5f off in the mean, %.5f root mean square\n",
                      n, mean, sqrt(sd));
        assert_near(mean, 0.0, 0.02);
        gsv_series_free(s);
        gsv_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ou__is_kalmans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
