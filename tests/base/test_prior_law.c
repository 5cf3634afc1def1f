/* SPDX-License-Identifier: MIT */
/* Laws of priors: they integrate to one, their slopes are those of their
 * densities, and what is no law is refused. */
#include "exact.h"

#include "base/prior_law.h"

static const gsv_prior LAWS[] = {
    {"k", GSV_LAW_NORMAL, 0.4, 0.3},    {"k", GSV_LAW_LOGNORMAL, -0.2, 0.6},
    {"k", GSV_LAW_HALFNORMAL, 0.7, 0},  {"k", GSV_LAW_UNIFORM, -0.5, 1.5},
    {"k", GSV_LAW_GAMMA, 2.5, 3},       {"k", GSV_LAW_GAMMA, 1, 2},
    {"k", GSV_LAW_EXPONENTIAL, 1.5, 0}, {"k", GSV_LAW_BETA, 2.5, 1.5},
    {"k", GSV_LAW_CAUCHY, 0.2, 0.4},
};

/* By the map v = tan(u), which reaches all numbers. */
static double integral_of(const gsv_prior *p)
{
    enum { POINTS = 400000 };
    double sum = 0.0, h = 3.14159265358979323846 / POINTS;
    for (int i = 0; i < POINTS; i++) {
        double u = -1.57079632679489661923 + (i + 0.5) * h, v = tan(u);
        sum += h * (1.0 + v * v) * exp(prior_log_density(p, v));
    }
    return sum;
}

static void density__of_every_law_integrates_to_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(LAWS); i++)
        near_at((int)i, integral_of(&LAWS[i]), 1.0, 1e-4);
}

static void slope__is_that_of_the_density(void **state)
{
    static const double AT[] = {-0.4, 0.05, 0.3, 0.7, 0.95, 1.3, 4.0};
    static const double STEP = 1e-6;
    (void)state;
    for (size_t i = 0; i < COUNT(LAWS); i++)
        for (size_t j = 0; j < COUNT(AT); j++) {
            const gsv_prior *p = &LAWS[i];
            bool here = prior_reaches(p, AT[j]);
            double up = prior_log_kernel(p, AT[j] + STEP);
            double down = prior_log_kernel(p, AT[j] - STEP);
            double slope = here ? (up - down) / (2.0 * STEP) : 0.0;
            near_at((int)i, prior_slope(p, AT[j]), slope,
                    1e-7 * (1.0 + fabs(slope)));
            assert_int_equal(isfinite(prior_log_density(p, AT[j])), here);
        }
}

static void inside__is_where_the_density_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(LAWS); i++)
        for (double u = 0.01; u < 1.0; u += 0.07)
            assert_true(prior_reaches(&LAWS[i], prior_inside(&LAWS[i], u)));
}

static void fault__is_found_in_every_law(void **state)
{
    static const gsv_prior BAD[] = {
        {"k", GSV_LAW_NORMAL, 0, 0},       {"k", GSV_LAW_NORMAL, NAN, 1},
        {"k", GSV_LAW_LOGNORMAL, 0, -1},   {"k", GSV_LAW_HALFNORMAL, 0, 0},
        {"k", GSV_LAW_UNIFORM, 1, 1},      {"k", GSV_LAW_GAMMA, 1, 0},
        {"k", GSV_LAW_EXPONENTIAL, -1, 0}, {"k", GSV_LAW_BETA, 0, 1},
        {"k", GSV_LAW_CAUCHY, 0, INFINITY}};
    (void)state;
    for (size_t i = 0; i < COUNT(BAD); i++)
        assert_non_null(prior_fault(&BAD[i]));
    for (size_t i = 0; i < COUNT(LAWS); i++)
        assert_null(prior_fault(&LAWS[i]));
}

static void text__names_the_law_and_its_numbers(void **state)
{
    char room[PRIOR_ROOM];
    (void)state;
    assert_string_equal(prior_text(&LAWS[0], room), "normal(0.4, 0.3)");
    assert_string_equal(prior_text(&LAWS[6], room), "exponential(1.5)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(density__of_every_law_integrates_to_one),
        cmocka_unit_test(slope__is_that_of_the_density),
        cmocka_unit_test(inside__is_where_the_density_is),
        cmocka_unit_test(fault__is_found_in_every_law),
        cmocka_unit_test(text__names_the_law_and_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
