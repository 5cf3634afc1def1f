/* SPDX-License-Identifier: MIT */
/* What the likelihood says about itself: its error against the spread over
 * seeds, its discretisation against closed forms, joint against gap by gap. */
#include "exact.h"

static const uint64_t SEEDS[] = {1, 2, 77};

/* --- Joint, errors, discretisation ---------------------------------------- */

static void joint__of_one_path_is_the_sum_of_the_gaps(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n dx = sin(x)*dt + dW");
    gsv_series *data = walk_of(m, 3, 4, 0.5, 2);
    for (size_t i = 0; i < COUNT(SEEDS); i++) {
        gsv_options o = usual_options();
        o.paths = 1;
        o.seed = SEEDS[i];
        gsv_result each = loglik_of(m, data, &o);
        o.joint = true;
        gsv_result joint = loglik_of(m, data, &o);
        assert_near(joint.loglik, each.loglik, 1e-12);
        assert_near(joint.discretisation, each.discretisation, 1e-12);
        assert_int_equal(joint.groups, 3);
        assert_true(isnan(joint.error) && isnan(each.error));
        gsv_result_free(&each);
        gsv_result_free(&joint);
    }
    gsv_series_free(data);
    gsv_model_free(m);
}

static void joint__of_one_gap_is_the_gap(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n param a = 1, s = 1 > 0\n"
                            "dx = sin(a*x)*dt + s*dW");
    gsv_series *data = walk_of(m, 3, 2, 0.5, 2);
    gsv_options o = usual_options();
    o.paths = 100;
    o.gradient = true;
    gsv_result each = loglik_of(m, data, &o);
    o.joint = true;
    gsv_result joint = loglik_of(m, data, &o);
    assert_true(joint.loglik == each.loglik && joint.error == each.error);
    assert_memory_equal(joint.gradient, each.gradient, 2 * sizeof(double));
    gsv_result_free(&each);
    gsv_result_free(&joint);
    gsv_series_free(data);
    gsv_model_free(m);
}

/* The sample variance of n values has a relative error of sqrt(2 / n). */
static void error__is_the_spread_over_seeds(void **state)
{
    (void)state;
    enum { REPEATS = 400 };
    gsv_model *m = model_of("state x\n dx = -x*dt + dW");
    gsv_series *data = walk_of(m, 2, 4, 0.5, 2);
    for (int joint = 0; joint < 2; joint++) {
        double mean = 0.0, squares = 0.0, reported = 0.0;
        for (size_t i = 0; i < REPEATS; i++) {
            gsv_options o = usual_options();
            o.paths = 200;
            o.steps = 8;
            o.joint = joint;
            o.seed = i;
            gsv_result r = loglik_of(m, data, &o);
            mean += r.loglik / REPEATS;
            squares += r.loglik * r.loglik / REPEATS;
            reported += r.error * r.error / REPEATS;
            gsv_result_free(&r);
        }
        double variance = (squares - mean * mean) * REPEATS / (REPEATS - 1);
        assert_near(variance / reported, 1.0, TOLERANCE * sqrt(2.0 / REPEATS));
    }
    gsv_series_free(data);
    gsv_model_free(m);
}

/* The Euler chains of M steps and of half as many. */
static double halved_euler(const gsv_series *s, size_t M)
{
    static const double A[1] = {-1.0}, b[1] = {0.0}, G[1] = {1.0};
    double sum = 0.0;
    for (size_t r = 0; r + 1 < s->rows; r++) {
        double dt = (s->time[r + 1] - s->time[r]) / (double)M;
        struct exact_law fine = exact_point(1, s->value + r), coarse = fine;
        size_t half = (M + 1) / 2;
        for (size_t m = 0; m < M; m++)
            exact_step(&fine, A, b, 1, G, dt);
        for (size_t m = 0; m < half; m++)
            exact_step(&coarse, A, b, 1, G, dt * (double)M / (double)half);
        sum += exact_density(&fine, s->value + r + 1) -
               exact_density(&coarse, s->value + r + 1);
    }
    return sum;
}

static void discretisation__is_that_of_the_euler_chains(void **state)
{
    (void)state;
    enum { REPEATS = 30 };
    static const size_t steps[] = {2, 5, 8};
    gsv_model *m = model_of("state x\n dx = -x*dt + dW");
    gsv_series *data = walk_of(m, 1, 5, 0.6, 12);
    for (size_t j = 0; j < COUNT(steps); j++) {
        double mean = 0.0, squares = 0.0;
        for (size_t i = 0; i < REPEATS; i++) {
            gsv_options o = usual_options();
            o.paths = 20000 / SLOWER;
            o.steps = steps[j];
            o.seed = i;
            gsv_result r = loglik_of(m, data, &o);
            mean += r.discretisation / REPEATS;
            squares += r.discretisation * r.discretisation / REPEATS;
            gsv_result_free(&r);
        }
        double error = sqrt((squares - mean * mean) / (REPEATS - 1));
        assert_near(mean, halved_euler(data, steps[j]), TOLERANCE * error);
        assert_true(error < 2e-3 * SLOWER);
    }
    gsv_series_free(data);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint__of_one_path_is_the_sum_of_the_gaps),
        cmocka_unit_test(joint__of_one_gap_is_the_gap),
        cmocka_unit_test(error__is_the_spread_over_seeds),
        cmocka_unit_test(discretisation__is_that_of_the_euler_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
