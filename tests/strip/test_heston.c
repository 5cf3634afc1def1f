/* SPDX-License-Identifier: MIT */
/* The scan of one latent state beside an exact one, against the Fourier
 * integral of Heston's model, far from v = 0 and close to it. */
#include "strip.h"
#include "strip/strip.h"

/* --- Over a gap ----------------------------------------------------------- */

static double off(const struct heston *p, double v, double h, double z,
                  size_t steps)
{
    char init[80];
    double x[2] = {0.0, p->mu * h + z * sqrt(v * h)};
    snprintf(init, sizeof init, "init v ~ normal(%.17g, %.17g)", v, 1e-7 * v);
    gsv_model *m = heston_model(p, init);
    gsv_series *s = series_of("x", 2, h, x, 1);
    gsv_options o = scan_options(steps, 0);
    double found = value_of(m, s, &o);
    gsv_series_free(s);
    gsv_model_free(m);
    return found - log(heston_density(p, v, 0.0, h, x[1]));
}

/* Laws of A and V by their first two moments are right over days and weeks, and
 * nearly so over a quarter; worst in tails. */
static void heston__is_its_fourier_integral(void **state)
{
    static const struct {
        double length, near, far;
    } CASES[] = {{0.004, 5e-7, 1e-4},
                 {0.02, 2e-5, 1e-4},
                 {0.08, 6e-4, 8e-3},
                 {0.25, 1e-3, 0.08}};
    static const double Z[] = {-3.0, -0.5, 1.0, 3.0};
    (void)state;
    for (size_t c = 0; c < COUNT(HESTON); c++)
        for (size_t l = 0; l < COUNT(CASES); l++)
            for (size_t i = 0; i < COUNT(Z); i++) {
                double h = CASES[l].length;
                double most = fabs(Z[i]) < 2.0 ? CASES[l].near : CASES[l].far;
                double error = off(&HESTON[c], 0.04, h, Z[i], l < 2 ? 2 : 8);
                if (!(fabs(error) < most))
                    fail_msg("model %zu, length %g, z %g: off by %g", c, h,
                             Z[i], error);
            }
}

/* Far below its mean the drift's a/w, a up to 1000, throws the variance up:
 * that must make no weight out of nothing, from a wide first law neither. */
