/* SPDX-License-Identifier: MIT */
/* How well draws of whole tracks do, over seeds. */
#include "joint.h"

/* The table of docs/ESTIMATOR.md. */
static void conjugate__collapses_as_tracks_become_longer(void **state)
{
    (void)state;
    static const size_t ROWS[] = {10, 50, 200};
    enum { MOST = 200, SEEDS = SLOWER > 1 ? 2 : 8 };
    double t[MOST], x[MOST], y[MOST], before = INFINITY;
    for (size_t c = 0; c < COUNT(ROWS); c++) {
        size_t n = ROWS[c];
        struct exact_linear m = ou(1.0, 1.0, 0.1);
        exact_times(n, 10.0 / (double)n, 0.3, t);
        exact_linear_data(&m, n, t, 7, x, y);
        double exact = exact_kalman(&m, n, t, y, NULL);
        gsv_model *model = model_of(OU);
        gsv_series *s = series_of(n, t, y);
        struct trials found =
            try(model, s, options_of(GSV_OBSERVE_CONJUGATE), exact, SEEDS);
        assert_true(found.ess < before);
        before = found.ess;
        gsv_series_free(s);
        gsv_model_free(model);
    }
}

#define WELL                                                                   \
    "state x\n param a = 1, s = 0.5 > 0, e = 0.2 > 0\n"                        \
    "dx = a*(x - x^3)*dt + s*dW\n obs y ~ normal(x, e)\n"                      \
    "init x ~ normal(0, 1)"

enum { WELL_ROWS = 100 };

/* Data of a double well, and their log-likelihood on a grid. */
static double well_data(size_t n, double *t, double *y)
{
    double x[WELL_ROWS];
    struct exact_noise noise = {.y = y, .r = 0.2};
    struct exact_diffusion m = {.drift = exact_well,
                                .s = 0.5,
                                .d0 = 1.0,
                                .log_density = exact_noise_density,
                                .user = &noise};
    struct exact_range range = {.low = -3.0, .high = 3.0, .cells = 201};
    exact_times(n, 0.2, 0.0, t);
    exact_diffusion_data(&m, n, t, 0.2, 5, x, y);
    return exact_grid_filter(&m, &range, n, t, NULL, NULL);
}

static void variational__is_the_grids_on_a_double_well(void **state)
{
    (void)state;
    enum { N = SLOWER > 1 ? 20 : WELL_ROWS, SEEDS = SLOWER > 1 ? 2 : 4 };
    double t[N], y[N], exact = well_data(N, t, y);
    gsv_model *model = model_of(WELL);
    gsv_series *s = series_of(N, t, y);
    struct trials found =
        try(model, s, options_of(GSV_OBSERVE_VARIATIONAL), exact, SEEDS);
    assert_near(found.mean, 0.0, 0.04);
    assert_true(found.deviation < 0.034);
    assert_int_equal(found.flagged, 0);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* Learning makes weights more even: run after run with numbers of their own,
 * each moving the law by what the one before said. */
static void variational__learns(void **state)
{
    (void)state;
    enum { N = SLOWER > 1 ? 20 : WELL_ROWS, RUNS = SLOWER > 1 ? 4 : 6 };
    double t[N], y[N], gradient[3], exact = well_data(N, t, y), ess[RUNS];
    gsv_model *model = model_of(WELL);
    gsv_series *s = series_of(N, t, y);
    gsv_options o = options_of(GSV_OBSERVE_VARIATIONAL);
    struct joint j;
    o.gradient = true;
    o.points = 512;
    assert_int_equal(joint_init(&j, model, s, &o), 0);
    for (uint32_t i = 0; i < RUNS; i++) {
        gsv_result r = {0};
        assert_int_equal(joint_run(&j, NULL, i, gradient), 0);
        assert_int_equal(joint_fill(&j, &r), 0);
        ess[i] = r.gap[r.groups - 1].ess;
        print_message("%u: effective %.0f, off %+.4f\n", i, ess[i],
                      r.loglik - exact);
        gsv_result_free(&r);
    }
    assert_true(ess[RUNS - 1] > ess[0]);
    joint_free(&j);
    gsv_series_free(s);
    gsv_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conjugate__collapses_as_tracks_become_longer),
        cmocka_unit_test(variational__is_the_grids_on_a_double_well),
        cmocka_unit_test(variational__learns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
