/* SPDX-License-Identifier: MIT */
/* Intervals of short series. */
#include "learn.h"

/* Series of 20 rows in a double well, as far apart as it takes to relax: with
 * seed 1 a search with few steps ends where there is no maximum, with the
 * others one gap of 19 is flagged. */
static void intervals__are_there_for_short_wells(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {1, 2, 4, 7};
    static const double truth[] = {1.0, 1.0, 0.7}, first = 0.5;
    double time[20];
    for (size_t i = 0; i < COUNT(time); i++)
        time[i] = (double)i;
    for (size_t k = 0; k < COUNT(seeds); k++) {
        gsv_model *m = model_of("state x\n param a = 0.5, b = 0.5, s = 1 > 0\n"
                                "dx = (a*x - b*x^3)*dt + s*dW");
        gsv_model *from = gsv_model_copy(m);
        gsv_simulate_options draw = gsv_simulate_options_default();
        gsv_fit_options o = fit_options();
        gsv_theta_set(from, (double[]){truth[0], truth[1], log(truth[2])});
        draw.times = COUNT(time);
        draw.time = time;
        draw.start = &first;
        draw.seed = seeds[k];
        gsv_series *s = gsv_simulate(from, &draw);
        const gsv_record *r = fit_must(m, s, &o);
        for (size_t i = 0; i < COUNT(truth); i++)
            if (!(r->low[i] < truth[i] && truth[i] < r->high[i]))
                fail_msg("seed %d: %g to %g, not %g: %s", (int)seeds[k],
                         r->low[i], r->high[i], truth[i], r->warning);
        gsv_model_free(from);
        free_both(m, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals__are_there_for_short_wells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