static void heston__is_held_off_zero(void **state)
{
    (void)state;
    static const struct heston STEEP[] = {{0.9, 8.8, 0.054, 0.21, -0.7},
                                          {0.1, 5.0, 0.04, 0.1, -0.5},
                                          {0.1, 5.0, 0.04, 0.02, 0.3}};
    for (size_t c = 0; c < COUNT(STEEP); c++)
        for (double z = -3.0; z < 4.0; z += 1.5) {
            double day = off(&STEEP[c], 0.04, 0.004, z, 2);
            double week = off(&STEEP[c], 0.04, 0.02, z, 2);
            if (!(fabs(day) < 1e-4 && fabs(week) < 4e-3))
                fail_msg("model %zu, z %g: off by %g and %g", c, z, day, week);
        }
    static const double XI[] = {0.5, 0.25, 0.21, 0.15, 0.1, 0.05, 0.02};
    enum { ROWS = 30 };
    double x[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        x[i] = 0.01 * sin(2.1 * (double)i) + 0.008 * cos(0.9 * (double)i);
    gsv_series *s = series_of("x", ROWS, 1.0 / 252.0, x, 1);
    for (size_t i = 0; i < COUNT(XI); i++) {
        struct heston p = {0.1, 8.0, 0.05, XI[i], -0.6};
        gsv_model *m = heston_model(&p, "init v ~ gamma(0.04, 4)");
        gsv_options coarse = scan_options(1, 0), fine = scan_options(8, 0);
        double found = value_of(m, s, &coarse), better = value_of(m, s, &fine);
        if (!(fabs(found - better) < 0.1))
            fail_msg("xi %g: %g by 1 step, %g by 8", XI[i], found, better);
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

/* --- Near the end of the range -------------------------------------------- */

/* 2 kappa theta / xi^2 is 10, 1.6, 1, and below, where v comes to 0. */
static const struct heston TO_ZERO[] = {
    {0.05, 5.0, 0.04, 0.2, -0.9}, {0.05, 5.0, 0.04, 0.5, -0.7},
    {0.05, 3.0, 0.04, 0.49, 0.0}, {0.05, 2.0, 0.04, 0.7, -0.9},
    {0.05, 2.0, 0.04, 0.7, 0.9},  {0.05, 2.0, 0.04, 0.7, 0.0},
    {0.05, 1.0, 0.03, 0.5, 0.0},  {0.05, 5.0, 0.04, 1.2, -0.6},
};

struct seen {
    double worst;  /* off the exact density                   */
    double unsaid; /* by how much more than 5 stated errors   */
    double steps;  /* l(steps) - l(steps / 2)                 */
};

/* From a variance far below its mean, wide (shape 4) or not. */
static void see(const struct heston *p, double shape, double h, double z,
                struct seen *seen)
{
    char init[80];
    double v = 0.002, x[2] = {0.0, z * sqrt(v * h)};
    snprintf(init, sizeof init, "init v ~ gamma(%.17g, %.17g)", v, shape);
    gsv_model *m = heston_model(p, init);
    gsv_series *s = series_of("x", 2, h, x, 1);
    gsv_options o = scan_options(2, 0);
    gsv_result r = loglik_of(m, s, &o);
    double off = fabs(r.loglik - log(heston_density(p, v, shape, h, x[1])));
    seen->worst = fmax(seen->worst, off);
    seen->unsaid =
        fmax(seen->unsaid, off - 5.0 * (r.error + fabs(r.discretisation)));
    seen->steps = fmax(seen->steps, fabs(r.discretisation));
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* One step has all of it, but for what two moments say of V; and what that is
 * off by is in the error. */
static void zero__is_met_by_bessels_bridges(void **state)
{
    static const struct {
        double length, worst, unsaid, steps;
    } CASES[] = {{1.0 / 252.0, 0.03, 2e-3, 0.03},
                 {1.0 / 52.0, 0.1, 0.06, 0.05}};
    static const double Z[] = {0.02, 0.5, 2.0}, SHAPE[] = {4.0, 400.0};
    (void)state;
    for (size_t c = 0; c < COUNT(TO_ZERO); c++)
        for (size_t l = 0; l < COUNT(CASES); l++) {
            struct seen seen = {0.0, 0.0, 0.0};
            for (size_t i = 0; i < COUNT(Z) * COUNT(SHAPE); i++)
                see(&TO_ZERO[c], SHAPE[i % COUNT(SHAPE)], CASES[l].length,
                    Z[i / COUNT(SHAPE)], &seen);
            if (!(seen.worst < CASES[l].worst &&
                  seen.unsaid < CASES[l].unsaid && seen.steps < CASES[l].steps))
                fail_msg("model %zu, length %g: off by %g, %g more than 5 "
                         "errors; steps %g",
                         c, CASES[l].length, seen.worst, seen.unsaid,
                         seen.steps);
        }
}

/* Weights of the first points: sums of d^b exp(-d^2/2) are integrals. */
static void weights__make_sums_integrals(void **state)
{
    static const double B[] = {-0.8, -0.5, -0.1, 0.3, 1.0, 1.7, 2.5, 3.9};
    (void)state;
    for (size_t c = 0; c < COUNT(B); c++)
        for (size_t first = 0; first < 6; first++) {
            const struct strip_table t = {.step = 0.03, .base = 0.03, .a = 1.0};
            double weight[STRIP_EDGE], b = B[c], sum = 0.0;
            strip_weigh(&t, b, 6, first, weight);
            for (size_t k = 0; k < 120; k++) {
                double d = strip_w(&t, first + 6 * k);
                sum += (k < STRIP_EDGE ? weight[k] : 1.0) * 6.0 * t.step *
                       pow(d, b) * exp(-0.5 * d * d);
            }
            double exact =
                0.5 * pow(2.0, 0.5 * (b + 1.0)) * tgamma(0.5 * (b + 1.0));
            if (!(fabs(sum / exact - 1.0) < 3e-5))
                fail_msg("b %g, first %zu: %g, not %g", b, first, sum, exact);
        }
}

/* A first law that is narrower than the lattice is as good as another one. */
static void start__may_be_narrow(void **state)
{
    enum { ROWS_HERE = 30 };
    static const double DEVIATION[] = {1e-7, 1e-4, 1e-3, 3e-3, 6e-3, 1e-2};
    double x[ROWS_HERE];
    (void)state;
    for (size_t i = 0; i < ROWS_HERE; i++)
        x[i] = 0.02 * sin(2.1 * (double)i);
    gsv_series *s = series_of("x", ROWS_HERE, 0.02, x, 1);
    for (size_t i = 0; i < COUNT(DEVIATION); i++) {
        char init[80];
        snprintf(init, sizeof init, "init v ~ normal(0.04, %g)", DEVIATION[i]);
        gsv_model *m = heston_model(&HESTON[0], init);
        gsv_options usual = scan_options(2, 0), fine = scan_options(2, 128);
        gsv_result r = loglik_of(m, s, &usual);
        double off = r.loglik - value_of(m, s, &fine);
        if (!(fabs(off) < 1e-3 && r.error < 5e-3))
            fail_msg("deviation %g: off by %g, said %g", DEVIATION[i], off,
                     r.error);
        gsv_result_free(&r);
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heston__is_its_fourier_integral),
        cmocka_unit_test(heston__is_held_off_zero),
        cmocka_unit_test(zero__is_met_by_bessels_bridges),
        cmocka_unit_test(weights__make_sums_integrals),
        cmocka_unit_test(start__may_be_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
