/* SPDX-License-Identifier: MIT */
/* How many steps are chosen for hidden states, compared with what more of them
 * change. */
#include "estimator/settle.h"

#include <stdio.h>

#include "exact.h"

enum { ROWS = 25, PARTICLES = 512 };

/* A closed epidemic, whose noises add up to 0, with people who lose their
 * immunity at this rate, and rows so many days apart. */
static gsv_model *closed_epidemic(double lost)
{
    char text[600];
    snprintf(text, sizeof text,
             "state S, E, I, R\nparam b = 0.5 > 0\n"
             "reaction S + I -> E + I : b*S*I/1e5\n"
             "reaction E -> I : 0.3*E\nreaction I -> R : 0.25*I\n"
             "reaction R -> S : %g*R\n"
             "init S ~ normal(99000, 1)\ninit E ~ normal(400, 1)\n"
             "init I ~ normal(500, 1)\ninit R ~ normal(100, 1)\n"
             "obs n ~ negbin(0.3*integral(0.3*E), 50)\n",
             lost);
    return model_of(text);
}

static double value_with(const gsv_model *m, const gsv_series *s, size_t steps,
                         double *error)
{
    gsv_options o = gsv_options_default();
    gsv_result r;
    o.points = PARTICLES;
    o.steps = steps;
    assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
    double value = r.loglik;
    *error = r.error;
    gsv_result_free(&r);
    return value;
}

/* Of a higher order: no more than what is enough, and
 * not so few that twice as many change much. */
static void steps__of_singular_noise_are_few_and_enough(void **state)
{
    static const double GAPS[] = {1.0, 7.0, 10.0, 14.0, 20.0};
    (void)state;
    for (size_t c = 0; c < COUNT(GAPS); c++) {
        double time[ROWS], error, finer;
        gsv_model *m = closed_epidemic(0.01);
        gsv_simulate_options sim = gsv_simulate_options_default();
        gsv_options o = gsv_options_default();
        for (size_t i = 0; i < ROWS; i++)
            time[i] = GAPS[c] * (double)i;
        sim.time = time;
        sim.times = ROWS;
        gsv_series *s = gsv_simulate(m, &sim);
        assert_non_null(s);
        assert_int_equal(estimator_settle(m, s, &o), 0);
        size_t chosen = o.steps ? o.steps : 2;
        double value = value_with(m, s, chosen, &error);
        double change = value_with(m, s, 2 * chosen, &finer) - value;
        if (!(fabs(change) < 0.04 + 4.0 * (error + finer)))
            fail_msg("gaps of %g: %zu steps, twice as many change %g", GAPS[c],
                     chosen, change);
        for (size_t few = 2; few < chosen; few *= 2) {
            value = value_with(m, s, few, &error);
            change = value_with(m, s, 2 * few, &finer) - value;
            if (!(fabs(change) > 0.01))
                fail_msg("gaps of %g: %zu steps, but %zu are enough", GAPS[c],
                         chosen, few);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps__of_singular_noise_are_few_and_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
