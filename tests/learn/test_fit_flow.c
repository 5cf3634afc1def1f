/* SPDX-License-Identifier: MIT */
/* A noise that is learned as a map of the data: its shape in the data's own
 * coordinates, and the likelihood of data that it has not seen. */
#include "exact.h"

#ifdef GSV_ONE_TARGET
enum { TRACKS = 1, TIMES = 200, ITERATIONS = 50 };
#else
enum { TRACKS = 10, TIMES = 1001, ITERATIONS = 0 };
#endif

static gsv_series *data_of(const gsv_model *truth, uint64_t seed)
{
    static double time[TIMES];
    for (size_t i = 0; i < TIMES; i++)
        time[i] = 0.1 * (double)i;
    gsv_simulate_options o = gsv_simulate_options_default();
    o.tracks = TRACKS;
    o.times = TIMES;
    o.time = time;
    o.seed = seed;
    o.threads = 1;
    gsv_series *s = gsv_simulate(truth, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* X has a deviation of about 0.22: the central 95 % end near 0.44. */
static void flow__learns_a_noise(void **state)
{
    (void)state;
    gsv_model *truth = model_of("state x\n dx = -x*dt + 0.3*sqrt(1 + x^2)*dW");
    gsv_model *m = model_of("state z = flow(x : 4 layers)\n"
                            "net f(z) -> 1 : 32 silu\n dz = f*dt + dW");
    gsv_series *s = data_of(truth, 21), *fresh = data_of(truth, 22);
    gsv_fit_options o = gsv_fit_options_default();
    o.iterations = ITERATIONS;
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    for (double x = -0.44; x < 0.45; x += 0.04) {
        double t = 0.0, g, f, expected = 0.3 * sqrt(1.0 + x * x);
        assert_int_equal(gsv_model_diffusion(m, 1, &t, &x, NULL, &g), 0);
        assert_int_equal(gsv_model_drift(m, 1, &t, &x, NULL, &f), 0);
        assert_true(isfinite(g) && isfinite(f));
        if (!ITERATIONS) assert_near(g, expected, 0.1 * expected);
        if (!ITERATIONS) assert_near(f, -x, 0.15);
    }
    gsv_options how = gsv_options_default();
    gsv_result learned = loglik_of(m, fresh, &how);
    gsv_result exact = loglik_of(truth, fresh, &how);
    double n = (double)exact.gaps;
    print_message("a gap: %.5f, of the truth %.5f\n", learned.loglik / n,
                  exact.loglik / n);
    if (!ITERATIONS) assert_true(learned.loglik / n > exact.loglik / n - 0.01);
    gsv_result_free(&learned);
    gsv_result_free(&exact);
    gsv_series_free(s);
    gsv_series_free(fresh);
    gsv_model_free(m);
    gsv_model_free(truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(flow__learns_a_noise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
