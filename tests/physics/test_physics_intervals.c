/* SPDX-License-Identifier: MIT */
/* Physics of fits to simulated data: intervals that have the truth. */
#include "physics.h"

#include <math.h>

static const char WELL[] = "state x\n param a = 1, b = 1, s = 0.7 > 0\n"
                           "dx = (a*x - b*x^3)*dt + s*dW";
static const char TURN[] = "state x, y\n param k = 1 > 0, w = 2, s = 0.8 > 0\n"
                           "dx = (-k*x - w*y)*dt + s*dW1\n"
                           "dy = (w*x - k*y)*dt + s*dW2";

static void physics__of_fits_has_the_truth_in_its_intervals(void **state)
{
    (void)state;
    size_t in = 0, all = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        gsv_physics_result t, r;
        gsv_model *m;
        fit_physics(WELL, 80, 301, seed, 0, &m, &t, &r);
        assert_int_equal(r.draws, 40);
        assert_int_equal(r.passages, 2);
        const gsv_quantity q[] = {r.passage[0].time, r.passage[0].barrier,
                                  r.relaxation[0],   r.sd[0],
                                  r.point[2].x[0],   r.point[2].rate[0]};
        const double x[] = {t.passage[0].time.value,
                            t.passage[0].barrier.value,
                            t.relaxation[0].value,
                            t.sd[0].value,
                            1.0,
                            -2.0};
        for (size_t i = 0; i < COUNT(q); i++, all++)
            in += covers(q[i], x[i]) ? 1 : 0;
        free_all(m, &t, &r);
    }
    /* 95 % of 18, of which those of one seed come together. */
    if (in * 10 < all * 8) fail_msg("%zu of %zu intervals", in, all);
}

static void physics__of_turning_fits_has_their_entropy(void **state)
{
    (void)state;
    size_t in = 0, all = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        gsv_physics_result t, r;
        gsv_model *m;
        fit_physics(TURN, 50, 251, seed, 0, &m, &t, &r);
        const gsv_quantity q[] = {r.entropy, r.relaxation[0], r.sd[0],
                                  r.point[0].turn[0]};
        const double x[] = {8.0, 1.0, 0.565685, 2.0};
        for (size_t i = 0; i < COUNT(q); i++, all++)
            in += covers(q[i], x[i]) ? 1 : 0;
        assert_true(r.entropy.low > 0.0 && r.entropy.high < 100.0);
        for (size_t k = 0; k < 2 * r.bins; k++)
            if (r.marginal[k].value > 0.05)
                assert_true(r.marginal[k].low < r.marginal[k].high);
        free_all(m, &t, &r);
    }
    if (in * 10 < all * 7) fail_msg("%zu of %zu intervals", in, all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(physics__of_fits_has_the_truth_in_its_intervals),
        cmocka_unit_test(physics__of_turning_fits_has_their_entropy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
