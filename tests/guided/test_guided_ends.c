/* SPDX-License-Identifier: MIT */
/* Populations that die out, seen through counts of what happens to them:
 * log E exp(-q * integral of x) of dx = -k x dt + s sqrt(x) dW, which is that
 * of counts of 0 of rate q x, in closed form. */
#include "guided.h"

enum { ROWS = 21 };

/* - x0 B, B = 2 q e / ((g + k) e + 2 g), e = exp(g T) - 1, g^2 = k^2 + 2 s^2 q
 */
static double closed_form(double x0, double k, double s, double q, double T)
{
    double g = sqrt(k * k + 2.0 * s * s * q), e = expm1(g * T);
    return -2.0 * x0 * q * e / ((g + k) * e + 2.0 * g);
}

static gsv_result no_counts(const double *c, size_t points, size_t steps)
{
    static const size_t start[] = {0, ROWS};
    static const char *const name[] = {"n"};
    double time[ROWS], n[ROWS] = {NAN};
    for (size_t i = 0; i < ROWS; i++)
        time[i] = (double)i;
    char text[400];
    snprintf(text, sizeof text,
             "state x\ndx = -%.17g*x*dt + %.17g*sqrt(x)*dW\n"
             "init x ~ normal(%.17g, 1e-6)\n"
             "obs n ~ poisson(%.17g*integral(x))\n",
             c[1], c[2], c[0], c[3]);
    gsv_model *m = model_of(text);
    gsv_series *s = gsv_series_new(1, start, 1, name, time, n);
    gsv_options o = guided_options(points, steps);
    gsv_result r;
    assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
    gsv_series_free(s);
    gsv_model_free(m);
    return r;
}

/* An integral of what is never negative is not negative, whatever the normal
 * law of a step says: rare events leave a log-likelihood of almost 0. */
static void counts__of_rare_events_lose_no_particles(void **state)
{
    static const double CASES[][4] = {{1, 0.5, 1, 0.001},
                                      {3, 0.2, 2, 0.001},
                                      {10, 0.2, 1, 0.001},
                                      {2, 1, 1.5, 0.01}};
    (void)state;
    for (size_t c = 0; c < COUNT(CASES); c++) {
        const double *v = CASES[c];
        double wanted = closed_form(v[0], v[1], v[2], v[3], ROWS - 1);
        gsv_result r = no_counts(v, 256, 16);
        if (!(fabs(r.loglik - wanted) < 4.0 * r.error - 0.07 * wanted))
            fail_msg("case %zu: %g +- %g, should be %g", c, r.loglik, r.error,
                     wanted);
        gsv_result_free(&r);
    }
}

/* Where the linearised model, which has no noise near 0, leads all particles
 * below 0, their weights are alike: only the value is low, by up to 40. */
static void particles__that_are_led_astray_are_noticed(void **state)
{
    static const double CASES[][4] = {
        {0.5, 0.5, 1, 1}, {1, 0.2, 2, 1}, {3, 0.2, 2, 1}};
    (void)state;
    for (size_t c = 0; c < COUNT(CASES); c++)
        for (size_t points = 256; points <= 4096; points *= 4) {
            const double *v = CASES[c];
            double wanted = closed_form(v[0], v[1], v[2], v[3], ROWS - 1);
            gsv_result r = no_counts(v, points, 8);
            if (!(fabs(r.loglik - wanted) < 4.0 * r.error + 0.2))
                fail_msg("case %zu, %zu particles: %g +- %g, should be %g", c,
                         points, r.loglik, r.error, wanted);
            gsv_result_free(&r);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts__of_rare_events_lose_no_particles),
        cmocka_unit_test(particles__that_are_led_astray_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
